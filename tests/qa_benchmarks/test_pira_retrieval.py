from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.pira.retrieval import PassageRetrieval, TextRetrieval, text_id
from quati_pool.records import id_problem
from tests.qa_benchmarks.pira_rows import row, write_split
from tests.shared_data import shared

EN = Case("test", "en")
TEXTS, QUESTIONS = Case("test", "pt", "translated-texts"), Case("test", "pt", "translated-questions")


@pytest.mark.parametrize("language", ["en", "pt"])
def test_the_validation_file_has_181_texts_and_225_questions_each_with_its_own(language: str) -> None:
    data = shared("pira/validation.csv").parent
    cases = [case for case in TextRetrieval().cases(data) if case.language == language]
    assert [case.setting for case in cases] == {"en": [""], "pt": ["translated-texts", "translated-questions"]}[
        language
    ]
    for case in cases:
        found = TextRetrieval().collection(data, case)
        assert (len(found.passages), len(found.queries), len(found.qrels)) == (181, 225, 225)
        assert found.units is None
        # No text is shared in one language alone.
        assert len(found.notes) == 1
        assert "181 distinct texts of validation.csv" in found.notes[0]


def test_the_passages_of_the_validation_file_are_its_texts_cut(tmp_path: Path) -> None:
    data = shared("pira/validation.csv").parent
    case = Case("validation", "en")
    texts = dict(TextRetrieval().collection(data, case).passages)
    found = PassageRetrieval().collection(data, case)
    assert found.units is not None
    words = defaultdict(list)
    for doc_id, passage in found.passages:
        assert len(passage.split()) <= 100
        words[found.units[doc_id]] += passage.split()
    assert words == {unit: text.split() for unit, text in texts.items()}
    # ⌈words / 100⌉ of each text.
    assert len(found.passages) == sum(-(-len(text.split()) // 100) for text in texts.values()) == 550
    own = {(query_id, doc_id) for query_id, doc_id, _ in TextRetrieval().collection(data, case).qrels}
    assert {(query_id, found.units[doc_id]) for query_id, doc_id, _ in found.qrels} == own
    per_text = {unit: -(-len(text.split()) // 100) for unit, text in texts.items()}
    assert len(found.qrels) == sum(per_text[unit] for _, unit in own)


def test_the_corpus_is_of_every_file_and_the_queries_of_the_split(tmp_path: Path) -> None:
    write_split(tmp_path, "train", [row("A1", "one"), row("A2", " two\n")])
    write_split(tmp_path, "test", [row("A3", "two"), row("A4", "three"), row("A5", "three ")])
    found = TextRetrieval().collection(tmp_path, EN)
    assert dict(found.passages) == {text_id(text): text for text in ("one", "two", "three")}
    assert [(one.query_id, one.query, one.cluster_id) for one in found.queries] == [
        ("A3", "What of A3?", ""), ("A4", "What of A4?", ""), ("A5", "What of A5?", ""),
    ]  # fmt: skip
    assert found.qrels == [
        ("A3", text_id("two"), 1), ("A4", text_id("three"), 1), ("A5", text_id("three"), 1),
    ]  # fmt: skip
    assert list(found.notes) == [
        "corpus (en): the 3 distinct texts of train.csv, test.csv; the paper's covers all three files, so "
        "retrieval is easier here without validation.csv"
    ]
    write_split(tmp_path, "validation", [row("A6", "one")])
    assert TextRetrieval().collection(tmp_path, EN).notes == [
        "corpus (en): the 3 distinct texts of train.csv, validation.csv, test.csv"
    ]


def test_an_id_is_that_of_the_text_whatever_files_there_are(tmp_path: Path) -> None:
    write_split(tmp_path / "one", "test", [row("A1", "shared"), row("A2", "own")])
    write_split(tmp_path / "two", "train", [row("A9", "shared")])
    write_split(tmp_path / "two", "test", [row("A1", "shared")])
    one = dict(TextRetrieval().collection(tmp_path / "one", EN).passages)
    two = dict(TextRetrieval().collection(tmp_path / "two", EN).passages)
    assert set(two) < set(one)
    # sha256("shared"), by sha256sum.
    assert text_id("shared") == "text-a4d26868017c0ccf"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_has_a_sound_id(text: str) -> None:
    assert id_problem(text_id(text)) is None


def test_the_two_routes_search_in_portuguese_and_in_english(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1", "tide")])
    texts = TextRetrieval().collection(tmp_path, TEXTS)
    assert (texts.language, texts.queries[0].query, texts.passages[0][1]) == ("pt", "O que de A1?", "pt: tide")
    questions = TextRetrieval().collection(tmp_path, QUESTIONS)
    assert (questions.language, questions.queries[0].query) == ("en", "What about A1?")
    assert questions.passages == TextRetrieval().collection(tmp_path, EN).passages == [(text_id("tide"), "tide")]


@pytest.mark.parametrize("task", [TextRetrieval(), PassageRetrieval()], ids=["ir", "oqa"])
def test_an_older_file_has_only_the_cases_of_its_columns(
    tmp_path: Path, task: TextRetrieval | PassageRetrieval
) -> None:
    write_split(tmp_path, "test", [row("A1")], without=("abstract_translated_pt", "pt_question_translated_to_en"))
    assert task.cases(tmp_path) == [EN]
    for case, column in ((TEXTS, "abstract_translated_pt"), (QUESTIONS, "pt_question_translated_to_en")):
        with pytest.raises(InputError, match=rf"test\.csv:1: no column '{column}'; .*C4AI/Pira"):
            task.collection(tmp_path, case)


def test_a_file_without_the_translated_texts_is_left_out_and_said(tmp_path: Path) -> None:
    write_split(tmp_path, "train", [row("A1", "one")], without=("abstract_translated_pt",))
    write_split(tmp_path, "test", [row("A2", "two")])
    found = TextRetrieval().collection(tmp_path, TEXTS)
    assert [text for _, text in found.passages] == ["pt: two"]
    assert any(note.startswith("train.csv has no column abstract_translated_pt") for note in found.notes)
    assert len(TextRetrieval().collection(tmp_path, EN).passages) == 2


def test_a_question_without_a_text_is_left_out_and_told_and_a_text_without_a_question_is_searched(
    tmp_path: Path,
) -> None:
    write_split(tmp_path, "train", [row("A1", "one"), row("A2", abstract=" ")])
    write_split(tmp_path, "test", [row("A3", "two"), row("A4", "three", question_en_origin=" ")])
    test = TextRetrieval().collection(tmp_path, EN)
    assert {text for _, text in test.passages} == {"one", "two", "three"}
    assert [one.query_id for one in test.queries] == ["A3"]
    assert test.qrels == [("A3", text_id("two"), 1)]
    assert test.notes[1:] == ["test en: 1 of 2 questions are left out, as their question or text is empty in test.csv"]
    train = PassageRetrieval().collection(tmp_path, Case("train", "en"))
    assert [one.query_id for one in train.queries] == ["A1"]
    assert any(note.startswith("train en: 1 of 2 questions are left out") for note in train.notes)
    write_split(tmp_path, "test", [row("A3", question_en_origin="")])
    with pytest.raises(InputError, match=r"test\.csv: the question or text of every row is empty"):
        PassageRetrieval().collection(tmp_path, EN)


def test_a_text_that_is_shared_in_one_language_alone_is_said(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1", "one"), row("A2", "one", abstract_translated_pt="outro")])
    found = TextRetrieval().collection(tmp_path, EN)
    assert len(found.passages) == 1
    assert found.notes[1:] == ["1 English text has more than one Portuguese translation: the two corpora differ"]
    write_split(tmp_path, "test", [row("A1", "one"), row("A2", "two", abstract_translated_pt="pt: one")])
    found = TextRetrieval().collection(tmp_path, TEXTS)
    assert len(found.passages) == 1
    assert found.notes[1:] == ["1 Portuguese text translates more than one English text: the two corpora differ"]


def test_passages_have_a_hundred_words_and_those_of_the_own_text_are_relevant(tmp_path: Path) -> None:
    long = " ".join(f"w{number}" for number in range(250))
    write_split(tmp_path, "test", [row("A1", long), row("A2", "tide")])
    found = PassageRetrieval().collection(tmp_path, EN)
    assert found.units == {doc_id: doc_id.rsplit("-", 1)[0] for doc_id, _ in found.passages}
    assert [len(text.split()) for _, text in found.passages] == [100, 100, 50, 1]
    unit = text_id(long)
    assert found.qrels == [
        ("A1", f"{unit}-1", 1), ("A1", f"{unit}-2", 1), ("A1", f"{unit}-3", 1), ("A2", f"{text_id('tide')}-1", 1),
    ]  # fmt: skip
    assert any("sentence" in note for note in found.notes)


def test_passages_end_with_sentences_where_they_are_cut_so_in_both_tasks(tmp_path: Path) -> None:
    # 60 + 60 words: two passages of a sentence each, or one of 100 words and one of 20.
    long = " ".join([*["tide"] * 59, "tide.", "Boats", *["wait"] * 58, "wait."])
    write_split(tmp_path, "test", [row("A1", long), row("A2", "tide")])
    unit = text_id(long)
    found = {}
    for task in (TextRetrieval(), PassageRetrieval()):
        for way in task.cuts:
            other = task.cut_as(way)
            found[other.name] = other.collection(tmp_path, EN)
        assert task.name in ("ir", "oqa")
    assert list(found) == ["ir-words", "ir-sentences", "oqa", "oqa-sentences"]
    for name, collection in found.items():
        sizes = [60, 60, 1] if name.endswith("-sentences") else [100, 20, 1]
        assert [len(text.split()) for _, text in collection.passages] == sizes
        assert collection.qrels == [
            ("A1", f"{unit}-1", 1), ("A1", f"{unit}-2", 1), ("A2", f"{text_id('tide')}-1", 1),
        ]  # fmt: skip
        assert collection.units == {doc_id: doc_id.rsplit("-", 1)[0] for doc_id, _ in collection.passages}
        said = "at the ends of sentences" if name.endswith("-sentences") else "at the word count"
        assert said in collection.notes[-1]
    assert TextRetrieval().collection(tmp_path, EN).units is None
    # What a task does by itself is as before, whatever was cut otherwise.
    assert PassageRetrieval().collection(tmp_path, EN).passages == found["oqa"].passages


def test_the_validation_texts_cut_at_sentences_are_the_same_words(tmp_path: Path) -> None:
    data = shared("pira/validation.csv").parent
    for case in TextRetrieval().cases(data):
        texts = dict(TextRetrieval().collection(data, case).passages)
        found = TextRetrieval().cut_as("sentences").collection(data, case)
        words = defaultdict(list)
        assert found.units is not None
        for doc_id, passage in found.passages:
            assert 1 <= len(passage.split()) <= 100
            words[found.units[doc_id]] += passage.split()
        assert words == {unit: text.split() for unit, text in texts.items()}
        # Fewer words a passage, so more of them than ⌈words / 100⌉ of each text.
        assert len(found.passages) > sum(-(-len(text.split()) // 100) for text in texts.values())


def test_a_reader_is_asked_over_the_best_k_passages_in_the_question_s_language(tmp_path: Path) -> None:
    write_split(tmp_path, "test", [row("A1"), row("A2"), row("A3", answer_pt_origin="")])
    passages = {"A1": ["first", "second\nlines", "third"]}
    task_run = PassageRetrieval().reading(tmp_path, QUESTIONS, 2, passages)
    assert task_run.ids == ["A1", "A2"]
    user = task_run.request("A1").messages[-1]["content"]
    assert "O que de A1?" in user
    assert "1) first\n2) second lines\n" in user
    assert "third" not in user
    assert (
        "test pt translated-questions: 2 questions are asked without a passage, as no passage was found"
        in task_run.notes
    )
    assert "first" not in task_run.request("A2").messages[-1]["content"]
    (row_,) = task_run.rows("model", {"A1": "a maré", "A2": "maré"})
    assert row_.measures == pytest.approx({"F1": 100 * (1 + 2 / 3) / 2, "EM": 50})
    assert row_.extra == {"k": 2}
    assert task_run.programs() == {}
    assert set(PassageRetrieval.readers) == {5, 10, 15}
