"""In which order people get queries: a design's stored order, or one that begins elsewhere for each person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quati_pool.annotation.presentation_order import first_query
from quati_pool.commands.annotate.assigning.assign import assign
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.grading.next_item import next_item
from quati_pool.commands.annotate.grading.submission import submit
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.records import Design, Method, NewSlot, Selection
from tests.commands.annotate.people_at_work import answer, assigned, collection, pairs, token

DRAWN = ["q3", "q0", "q4", "q1", "q2"]
DOCS = 2
PEOPLE = [f"p{number}" for number in range(12)]


@pytest.fixture
def session(tmp_path: Path, made_url: str) -> Iterator[AnnotationSession]:
    """Seven queries of two passages each; on both engines."""
    with AnnotationSession.open(collection(tmp_path, pairs(7, DOCS)), made_url) as opened:
        yield opened


def drawn(
    session: AnnotationSession,
    queries: Sequence[str] = DRAWN,
    method: Method = "random-queries",
    order: str | None = None,
    holders: Sequence[str | None] = (None,),
) -> int:
    """A design of these queries in this order, written by hand."""
    ids = [(query_id, f"d{d}", place) for place, query_id in enumerate(queries, 1) for d in range(DOCS)]
    # Not in the order in which they are to be served.
    slots = [NewSlot(*one, n, place, holder) for *one, place in sorted(ids) for n, holder in enumerate(holders, 1)]
    chosen = [Selection(query_id, doc_id, "all", 5 / 7, len(holders)) for query_id, doc_id, _ in ids]
    parameters = {} if order is None else {"order": order}
    design = Design(method=method, seed=0, frame_sha="f00d", frame_pairs=14, parameters=parameters)
    return session.designs.create(design, chosen, slots)


def queries_of(session: AnnotationSession, name: str, count: int | None = None) -> list[str]:
    """The queries that somebody gets, each once, as they grade so many pairs, or all."""
    mine = f"token-of-{name}"
    seen: list[str] = []
    number = 0
    while number != count and (shown := next_item(session, mine)) is not None:
        submit(session, mine, shown, answer(number))
        number += 1
        if shown.query_id not in seen[-1:]:
            seen.append(shown.query_id)
    return seen


@pytest.mark.parametrize(("method", "order"), [("random-queries", None), ("queries", "stored")])
def test_everybody_gets_the_queries_in_the_stored_order(
    session: AnnotationSession, method: Method, order: str | None
) -> None:
    drawn(session, method=method, order=order, holders=(None,) * 4)
    for name in PEOPLE[:4]:
        token(session, name)
        assert queries_of(session, name) == DRAWN


def test_queries_that_are_completed_at_any_time_come_first_in_the_stored_order(session: AnnotationSession) -> None:
    """Three people share the pairs, one at a time in turn; no query is begun before an earlier one was given out."""
    drawn(session)
    tokens = [token(session, name) for name in PEOPLE[:3]]
    begun: list[str] = []
    for number in range(3 * 2 * DOCS):
        shown = next_item(session, tokens[number % 3])
        if shown is not None:
            submit(session, tokens[number % 3], shown, answer(number))
            if shown.query_id not in begun:
                begun.append(shown.query_id)
    assert begun == DRAWN


def test_slots_given_to_people_come_in_the_stored_order(session: AnnotationSession) -> None:
    drawn(session, holders=PEOPLE[:3])
    for name in PEOPLE[:3]:
        token(session, name)
        assert queries_of(session, name) == DRAWN


def test_other_designs_rotate_the_order_by_person(session: AnnotationSession) -> None:
    listed = [f"q{q}" for q in range(7)]
    assigned(session, (None,) * len(PEOPLE), order=None)
    starts = set()
    for name in PEOPLE:
        token(session, name)
        seen = queries_of(session, name)
        first = int(first_query(session.config.seed, name) * 7)
        assert seen == listed[first:] + listed[:first]
        starts.add(first)
    assert len(starts) > 4


def test_every_query_is_done_by_somebody_of_a_collection_that_is_stopped_early(session: AnnotationSession) -> None:
    """12 people grade two queries each of seven, which in one order for all would be the first two."""
    assigned(session, (None,) * len(PEOPLE), order=None)
    done = set()
    for name in PEOPLE:
        token(session, name)
        done.update(queries_of(session, name, 2 * DOCS))
    assert done == {f"q{q}" for q in range(7)}


def test_a_stored_order_comes_before_other_designs(session: AnnotationSession) -> None:
    assigned(session, (None,), order=None, queries=["q5", "q6", "q0"])
    drawn(session)
    token(session, "p0")
    seen = queries_of(session, "p0")
    # Of q0 the other design had slots too; she has one of each pair.
    assert seen[:5] == DRAWN
    assert set(seen[5:]) == {"q5", "q6"}


def test_where_only_another_designs_slots_of_a_query_are_left_it_waits_for_the_stored_order(
    session: AnnotationSession,
) -> None:
    drawn(session)
    assigned(session, (None,), order=None, queries=["q3"])
    token(session, "p0"), token(session, "p1")
    assert queries_of(session, "p0", DOCS) == ["q3"]
    assert queries_of(session, "p1") == ["q0", "q4", "q1", "q2", "q3"]


def test_of_two_stored_orders_the_older_comes_first(session: AnnotationSession) -> None:
    drawn(session, ["q6", "q2"])
    drawn(session, ["q1", "q5"], "queries", "stored")
    token(session, "p0")
    assert queries_of(session, "p0") == ["q6", "q2", "q1", "q5"]


def test_assign_to_people_rotates_too(tmp_path: Path) -> None:
    config = collection(tmp_path, pairs(7, DOCS))
    with AnnotationSession.open(config) as session:
        for name in PEOPLE:
            token(session, name)
    assign(config, AssignOptions(everything=True, overlap=len(PEOPLE), to=PEOPLE))
    with AnnotationSession.open(config) as session:
        orders = {name: queries_of(session, name) for name in PEOPLE}
    whole = orders["p0"] * 2
    for name, order in orders.items():
        at = whole.index(order[0])
        assert order == whole[at : at + 7], name
    assert len({order[0] for order in orders.values()}) > 4
