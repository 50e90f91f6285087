"""Fixed allocation: everybody's pairs are enough, different and fairly many."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.allocation import Allocation, allocate
from quati_pool.annotation.errors import DesignError

NAMES = ["ana", "bia", "caio", "davi", "eva", "fabio"]


def rows_of(sizes: list[int]) -> tuple[list[str], list[str]]:
    queries = [f"q{query}" for query, size in enumerate(sizes) for _ in range(size)]
    return queries, [f"d{row}" for row in range(len(queries))]


def loads_of(found: list[Allocation], names: list[str]) -> list[int]:
    counts = Counter(name for _, _, name in found)
    return [counts[name] for name in names]


def check(found: list[Allocation], pairs: int, overlap: int) -> None:
    """Each pair to ``overlap`` different persons, numbered from 1, in order."""
    assert [(row, replicate) for row, replicate, _ in found] == [
        (row, replicate) for row in range(pairs) for replicate in range(1, overlap + 1)
    ]
    assert len({(row, name) for row, _, name in found}) == pairs * overlap


def test_the_papers_set_up() -> None:
    """24 queries × 10 pairs × 2 assessors: both grade all 240."""
    queries, docs = rows_of([10] * 24)
    found = allocate(queries, docs, ["ana", "bia"], 2, 240, 0)
    check(found, 240, 2)
    assert loads_of(found, ["ana", "bia"]) == [240, 240]


def test_whole_queries_and_every_two_persons_meet() -> None:
    """24 queries by 2 of 4 persons: 12 each, 120 pairs, and partners change from query to query."""
    queries, docs = rows_of([10] * 24)
    found = allocate(queries, docs, NAMES[:4], 2, 120, 0)
    check(found, 240, 2)
    assert loads_of(found, NAMES[:4]) == [120] * 4
    teams: dict[str, set[str]] = defaultdict(set)
    for row, _, name in found:
        teams[queries[row]].add(name)
    assert all(len(team) == 2 for team in teams.values())
    assert {tuple(sorted(team)) for team in teams.values()} == set(combinations(NAMES[:4], 2))


def test_a_load_that_whole_queries_would_break_cuts_them() -> None:
    """Three queries of 10 for two persons: whole queries make 20 and 10, but 15 is the load."""
    queries, docs = rows_of([10, 10, 10])
    assert sorted(loads_of(allocate(queries, docs, NAMES[:2], 1, 20, 0), NAMES[:2])) == [10, 20]
    found = allocate(queries, docs, NAMES[:2], 1, 15, 0)
    check(found, 30, 1)
    assert loads_of(found, NAMES[:2]) == [15, 15]
    # Only one query is cut.
    assert len({(queries[row], name) for row, _, name in found}) == 4


def test_nobody_is_left_without_work_for_the_sake_of_whole_queries() -> None:
    queries, docs = rows_of([9])
    assert loads_of(allocate(queries, docs, NAMES[:3], 1, None, 0), NAMES[:3]) == [3, 3, 3]


def test_the_odd_pair_of_cut_queries_falls_to_anybody() -> None:
    queries, docs = rows_of([10])
    loads = [loads_of(allocate(queries, docs, NAMES[:3], 1, None, seed), NAMES[:3]) for seed in range(20)]
    assert {tuple(load) for load in loads} == {(4, 3, 3), (3, 4, 3), (3, 3, 4)}


def test_nothing_is_allocated_of_nothing() -> None:
    assert allocate([], [], NAMES, 2, 5, 0) == []


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    st.integers(1, 6),
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(0, 3)),
    st.integers(0, 50),
)
def test_every_allocation_that_can_be_is_made_and_is_fair(
    sizes: list[int], people: int, overlap: int, spare: int | None, seed: int
) -> None:
    """``spare`` pairs above the fair share, rounded up, is the tightest load that can hold all."""
    people = max(people, overlap)
    queries, docs = rows_of(sizes)
    pairs, names = len(queries), NAMES[:people]
    load = None if spare is None else -(-pairs * overlap // people) + spare
    found = allocate(queries, docs, names, overlap, load, seed)
    check(found, pairs, overlap)
    loads = loads_of(found, names)
    assert max(loads) - min(loads) <= max(sizes)
    assert load is None or max(loads) <= load
    assert min(loads) > 0 or pairs * overlap < people
    # A query that is not cut has ``overlap`` persons; cut ones only where the parts meet.
    takers = Counter(query for query, _ in {(queries[row], name) for row, _, name in found})
    cut = sum(number - overlap for number in takers.values())
    assert cut == 0 or (cut <= people and max(loads) - min(loads) <= 1)


@given(st.permutations(NAMES[:4]), st.randoms(use_true_random=False), st.sampled_from([None, 14]))
def test_neither_the_order_of_names_nor_of_pairs_matters(names: list[str], random: Random, load: int | None) -> None:
    queries, docs = rows_of([3, 8, 5, 4, 7])
    order = sorted(range(len(queries)), key=lambda _: random.random())
    usual = {(queries[row], docs[row], number, name)
             for row, number, name in allocate(queries, docs, NAMES[:4], 2, load, 9)}  # fmt: skip
    mixed = {
        (queries[order[row]], docs[order[row]], number, name)
        for row, number, name in allocate([queries[r] for r in order], [docs[r] for r in order], names, 2, load, 9)
    }
    assert mixed == usual


def test_another_seed_gives_another_allocation() -> None:
    queries, docs = rows_of([10] * 12)
    made = {tuple(allocate(queries, docs, NAMES, 2, None, seed)) for seed in range(10)}
    assert len(made) == 10
    made = {tuple(allocate(queries, docs, NAMES[:5], 1, 24, seed)) for seed in range(10)}
    assert len(made) == 10


@pytest.mark.parametrize(
    ("names", "overlap", "load", "message"),
    [
        (["ana"], 2, None,
         "each pair needs 2 different people, but only 1 is named; name more, or lower the overlap"),
        ([], 1, None, "each pair needs 1 person, but only 0 are named; name more, or lower the overlap"),
        (["ana", "ana"], 1, None, "a person is named twice; name each once"),
        (["ana"], 0, None, "an overlap of 0 gives pairs to nobody; ask for at least 1"),
        (["ana", "bia", "caio"], 2, 6,
         "10 pairs × 2 are 20, and 3 people with at most 6 each hold 18; raise the load, name more people, or "
         "choose fewer pairs"),
    ],
)  # fmt: skip
def test_what_cannot_be_allocated_is_refused(names: list[str], overlap: int, load: int | None, message: str) -> None:
    queries, docs = rows_of([4, 6])
    with pytest.raises(DesignError) as error:
        allocate(queries, docs, names, overlap, load, 0)
    assert str(error.value) == message
