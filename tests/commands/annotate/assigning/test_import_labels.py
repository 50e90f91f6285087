"""Labels that people gave elsewhere: stored once, whatever happens, and never over what they said here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from quati_pool.annotation.codes import code_matches, new_code
from quati_pool.commands.annotate.access import sign_in
from quati_pool.commands.annotate.assessors import add, listed, revoke
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.import_labels import ImportedLabels, import_labels
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.labels.gathered import LabelFiles
from quati_pool.project.config import LabelFileConfig
from quati_pool.records import State
from quati_pool.reporting.json_data.annotate import imported_as_data as as_data
from quati_pool.reporting.tables.import_labels import table
from quati_pool.store.assignments import Assignments
from quati_pool.store.designs import Designs
from quati_pool.store.errors import StoreError
from quati_pool.store.listing import slots
from tests.commands.annotate.people_at_work import answer, collection, everything, item, labels, pairs, token
from tests.commands.annotate.people_at_work import text as passage
from tests.commands.judged import pair, repool
from tests.commands.judged import rows as in_database
from tests.commands.small_collection import ROOT, environment
from tests.patience import PATIENCE

PAIRS = [(row["query_id"], row["doc_id"]) for row in pairs(2, 3)]


@pytest.fixture
def config(tmp_path: Path, made_url: str) -> Path:
    """6 pairs and the people ana and bia; on both engines."""
    return _staffed(collection(tmp_path / "workspace", labels={"url": made_url}))


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The same on SQLite alone, where the engine is no part of what is tested."""
    return _staffed(collection(tmp_path / "alone"))


def _staffed(config: Path) -> Path:
    with AnnotationSession.open(config) as session:
        for name in ("ana", "bia"):
            token(session, name)
    return config


def qrels(config: Path, name: str, grades: dict[tuple[str, str], int]) -> Path:
    path = config.parent / f"{name}.qrels"
    path.write_text("".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in grades.items()), encoding="utf-8")
    return path


def imported(config: Path, *files: tuple[str, Path], **options: Any) -> list[ImportedLabels]:
    return import_labels(config, LabelFiles({name: LabelFileConfig(path=str(path)) for name, path in files}), **options)


def refusal(config: Path, *files: tuple[str, Path]) -> str:
    before = _rows(config)
    with pytest.raises(QuatiPoolError) as refused:
        imported(config, *files)
    assert "\n" not in str(refused.value)
    assert _rows(config) == before
    return str(refused.value)


def _rows(config: Path) -> tuple[int, int]:
    with AnnotationSession.open(config) as session:
        return everything(session), len(slots(session.store, session.config.name))


def standing(config: Path, name: str) -> dict[tuple[str, str], int | None]:
    """The grades that count now."""
    with AnnotationSession.open(config) as session:
        reader = session.grading.labeler(name)
        found = [one for chunk in session.grading.pairs() for one in reader.graded(chunk)]
    return {(one.query_id, one.doc_id): one.relevance for one in found if one.status is not None}


GRADES = {one: place % 4 for place, one in enumerate(PAIRS)}


# ---- what is written


def test_what_is_assigned_is_done_then_and_a_second_import_writes_nothing(config: Path) -> None:
    assign(config, AssignOptions(everything=True, overlap=2, to=("ana", "bia")))
    path = qrels(config, "ana", GRADES)
    (made,) = imported(config, ("ana", path))
    assert (made.written, made.there, made.design_id) == (6, 0, None)
    assert standing(config, "ana") == GRADES
    before = _rows(config)
    (again,) = imported(config, ("ana", path))
    assert (again.written, again.there, _rows(config)) == (0, 6, before)
    with AnnotationSession.open(config) as session:
        states = {(slot.holder, slot.state) for slot in slots(session.store, session.config.name)}
        (label,) = labels(session, "ana", "q0", "d1")
    assert states == {("ana", "done"), ("bia", "open")}
    assert (label.kind, label.phase, label.relevance, label.extra["imported"]["file"]) == (
        "assessor", "blind", 1, "ana.qrels",
    )  # fmt: skip
    assert label.assignment_id is not None


