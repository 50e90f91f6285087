"""The order of pairs in which people look for errors: by hand, and as Python's sort puts them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.error_queues import SUPPORT_DEPTH, contradictions, sure_relevant

grades = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan])


def test_the_highest_grades_with_the_most_support_come_first() -> None:
    given_grades = np.array([3.0, 2, 3, np.nan, 1, 3, 3])
    # Two systems; the fourth pair has no grade, the fifth is not found to answer.
    ranks = np.array([[1, 0], [1, 1], [9, 10], [1, 1], [1, 1], [11, 2], [0, 3]])
    tie = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])
    # Grade 3: pair 2 has two systems; of those with one, the best ranks are 1 (pair 0), 2 (5) and 3 (6). Then grade 2.
    assert sure_relevant(given_grades, ranks, 2, tie).tolist() == [2, 0, 5, 6, 1]
    assert sure_relevant(given_grades, ranks, 4, tie).tolist() == []
    assert sure_relevant(given_grades, np.zeros((7, 0), dtype=int), 3, tie).tolist() == [6, 5, 2, 0]


def test_the_largest_contradictions_come_first() -> None:
    nan = np.nan
    answers = np.array([[0.0, 1, 0, 2, nan, 3, 0], [3.0, 1, 1, nan, nan, 2, 3], [0.0, 1, 1, 2, 1, 2, 3]])
    # Gap 3: pairs 0 and 6, variance 2 each, by tie; gap 1: pair 2 (0 1 1) and pair 5 (3 2 2), 2/9 each, by tie.
    tie = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])
    assert contradictions(answers, tie).tolist() == [6, 0, 5, 2]
    assert contradictions(np.array([[0.0, 2.0]]), tie[:2]).tolist() == []


@given(st.lists(st.tuples(grades, grades, grades), max_size=30), st.integers(0, 99))
def test_contradictions_are_sorted(rows: list[tuple[float, float, float]], seed: int) -> None:
    answers = np.array(rows, dtype=float).reshape(-1, 3).T
    tie = np.random.default_rng(seed).random(len(rows))

    def key(row: int) -> tuple[float, float, float]:
        known = [one for one in rows[row] if one == one]
        return (min(known) - max(known), -round(float(np.var(known)), 9), float(tie[row]))

    apart = [row for row, three in enumerate(rows) if len({one for one in three if one == one}) > 1]
    assert contradictions(answers, tie).tolist() == sorted(apart, key=key)


@given(st.lists(st.tuples(grades, st.integers(0, 12), st.integers(0, 12)), max_size=30), st.integers(0, 99))
def test_sure_pairs_are_sorted(rows: list[tuple[float, int, int]], seed: int) -> None:
    tie = np.random.default_rng(seed).random(len(rows))

    def key(row: int) -> tuple[float, int, float, float]:
        grade, *ranks = rows[row]
        support = sum(1 <= rank <= SUPPORT_DEPTH for rank in ranks)
        return (-grade, -support, min((rank for rank in ranks if rank), default=np.inf), float(tie[row]))

    wanted = sorted((row for row, (grade, *_) in enumerate(rows) if grade >= 2), key=key)
    array = np.array(rows, dtype=float).reshape(-1, 3)
    assert sure_relevant(array[:, 0], array[:, 1:].astype(int), 2, tie).tolist() == wanted
