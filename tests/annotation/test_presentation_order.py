"""Each person's order is their own, and always the same."""

from __future__ import annotations

from math import factorial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.presentation_order import first_query, query_places, shuffled

DOCS = [f"d{number}" for number in range(30)]


def test_one_person_always_has_the_same_order_and_others_have_others() -> None:
    order = shuffled(4, "ana", "q1", DOCS)
    assert sorted(order) == sorted(DOCS)
    assert shuffled(4, "ana", "q1", DOCS[::-1]) == order
    others = [shuffled(4, "bia", "q1", DOCS), shuffled(5, "ana", "q1", DOCS), shuffled(4, "ana", "q2", DOCS), DOCS]
    assert len({tuple(other) for other in [order, *others]}) == 5


@given(st.sets(st.sampled_from(DOCS)))
def test_a_subset_keeps_its_order(kept: set[str]) -> None:
    """What is claimed later falls into the place it had."""
    whole = shuffled(0, "caio", "q", DOCS)
    assert shuffled(0, "caio", "q", sorted(kept)) == [doc_id for doc_id in whole if doc_id in kept]


def test_every_order_is_as_likely() -> None:
    """4 passages, 2,400 persons: 24 orders, 100 each expected. Chi-square with 23 degrees of freedom is above
    49.7 with probability 0.001."""
    orders = [tuple(shuffled(0, f"p{person}", "q", DOCS[:4])) for person in range(2400)]
    _, counts = np.unique(np.array(orders), axis=0, return_counts=True)
    assert len(counts) == factorial(4)
    assert ((counts - 100) ** 2 / 100).sum() < 49.7


def test_queries_have_places_from_1_that_only_the_seed_decides() -> None:
    found = query_places(1, ["b", "a", "c", "a"])
    assert sorted(found.values()) == [1, 2, 3]
    assert query_places(1, ["c", "b", "a"]) == found
    many = [f"q{number}" for number in range(50)]
    assert query_places(1, many) != query_places(2, many)
    assert query_places(1, []) == {}


def test_people_begin_anywhere_in_the_order_of_queries() -> None:
    """10 queries, 2,000 people: 200 each expected. Chi-square with 9 degrees of freedom is above 27.9 with
    probability 0.001."""
    starts = [first_query(0, f"p{person}") for person in range(2000)]
    assert all(0 <= start < 1 for start in starts)
    counts = np.bincount([int(start * 10) for start in starts], minlength=10)
    assert ((counts - 200) ** 2 / 200).sum() < 27.9
    assert first_query(0, "p0") == starts[0] != first_query(1, "p0")