def test_without_an_assignment_there_is_a_design_of_what_was_imported(config: Path) -> None:
    path = qrels(config, "ana", {PAIRS[0]: 3, PAIRS[4]: 0})
    (made,) = imported(config, ("ana", path))
    with AnnotationSession.open(config) as session:
        (design,) = session.designs.all()
        chosen = session.designs.selections(1)
        done = [(slot.query_id, slot.doc_id, slot.holder, slot.state) for slot in slots(session.store, "test")]
    assert (made.design_id, design.method, design.frame_pairs) == (1, "imported", 6)
    assert design.parameters["file"] == "ana.qrels"
    assert [(one.query_id, one.doc_id, one.inclusion) for one in chosen] == [("q0", "d0", 1.0), ("q1", "d1", 1.0)]
    assert done == [("q0", "d0", "ana", "done"), ("q1", "d1", "ana", "done")]


def test_free_slots_are_taken_so_that_nobody_is_asked_for_what_a_file_says(config: Path) -> None:
    assign(config, AssignOptions(everything=True, overlap=1))
    (made,) = imported(config, ("ana", qrels(config, "ana", {PAIRS[0]: 3, PAIRS[1]: 2})))
    assert (made.written, made.design_id) == (2, None)
    with AnnotationSession.open(config) as session:
        assert sum(query.free for query in session.assignments.open_queries("bia")) == 4


def test_two_people_of_one_pair_are_two_replicates(config: Path) -> None:
    made = imported(config, ("ana", qrels(config, "ana", GRADES)), ("bia", qrels(config, "bia", {PAIRS[0]: 1})))
    assert [one.written for one in made] == [6, 1]
    with AnnotationSession.open(config) as session:
        found = [slot for slot in slots(session.store, "test") if (slot.query_id, slot.doc_id) == PAIRS[0]]
    assert [(slot.replicate, slot.holder) for slot in found] == [(1, "ana"), (2, "bia")]


def test_texts_without_ids_are_those_of_the_pool(alone: Path) -> None:
    rows = [{"query": "pergunta q1", "text": f" {passage(102)} ".upper(), "relevance": 3}]
    path = alone.parent / "ana.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (alone.parent / "queries.tsv").write_text("q0\tpergunta q0\nq1\tpergunta q1\n", encoding="utf-8")
    imported(alone, ("ana", path))
    assert standing(alone, "ana") == {("q1", "d2"): 3}


def test_a_text_that_two_passages_have_is_refused(alone: Path) -> None:
    repool(alone.parent, [pair("q0", "d0", "the same"), pair("q0", "d1", "the same")])
    path = alone.parent / "ana.jsonl"
    path.write_text('{"query_id": "q0", "text": "the same", "relevance": 1}\n', encoding="utf-8")
    why = "its texts are those of the pairs 'q0' with 'd0', 'q0' with 'd1'"
    assert refusal(alone, ("ana", path)) == (
        f"1 row matches no pair of the pool, or several: {path}:1: {why}; add query_id and doc_id columns, or leave "
        "these rows out with --skip-unknown"
    )
    (made,) = imported(alone, ("ana", path), skip_unknown=True)
    assert [(row.line, row.reason, row.candidates) for row in made.unmatched] == [
        (1, why, (("q0", "d0"), ("q0", "d1")))
    ]
    assert made.written == 0


def test_a_passage_that_two_queries_share_is_that_of_the_query_in_its_row(alone: Path) -> None:
    repool(alone.parent, [pair("q0", "d0", "the same"), pair("q1", "d1", "the same")])
    path = alone.parent / "ana.jsonl"
    path.write_text('{"query": "pergunta q1", "text": "The  same", "relevance": 2}\n', encoding="utf-8")
    imported(alone, ("ana", path))
    assert standing(alone, "ana") == {("q1", "d1"): 2}


