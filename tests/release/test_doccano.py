"""The pairs for doccano: what it imports, and what comes back of ids, texts and grades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from quati_pool.errors import QuatiPoolError
from quati_pool.files.label_files.doccano import read as read_doccano
from quati_pool.files.label_files.grades import Grader
from quati_pool.files.label_files.options import Options
from quati_pool.files.problems import STRICT
from quati_pool.files.validation import validate_file
from quati_pool.records import GRADES
from quati_pool.release.doccano import Doccano, DoccanoParameters
from quati_pool.release.manifest import verify
from quati_pool.release.state import Release
from tests.release.small_release import HARD_IDS, HOSTILE, IDS, contents, graded_pairs, grid, labelled, release_of


def exported(release: Release, folder: Path, labeler: str | None = None) -> list[dict[str, Any]]:
    folder.mkdir()
    counts = Doccano(DoccanoParameters(labeler=labeler)).write(release, folder)
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_bytes().decode().split("\n")[:-1]]
    assert counts["pairs"] == len(rows)
    assert verify(folder) == []
    return rows


def test_pairs_to_grade_have_no_label(tmp_path: Path) -> None:
    release = release_of(tmp_path, {}, {"d1": "It is\na passage."}, [("q1", "d1"), ("q2", "d1")], {"q1": "Say why."})
    assert exported(release, tmp_path / "out") == [
        {
            "text": "what is q1?\n\nSay why.\n\nIt is\na passage.", "label": [], "query_id": "q1", "doc_id": "d1",
            "query": "what is q1?", "passage": "It is\na passage.",
        },
        {
            "text": "what is q2?\n\nIt is\na passage.", "label": [], "query_id": "q2", "doc_id": "d1",
            "query": "what is q2?", "passage": "It is\na passage.",
        },
    ]  # fmt: skip
    assert json.loads((tmp_path / "out" / "labels.json").read_bytes()) == [
        {"text": "Irrelevant", "suffix_key": "0"},
        {"text": "Relevant", "suffix_key": "1"},
        {"text": "Highly relevant", "suffix_key": "2"},
        {"text": "Perfectly relevant", "suffix_key": "3"},
    ]


def test_a_labelers_grades_are_labels_and_an_ungraded_pair_has_none(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 0}, "ana": {("q1", "d1"): 3}}, extra_pairs=[("q1", "d2")])
    rows = exported(release, tmp_path / "out", "ana")
    assert [(row["doc_id"], row["label"]) for row in rows] == [("d1", ["Perfectly relevant"]), ("d2", [])]


def read_back(rows: list[dict[str, Any]], folder: Path, meta: bool = False) -> dict[tuple[str, str], int]:
    """What this library's reader takes from doccano's export, which numbers the records and gives what it
    was imported with back at the top level or, in some versions, under ``meta``."""
    records = []
    for number, row in enumerate(rows, 1):
        kept = {name: value for name, value in row.items() if name not in ("text", "label")}
        record = {"id": number, "text": row["text"], "label": row["label"], "Comments": []}
        records.append({**record, "meta": kept} if meta else {**record, **kept})
    path = folder / "admin.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    found = read_doccano(path, Options({}, Grader(GRADES)), STRICT)
    assert found.query_id is not None
    assert found.doc_id is not None
    assert found.text == [row["passage"] for row in rows]
    graded = zip(found.query_id, found.doc_id, found.relevance, strict=True)
    return {(query_id, doc_id): grade for query_id, doc_id, grade in graded if grade is not None}


def test_hard_ids_and_hostile_passages_come_back(tmp_path: Path) -> None:
    grades = grid()
    texts = dict(zip(HARD_IDS, HOSTILE, strict=False))
    rows = exported(release_of(tmp_path, {"gpt": grades}, texts), tmp_path / "out", "gpt")
    assert read_back(rows, tmp_path) == grades
    assert read_back(rows, tmp_path, meta=True) == grades
    assert {row["doc_id"]: row["passage"] for row in rows if row["doc_id"] in texts} == texts


@settings(max_examples=30, deadline=None)
@given(graded_pairs(IDS))
def test_any_ids_come_back(tmp_path_factory: pytest.TempPathFactory, grades: dict[tuple[str, str], int]) -> None:
    folder = tmp_path_factory.mktemp("doccano")
    rows = exported(release_of(folder, {"gpt": grades}), folder / "out", "gpt")
    assert read_back(rows, folder) == grades


@pytest.mark.parametrize(
    ("grades", "labeler", "message"),
    [
        (
            {0: "No", 1: "Yes", 2: "yes", 3: "3"}, None,
            "the name 'Yes' of grade 1 could not be read back as that grade: another has it too, or it is a number; "
            "rename it under grades: in pool.yaml",
        ),
        (
            {0: "No", 3: "2"}, None,
            "the name '2' of grade 3 could not be read back as that grade: another has it too, or it is a number; "
            "rename it under grades: in pool.yaml",
        ),
        (
            {0: " ", 1: "Yes", 3: "3"}, None,
            "the name of grade 0 has 1 characters, and doccano takes 1 to 100; rename it under grades: in pool.yaml",
        ),
        (
            {0: "No", 3: "x" * 101}, None,
            "the name of grade 3 has 101 characters, and doccano takes 1 to 100; rename it under grades: in pool.yaml",
        ),
        ({0: "No", 3: "Yes"}, "gtp", "there is no labeler 'gtp' in this release; did you mean 'gpt'?"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, grades: dict[int, str], labeler: str | None, message: str) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3}}, grades=grades)
    with pytest.raises(QuatiPoolError) as caught:
        exported(release, tmp_path / "out", labeler)
    assert str(caught.value) == message


def test_a_graded_pair_that_the_pool_lacks_is_named(tmp_path: Path) -> None:
    pool = release_of(tmp_path / "other", {"gpt": {("q1", "d1"): 3}}).pool
    release = release_of(tmp_path, [labelled("gpt", {("q1", "d1"): 3, ("q1", "d2"): 1})], pool=pool)
    with pytest.raises(QuatiPoolError) as caught:
        exported(release, tmp_path / "out", "gpt")
    assert str(caught.value) == (
        "labeler 'gpt' grades 'q1' 'd2', which pool.jsonl.gz does not hold (1 such pairs); "
        "name the pool they were graded in"
    )


def test_keys_are_digits_alone(tmp_path: Path) -> None:
    release = release_of(tmp_path, {}, extra_pairs=[("q1", "d1")], grades={-1: "Spam", 0: "No", 10: "Yes"})
    exported(release, tmp_path / "out")
    labels = json.loads((tmp_path / "out" / "labels.json").read_bytes())
    assert labels == [{"text": "Spam"}, {"text": "No", "suffix_key": "0"}, {"text": "Yes"}]


def test_two_exports_of_one_state_are_byte_identical(tmp_path: Path) -> None:
    release = release_of(tmp_path, {"gpt": {("q1", "d1"): 3}})
    exported(release, tmp_path / "one")
    exported(release, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_grades_known_to_be_outside_the_pool_are_left_out_and_counted(tmp_path: Path) -> None:
    pool = release_of(tmp_path / "other", {"gpt": {("q1", "d1"): 3}}).pool
    grades = {("q1", "d1"): 3, ("q1", "d2"): 1}
    release = release_of(tmp_path, [labelled("gold", grades, kind="file", outside=1)], pool=pool)
    (tmp_path / "out").mkdir()
    counts = Doccano(DoccanoParameters(labeler="gold")).write(release, tmp_path / "out")
    assert (counts["pairs"], counts["graded"], counts["grades outside the pool left out"]) == (1, 1, 1)


def test_the_check_of_a_file_knows_what_is_written(tmp_path: Path) -> None:
    grades = {("q1", "d1"): 3, ("q1", "d2"): 0}
    exported(release_of(tmp_path, {"gpt": grades}, extra_pairs=[("q2", "d1")]), tmp_path / "out", "gpt")
    report = validate_file(tmp_path / "out" / "pairs.jsonl")
    assert (report.kind, report.ok) == ("labels", True)
    assert (report.summary["format"], report.summary["labels"], report.summary["without_a_grade"]) == ("doccano", 2, 1)
    assert report.summary["grades"] == {"0": 1, "3": 1}
