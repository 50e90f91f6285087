"""Checks come once per block of answers, where nobody can foresee it and everybody gets the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.interleaving import block_due, block_size, blocks_due, drawn_order

PAIRS = [(f"q{number % 5}", f"d{number}") for number in range(30)]


@pytest.mark.parametrize(("rate", "size"), [(0.05, 20), (0.5, 2), (0.3, 3), (0.4, 2), (1e-300, 10**9), (5e-324, 10**9)])
def test_a_block_is_as_long_as_the_rate_says(rate: float, size: int) -> None:
    assert block_size(rate) == size


def positions(name: str, size: int, blocks: int, seed: int = 0) -> list[int]:
    """The first place of each block at which its check is due."""
    due = [block_due("repeats", seed, name, answers, size) for answers in range(size * blocks)]
    return [due.index(block) - size * (block - 1) for block in range(1, blocks + 1)]


@given(st.integers(2, 30), st.text(max_size=5), st.integers(0, 10))
def test_each_block_has_one_position_from_which_on_its_check_is_due(size: int, name: str, seed: int) -> None:
    for block in range(3):
        found = [block_due("gold", seed, name, block * size + place, size) for place in range(size)]
        first = found.index(block + 1)
        assert found == [None] * first + [block + 1] * (size - first)
    assert block_due("gold", seed, name, -1, size) is None


@given(st.integers(1, 12), st.integers(-12, 60), st.integers(-3, 60), st.sets(st.integers(1, 8)))
def test_what_is_still_due_is_what_comes_due_one_by_one(size: int, answers: int, total: int, given: set[int]) -> None:
    one_by_one = {block_due("gold", 7, "ana", so_far, size) for so_far in range(answers, total)} - {None} - given
    assert blocks_due("gold", 7, "ana", answers, total, size, given) == len(one_by_one)


def test_positions_are_as_likely_and_differ_between_people_seeds_and_checks() -> None:
    """10 places, 2,000 blocks: 200 each expected. Chi-square with 9 degrees of freedom is above 27.9 with
    probability 0.001."""
    counts = np.bincount(positions("ana", 10, 2000), minlength=10)
    assert len(counts) == 10
    assert ((counts - 200) ** 2 / 200).sum() < 27.9
    assert positions("ana", 10, 20) == positions("ana", 10, 20)
    assert positions("ana", 10, 20) != positions("bia", 10, 20)
    assert positions("ana", 10, 20) != positions("ana", 10, 20, seed=1)
    assert [block_due("gold", 0, "ana", n, 10) for n in range(100)] != [
        block_due("repeats", 0, "ana", n, 10) for n in range(100)
    ]


@given(st.sets(st.sampled_from(PAIRS)))
def test_a_subset_keeps_its_order(kept: set[tuple[str, str]]) -> None:
    whole = drawn_order("repeats", 0, "ana", PAIRS)
    assert sorted(whole) == sorted(PAIRS)
    assert drawn_order("repeats", 0, "ana", sorted(kept)) == [ids for ids in whole if ids in kept]


def test_people_and_checks_have_orders_of_their_own() -> None:
    orders = [drawn_order("repeats", 0, "ana", PAIRS), drawn_order("repeats", 0, "bia", PAIRS),
              drawn_order("gold", 0, "ana", PAIRS), drawn_order("gold", 1, "ana", PAIRS)]  # fmt: skip
    assert len({tuple(order) for order in orders}) == 4