def test_rows_whose_texts_are_unknown_are_listed(alone: Path) -> None:
    rows = [("pergunta q1", passage(102), 3), ("pergunta q1", "never seen", 1), ("who?", passage(102), 0)]
    path = alone.parent / "ana.jsonl"
    path.write_text(
        "".join(json.dumps(dict(zip(("query", "text", "relevance"), row, strict=True))) + "\n" for row in rows)
    )
    assert f"{path}:2: the passage text 'never seen' is not in the pool" in refusal(alone, ("ana", path))
    (made,) = imported(alone, ("ana", path), skip_unknown=True)
    assert made.written == 1
    (left_out,) = as_data([made])["imported"]
    assert [(row["line"], row["query"], row["relevance"]) for row in left_out["unmatched"]] == [
        (2, "pergunta q1", 1), (3, "who?", 0),
    ]  # fmt: skip
    assert "2 that match no pair" in str(table([made]).rows)


def test_a_passage_that_reads_otherwise_in_the_file_is_counted_and_its_label_says_so(alone: Path) -> None:
    path = alone.parent / "ana.jsonl"
    rows = [
        {"query_id": "q0", "doc_id": "d0", "text": "another text", "relevance": 1},
        {"query_id": "q0", "doc_id": "d1", "text": f"{passage(1)}\n", "relevance": 2},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (made,) = imported(alone, ("ana", path))
    assert (made.written, made.differing) == (2, 1)
    with AnnotationSession.open(alone) as session:
        assert [labels(session, "ana", "q0", doc)[0].extra["imported"].get("other_text") for doc in ("d0", "d1")] == [
            True, None,
        ]  # fmt: skip


# ---- killed


class _KilledError(BaseException):
    """Nothing catches it, as nothing catches a kill."""


@pytest.mark.parametrize("assigned", [False, True])
def test_an_import_that_dies_between_any_two_steps_is_finished_by_the_next(
    config: Path, monkeypatch: pytest.MonkeyPatch, assigned: bool
) -> None:
    if assigned:
        # Of some pairs ana has slots, others are free, others are in no design.
        assign(config, AssignOptions(queries=("q0",), to=("ana",)))
        assign(config, AssignOptions(random="4"))
    path = qrels(config, "ana", GRADES)

    def dies(real: Callable[..., Any], after: bool) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            if after:
                real(*arguments, **named)
            raise _KilledError

        return run

    steps = [(Assignments, "claim"), (Designs, "create"), *[(Assignments, "submit")] * 3]
    for kind, step in steps:
        real = getattr(kind, step)
        for after in (False, True):
            with monkeypatch.context() as patched:
                patched.setattr(kind, step, dies(real, after))
                with suppress(_KilledError):
                    imported(config, ("ana", path))
    (last,) = imported(config, ("ana", path))
    assert last.there + last.written == 6
    assert standing(config, "ana") == GRADES
    with AnnotationSession.open(config) as session:
        mine = [slot for slot in slots(session.store, "test") if slot.holder == "ana"]
        said = [labels(session, "ana", *one) for one in PAIRS]
    assert sorted((slot.query_id, slot.doc_id) for slot in mine) == PAIRS
    assert {slot.state for slot in mine} == {"done"}
    assert [len(some) for some in said] == [1] * 6


@pytest.mark.kill
def test_an_import_killed_by_the_system_is_finished_by_the_next(tmp_path: Path) -> None:
    rows = pairs(4, 150)
    config = _staffed(collection(tmp_path / "workspace", rows))
    path = qrels(config, "ana", {(row["query_id"], row["doc_id"]): 1 for row in rows})
    command = [sys.executable, "-m", "quati_pool", "import", f"ana={path}", "-c", str(config)]
    for wanted in (1, 150, 300):
        process = subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE)
        deadline = time.monotonic() + PATIENCE
        while in_database(config.parent, "SELECT count(*) FROM labels")[0][0] < wanted:
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    reached = in_database(config.parent, "SELECT count(*) FROM labels")[0][0]
    assert 300 <= reached < 600
    (made,) = imported(config, ("ana", path))
    assert (made.there, made.written) == (reached, 600 - reached)
    assert in_database(config.parent, "SELECT count(*), count(DISTINCT query_id || ' ' || doc_id) FROM labels") == [
        (600, 600)
    ]
    assert in_database(config.parent, "SELECT state, count(*) FROM assignments GROUP BY state") == [("done", 600)]
    assert in_database(config.parent, "SELECT count(*) FROM designs") == [(1,)]


