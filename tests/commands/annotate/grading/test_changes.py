"""Changing one's own labels: a new label each time, exactly once, all or nothing, and never anybody else's."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading.changes import MOST_CHANGES, change, change_many
from quati_pool.commands.annotate.grading.next_item import next_item, progress
from quati_pool.commands.annotate.grading.submission import second_label, submit, undo
from quati_pool.commands.annotate.own_labels import OwnLabel, own_labels
from quati_pool.commands.annotate.review.blinding import reveal
from quati_pool.commands.annotate.review.dashboard import compute
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.labels.labelers import Grading
from quati_pool.records import State
from quati_pool.store.errors import ConflictError
from quati_pool.text.sentences import Span
from tests.commands.annotate.people_at_work import answer, assigned, collection, everything, item, labels, pairs, token
from tests.commands.annotate.revealing import revealing
from tests.commands.judged import pair, repool


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """Two queries of three passages each; on both engines."""
    with AnnotationSession.open(collection(tmp_path), made_url) as opened:
        yield opened


def graded(session: AnnotationSession, mine: str, pairs: int = 3, grade: int = 2, **values: Any) -> list[OwnLabel]:
    """Grades that many pairs; their labels, the first one first."""
    for number in range(pairs):
        submit(session, mine, item(session, mine), answer(number, grade, **values))
    return list(own_labels(session, mine).labels[::-1])


def changed(
    session: AnnotationSession, mine: str, label: OwnLabel, number: int, grade: int | None, **values: Any
) -> int:
    given = answer(number, grade, **values)
    return change(session, mine, label.query_id, label.content_sha, label.seq, given)


def seen(labels: list[OwnLabel]) -> list[tuple[str, int]]:
    return [(label.content_sha, label.seq) for label in labels]


def read(session: AnnotationSession, name: str) -> dict[tuple[str, str], int | None]:
    """The grades that count, as every reader of labels gets them."""
    grading = Grading(session.config, session.store)
    found = [row for some in grading.pairs() for row in grading.labeler(name).graded(some)]
    return {(row.query_id, row.doc_id): row.relevance for row in found if row.status is not None}


def test_a_change_is_a_new_label_and_the_one_before_is_history(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    first, second, third = graded(session, ana)
    slot = session.assignments.slot(1)
    seq = changed(session, ana, first, 50, 0, note="agora sim", evidence=[Span(0, 4)])
    before, after = labels(session, "ana", first.query_id, first.doc_id)
    assert (before.seq, before.relevance) == (first.seq, 2)
    assert (after.seq, after.relevance, after.rationale) == (seq, 0, "agora sim")
    assert (after.phase, after.version, after.content_sha) == ("blind", before.version, before.content_sha)
    assert after.assignment_id == before.assignment_id
    assert after.extra["changes"] == first.seq
    assert after.extra["evidence"] == [{"start": 0, "end": 4, "text": first.text_start[:4]}]
    # 4.25 s and 9.5 s each, of the grade and of the change.
    assert (after.extra["active_seconds"], after.extra["elapsed_seconds"]) == (8.5, 19.0)
    # The changed label is the newest; the slot, the later ones and what is to be done stay as they were.
    assert [label.seq for label in own_labels(session, ana).labels] == [seq, third.seq, second.seq]
    assert session.assignments.slot(1) == slot
    assert (progress(session, ana).done, progress(session, ana).total) == (3, 6)
    assert read(session, "ana")[first.query_id, first.doc_id] == 0
    assert everything(session) == 4


def test_a_label_is_changed_to_cannot_judge_and_back(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [label] = graded(session, ana, 1)
    changed(session, ana, label, 50, None, status="unsure", reason="broken_text")
    [cannot] = own_labels(session, ana).labels
    assert (cannot.status, cannot.relevance, cannot.reason) == (State.unsure, None, "broken_text")
    changed(session, ana, cannot, 51, 3)
    [now] = own_labels(session, ana).labels
    assert (now.status, now.relevance, now.reason, now.fixed) == (State.ok, 3, None, None)
    history = labels(session, "ana", label.query_id, label.doc_id)
    assert [one.extra.get("changes") for one in history] == [None, label.seq, cannot.seq]


def test_a_change_sent_twice_is_stored_once_and_another_answer_with_its_nonce_refused(
    session: AnnotationSession,
) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [label] = graded(session, ana, 1)
    seq = changed(session, ana, label, 50, 0)
    assert changed(session, ana, label, 50, 0) == seq
    with pytest.raises(ConflictError) as caught:
        changed(session, ana, label, 50, 1)
    assert caught.value.reason == "done"
    # It is confirmed even if the pair has left the pool since.
    repool(session.config.folder, [pair("q9", "d9")])
    assert changed(session, ana, label, 50, 0) == seq
    assert everything(session) == 2


@pytest.mark.slow
def test_a_change_sent_many_times_at_once_is_stored_once(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [label] = graded(session, ana, 1)
    start = threading.Barrier(8)

    def send(number: int) -> int | str:
        start.wait()
        try:
            return changed(session, ana, label, number % 2, 3 * (number % 2))
        except ConflictError as error:
            return error.reason

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(send, range(8)))
    # Of two tabs that send four times each, one is first and gets one seq, the other has seen an older label.
    assert sorted(map(outcomes.count, set(outcomes))) == [4, 4]
    assert "changed" in outcomes
    assert everything(session) == 2


def test_what_changed_since_it_was_seen_is_refused(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    first, second, third = graded(session, ana)
    changed(session, ana, first, 50, 0)
    undo(session, ana)
    repool(
        session.config.folder,
        [
            dict(row, text="outro") if (row["query_id"], row["doc_id"]) == (second.query_id, second.doc_id) else row
            for row in pairs()
        ],  # type: ignore[arg-type]
    )
    for label in (first, second, third):
        with pytest.raises(ConflictError) as caught:
            changed(session, ana, label, 60, 1)
        assert (caught.value.reason, caught.value.count) == ("changed", 1)
    assert everything(session) == 5


def test_a_pair_that_was_undone_meanwhile_or_put_off_is_not_changed(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    shown = item(session, ana)
    put_off = submit(session, ana, shown, answer(1, None, status="skipped"))
    with pytest.raises(ConflictError):
        change(session, ana, shown.query_id, shown.content_sha, put_off.seq, answer(2))
    [label] = graded(session, ana, 1)
    undo(session, ana)
    retraction = labels(session, "ana", label.query_id, label.doc_id)[-1].seq or 0
    for number in (label.seq, retraction):
        with pytest.raises(ConflictError):
            changed(session, ana, dataclasses.replace(label, seq=number), 3, 0)
    assert everything(session) == 3


def test_undo_means_the_last_graded_pair_and_takes_back_its_change_too(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    first, second = graded(session, ana, 2)
    changed(session, ana, second, 50, 0)
    last = changed(session, ana, own_labels(session, ana).labels[0], 51, 3)
    changed(session, ana, first, 52, 1)
    assert undo(session, ana)
    retraction = labels(session, "ana", second.query_id, second.doc_id)[-1]
    assert (retraction.status, retraction.extra) == (State.retracted, {"retracts": last})
    assert (item(session, ana).query_id, item(session, ana).doc_id) == (second.query_id, second.doc_id)
    assert read(session, "ana") == {(first.query_id, first.doc_id): 1, (second.query_id, second.doc_id): None}
    submit(session, ana, item(session, ana), answer(60, 2))
    assert read(session, "ana") == {(first.query_id, first.doc_id): 1, (second.query_id, second.doc_id): 2}
    assert undo(session, ana)
    assert undo(session, ana)
    assert own_labels(session, ana).labels == ()
    assert next_item(session, ana) is not None


def test_undo_takes_back_a_change_that_was_made_after_a_narrative_was_added(tmp_path: Path) -> None:
    path = collection(tmp_path, [pair("q0", "d0")])
    with AnnotationSession.open(path) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",))
        graded(session, ana, 1)
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q0", "query": "pergunta q0", "narrative": "conta"}\n')
    path.write_text(path.read_text().replace("queries.tsv", "queries.jsonl"))
    with AnnotationSession.open(path) as session:
        [label] = own_labels(session, ana).labels
        changed(session, ana, label, 50, 0)
        before, after = labels(session, "ana", "q0", "d0")
        assert before.content_sha != after.content_sha == label.content_sha
        [now] = own_labels(session, ana).labels
        assert now.relevance == 0
        undo(session, ana)
        assert own_labels(session, ana).labels == ()
        assert read(session, "ana") == {("q0", "d0"): None}


def test_after_a_reveal_the_first_label_stays(tmp_path: Path) -> None:
    with revealing(tmp_path) as session:
        ana = token(session, "ana")
        shown = item(session, ana)
        [label] = graded(session, ana, 1, 3)
        with pytest.raises(ForbiddenError, match="first one stays"):
            changed(session, ana, label, 50, 0)
        with pytest.raises(ForbiddenError, match="first one stays"):
            change_many(session, ana, label.query_id, seen([label]), answer(50, 0))
        second_label(session, ana, shown, answer(51, 1))
        assert [one.phase for one in labels(session, "ana", label.query_id, label.doc_id)] == ["blind", "revealed"]


def test_a_lead_who_looked_before_changing_is_marked(session: AnnotationSession) -> None:
    lia = token(session, "lia", "lead")
    assigned(session, ("lia",))
    first, second, _ = graded(session, lia)
    reveal(session, lia, first.query_id, first.doc_id)
    changed(session, lia, first, 50, 0)
    changed(session, lia, second, 51, 0)
    marks = [labels(session, "lia", one.query_id, one.doc_id)[-1].extra.get("revealed") for one in (first, second)]
    assert marks == [True, None]


def test_the_dashboard_counts_a_changed_pair_once_with_all_its_time(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    labels_given = graded(session, ana)
    for number, label in enumerate(labels_given):
        changed(session, ana, label, 50 + number, 0, active_seconds=0.25)
    [row] = compute(session).people
    assert (row.name, row.done, row.open, row.graded, row.history) == ("ana", 3, 3, 3, 0)
    # 4.25 s for the grade and 0.25 s for the change.
    assert (row.seconds, row.timed) == (4.5, 3)


# ---- many at once


def test_many_are_changed_together_and_keep_their_notes_and_evidence(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    given = graded(session, ana, note="nota", evidence=[Span(0, 4)])
    seqs = change_many(session, ana, given[0].query_id, seen(given), answer(50, 0, active_seconds=3))
    assert change_many(session, ana, given[0].query_id, seen(given), answer(50, 0, active_seconds=3)) == seqs
    # Sent again in another order, each seq is still that of its label.
    assert change_many(session, ana, given[0].query_id, seen(given[::-1]), answer(50, 0)) == seqs[::-1]
    now = own_labels(session, ana).labels
    assert [one.seq for one in now] == seqs[::-1]
    assert [(one.relevance, one.note, one.evidence) for one in now] == [(0, "nota", (Span(0, 4),))] * 3
    # 4.25 s each, and a third of the three seconds.
    stored = [labels(session, "ana", one.query_id, one.doc_id) for one in given]
    assert [(len(some), some[-1].extra["changes"], some[-1].extra["active_seconds"]) for some in stored] == [
        (2, one.seq, 5.25) for one in given
    ]
    change_many(session, ana, given[0].query_id, seen(list(now)), answer(51, None, status="unsure", reason="other"))
    change_many(
        session, ana, given[0].query_id, seen(list(own_labels(session, ana).labels)), answer(52, 1, note="nova")
    )
    assert {(one.relevance, one.note) for one in own_labels(session, ana).labels} == {(1, "nova")}


def test_all_are_changed_or_none(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    given = graded(session, ana)
    changed(session, ana, given[0], 50, 0)
    changed(session, ana, given[2], 51, 0)
    with pytest.raises(ConflictError, match="2 of 3 labels") as caught:
        change_many(session, ana, given[0].query_id, seen(given), answer(52, 3))
    assert (caught.value.reason, caught.value.count) == ("changed", 2)
    assert sorted(one.relevance or 0 for one in own_labels(session, ana).labels) == [0, 0, 2]
    assert everything(session) == 5
    # The same nonce for other labels is another change, which is not confirmed.
    assert change_many(session, ana, given[1].query_id, seen([given[1]]), answer(53, 3))
    with pytest.raises(ConflictError) as caught:
        change_many(session, ana, given[1].query_id, seen([given[1], given[0]]), answer(53, 3))
    assert caught.value.reason == "done"
    assert everything(session) == 6


def test_where_evidence_is_required_labels_without_are_not_changed_together(tmp_path: Path) -> None:
    path = collection(tmp_path, annotation={"evidence": "required"})
    with AnnotationSession.open(path) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",))
        without, *_ = graded(session, ana, 1, 0)
        *_, first, second = graded(session, ana, 2, 2, evidence=[Span(0, 4)])
        with pytest.raises(AnswerError) as caught:
            change_many(session, ana, first.query_id, seen([first, without]), answer(50, 3))
        assert caught.value.reason == "evidence_needed"
        assert change_many(session, ana, first.query_id, seen([first, second]), answer(51, 3))
        assert everything(session) == 5


def test_where_evidence_was_switched_off_changed_labels_have_none(tmp_path: Path) -> None:
    path = collection(tmp_path, annotation={"evidence": "optional"})
    with AnnotationSession.open(path) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",))
        graded(session, ana, evidence=[Span(0, 4)])
    path.write_text(path.read_text().replace("evidence: optional", "evidence: 'off'"))
    with AnnotationSession.open(path) as session:
        first, *others = own_labels(session, ana).labels
        changed(session, ana, first, 50, 0)
        change_many(session, ana, first.query_id, seen(others), answer(51, 0))
        for label in (first, *others):
            before, after = labels(session, "ana", label.query_id, label.doc_id)
            assert ("evidence" in before.extra, "evidence" in after.extra) == (True, False)


# ---- what is forged


def test_nobody_changes_another_persons_labels(session: AnnotationSession) -> None:
    ana, bia, lia = token(session, "ana"), token(session, "bia"), token(session, "lia", "lead")
    assigned(session, ("ana", "bia"))
    mine = graded(session, ana)
    graded(session, bia, 1)
    before = everything(session)
    for other in (bia, lia):
        for label in mine:
            with pytest.raises(ConflictError):
                changed(session, other, label, 50, 0)
        with pytest.raises(ConflictError):
            change_many(session, other, mine[0].query_id, seen(mine), answer(51, 0))
    for nobody in (None, "", "another"):
        with pytest.raises(SignedOutError):
            changed(session, nobody, mine[0], 50, 0)  # type: ignore[arg-type]
        with pytest.raises(SignedOutError):
            change_many(session, nobody, mine[0].query_id, seen(mine), answer(51, 0))
    assert everything(session) == before


@pytest.mark.parametrize(
    "forged",
    [
        {"query_id": "q9"}, {"query_id": "\ud800"}, {"query_id": "q0\x00"}, {"query_id": "x" * 10**6},
        {"query_id": None}, {"query_id": ["q0"]}, {"query_id": "q1"},
        {"content_sha": ""}, {"content_sha": "0" * 64}, {"content_sha": None}, {"seq": 0}, {"seq": -1},
        {"seq": 10**30}, {"seq": True}, {"seq": "1 OR 1=1"}, {"seq": None}, {"seq": 1.0},
    ],
)  # fmt: skip
def test_a_forged_label_is_refused_in_one_line_and_nothing_is_written(
    session: AnnotationSession, forged: dict[str, Any]
) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [label] = graded(session, ana, 1)
    one = dataclasses.replace(label, **forged)
    with pytest.raises((AnswerError, ConflictError)) as caught:
        changed(session, ana, one, 50, 0)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    with pytest.raises((AnswerError, ConflictError)):
        change_many(session, ana, one.query_id, seen([one]), answer(50, 0))
    assert everything(session) == 1


@pytest.mark.parametrize(
    "values",
    [
        {"relevance": 4}, {"relevance": None}, {"relevance": True}, {"status": "skipped", "relevance": None},
        {"status": "retracted", "relevance": None}, {"status": ["ok"]}, {"nonce": "short"}, {"nonce": None},
        {"note": "x" * 10_001}, {"active_seconds": -1}, {"status": "unsure", "relevance": None},
        {"evidence": [(0, 10**6)]},
    ],
)  # fmt: skip
def test_a_forged_answer_is_refused_and_nothing_is_written(session: AnnotationSession, values: dict[str, Any]) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [label] = graded(session, ana, 1)
    forged = dataclasses.replace(answer(50), **values)
    with pytest.raises(AnswerError):
        change(session, ana, label.query_id, label.content_sha, label.seq, forged)
    with pytest.raises(AnswerError):
        change_many(session, ana, label.query_id, seen([label]), forged)
    assert everything(session) == 1


@pytest.mark.parametrize("changes", [[], None, "abc", {}, [None], ["ab"], [("x", "1")], [("x", 1, 2)]])
def test_what_is_no_list_of_labels_is_refused(session: AnnotationSession, changes: Any) -> None:
    with pytest.raises(AnswerError):
        change_many(session, token(session, "ana"), "q0", changes, answer(50, 0))


def test_too_many_and_the_same_twice_are_refused(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    [label] = graded(session, ana, 1)
    many = [(label.content_sha, number) for number in range(MOST_CHANGES + 1)]
    with pytest.raises(AnswerError) as caught:
        change_many(session, ana, label.query_id, many, answer(50, 0))
    assert caught.value.reason == "changes_many"
    with pytest.raises(AnswerError, match="twice"):
        change_many(session, ana, label.query_id, [*seen([label]), *seen([label])], answer(50, 0))
    assert everything(session) == 1
