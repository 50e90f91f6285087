"""What programs derive: sets of multiple choice as the benchmark builds them, and texts from files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.authoring import derive as deriving
from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.records import open_records
from quati_pool.commands.annotate.authoring.release import release
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.pira.multiple import BuiltTaskRun, MultipleChoiceTask
from tests.annotation.authoring import tiny_design
from tests.commands.annotate.authoring.people_writing import (
    Finished,
    Refused,
    accept_all,
    pira_rows,
    prefilled,
    signed_in,
    work_off,
    written_by_pira,
)
from tests.commands.annotate.authoring.rounds import filled, opened, workspace


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight texts of Pirá with eleven questions, all in one split."""
    folder = tmp_path_factory.mktemp("finished")
    return written_by_pira(folder / "pira", pira_rows(8, 2), split={"shares": [100, 0, 0]})


@pytest.fixture
def pool(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished.parent, tmp_path / "pira")
    return tmp_path / "pira" / "pool.yaml"


def derive(*args: Any, **options: Any) -> Derived:
    found = deriving.derive(*args, **options)
    assert isinstance(found, Derived)
    return found


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def ids(pool: Path) -> list[str]:
    records = open_records(pool)
    return [records.released_id(one["item_id"]) for one in records.units]


@pytest.mark.parametrize("language", ["en", "pt"])
def test_accepted_sets_are_those_that_the_benchmark_builds(pool: Path, tmp_path: Path, language: str) -> None:
    derived = derive(pool, languages=[language])
    assert derived.added == {"choices": derived.questions}
    assert derive(pool, languages=[language]).added == {}
    assert accept_all(pool) == derived.questions
    release(pool, "pira", tmp_path / "out")
    name = "MCQA-train.csv" if language == "en" else "MCQA-train-pt.csv"
    accepted = (tmp_path / "out" / name).read_bytes()
    run = MultipleChoiceTask().task_run(tmp_path / "out", Case("train", language, "built"), 0)
    assert isinstance(run, BuiltTaskRun)
    assert list(run.files().values()) == [accepted]


def test_a_set_that_was_refused_is_left_out_and_one_that_is_outdated_counts_as_missing(
    pool: Path, tmp_path: Path
) -> None:
    total = derive(pool).added["choices"]
    asked: list[int] = []

    def answer(name: str, shown: Any) -> Any:
        asked.append(1)
        return Refused("wrong") if len(asked) == 1 else {}

    accept_all(pool, answer)
    found = release(pool, "pira", tmp_path / "out")
    assert (found.choices["en"].accepted, found.choices["en"].refused, found.choices["en"].missing) == (total - 1, 1, 0)
    assert found.out["choices"] == {"wrong": 1}
    text = pool.read_text(encoding="utf-8")
    # Another seed shuffles the options: the sets are others, and were accepted by nobody.
    pool.write_text(text.replace("seed: 0", "seed: 1"), encoding="utf-8")
    with pytest.raises(QuatiPoolError, match=r"sets of multiple choice \(en\) not accepted; run quati-pool q"):
        release(pool, "pira", tmp_path / "other")
    assert release(pool, "pira", tmp_path / "other", allow_missing=True).choices["en"].missing > 0
    # Into the former folder, which has splits already, the remedy names it.
    with pytest.raises(
        QuatiPoolError, match=r"run quati-pool questions derive --release \S+out, and have what it adds"
    ):
        release(pool, "pira", tmp_path / "out")
    again = derive(pool, release=tmp_path / "out")
    assert again.added["choices"] > 0
    assert again.replaced == 0


def test_sets_that_wait_and_that_a_release_would_not_use_are_counted(pool: Path) -> None:
    total = derive(pool).added["choices"]
    pool.write_text(pool.read_text(encoding="utf-8").replace("seed: 0", "seed: 1"), encoding="utf-8")
    again = derive(pool)
    assert 0 < again.added["choices"] == again.replaced <= total


def test_texts_from_files_are_added_once_with_what_they_derive_from(pool: Path, tmp_path: Path) -> None:
    first, second, *_ = ids(pool)
    records = open_records(pool)
    question = records.units[0]
    file = lines(
        tmp_path / "derived.jsonl",
        {"question_id": first, "field": "paraphrase.1.en", "text": " Said otherwise? ", "drafted_by": "pegasus"},
        {"question_id": first, "field": "answer_paraphrase.2.pt", "text": "Dito de outro modo."},
        {"question_id": second, "field": "translation.question.pt-en", "text": "What is it?"},
        {"question_id": first, "field": "paraphrase.1.en", "text": "Said otherwise?", "drafted_by": "ptt5"},
    )
    added = derive(pool, [file])
    assert added.added == {"choices": added.questions} | dict.fromkeys(
        ("paraphrase.1.en", "answer_paraphrase.2.pt", "translation.question.pt-en"), 1
    )
    assert added.there == 1
    assert derive(pool, [file]).added == {}
    found = open_records(pool)
    items = {item.content["field"]: item for item in found.items.values() if item.kind == "derived"}
    paraphrase = items["paraphrase.1.en"]
    assert paraphrase.content["original"] == question["question"]["en"]
    assert (paraphrase.content["text"], paraphrase.content["answer"]) == ("Said otherwise?", question["answer"]["en"])
    assert found.drafters == {paraphrase.drafted_by: "pegasus"}
    translated = items["translation.question.pt-en"].content
    assert translated["original"] == records.units[1]["question"]["pt"]
    assert items["answer_paraphrase.2.pt"].content["original"] == question["answer"]["pt"]