# ---- what the person said here


def test_a_grade_that_was_given_here_is_not_replaced(config: Path) -> None:
    assign(config, AssignOptions(everything=True, to=("ana",)))
    with AnnotationSession.open(config) as session:
        shown = item(session, "token-of-ana")
        submit(session, "token-of-ana", shown, answer(1, 3))
        second = item(session, "token-of-ana")
        submit(session, "token-of-ana", second, answer(2, None, status="unsure", reason="broken_text"))
    here = {(shown.query_id, shown.doc_id): 3}
    assert imported(config, ("ana", qrels(config, "ana", here)))[0].there == 1
    other = {(shown.query_id, shown.doc_id): 2, (second.query_id, second.doc_id): 0}
    message = refusal(config, ("ana", qrels(config, "ana", {**GRADES, **other})))
    assert message.startswith("ana graded 2 pairs differently before: ")
    assert message.endswith("; drop them from ana.qrels, or undo them in the app")
    assert standing(config, "ana") == {**here, (second.query_id, second.doc_id): None}


def test_what_was_undone_after_an_import_stays_undone(config: Path) -> None:
    path = qrels(config, "ana", GRADES)
    imported(config, ("ana", path))
    with AnnotationSession.open(config) as session:
        assert undo(session, "token-of-ana")
    (made,) = imported(config, ("ana", path))
    assert (made.written, made.there, made.taken_back) == (0, 5, 1)
    assert list(standing(config, "ana").values()).count(None) == 1


def test_under_another_version_the_same_file_is_imported_again(alone: Path) -> None:
    path = qrels(alone, "ana", GRADES)
    imported(alone, ("ana", path))
    settings = yaml.safe_load(alone.read_text(encoding="utf-8"))
    alone.write_text(yaml.safe_dump({**settings, "annotation": {"version": 2}}), encoding="utf-8")
    (made,) = imported(alone, ("ana", path))
    assert (made.written, made.there, made.taken_back) == (6, 0, 0)
    assert imported(alone, ("ana", path))[0].there == 6
    with AnnotationSession.open(alone) as session:
        assert [label.status for label in labels(session, "ana", "q0", "d0")] == [State.ok, State.ok]


# ---- refused


def test_pairs_outside_the_pool_are_refused_with_their_number_unless_they_are_to_be_left_out(config: Path) -> None:
    path = qrels(config, "ana", {**GRADES, **{("q0", f"x{n}"): 1 for n in range(5)}})
    assert refusal(config, ("ana", path)) == (
        f"{path}: 5 of 11 graded pairs are not in the pool: q0 x0, q0 x1, q0 x2 and so on; pool them (pool.extra), or "
        "leave them out with --skip-unknown"
    )
    (made,) = imported(config, ("ana", path), skip_unknown=True)
    assert (made.written, made.outside) == (6, 5)


