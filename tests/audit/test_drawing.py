"""Pairs are drawn reproducibly, spread over the queries, those that people graded first."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.audit.base import Drawn
from quati_pool.audit.drawing import DrawnPairs, GradedPairs, draw
from quati_pool.audit.outcomes import Scale

SCALE, HIGHEST = Scale(0, 2), 3

Row = tuple[str, str, int, int | None]
"""query_id, doc_id, the judge's grade and people's."""


def graded(rows: list[Row]) -> GradedPairs:
    return GradedPairs(
        [row[0] for row in rows],
        [row[1] for row in rows],
        np.array([row[2] for row in rows], dtype=np.float64),
        np.array([math.nan if row[3] is None else row[3] for row in rows], dtype=np.float64),
    )


def drawn(rows: list[Row], which: Drawn, seed: int = 0) -> tuple[list[Row], int]:
    """The rows in the order in which they are drawn, and how many of them people's grades chose."""
    found: DrawnPairs = draw(graded(rows), which, SCALE, HIGHEST, seed)
    return [rows[place] for place in found.places.tolist()], found.by_people


# Every pair of grades of judge (0 to 3) and people (0 to 3 or none), each in a query of its own.
EVERY: list[Row] = [
    (f"q{judge}{'-' if people is None else people}", "d", judge, people)
    for judge in range(4)
    for people in (None, 0, 1, 2, 3)
]


@pytest.mark.parametrize(
    ("which", "by_people", "by_judge"),
    [
        # People's lowest grade, unless the judge's is the highest: nothing can rise above it.
        ("irrelevant", {"q00", "q10", "q20"}, {"q0-"}),
        # An answer by both; a pair that people graded and the judge alone, or they alone, find relevant is no case.
        ("relevant", {"q22", "q23", "q32", "q33"}, {"q2-", "q3-"}),
        ("any", set(), {row[0] for row in EVERY}),
    ],
)
def test_which_pairs_are_drawn(which: Drawn, by_people: set[str], by_judge: set[str]) -> None:
    rows, count = drawn(EVERY, which)
    names = [row[0] for row in rows]
    assert set(names[:count]) == by_people
    assert set(names[count:]) == by_judge
    assert len(names) == len(by_people) + len(by_judge)


def test_other_scales_have_another_lowest_grade_and_other_answers() -> None:
    pairs = graded([("a", "d", 1, None), ("b", "d", 2, None), ("c", "d", 0, None)])
    # The lowest grade is 1 and the only answer 2; a grade off that scale is neither.
    assert draw(pairs, "irrelevant", Scale(1, 2), 2, 0).places.tolist() == [0]
    assert draw(pairs, "relevant", Scale(1, 2), 2, 0).places.tolist() == [1]


@pytest.mark.parametrize("which", ["irrelevant", "relevant", "any"])
def test_from_nothing_nothing_is_drawn(which: Drawn) -> None:
    assert drawn([], which) == ([], 0)
    places, count = draw(graded([("q", "d", 1, 1)]), "relevant", SCALE, HIGHEST, 0)
    assert (places.tolist(), count) == ([], 0)
    assert np.issubdtype(places.dtype, np.integer)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "q3", "q1\td1", "é", "\ud800"]),
        st.sampled_from([f"d{i}" for i in range(9)]),
        st.integers(0, 3),
        st.sampled_from([None, None, 0, 1, 2, 3]),
    ),
    unique_by=lambda row: row[:2],
    max_size=40,
)
WHICH = st.sampled_from(["irrelevant", "relevant", "any"])


@given(ROWS, WHICH, st.integers(0, 5), st.integers(0, 2**32))
def test_the_order_of_the_pool_does_not_matter(rows: list[Row], which: Drawn, seed: int, shuffling: int) -> None:
    shuffled = Random(shuffling).sample(rows, len(rows))
    assert drawn(shuffled, which, seed) == drawn(rows, which, seed)


@given(ROWS, WHICH, st.integers(0, 5))
def test_people_come_first_and_no_query_twice_before_all_once(rows: list[Row], which: Drawn, seed: int) -> None:
    found, count = drawn(rows, which, seed)
    assert len(set(found)) == len(found)
    if which != "any":
        assert [row[3] is not None for row in found] == [True] * count + [False] * (len(found) - count)
    for part in (found[:count], found[count:]):
        total = Counter(row[0] for row in part)
        seen: Counter[str] = Counter()
        for row in part:
            # Whatever query still has pairs was drawn from as often as this one before it is drawn from again.
            assert all(seen[query] >= min(total[query], seen[row[0]]) for query in total)
            seen[row[0]] += 1


@given(ROWS, WHICH, st.integers(0, 5))
def test_what_is_not_drawn_and_what_other_queries_hold_change_nothing(rows: list[Row], which: Drawn, seed: int) -> None:
    found, _ = drawn(rows, which, seed)
    kept, _ = drawn(found, which, seed)
    assert kept == found
    without = [row for row in rows if row[0] != "q1"]
    assert drawn(without, which, seed)[0] == [row for row in found if row[0] != "q1"]


def test_another_seed_draws_others_first() -> None:
    rows: list[Row] = [(f"q{query}", f"d{doc}", 0, None) for query in range(10) for doc in range(10)]
    orders = {tuple(row[:2] for row in drawn(rows, "any", seed)[0]) for seed in range(20)}
    assert len(orders) == 20
    # And for each seed the queries do not simply follow one another in one order of documents.
    first = [row[1] for row in drawn(rows, "any", 0)[0][:10]]
    assert len(set(first)) > 3


def test_every_pair_of_a_query_is_as_likely_to_come_first() -> None:
    rows: list[Row] = [("q", f"d{doc}", 0, None) for doc in range(5)]
    first = Counter(drawn(rows, "any", seed)[0][0][1] for seed in range(1_000))
    # 200 of each are expected, with a standard deviation of sqrt(1000 * 0.2 * 0.8) = 12.6; five of them are 63.
    assert set(first) == {row[1] for row in rows}
    assert all(137 <= count <= 263 for count in first.values())
