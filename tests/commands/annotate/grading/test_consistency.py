"""Repeats and gold pairs: when they come, to whom, that they look like any pair, and that nobody's grades hold them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from quati_pool.annotation.interleaving import block_due, block_size
from quati_pool.commands.annotate.assigning.training_file import add_pairs
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.next_item import next_item, progress
from quati_pool.commands.annotate.grading.pace import pace
from quati_pool.commands.annotate.grading.submission import submit, undo
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.labels.labelers import Grading
from quati_pool.project.config import load_config
from quati_pool.store.errors import ConflictError
from tests.commands.annotate.people_at_work import answer, assigned, collection, item, labels, pairs, text, token
from tests.commands.judged import pair, repool

QUERIES, DOCS = 6, 10


def opened(folder: Path, url: str | None = None, **annotation: Any) -> AnnotationSession:
    return AnnotationSession.open(collection(folder, pairs(QUERIES, DOCS), annotation=annotation), url)


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """60 pairs, a repeat in every 5 answers; on both engines."""
    with opened(tmp_path, made_url, repeats=0.2) as made:
        yield made


def graded(session: AnnotationSession, mine: str, count: int | None = None, start: int = 0) -> list[Item]:
    """Grades so many items, or all."""
    seen: list[Item] = []
    while len(seen) != count and (shown := next_item(session, mine)) is not None:
        submit(session, mine, shown, answer(start + len(seen), (start + len(seen)) % 4))
        seen.append(shown)
    return seen


def until(session: AnnotationSession, mine: str, kind: str) -> Item:
    """Grades until such an item comes; it is not answered yet."""
    for number in range(200):
        shown = item(session, mine)
        if shown.kind == kind:
            return shown
        submit(session, mine, shown, answer(number, number % 4))
    raise AssertionError(f"no {kind} in 200 items")


def ids(shown: Item) -> tuple[str, str]:
    return shown.query_id, shown.doc_id


def add_gold(session: AnnotationSession, *chosen: tuple[str, str], relevance: int = 1, by: str = "assign") -> None:
    for query_id, doc_id in chosen:
        session.training.add(query_id, doc_id, relevance, "", by, gold=True)


# ---- repeats


def test_one_repeat_comes_in_each_block_at_its_place(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    seen = graded(session, ana)
    kinds = Counter(shown.kind for shown in seen)
    # 60 answers; blocks of 5 begin with the 11th, after which the first pair may come again: 10 blocks, the last one
    # of 4 answers, so that its repeat may not come; none comes when nothing is left.
    assert kinds["blind"] == 60
    expected = []
    given: set[int] = set()
    for answers in range(60):
        block = block_due("repeats", 0, "ana", answers - 11, 5)
        if block is not None and block not in given:
            given.add(block)
            expected.append(answers)
    found, answers = [], 0
    for shown in seen:
        if shown.kind == "repeat":
            found.append(answers)
        answers += shown.kind == "blind"
    assert found == expected
    assert len(found) >= 9


def test_what_comes_again_was_graded_ten_answers_ago_and_is_of_another_query(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    first: dict[tuple[str, str], int] = {}
    answers = 0
    again: list[tuple[str, str]] = []
    for number, shown in enumerate(graded(session, ana)):
        if shown.kind == "blind":
            first[ids(shown)] = answers
            answers += 1
            query_id = shown.query_id
        else:
            assert answers - first[ids(shown)] > 10
            if answers > 20:  # then there is a pair of another query
                assert shown.query_id != query_id or number == 0
            again.append(ids(shown))
    assert len(again) == len(set(again))


def test_a_repeat_looks_like_any_pair(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    shown = until(session, ana, "repeat")
    blind = labels(session, "ana", *ids(shown))[0]
    number = 100 * int(shown.query_id[1:]) + int(shown.doc_id[1:])
    assert (shown.text, shown.content_sha, shown.similar, shown.skips) == (text(number), blind.content_sha, [], 0)
    assert shown.training_id is None
    assert shown.assignment_id not in (None, blind.assignment_id)


def test_a_repeat_is_the_same_after_a_reload_and_on_another_server(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    shown = until(session, ana, "repeat")
    other = AnnotationSession(session.config, session.store)
    for each in (session, other):
        assert dataclasses.replace(item(each, ana), shown_at=0) == dataclasses.replace(shown, shown_at=0)


def test_pages_at_once_get_one_repeat(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    with ThreadPoolExecutor(4) as threads:
        for number in range(25):
            shown = list(threads.map(lambda _: item(session, ana), range(4)))
            submit(session, ana, shown[number % 4], answer(number))
    repeats = session.assignments.repeats("ana")
    assert len({slot.replicate for slot in repeats}) == len(repeats) >= 2


def test_a_repeats_label_is_never_a_grade_and_names_the_label_that_counted(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    shown = until(session, ana, "repeat")
    [first] = labels(session, "ana", *ids(shown))
    other = (int(first.relevance or 0) + 1) % 4
    outcome = submit(session, ana, shown, answer(1000, other))
    assert (outcome.reveal, outcome.feedback) == (None, None)
    blind, again = labels(session, "ana", *ids(shown))
    assert (again.phase, again.relevance, again.extra["repeats"]) == ("repeat", other, blind.seq)
    grading = Grading(session.config, session.store)
    read = {(row.query_id, row.doc_id): row.relevance for some in grading.pairs()
            for row in grading.labeler("ana").graded(some)}  # fmt: skip
    assert read[ids(shown)] == first.relevance
    assert submit(session, ana, shown, answer(1000, other)).again


def test_a_repeat_that_is_put_off_comes_last(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session, ("ana",))
    shown = until(session, ana, "repeat")
    later = answer(1000, None, status="skipped")
    submit(session, ana, shown, later)
    assert submit(session, ana, shown, later).again
    rest = [ids(one) for one in graded(session, ana, start=2000)]
    assert rest.count(ids(shown)) == 1
    assert rest[-1] == ids(shown)


def test_a_repeat_is_undone_like_any_pair(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    shown = until(session, ana, "repeat")
    for status, grade in (("ok", 3), ("skipped", None)):
        submit(session, ana, shown, answer(1000 + len(status), grade, status=status))
        assert item(session, ana).kind == "blind"
        assert undo(session, ana)
        assert dataclasses.replace(item(session, ana), shown_at=0) == dataclasses.replace(shown, shown_at=0)
    submit(session, ana, shown, answer(1100, 1))
    assert [label.status for label in labels(session, "ana", *ids(shown))] == [
        "ok", "ok", "retracted", "skipped", "retracted", "ok"
    ]  # fmt: skip


def test_an_undone_pair_comes_before_a_repeat(session: AnnotationSession) -> None:
    ana = token(session, "ana")
    assigned(session)
    shown = until(session, ana, "repeat")
    assert undo(session, ana)
    before = item(session, ana)
    assert before.kind == "blind"
    submit(session, ana, before, answer(1000))
    assert item(session, ana).assignment_id == shown.assignment_id


def test_no_figure_of_the_progress_shows_a_repeat_or_a_gold_pair(tmp_path: Path, made_url: str) -> None:
    with opened(tmp_path, made_url, repeats=0.2, gold=0.1) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",), queries=["q0", "q1", "q2", "q3"])
        add_gold(session, ("q4", "d0"), ("q4", "d1"), ("q5", "d0"))
        counts, kinds = [], Counter[str]()
        for number in range(200):
            shown = next_item(session, ana)
            now = progress(session, ana, shown)
            counts.append((now.done, now.total, pace(session, ana).today))
            if shown is None:
                break
            assert now.query_total == 0
            submit(session, ana, shown, answer(number, number % 4))
            kinds[shown.kind] += 1
        # 40 pairs; repeats are due in the blocks of 5 after the 11th answer; of 4 blocks' gold pairs there are 3.
        assert (kinds["blind"], kinds["gold"]) == (40, 3)
        assert kinds["repeat"] >= 5
        whole = kinds.total()
        assert counts == [(done, whole, done) for done in range(whole + 1)]


def test_only_grades_come_again_and_only_of_unchanged_texts(tmp_path: Path) -> None:
    with opened(tmp_path, repeats=0.5) as session:
        ana = token(session, "ana")
        assigned(session)
        for number in range(20):
            cannot = number % 2 == 0
            given = answer(number, None, status="unsure", reason="needs_context") if cannot else answer(number, 2)
            shown = item(session, ana)
            if shown.kind == "repeat":
                given = answer(number, None, status="skipped")
            submit(session, ana, shown, given)
        changed = [pair(f"q{q}", f"d{d}", text(100 * q + d) + (" novo" if q == 0 else ""))
                   for q in range(QUERIES) for d in range(DOCS)]  # fmt: skip
        repool(tmp_path, changed)
    with AnnotationSession.open(tmp_path / "pool.yaml") as session:
        before = len(session.assignments.repeats("ana"))
        graded(session, ana, 20, start=1000)
        repeats = session.assignments.repeats("ana")[before:]
        assert repeats
        for slot in repeats:
            [first, *_] = labels(session, "ana", slot.query_id, slot.doc_id)
            assert (first.status, slot.query_id != "q0") == ("ok", True)


def test_nothing_comes_again_by_default(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        ana = token(session, "ana")
        assigned(session)
        assert {shown.kind for shown in graded(session, ana)} == {"blind"}
        assert all(design.method != "repeats" for design in session.designs.all())


def test_what_a_browser_says_about_the_kind_decides_nothing(session: AnnotationSession) -> None:
    """A page knows a slot's number only."""
    ana = token(session, "ana")
    assigned(session)
    shown = until(session, ana, "repeat")
    submit(session, ana, dataclasses.replace(shown, kind="blind"), answer(1000))
    assert [label.phase for label in labels(session, "ana", *ids(shown))] == ["blind", "repeat"]