def test_of_two_files_none_is_written_where_one_is_at_fault(alone: Path) -> None:
    good, bad = qrels(alone, "ana", GRADES), qrels(alone, "bia", {("q0", "x"): 1})
    assert str(bad) in refusal(alone, ("ana", good), ("bia", bad))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "q0 0 d0 1\nq0 0 d0 2\n",
            ":2: query_id 'q0' and doc_id 'd0' have the grade 2 here and 1 in line 1; keep the ",
        ),
        ("q0 0 d0 7\n", ":1: ana: the grade 7 is not on the scale 0, 1, 2, 3 (off it: 7, in 1 of 1 labels); "),
        ("q0 0 d0\n", ":1: "),
        ("", "is empty; expected labels"),
    ],
)
def test_a_file_at_fault_is_named_as_agree_names_it(alone: Path, content: str, message: str) -> None:
    path = alone.parent / "ana.qrels"
    path.write_text(content, encoding="utf-8")
    assert message in refusal(alone, ("ana", path)) or "holds no labels" in refusal(alone, ("ana", path))


def test_a_row_said_twice_counts_once(alone: Path) -> None:
    path = alone.parent / "ana.qrels"
    path.write_text("q0 0 d0 1\nq0 0 d0 1\n", encoding="utf-8")
    (made,) = imported(alone, ("ana", path))
    assert (made.written, made.duplicates) == (1, 1)


def test_names_that_no_person_can_have_are_refused(alone: Path) -> None:
    path = qrels(alone, "ana", GRADES)
    assert "the name 'adjudicated' cannot be a person's" in refusal(alone, ("adjudicated", path))
    alike = "the name 'ANA' is too similar to ana, which is taken; choose another"
    assert refusal(alone, ("ANA", path)) == alike
    assert "too similar to Caio" in refusal(alone, ("Caio", path), ("caio", path))
    with AnnotationSession.open(alone) as session:
        assert [one.name for one in session.people.all()] == ["ana", "bia"]


def test_labels_of_somebody_new_need_no_access_code(config: Path) -> None:
    path = qrels(config, "caio", GRADES)
    (made,) = imported(config, ("caio", path))
    assert (made.written, made.new) == (6, True)
    assert standing(config, "caio") == GRADES
    (again,) = imported(config, ("caio", path), ("ana", path))[:1]
    assert (again.there, again.new) == (6, False)
    with AnnotationSession.open(config) as session:
        known = {one.name: one for one in session.people.all()}
        assert not code_matches(new_code().text, known["caio"].code_hash)
        assert session.people.by_handle(known["caio"].handle) is None
        with pytest.raises(StoreError, match="caio has no code"):
            session.people.sign_in("caio", "5e55", 60)
    # Nothing new is for somebody who cannot come.
    with pytest.raises(QuatiPoolError, match="caio"):
        assign(config, AssignOptions(everything=True, to=("caio",)))


def test_somebody_without_a_code_gets_one_later_and_keeps_the_labels(alone: Path) -> None:
    imported(alone, ("caio", qrels(alone, "caio", GRADES)))
    with pytest.raises(QuatiPoolError, match="nobody called 'caio' has a code"):
        revoke(alone, "caio")
    (before,) = [one for one in listed(alone) if one.name == "caio"]
    assert (before.never_had, before.revoked, before.labels) == (True, None, 6)
    code = add(alone, "caio", "lead")
    with AnnotationSession.open(alone) as session:
        assert sign_in(session, code, "one")[1].name == "caio"
    (after,) = [one for one in listed(alone) if one.name == "caio"]
    assert (after.never_had, after.revoked, after.labels, after.role) == (False, None, 6, "lead")
    assert standing(alone, "caio") == GRADES


def test_narratives_count_as_they_do_in_the_app(alone: Path) -> None:
    (alone.parent / "queries.tsv").write_text(
        "query_id\tquery\tnarrative\nq0\tpergunta q0\tthe whole story\nq1\tpergunta q1\t\n", encoding="utf-8"
    )
    imported(alone, ("ana", qrels(alone, "ana", GRADES)))
    assert standing(alone, "ana") == GRADES
    with mock.patch.object(Assignments, "submit", side_effect=AssertionError):
        assert imported(alone, ("ana", alone.parent / "ana.qrels"))[0].there == 6