FAULTS: Sequence[tuple[dict[str, Any], str]] = [
    ({"field": "paraphrase.1.de"}, r"derived\.jsonl:2: field is 'paraphrase\.1\.de'; expected one such as paraphrase"),
    ({"field": "paraphrase.3.en"}, r":2: field is 'paraphrase\.3\.en'; expected .*numbers 1 and 2"),
    ({"field": "answer.en"}, r":2: field is 'answer\.en'; expected"),
    ({"text": "  "}, r":2: text is ''; expected 1 to 20,000 characters"),
    ({"text": "What\nis it?"}, r":2: text is .*; expected a question on one line"),
    ({"text": "zero \0"}, r":2"),
    ({"text": "half \ud800"}, r":2"),
    ({"question_id": "A999999"}, r":2: question_id is 'A999999': no kept question has this id"),
    ({"question_id": ""}, r":2: has no question_id; expected the id"),
    ({"field": "translation.text.pt"}, r":2: has no source_id; expected the id"),
    ({"field": "translation.text.pt", "source_id": "none"}, r":2: source_id is 'none': no text"),
    ({"drafted_by": "a\nb"}, r":2: drafted_by is .*; expected a program's name"),
    ({"text": 7}, r":2"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_a_fault_is_named_with_its_line_and_nothing_is_added(
    finished: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    good = {"question_id": ids(finished)[0], "field": "paraphrase.1.en", "text": "Fine?"}
    before = len(open_records(finished).items)
    file = tmp_path / "derived.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (good, {**good, **change})), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        derive(finished, [file])
    assert len(open_records(finished).items) == before


def test_a_translation_of_a_text_that_its_source_has_is_refused(finished: Path, tmp_path: Path) -> None:
    source = open_records(finished).units[0]["source_id"]
    file = lines(tmp_path / "derived.jsonl", {"source_id": source, "field": "translation.text.en", "text": "Old."})
    with pytest.raises(InputError, match=r":1: its source has the text in en already; drop this line"):
        derive(finished, [file])


def test_other_languages_designs_and_workspaces_are_refused(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(QuatiPoolError, match=r"--choices de: the questions are written in pt, en; name one of these"):
        derive(finished, languages=["de"])
    with pytest.raises(QuatiPoolError, match=r"--release .*nothing: holds no release of questions"):
        derive(finished, release=tmp_path / "nothing")
    (tmp_path / "tiny").mkdir()
    shutil.copy(str(tiny_design.__file__), tmp_path / "tiny" / "mine.py")
    tiny = workspace(tmp_path / "tiny", design="mine.py:Tiny")
    with pytest.raises(ConfigError, match="has nothing to derive; those of pira and romqa have"):
        derive(tiny)
    plain = tmp_path / "pool.yaml"
    plain.write_text("name: a\ncorpus: {path: c.jsonl}\nqueries: {path: q.tsv}\nsystems: {bm25: {retriever: bm25}}\n")
    with pytest.raises(ConfigError, match="no questions are written in rounds here; add"):
        derive(plain)


def test_a_split_without_two_answers_has_no_sets_and_is_named(tmp_path: Path) -> None:
    path = written_by_pira(tmp_path, pira_rows(3, 1), split={"shares": [70, 30, 0]})
    found = derive(path)
    # Three questions: two in train and one in validation.
    assert found.added == {"choices": 2}
    assert found.too_small == {"en": ["validation"]}


def test_an_accepted_translation_is_the_text_of_its_questions(tmp_path: Path) -> None:
    texts = [
        {"doc_id": f"T{number}", "corpus": "2", "en": f"The {noun} is old.", "pt": ""}
        for number, noun in enumerate(("reef", "gull"))
    ]
    path = workspace(tmp_path / "one", texts, edited=0, split={"shares": [100, 0, 0]})

    def answer(name: str, shown: Any) -> Any:
        if shown.step.name == "set":
            noun = shown.shown["text"]["en"].split()[1]
            if shown.own:
                return Finished()
            return {
                "question.en": f"What is old of the {noun}?",
                "question.pt": f"O que é velho, {noun}?",
                "answer.en": f"{noun} en",
                "answer.pt": f"{noun} pt",
            }
        if shown.step.name == "curate":
            return prefilled(shown)
        return filled(shown)

    with opened(path) as session:
        work_off(session, signed_in(session, "ana", "rui"), answer)
    assert derive(path, languages=["pt"]).added == {}
    file = lines(
        tmp_path / "texts.jsonl",
        *({"source_id": f"T{n}", "field": "translation.text.pt", "text": f"O texto {n} velho."} for n in (0, 1)),
        # Accepted too, but not the first.
        {"source_id": "T0", "field": "translation.text.pt", "text": "Outra tradução."},
    )
    assert derive(path, [file], languages=["pt"]).added == {"translation.text.pt": 3}
    accept_all(path)
    assert derive(path, languages=["pt"]).added == {"choices": 2}
    records = open_records(path)
    translated = [item.content for item in records.items.values() if item.kind == "derived"]
    assert {one["original"] for one in translated} == {"The reef is old.", "The gull is old."}
    assert {records.texts(one)["pt"] for one in records.units} == {"O texto 0 velho.", "O texto 1 velho."}
    accept_all(path)
    release(path, "pira", tmp_path / "out")
    assert "O texto 1 velho." in (tmp_path / "out" / "train.csv").read_text(encoding="utf-8")
    assert [records.released_id(one["item_id"])[0] for one in records.units] == ["B", "B"]
