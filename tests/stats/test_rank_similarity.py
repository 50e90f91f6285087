"""Rank-biased overlap against equation 32 of Webber, Moffat and Zobel (2010), written term by term."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.stats.rank_similarity import rank_biased_overlap

rankings = st.lists(st.integers(0, 12), unique=True, min_size=1, max_size=10)


def rbo_ext(one: list[int], other: list[int], p: float) -> float:
    """RBO_ext for lists of lengths s <= l, with X_d the overlap of the first d ranks of each."""
    short, long = sorted((one, other), key=len)
    s, l = len(short), len(long)  # noqa: E741 (the paper's letters)

    def x(depth: int) -> int:
        return len(set(short[:depth]) & set(long[:depth]))

    seen = sum(x(d) / d * p**d for d in range(1, l + 1))
    beyond = sum(x(s) * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * (seen + beyond) + ((x(l) - x(s)) / l + x(s) / s) * p**l


def computed(lists: list[tuple[list[int], list[int]]], p: float) -> list[float]:
    """The function under test on pairs of lists; the common counts run to the longest list of all."""
    depth = max(1, *(len(ranking) for pair in lists for ranking in pair))
    common = [[len(set(a[:d]) & set(b[:d])) for d in range(1, depth + 1)] for a, b in lists]
    lengths = np.array([[len(a), len(b)] for a, b in lists])
    return rank_biased_overlap(np.array(common, dtype=np.float64), lengths[:, 0], lengths[:, 1], p).tolist()


@given(st.lists(st.tuples(rankings, rankings), min_size=1, max_size=4), st.floats(0.05, 0.98))
def test_equals_the_equation(lists: list[tuple[list[int], list[int]]], p: float) -> None:
    assert computed(lists, p) == pytest.approx([rbo_ext(a, b, p) for a, b in lists], abs=1e-12)
    assert computed([(b, a) for a, b in lists], p) == pytest.approx(computed(lists, p), abs=1e-12)


@given(rankings, st.floats(0.05, 0.98))
def test_identical_lists_are_1_and_disjoint_lists_0(ranking: list[int], p: float) -> None:
    stranger = [item + 100 for item in ranking]
    assert computed([(ranking, ranking), (ranking, stranger)], p) == pytest.approx([1, 0], abs=1e-12)


def test_three_items_by_hand() -> None:
    # a b c and b a d, p = 0.9: overlaps 0, 2, 2, so agreements 0, 1, 2/3.
    # (1-p)/p (0·0.9 + 1·0.81 + 2/3·0.729) = 1/9 · (0.81 + 0.486) = 0.144; tail 2/3 · 0.729 = 0.486.
    assert computed([([0, 1, 2], [1, 0, 3])], 0.9) == pytest.approx([0.63])


def test_uneven_lengths_by_hand() -> None:
    # a and a b, p = 0.5: s = 1, l = 2, overlaps 1, 1. (1-p)/p = 1.
    # Seen: 1·0.5 + 1/2·0.25 = 0.625; beyond, d = 2: 1·(2-1)/(1·2)·0.25 = 0.125;
    # tail: ((1-1)/2 + 1/1)·0.25 = 0.25. The short list agreed wherever it was seen: 1.
    assert computed([([0], [0, 1])], 0.5) == pytest.approx([1.0])
    # a and b a, p = 0.5: overlaps 0, 1. Seen 0 + 1/2·0.25 = 0.125; beyond 0; tail (1/2 + 0)·0.25 = 0.125.
    assert computed([([0], [1, 0])], 0.5) == pytest.approx([0.25])


def test_an_empty_list_is_undefined() -> None:
    found = computed([([], [1, 2]), ([], []), ([1], [1])], 0.9)
    assert np.isnan(found[:2]).all()
    assert found[2] == pytest.approx(1)


def test_no_lists_at_all() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert rank_biased_overlap(np.empty((0, 3)), nothing, nothing, 0.9).shape == (0,)
