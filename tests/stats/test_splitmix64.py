"""SplitMix64 against its published sequence, and against the algorithm written with Python's whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.stats.splitmix64 import GAMMA, mix

# The first numbers from the seed 1234567 (rosettacode.org, "Pseudo-random numbers/Splitmix64").
SEED = 1234567
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def plain(seed: int, count: int) -> list[int]:
    numbers = []
    state = seed
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        numbers.append(z ^ (z >> 31))
    return numbers


def ours(seed: int, count: int) -> list[int]:
    return mix(np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * GAMMA).tolist()


def test_the_sequence_is_the_published_one() -> None:
    assert plain(SEED, 5) == PUBLISHED
    assert ours(SEED, 5) == PUBLISHED


@given(st.integers(0, 2**64 - 1))
def test_the_sequence_of_every_seed_is_that_of_the_plain_algorithm(seed: int) -> None:
    assert ours(seed, 20) == plain(seed, 20)


def test_it_works_in_place() -> None:
    values = np.arange(6, dtype=np.uint64).reshape(2, 3)
    assert mix(values) is values
    assert len(np.unique(values)) == 6
