"""What was revealed to whom is recorded once and by collection."""

from __future__ import annotations

from sqlalchemy import select

from quati_pool.store.database import Store
from quati_pool.store.reveals import Reveals
from quati_pool.store.schema import reveals


def test_reveals_are_of_a_person_a_collection_and_a_query(store: Store) -> None:
    mine = Reveals(store, "pira")
    mine.add("lia", [("q1", "d1"), ("q1", "d2"), ("q2", "d1")])
    assert mine.of("lia") == {("q1", "d1"), ("q1", "d2"), ("q2", "d1")}
    assert mine.of("lia", "q2") == {("q2", "d1")}
    assert mine.of("eva") == frozenset()
    assert Reveals(store, "other").of("lia") == frozenset()


def test_a_second_reveal_changes_nothing(store: Store) -> None:
    mine = Reveals(store, "pira")
    mine.add("lia", [("q1", "d1")])
    with store.reading() as connection:
        first = connection.execute(select(reveals)).all()
    mine.add("lia", [("q1", "d1"), ("q1", "d1")])
    mine.add("lia", [])
    with store.reading() as connection:
        assert connection.execute(select(reveals)).all() == first


def test_more_pairs_than_a_statement_has_parameters(store: Store) -> None:
    pairs = {("q1", f"d{number}") for number in range(40_000)}
    Reveals(store, "pira").add("lia", pairs)
    assert Reveals(store, "pira").of("lia", "q1") == pairs
