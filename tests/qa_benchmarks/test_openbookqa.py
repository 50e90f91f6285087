"""OpenBookQA's files: questions, the open book, and the facts of the complete files."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.qa_benchmarks.base import AnswerTask, Case, Collection, MissingDataError, RetrievalTask
from quati_pool.qa_benchmarks.openbookqa import OpenBookQa
from tests.qa_benchmarks.small_questions import question, write_jsonl

EXPECTATIONS, CONTEXTS = OpenBookQa.tasks["expectations"], OpenBookQa.tasks["contexts"]
OPTIONS = ("a magnet", "a leaf", "a cup", "a rope")
IRON = question("7-980", "What lifts nails?", OPTIONS, "A")
SHADE = question("8-376", "What makes its food from light?", OPTIONS, "B")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder laid out as the archive, with one fact of the book and one that it lacks."""
    root = tmp_path / "Data"
    write_jsonl(root / "Main" / "train.jsonl", [IRON])
    write_jsonl(root / "Main" / "test.jsonl", [SHADE])
    write_jsonl(
        root / "Additional" / "train_complete.jsonl",
        [{**IRON, "fact1": " magnets attract iron ", "turkIdAnonymized": "b3"}],
    )
    write_jsonl(root / "Additional" / "test_complete.jsonl", [{**SHADE, "fact1": "plants use light"}])
    (root / "Main" / "openbook.txt").write_text(
        '"bees pollinate"\n"magnets attract iron"\n\n"""\nno quotes "inside" it\n'
    )
    return tmp_path


def collection(data: Path, case: Case) -> Collection:
    assert isinstance(CONTEXTS, RetrievalTask)
    return CONTEXTS.collection(data, case)


@pytest.mark.parametrize("inside", ["", "Data", "Data/Main"])
def test_the_folder_may_be_the_archives_its_data_or_main(data: Path, inside: str) -> None:
    assert EXPECTATIONS.cases(data / inside) == [Case("train", "en"), Case("test", "en")]


def test_the_complete_files_alone_serve_too(data: Path) -> None:
    for name in ("train", "test"):
        (data / "Data" / "Main" / f"{name}.jsonl").unlink()
    assert EXPECTATIONS.cases(data) == [Case("train", "en"), Case("test", "en")]
    assert EXPECTATIONS.cases(data / "Data" / "Additional") == [Case("train", "en"), Case("test", "en")]


def test_questions_are_read_from_main(data: Path) -> None:
    assert isinstance(EXPECTATIONS, AnswerTask)
    made = EXPECTATIONS.task_run(data, Case("test", "en"), 0)
    assert list(made.ids) == ["8-376", "8-376#perturbed-incorrect-option", "8-376#no-question"]
    assert made.rows("right", {"8-376": "B"})[0].measures["accuracy"] == 100


def test_the_corpus_is_the_book_and_the_facts_of_the_questions_each_once(data: Path) -> None:
    made = collection(data, Case("train", "en"))
    assert [text for _, text in made.passages] == [
        "bees pollinate", "magnets attract iron", '"', 'no quotes "inside" it', "plants use light",
    ]  # fmt: skip
    texts = dict(made.passages)
    assert [(query_id, texts[doc_id]) for query_id, doc_id, _ in made.qrels] == [("7-980-A", "magnets attract iron")]
    assert [(topic.query_id, topic.query) for topic in made.queries[:2]] == [
        ("7-980-A", "What lifts nails? a magnet"), ("7-980-B", "What lifts nails? a leaf"),
    ]  # fmt: skip


def test_the_book_may_be_absent(data: Path) -> None:
    (data / "Data" / "Main" / "openbook.txt").unlink()
    assert [text for _, text in collection(data, Case("test", "en")).passages] == [
        "magnets attract iron", "plants use light",
    ]  # fmt: skip


def test_without_the_complete_files_contexts_say_what_is_missing(data: Path) -> None:
    for path in (data / "Data" / "Additional").iterdir():
        path.unlink()
    with pytest.raises(MissingDataError, match=r"Data/Additional/train_complete\.jsonl") as caught:
        CONTEXTS.cases(data)
    assert OpenBookQa.source in str(caught.value)