# ---- gold pairs

GOLD = [("q0", "d3"), ("q3", "d4"), ("q5", "d9")]


@pytest.fixture
def golden(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """60 pairs, of which three are gold and not assigned; a gold pair in every 10 answers; on both engines."""
    rows = [*pairs(QUERIES, DOCS), *[pair(f"g{number}", "d0", text(1000 + number)) for number in range(3)]]
    config = collection(tmp_path, rows, annotation={"gold": 0.1})
    with AnnotationSession.open(config, made_url) as made:
        add_gold(made, ("g0", "d0"), ("g1", "d0"), ("g2", "d0"))
        assigned(made, queries=[f"q{q}" for q in range(QUERIES)])
        yield made


def test_gold_pairs_come_once_each_among_the_others(golden: AnnotationSession) -> None:
    ana = token(golden, "ana")
    assert progress(golden, ana).training == 0
    seen = graded(golden, ana)
    kinds = [shown.kind for shown in seen]
    assert Counter(kinds) == {"blind": 60, "gold": 3}
    places = [kinds[:place].count("blind") for place, kind in enumerate(kinds) if kind == "gold"]
    # One in each block of ten until none is left.
    assert [place // 10 for place in places] == [0, 1, 2]
    due = [
        next(n for n in range(60) if block_due("gold", 0, "ana", n, block_size(0.1)) == block) for block in (1, 2, 3)
    ]
    assert places == due
    assert next_item(golden, ana) is None


def test_a_gold_pair_looks_like_any_pair_and_nothing_follows_it(golden: AnnotationSession) -> None:
    ana = token(golden, "ana")
    shown = until(golden, ana, "gold")
    assert (shown.text, shown.assignment_id) == (text(1000 + int(shown.query_id[1:])), None)
    outcome = submit(golden, ana, dataclasses.replace(shown, kind="training"), answer(1000, 3))
    assert (outcome.feedback, outcome.reveal, outcome.again) == (None, None, False)
    [label] = labels(golden, "ana", *ids(shown))
    assert (label.phase, label.relevance, label.extra["known"]) == ("training", 3, 1)
    assert label.extra["training_id"] == shown.training_id
    assert submit(golden, ana, shown, answer(1000, 3)).again
    with pytest.raises(ConflictError) as caught:
        submit(golden, ana, shown, answer(1001, 2))
    assert caught.value.reason == "done"
    grading = Grading(golden.config, golden.store)
    graded_pairs = {(row.query_id, row.doc_id) for some in grading.pairs()
                    for row in grading.labeler("ana").graded(some) if row.relevance is not None}  # fmt: skip
    assert ids(shown) not in graded_pairs


def test_a_gold_pair_is_undone_and_put_off_like_any_pair(golden: AnnotationSession) -> None:
    ana = token(golden, "ana")
    shown = until(golden, ana, "gold")
    submit(golden, ana, shown, answer(1000, 3))
    assert item(golden, ana).kind == "blind"
    assert undo(golden, ana, "nonce-undo-00000001")
    assert undo(golden, ana, "nonce-undo-00000001")
    assert dataclasses.replace(item(golden, ana), shown_at=0) == dataclasses.replace(shown, shown_at=0)
    submit(golden, ana, shown, answer(1001, None, status="skipped"))
    assert item(golden, ana).kind == "blind"
    later = until(golden, ana, "gold")
    assert ids(later) != ids(shown)
    # Two undos in a row: of the pair before it.
    submit(golden, ana, later, answer(1002, 0))
    assert undo(golden, ana)
    assert ids(item(golden, ana)) == ids(later)
    assert undo(golden, ana)
    assert item(golden, ana).kind == "blind"


def test_what_was_put_off_comes_after_the_others(golden: AnnotationSession) -> None:
    ana = token(golden, "ana")
    first = until(golden, ana, "gold")
    submit(golden, ana, first, answer(1000, None, status="skipped"))
    rest = [ids(shown) for shown in graded(golden, ana, start=2000) if shown.kind == "gold"]
    assert len(rest) == 3
    assert rest[-1] == ids(first)


def test_a_gold_pair_put_off_is_asked_at_the_end_and_the_total_stays(tmp_path: Path) -> None:
    with opened(tmp_path, gold=0.2, repeats=0.2) as session:
        ana = token(session, "ana")
        assigned(session, ("ana",), queries=["q0", "q1"])
        add_gold(session, ("q3", "d0"), ("q3", "d1"))
        totals: list[int | None] = []
        put_off: list[tuple[str, str]] = []
        waiting: set[tuple[str, str]] = set()
        for number in range(100):
            shown = next_item(session, ana)
            totals.append(progress(session, ana, shown).total)
            if shown is None:
                break
            later = shown.kind in ("gold", "repeat") and ids(shown) not in put_off
            if later:
                put_off.append(ids(shown))
                waiting.add(ids(shown))
                submit(session, ana, shown, answer(number, None, status="skipped"))
            else:
                waiting.discard(ids(shown))
                submit(session, ana, shown, answer(number, 1))
            assert progress(session, ana).skipped == len(waiting)
        assert len(put_off) >= 3
        now = progress(session, ana)
        assert (now.done, now.skipped) == (now.total, 0)
        assert set(totals) == {now.total}


def test_gold_pairs_taken_back_come_again_in_turn(golden: AnnotationSession) -> None:
    ana = token(golden, "ana")
    until(golden, ana, "gold")
    seen = graded(golden, ana, 25, start=2000)
    assert sum(shown.kind == "gold" for shown in seen) >= 2
    total = progress(golden, ana).total
    for shown in reversed(seen):
        assert undo(golden, ana)
        assert ids(item(golden, ana)) == ids(shown)
    assert progress(golden, ana).total == total
    again = graded(golden, ana, 25, start=3000)
    assert [ids(shown) for shown in again] == [ids(shown) for shown in seen]
    for shown in seen:
        if shown.kind == "gold":
            given = [label.extra["block"] for label in labels(golden, "ana", *ids(shown))]
            assert given == [given[0]] * 3


def test_neither_check_comes_where_a_judges_grade_is_shown_after_the_others(tmp_path: Path) -> None:
    revealing: dict[str, Any] = {"judges": {"lexical": {"judge": "lexical"}}}
    with pytest.raises(InputError, match="repeat their own; set reveal: or repeats:, not both"):
        load_config(
            collection(tmp_path / "r", pairs(1, 1), **revealing, annotation={"reveal": "lexical", "repeats": 0.1})
        )
    config = collection(
        tmp_path / "g", pairs(QUERIES, DOCS), **revealing, annotation={"reveal": "lexical", "gold": 0.5}
    )
    (tmp_path / "gold.tsv").write_text("query_id\tdoc_id\trelevance\nq3\td0\t1\n", encoding="utf-8")
    with AnnotationSession.open(config) as session:
        with pytest.raises(QuatiPoolError, match="people would know gold pairs"):
            add_pairs(session, tmp_path / "gold.tsv", gold=True, by="lia")
        add_gold(session, ("q3", "d0"))  # added before reveal: was
        ana = token(session, "ana")
        assigned(session, queries=["q0"])
        seen = graded(session, ana)
        assert {shown.kind for shown in seen} == {"blind"}
        assert progress(session, ana).total == len(seen)


def test_a_pair_is_no_gold_for_those_whom_its_free_slots_need(tmp_path: Path, made_url: str) -> None:
    with opened(tmp_path, made_url, gold=0.5) as session:
        ana, bia = token(session, "ana"), token(session, "bia")
        assigned(session, ("ana",), queries=["q0"])
        assigned(session, ("bia",), queries=["q1"])
        assigned(session, (None, None), queries=["q2"])
        add_gold(session, *((f"q{query}", f"d{doc}") for query in (2, 3) for doc in range(2)))
        # Without cai, both are needed for each pair of q2.
        assert {ids(one)[0] for one in graded(session, ana, 12) if one.kind == "gold"} == {"q3"}
        cai = token(session, "cai")
        gold = [ids(one) for one in graded(session, bia, 14, start=1000) if one.kind == "gold"]
        assert sorted(gold) == [("q2", "d0"), ("q2", "d1"), ("q3", "d0"), ("q3", "d1")]
        # Now ana and cai are needed for these.
        for mine, start in ((ana, 2000), (cai, 3000)):
            assert "q2" not in {ids(one)[0] for one in graded(session, mine, start=start) if one.kind == "gold"}
        assert session.assignments.free_pairs("cai") == 0


def test_people_do_not_get_what_they_wrote_graded_hold_or_practised(tmp_path: Path) -> None:
    with opened(tmp_path, gold=0.5) as session:
        assigned(session, ("ana",), queries=["q0"])
        assigned(session, queries=["q1"])
        ana, bia = token(session, "ana"), token(session, "bia")
        session.training.add("q2", "d0", 3, "practice", "lia")
        practice = item(session, ana)
        assert practice.kind == "training"
        submit(session, ana, practice, answer(1, 3))
        # Ana holds q0, wrote q2 d1 and practised on q2 d0.
        add_gold(session, ("q0", "d3"), ("q2", "d0"), ("q2", "d2"))
        add_gold(session, ("q2", "d1"), by="ana")
        seen = graded(session, ana, start=100)
        assert {ids(shown) for shown in seen if shown.kind == "gold"} == {("q2", "d2")}
        assert len(seen) == 21
        assert next_item(session, bia) is None


def test_who_answered_a_gold_pair_gets_no_slot_of_it(tmp_path: Path, made_url: str) -> None:
    with opened(tmp_path, made_url, gold=0.5) as session:
        assigned(session, queries=["q0"])
        ana, bia = token(session, "ana"), token(session, "bia")
        add_gold(session, ("q3", "d4"))
        shown = until(session, ana, "gold")
        submit(session, ana, shown, answer(1000))
        # A later design has the pair for anybody, and another one gives it to her.
        assigned(session, queries=["q3"])
        assigned(session, ("ana",), queries=["q4"])
        seen = graded(session, ana, start=2000)
        assert len({ids(one) for one in seen if one.query_id == "q3"} - {("q3", "d4")}) == DOCS - 1
        assert ("q3", "d4") not in [ids(one) for one in seen]
        now = progress(session, ana)
        assert now.free == 0
        assert [ids(one) for one in graded(session, bia, start=3000)] == [("q3", "d4")]


def test_a_gold_pair_given_for_good_returns_to_the_queue_once_answered(tmp_path: Path) -> None:
    with opened(tmp_path, gold=0.5) as session:
        assigned(session, queries=["q0"])
        ana, bia = token(session, "ana"), token(session, "bia")
        add_gold(session, ("q3", "d4"))
        submit(session, ana, until(session, ana, "gold"), answer(1000))
        assigned(session, ("ana",), queries=["q3"])
        seen = [ids(one) for one in graded(session, ana, start=2000)]
        assert ("q3", "d4") not in seen
        assert sum(query_id == "q3" for query_id, _ in seen) == DOCS - 1
        assert [ids(one) for one in graded(session, bia, start=3000)] == [("q3", "d4")]


def test_no_gold_pair_comes_without_gold_pairs_or_without_a_rate(tmp_path: Path) -> None:
    with opened(tmp_path, gold=0) as session:
        assigned(session, queries=["q0"])
        add_gold(session, ("q3", "d4"))
        assert {shown.kind for shown in graded(session, token(session, "ana"))} == {"blind"}


def test_a_gold_pair_that_left_the_pool_is_not_shown(golden: AnnotationSession, tmp_path: Path) -> None:
    repool(tmp_path, pairs(QUERIES, DOCS))
    with AnnotationSession(golden.config, golden.store) as session:
        assert {shown.kind for shown in graded(session, token(session, "ana"), 30)} == {"blind"}
