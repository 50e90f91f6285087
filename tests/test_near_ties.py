"""The tests' own comparison of rankings: near-ties may swap, and nothing else."""

from __future__ import annotations

import pytest
from near_ties import assert_ranked

SCORES = {"a": 3.0, "b": 2.00001, "c": 2.0, "d": 1.0}


@pytest.mark.parametrize(("docs", "depth"), [("abcd", None), ("acbd", None), ("ac", 2), ("abc", 3), ("abcd", 9)])
def test_near_ties_may_swap_also_at_the_cut_off(docs: str, depth: int | None) -> None:
    assert_ranked(docs, SCORES, 1e-5, depth)


@pytest.mark.parametrize(
    ("docs", "depth"), [("abdc", None), ("bacd", None), ("abd", 3), ("bc", 2), ("ab", 3), ("abcd", 3), ("abc", None)]
)
def test_anything_else_is_an_error(docs: str, depth: int | None) -> None:
    with pytest.raises(AssertionError):
        assert_ranked(docs, SCORES, 1e-5, depth)


@pytest.mark.parametrize("docs", ["abbcd", "abce"])
def test_so_are_a_passage_twice_and_one_that_has_no_score(docs: str) -> None:
    with pytest.raises(KeyError):
        assert_ranked(docs, SCORES, 1e-5)


def test_a_chain_of_near_ties_does_not_add_up() -> None:
    chain = {number: number * 1e-5 for number in range(10)}
    with pytest.raises(AssertionError):
        assert_ranked(range(10), chain, 1e-5)
