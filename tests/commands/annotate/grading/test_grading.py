"""Grading through the steps: what is given out, what is taken back, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from quati_pool.commands.annotate import similar_passages
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading import next_item as queue
from quati_pool.commands.annotate.grading.answer import LONGEST_NOTE
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.next_item import next_item, progress
from quati_pool.commands.annotate.grading.submission import second_label, submit, undo
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.labels.labelers import Grading
from quati_pool.records import State
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import content_sha
from quati_pool.store.schema import assignments
from tests.commands.annotate.people_at_work import (
    answer,
    assigned,
    collection,
    everything,
    item,
    labels,
    pairs,
    text,
    token,
)
from tests.commands.annotate.revealing import judged
from tests.commands.judged import pair, repool


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """Two queries of three passages each, in the open queue for one person a pair; on both engines."""
    with AnnotationSession.open(collection(tmp_path), made_url) as opened:
        yield opened


@pytest.fixture
def lite(tmp_path: Path, made_sqlite: Path) -> Iterator[AnnotationSession]:
    """The same on SQLite alone, where the engine makes no difference."""
    shutil.copy(made_sqlite, tmp_path / "labels.db")
    with AnnotationSession.open(collection(tmp_path)) as opened:
        yield opened


def done(session: AnnotationSession, mine: str, start: int = 0) -> list[tuple[str, str]]:
    """Grades all there is for somebody; the pairs in their order."""
    seen = []
    while (found := next_item(session, mine)) is not None:
        submit(session, mine, found, answer(start + len(seen)))
        seen.append((found.query_id, found.doc_id))
    return seen


# ---- what is given out


def test_a_person_grades_query_by_query_in_an_order_of_their_own(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, (None, None))
    orders = [done(session, mine, 100 * number) for number, mine in enumerate((ana, bia))]
    for order in orders:
        assert [query_id for query_id, _ in order] == ["q0"] * 3 + ["q1"] * 3
        assert sorted(order) == [(f"q{q}", f"d{d}") for q in range(2) for d in range(3)]
    assert orders[0] != orders[1]
    assert [label.relevance for label in labels(session, "ana", "q0", "d0")] == [2]


def test_an_item_shows_the_texts_and_nothing_of_systems_ranks_or_judges(tmp_path: Path) -> None:
    path = collection(tmp_path)
    (tmp_path / "queries.jsonl").write_text(
        '{"query_id": "q0", "query": "pergunta q0", "narrative": "conta o que explica"}\n'
        '{"query_id": "q1", "query": "pergunta q1"}\n',
        encoding="utf-8",
    )
    path.write_text(path.read_text().replace("queries.tsv", "queries.jsonl"))
    with AnnotationSession.open(path) as session:
        ana = token(session, "ana")
        assigned(session)
        found = item(session, ana)
        number = int(found.doc_id.removeprefix("d"))
        assert (found.kind, found.query, found.text) == ("blind", "pergunta q0", text(number))
        assert found.narrative == "conta o que explica"
        assert found.content_sha == content_sha("pergunta q0", text(number), "conta o que explica")
        fields = {field.name for field in dataclasses.fields(Item)}
        assert fields == {
            "kind", "assignment_id", "training_id", "query_id", "doc_id", "query", "narrative", "text", "content_sha",
            "similar", "shown_at", "skips",
        }  # fmt: skip
        done(session, ana)
        # Those who read labels take one as current whether its query has a narrative or none.
        graded = Grading(session.config, session.store)
        read = [row for some in graded.pairs() for row in graded.labeler("ana").graded(some)]
        assert [row.relevance for row in read] == [2] * 6


def test_the_same_pair_comes_again_until_it_is_answered_also_after_a_restart(tmp_path: Path, made_url: str) -> None:
    path = collection(tmp_path)
    with AnnotationSession.open(path, made_url) as first:
        ana = token(first, "ana")
        assigned(first)
        shown = [item(first, ana) for _ in range(3)]
        submit(first, ana, shown[0], answer(1))
        after = item(first, ana)
    with AnnotationSession.open(path, made_url) as second:
        again = item(second, ana)
    assert len({found.assignment_id for found in shown}) == 1
    assert (again.assignment_id, again.content_sha) == (after.assignment_id, after.content_sha)
    assert after.assignment_id != shown[0].assignment_id


def test_nobody_gets_more_than_their_load_or_what_others_hold(session: AnnotationSession) -> None:
    ana, bia, caio = token(session, "ana"), token(session, "bia"), token(session, "caio")
    assigned(session, load=2)
    first, second, third = (done(session, mine, 10 * n) for n, mine in enumerate((ana, bia, caio)))
    assert [len(first), len(second), len(third)] == [2, 2, 2]
    assert len({*first, *second, *third}) == 6


def test_only_what_nobody_holds_is_given_and_none_is_left_for_the_last(lite: AnnotationSession) -> None:
    ana, bia, caio = token(lite, "ana"), token(lite, "bia"), token(lite, "caio")
    assigned(lite)
    assert (item(lite, ana).query_id, item(lite, bia).query_id) == ("q0", "q1")
    assert next_item(lite, caio) is None
    assert {query_id for query_id, _ in done(lite, ana)} == {"q0"}


@pytest.mark.slow
def test_people_at_once_never_get_the_same_slot(tmp_path: Path, made_url: str) -> None:
    with AnnotationSession.open(collection(tmp_path, pairs(4, 60)), made_url) as session:
        tokens = [token(session, f"person{n}") for n in range(8)]
        assigned(session)
        start = threading.Barrier(8)

        def grade(number: int) -> list[tuple[str, str]]:
            start.wait()
            return done(session, tokens[number], 1000 * number)

        with ThreadPoolExecutor(8) as pool:
            graded = [found for some in pool.map(grade, range(8)) for found in some]
        assert len(graded) == len(set(graded)) == 240
        assert everything(session) == 240


def test_a_lease_that_runs_out_gives_the_pair_to_the_next_and_the_late_answer_is_told(
    session: AnnotationSession,
) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, queries=["q0"])
    held = item(session, ana)
    with session.store.writing() as connection:
        connection.execute(update(assignments).where(assignments.c.holder == "ana").values(leased_until=1.0))
    assert set(done(session, bia)) == {("q0", f"d{d}") for d in range(3)}
    with pytest.raises(ConflictError, match="not yours") as caught:
        submit(session, ana, held, answer(50))
    assert caught.value.reason == "taken"
    assert labels(session, "ana", held.query_id, held.doc_id) == []


def test_coming_back_before_anybody_took_over_renews_the_lease(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, queries=["q0"])
    held = item(session, ana)
    with session.store.writing() as connection:
        connection.execute(update(assignments).where(assignments.c.holder == "ana").values(leased_until=1.0))
    assert item(session, ana).assignment_id == held.assignment_id
    assert next_item(session, bia) is None
    assert submit(session, ana, held, answer(1)).again is False


def test_fixed_slots_wait_for_their_holder_alone(lite: AnnotationSession) -> None:
    ana, bia, caio = token(lite, "ana"), token(lite, "bia"), token(lite, "caio")
    assigned(lite, ("ana", "bia"))
    assert next_item(lite, caio) is None
    assert len(done(lite, ana)) == len(done(lite, bia, 50)) == 6


# ---- a pool that changes


def test_a_pair_that_left_the_pool_is_withdrawn_and_the_next_one_comes(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, queries=["q0"])
    held = item(session, ana)
    repool(session.config.folder, [row for row in pairs() if (row["query_id"], row["doc_id"]) != ("q0", held.doc_id)])
    with pytest.raises(ConflictError, match="left the pool") as caught:
        submit(session, ana, held, answer(1))
    assert caught.value.reason == "withdrawn"
    with pytest.raises(ConflictError) as caught:
        submit(session, ana, held, answer(1))
    assert caught.value.reason == "withdrawn"
    following = item(session, ana)
    assert following.doc_id != held.doc_id
    assert session.assignments.slot(held.assignment_id or 0).state == "withdrawn"  # type: ignore[union-attr]
    assert len(done(session, ana, 5)) == 2


def test_all_that_left_the_pool_with_a_pair_is_withdrawn_at_once(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    assigned(lite, ("ana",))
    shown = item(lite, ana)
    repool(lite.config.folder, pairs(2, 1))
    done(lite, ana)
    rows = [(row.query_id, row.open, row.done) for row in lite.assignments.mine("ana")]
    assert rows == [("q0", 0, 1), ("q1", 0, 1)]
    assert shown.query_id == "q0"


def test_pairs_that_left_before_anybody_held_them_are_never_given(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    assigned(lite)
    repool(lite.config.folder, pairs(1, 2))
    assert sorted(done(lite, ana)) == [("q0", "d0"), ("q0", "d1")]
    rows = {(row.query_id, row.open, row.done) for row in lite.assignments.progress()}
    assert rows == {("q0", 0, 2)}


def test_a_text_that_changed_is_shown_as_it_is_now_and_the_old_one_cannot_be_answered(
    session: AnnotationSession,
) -> None:
    ana = token(session, "ana")
    assigned(session)
    held = item(session, ana)
    changed = [dict(row, text=f"{row['text']} e mais") for row in pairs()]
    repool(session.config.folder, changed)  # type: ignore[arg-type]
    with pytest.raises(ConflictError) as caught:
        submit(session, ana, held, answer(1))
    assert caught.value.reason == "changed"
    now = item(session, ana)
    assert (now.assignment_id, now.text) == (held.assignment_id, f"{held.text} e mais")
    submit(session, ana, now, answer(2))
    [label] = labels(session, "ana", now.query_id, now.doc_id)
    assert label.content_sha == content_sha(now.query, now.text)


def test_an_answer_that_was_stored_is_confirmed_though_the_text_has_changed_since(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    assigned(lite)
    held = item(lite, ana)
    first = submit(lite, ana, held, answer(1))
    repool(lite.config.folder, [dict(row, text="outro") for row in pairs()])  # type: ignore[arg-type]
    again = submit(lite, ana, held, answer(1))
    assert (again.seq, again.again) == (first.seq, True)
    repool(lite.config.folder, [pair("q9", "d9", "x")])
    assert submit(lite, ana, held, answer(1)).again is True
    assert everything(lite) == 1


# ---- what comes back


def test_a_label_says_all_that_is_known_of_it(tmp_path: Path, made_url: str) -> None:
    (tmp_path / "guia.md").write_text("# Guia\n", encoding="utf-8")
    with AnnotationSession.open(collection(tmp_path, annotation={"guidelines": "guia.md"}), made_url) as session:
        ana = token(session, "ana")
        assigned(session)
        shown = item(session, ana)
        outcome = submit(session, ana, shown, answer(1, 3, note="responde\x00 \ud800", highlighted=True))
        [label] = labels(session, "ana", shown.query_id, shown.doc_id)
        assert (label.seq, outcome.again, outcome.feedback, outcome.reveal) == (outcome.seq, False, None, None)
        assert (label.labeler_id, label.kind, label.version) == ("ana", "assessor", session.version)
        assert (label.phase, label.sample, label.status, label.relevance) == ("blind", 1, State.ok, 3)
        assert (label.rationale, label.assignment_id) == ("responde\x00 \ufffd", shown.assignment_id)
        # printf '# Guia\n' | sha256sum
        guidelines = "69cc2dac1ce8978ba7987df0737246b6433f9e4a5631579c7440fc0c04a07616"
        assert label.extra == {
            "reason": None, "active_seconds": 4.25, "elapsed_seconds": 9.5, "highlighted": True,
            "guidelines": guidelines,
            "prompt": None,
        }  # fmt: skip
        (tmp_path / "guia.md").unlink()  # a grade is stored all the same
        submit(session, ana, item(session, ana), answer(2))
        assert everything(session) == 2


def test_an_answer_sent_twice_is_stored_once(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    shown = item(session, ana)
    first, second = submit(session, ana, shown, answer(7)), submit(session, ana, shown, answer(7))
    assert (first.again, second.again, first.seq) == (False, True, second.seq)
    assert everything(session) == 1


def test_the_same_nonce_of_another_person_or_pair_is_another_answer(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session, (None, None))
    for mine in (ana, bia, ana):
        assert submit(session, mine, item(session, mine), answer(7)).again is False
    assert everything(session) == 3


def test_two_tabs_of_one_person_store_one_grade(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    left, right = item(session, ana), item(session, ana)
    submit(session, ana, left, answer(1, 3))
    with pytest.raises(ConflictError) as caught:
        submit(session, ana, right, answer(2, 0))
    assert caught.value.reason == "done"
    assert [label.relevance for label in labels(session, "ana", left.query_id, left.doc_id)] == [3]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"relevance": 4}, "not on the scale; choose one of 0, 1, 2, 3"),
        ({"relevance": -1}, "not on the scale"),
        ({"relevance": None}, "not on the scale"),
        ({"relevance": True}, "not on the scale"),
        ({"relevance": 2.0}, "not on the scale"),
        ({"relevance": "2"}, "not on the scale"),
        ({"status": "retracted", "relevance": None}, "no answer 'retracted'"),
        ({"status": "failed", "relevance": None}, "no answer 'failed'"),
        ({"status": ["ok"]}, "no answer"),
        ({"status": "skipped"}, "has no grade"),
        ({"status": "unsure", "relevance": None}, "no reason 'None'"),
        ({"status": "unsure", "relevance": None, "reason": "bored"}, "no reason 'bored'"),
        ({"status": "unsure", "relevance": None, "reason": "other", "note": "  "}, "needs a note"),
        ({"status": "unsure", "reason": "broken_text"}, "has no grade"),
        ({"reason": "broken_text"}, "needs no reason"),
        ({"note": "x" * (LONGEST_NOTE + 1)}, "shorten it to 10000"),
        ({"note": b"x"}, "not text"),
        ({"nonce": "short"}, "nonce"),
        ({"nonce": "x" * 65}, "nonce"),
        ({"nonce": "has space in it, long"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"active_seconds": math.nan}, "not a duration"),
        ({"elapsed_seconds": math.inf}, "not a duration"),
        ({"elapsed_seconds": 10**400}, "not a duration"),
        ({"active_seconds": -1}, "not a duration"),
        ({"active_seconds": "1"}, "not a duration"),
        ({"highlighted": "yes"}, "on or off"),
    ],
)
def test_a_forged_answer_is_refused_in_one_line_and_nothing_is_written(
    lite: AnnotationSession, changes: dict[str, Any], told: str
) -> None:
    ana = token(lite, "ana")
    assigned(lite)
    shown = item(lite, ana)
    with pytest.raises(AnswerError, match=told) as caught:
        submit(lite, ana, shown, dataclasses.replace(answer(1), **changes))
    assert "\n" not in str(caught.value)
    assert everything(lite) == 0


def test_a_forged_item_is_refused_and_nothing_is_written(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session)
    mine, others = item(session, ana), item(session, bia)
    forged = [
        others,  # another person's
        dataclasses.replace(mine, assignment_id=others.assignment_id),
        dataclasses.replace(mine, query_id=others.query_id, doc_id=others.doc_id),
        dataclasses.replace(mine, doc_id="d9"),
        dataclasses.replace(mine, assignment_id=999_999),
        dataclasses.replace(mine, assignment_id=None),
        dataclasses.replace(mine, assignment_id="1 OR 1=1"),  # type: ignore[arg-type]
        dataclasses.replace(mine, kind="final"),  # type: ignore[arg-type]
        dataclasses.replace(mine, kind="training", training_id=1),
        dataclasses.replace(mine, content_sha="0" * 64),
        dataclasses.replace(others, kind="training", assignment_id=None),
    ]
    for one in forged:
        with pytest.raises((ForbiddenError, ConflictError)):
            submit(session, ana, one, answer(1))
        with pytest.raises((ForbiddenError, ConflictError)):
            second_label(session, ana, one, answer(1))
    assert everything(session) == 0
    # What an item says of the texts is never read.
    submit(session, ana, dataclasses.replace(mine, query="outra", text="outro", narrative="x"), answer(1))
    assert labels(session, "ana", mine.query_id, mine.doc_id)[0].content_sha == mine.content_sha


def test_nothing_is_given_or_taken_without_a_session(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    assigned(lite)
    shown = item(lite, ana)
    lite.people.revoke("ana")
    for nobody in (None, "", "another", ana):
        for call in (
            lambda mine: next_item(lite, mine),
            lambda mine: submit(lite, mine, shown, answer(1)),
            lambda mine: second_label(lite, mine, shown, answer(1)),
            lambda mine: undo(lite, mine),
            lambda mine: progress(lite, mine),
        ):
            with pytest.raises(SignedOutError):
                call(nobody)
    assert everything(lite) == 0


# ---- later, undo, progress


def test_a_skipped_pair_comes_after_the_others_and_stays_to_be_done(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, queries=["q0"])
    late = item(session, ana)
    submit(session, ana, late, answer(1, None, status="skipped"))
    assert progress(session, ana).skipped == 1
    seen = []
    for number in range(2, 4):
        seen.append(item(session, ana))
        submit(session, ana, seen[-1], answer(number))
    last = item(session, ana)
    assert (last.assignment_id, last.skips) == (late.assignment_id, 1)
    assert late.assignment_id not in {found.assignment_id for found in seen}
    submit(session, ana, last, answer(9, None, status="unsure", reason="needs_context"))
    assert next_item(session, ana) is None
    stored = labels(session, "ana", late.query_id, late.doc_id)
    assert [(label.status, label.relevance) for label in stored] == [(State.skipped, None), (State.unsure, None)]
    assert stored[1].extra["reason"] == "needs_context"


def test_undo_brings_the_pair_back_first_and_leaves_no_grade(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assert undo(session, ana) is False
    assigned(session)
    first = item(session, ana)
    submit(session, ana, first, answer(1, 3))
    assert undo(session, ana, "undo-nonce-000000001") is True
    assert undo(session, ana, "undo-nonce-000000001") is True  # sent twice, done once
    assert item(session, ana).assignment_id == first.assignment_id
    told = labels(session, "ana", first.query_id, first.doc_id)
    assert [(label.status, label.relevance) for label in told] == [(State.ok, 3), (State.retracted, None)]
    assert undo(session, ana) is False
    submit(session, ana, item(session, ana), answer(2, 1))
    grading = Grading(session.config, session.store)
    read = {
        (row.query_id, row.doc_id): row.relevance
        for some in grading.pairs()
        for row in grading.labeler("ana").graded(some)
    }
    assert read[first.query_id, first.doc_id] == 1


def test_progress_counts_the_query_and_all(session: AnnotationSession) -> None:
    ana, bia = token(session, "ana"), token(session, "bia")
    assigned(session)
    before = progress(session, ana)
    assert (before.query_total, before.done, before.total, before.free) == (0, 0, None, 6)
    submit(session, ana, item(session, ana), answer(1))
    now = progress(session, ana, item(session, ana))
    assert (now.query_done, now.query_total) == (1, 3)
    assert (now.done, now.total, now.free) == (1, None, 3)
    item(session, bia)
    now = progress(session, ana)
    assert (now.done, now.total, now.free) == (1, 3, 0)


def test_progress_knows_the_whole_where_all_that_is_left_has_a_load(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    assigned(lite, ("bia",), queries=["q0"])  # without a load
    assigned(lite, load=2, queries=["q1"])
    assert (progress(lite, ana).total, progress(lite, ana).about) == (2, 2)
    for number in range(2):
        submit(lite, ana, item(lite, ana), answer(number))
        assert progress(lite, ana).total == 2
    assert next_item(lite, ana) is None


def test_progress_knows_the_whole_where_a_load_is_set(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    assigned(lite, load=4)
    assert progress(lite, ana).total == 4
    done(lite, ana)
    now = progress(lite, ana)
    assert (now.done, now.total) == (4, 4)


def test_leads_count_for_the_share_of_others_once_they_grade(session: AnnotationSession) -> None:
    """Of six pairs that one person each is to grade, everybody who grades does as many."""
    ana = token(session, "ana")
    assigned(session)

    def of_ana() -> tuple[int, int | None]:
        now = progress(session, ana)
        return now.about, now.total

    assert of_ana() == (6, None)  # alone, for as long as nobody else has a code
    lia = token(session, "lia", "lead")
    assert of_ana() == (6, None)  # not 6 / 2
    mine = item(session, lia)  # looks at the page, and so holds the three pairs of a query for a while
    assert progress(session, ana).free == 3
    assert of_ana() == (6, None)
    token(session, "bia")
    assert of_ana() == (3, None)  # 6 / 2: ana and bia
    assert (progress(session, lia).about, progress(session, lia).total) == (4, None)  # the three, and 3 / 3 of the rest
    submit(session, lia, mine, answer(1))
    assert of_ana() == (1, None)  # the three that lia holds are lia's now; 3 / 3 of the rest
    session.people.revoke("lia")
    session.assignments.release("lia")
    assert of_ana() == (3, None)  # five pairs are left for ana and bia
    session.people.revoke("bia")
    assert of_ana() == (5, None)


def test_a_lead_who_was_assigned_pairs_counts_before_grading(lite: AnnotationSession) -> None:
    ana, _ = token(lite, "ana"), token(lite, "lia", "lead")
    assigned(lite, queries=["q0"])
    assert progress(lite, ana).about == 3
    assigned(lite, ("lia",), queries=["q1"])
    assert progress(lite, ana).about == 2  # 3 / 2, rounded up


# ---- alike passages


def test_alike_passages_come_with_ones_own_grade_only(tmp_path: Path, made_url: str) -> None:
    # Of 18 words, 16 shingles; a word more makes 17, of which 16 are shared: 16 / 17.
    near = [pair("q0", "d0", text(1)), pair("q0", "d1", f"{text(1)} fim"), pair("q0", "d2", text(2))]
    with AnnotationSession.open(collection(tmp_path, near), made_url) as session:
        ana, bia = token(session, "ana"), token(session, "bia")
        assigned(session, ("ana", "bia"))
        found: dict[str, list[Any]] = {}
        for number in range(3):
            shown = item(session, bia)
            found[shown.doc_id] = [(one.doc_id, one.similarity, one.grade) for one in shown.similar]
            submit(session, bia, shown, answer(number, 1))
        order = [doc_id for doc_id in found if doc_id != "d2"]
        assert found["d2"] == []
        assert found[order[0]] == [(order[1], pytest.approx(16 / 17), None)]
        assert found[order[1]] == [(order[0], pytest.approx(16 / 17), 1)]
        # Ana has graded nothing yet: bia's grades are not hers.
        for number in range(3):
            shown = item(session, ana)
            if shown.doc_id == "d2":
                submit(session, ana, shown, answer(number, 0))
                continue
            assert [one.grade for one in shown.similar] == [None]
            break


def test_only_passages_of_ones_own_are_alike(lite: AnnotationSession) -> None:
    repool(lite.config.folder, [pair("q0", f"d{n}", "o mesmo texto para todos") for n in range(4)])
    ana = token(lite, "ana")
    assigned(lite, load=2)
    first = item(lite, ana)
    assert [(one.similarity, one.text_start) for one in first.similar] == [(1.0, "o mesmo texto para todos")]


def test_what_is_alike_is_found_again_with_further_passages(
    lite: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "BLOCK", 2)
    repool(lite.config.folder, [pair("q0", f"d{n}", "o mesmo texto para todos") for n in range(4)])
    ana = token(lite, "ana")
    assigned(lite)
    found = []
    for number in range(4):
        shown = item(lite, ana)
        found.append(len(shown.similar))
        submit(lite, ana, shown, answer(number))
    assert found == [1, 1, 3, 3]


def test_among_very_many_passages_only_equal_texts_are_alike(
    lite: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar_passages, "LARGEST", 3)
    same, near = "o mesmo texto para todos", f"{text(1)} fim"
    texts = {"d0": same, "d1": text(1), "d2": near, "d3": same}
    repool(lite.config.folder, [pair("q0", doc_id, passage) for doc_id, passage in texts.items()])
    ana = token(lite, "ana")
    assigned(lite)
    found = {}
    for number in range(4):
        shown = item(lite, ana)
        found[shown.doc_id] = [one.doc_id for one in shown.similar]
        submit(lite, ana, shown, answer(number))
    assert found == {"d0": ["d3"], "d1": [], "d2": [], "d3": ["d0"]}


# ---- training


def test_training_comes_first_is_explained_and_never_counts(session: AnnotationSession) -> None:
    lead, ana = token(session, "lia", "lead"), token(session, "ana")
    assigned(session)
    made = [session.training.add("q1", doc_id, 1, f"porque {doc_id}", "lia") for doc_id in ("d0", "d2")]
    first = item(session, ana)
    assert (first.kind, first.training_id, first.assignment_id, first.query_id) == ("training", made[0], None, "q1")
    assert progress(session, ana).training == 2
    put_off = submit(session, ana, first, answer(1, None, status="skipped"))
    assert put_off.feedback is None
    second = item(session, ana)
    assert second.training_id == made[1]
    outcome = submit(session, ana, second, answer(2, 3))
    assert outcome.feedback is not None
    assert (outcome.feedback.relevance, outcome.feedback.explanation) == (1, "porque d2")
    assert submit(session, ana, second, answer(2, 3)).again is True
    with pytest.raises(ConflictError) as caught:
        submit(session, ana, second, answer(3, 1))
    assert caught.value.reason == "done"
    again = item(session, ana)
    assert again.training_id == made[0]
    submit(session, ana, again, answer(4, 1))
    assert item(session, ana).kind == "blind"
    assert progress(session, ana).training == 0
    assert undo(session, ana) is False  # the known grade was shown
    [label] = labels(session, "ana", "q1", "d2")
    assert (label.phase, label.relevance, label.extra["known"]) == ("training", 3, 1)
    # No grade of ana's counts yet.
    grading = Grading(session.config, session.store)
    read = [row for some in grading.pairs() for row in grading.labeler("ana").graded(some)]
    assert {row.status for row in read} == {None}
    # Who knows the answer does not practise.
    assert item(session, lead).kind == "blind"


def test_training_that_was_dropped_meanwhile_is_told(lite: AnnotationSession) -> None:
    ana = token(lite, "ana")
    made = lite.training.add("q1", "d0", 1, "porque", "lia")
    shown = item(lite, ana)
    lite.training.drop(made)
    with pytest.raises(ConflictError) as caught:
        submit(lite, ana, shown, answer(1))
    assert caught.value.reason == "gone"
    assert next_item(lite, ana) is None
    assert everything(lite) == 0


# ---- reveal


def test_the_judge_is_revealed_after_the_blind_label_which_then_stays(tmp_path: Path, made_url: str) -> None:
    path = collection(tmp_path, judges={"lexical": {"judge": "lexical"}}, annotation={"reveal": "lexical"})
    with AnnotationSession.open(path, made_url) as session:
        assert session.revealed is not None
        judged(session.store, str(session.revealed.version), {("q0", f"d{d}"): d for d in range(3)})
        ana = token(session, "ana")
        assigned(session)
        shown = item(session, ana)
        with pytest.raises(ForbiddenError, match="grade it first"):
            second_label(session, ana, shown, answer(1, 3))
        outcome = submit(session, ana, shown, answer(1, 3))
        grade = int(shown.doc_id.removeprefix("d"))
        assert outcome.reveal is not None
        assert (outcome.reveal.name, outcome.reveal.grade) == ("lexical", grade)
        assert outcome.reveal.reasoning == f"nota {grade} para {shown.doc_id}"
        with pytest.raises(ForbiddenError, match="first one stays"):
            undo(session, ana)
        seq = second_label(session, ana, shown, answer(2, grade))
        assert second_label(session, ana, shown, answer(2, grade)) == seq
        with pytest.raises(AnswerError):
            second_label(session, ana, shown, answer(3, None, status="skipped"))
        blind, second = labels(session, "ana", shown.query_id, shown.doc_id)
        assert (blind.phase, blind.relevance, blind.seq) == ("blind", 3, outcome.seq)
        assert (second.phase, second.relevance, second.seq) == ("revealed", grade, seq)
        grading = Grading(session.config, session.store)
        read = {
            row.doc_id: row.relevance
            for some in grading.pairs()
            for row in grading.labeler("ana").graded(some)
            if row.query_id == "q0"
        }
        assert read[shown.doc_id] == 3
        # Nothing is revealed of what is put off, or where the judge has no grade.
        assert submit(session, ana, item(session, ana), answer(4, None, status="skipped")).reveal is None
        assert undo(session, ana) is True
        for number in (5, 6):
            assert submit(session, ana, item(session, ana), answer(number)).reveal is not None
        other = item(session, ana)
        assert other.query_id == "q1"
        assert submit(session, ana, other, answer(7)).reveal is None
        with pytest.raises(ForbiddenError):
            second_label(session, ana, other, answer(8))
        assert undo(session, ana) is True


def test_a_consensus_is_revealed_with_each_members_reasons(tmp_path: Path) -> None:
    judges = {
        "one": {"judge": "lexical"}, "two": {"judge": "lexical", "language": "en"},
        "both": {"consensus": ["one", "two"], "method": "mean"},
    }  # fmt: skip
    with AnnotationSession.open(collection(tmp_path, judges=judges, annotation={"reveal": "both"})) as session:
        for name, grade in (("one", 3), ("two", 1)):
            version = str(session.grading.labeler(name).version)
            judged(session.store, version, {("q0", f"d{d}"): grade for d in range(3)}, name)
        ana = token(session, "ana")
        assigned(session)
        shown = item(session, ana)
        reveal = submit(session, ana, shown, answer(1)).reveal
        assert reveal is not None
        assert reveal.grade == 2
        assert reveal.reasoning == f"one: nota 3 para {shown.doc_id}\n\ntwo: nota 1 para {shown.doc_id}"


def test_a_version_that_was_raised_makes_history_of_grades(tmp_path: Path) -> None:
    path = collection(tmp_path)
    with AnnotationSession.open(path) as session:
        ana = token(session, "ana")
        assigned(session)
        submit(session, ana, item(session, ana), answer(1))
        before = session.version
    path.write_text(path.read_text() + "annotation: {version: 2}\n")
    with AnnotationSession.open(path) as session:
        assert session.version != before
        submit(session, ana, item(session, ana), answer(2))
        grading = Grading(session.config, session.store)
        read = [row.relevance for some in grading.pairs() for row in grading.labeler("ana").graded(some)]
        assert sum(grade is not None for grade in read) == 1


def test_a_block_is_all_that_is_taken_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "BLOCK", 2)
    with AnnotationSession.open(collection(tmp_path, pairs(1, 5))) as session:
        ana, bia = token(session, "ana"), token(session, "bia")
        assigned(session)
        item(session, ana)
        item(session, bia)
        rows = {row.holder: row.open for row in session.assignments.progress()}
        assert rows == {"ana": 2, "bia": 2, None: 1}
