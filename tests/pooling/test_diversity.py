"""Diversity tables: one small pool by hand, and random ones against sets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import AWKWARD, listed, query_ids, ranked, ranks, runs

from quati_pool.pooling.diversity import Share, diversity, diversity_by_grade
from quati_pool.pooling.pool import Pool, depth_pool
from quati_pool.records import Ids, Qrels, Run

Pair = tuple[str, str]


def qrels_of(grades: dict[Pair, int]) -> Qrels:
    queries, docs = Ids(sorted({query for query, _ in grades})), Ids(sorted({doc for _, doc in grades}))
    query = queries.encode([query for query, _ in grades])
    doc = docs.encode([doc for _, doc in grades])
    return Qrels(queries, docs, query, doc, np.array(list(grades.values()), dtype=np.int64))


def run_of(tag: str, **rankings: str) -> Run:
    """A run from query_id and documents of one letter, best first."""
    return ranked(
        tag,
        {
            (query_id, doc_id): float(-rank)
            for query_id, documents in rankings.items()
            for rank, doc_id in enumerate(documents)
        },
    )


@pytest.fixture
def worked() -> Pool:
    """Depth 2:         q1    q2
    A                  a b   m n
    B                  b c   m
    C                  c d   x y
    The pool: q1 a b c d; q2 m n x y, eight pairs. One system alone returned a (A), d, x, y (C), n (A):
    five. b is A's and B's, c is B's and C's, m is A's and B's.
    """
    return depth_pool(
        [run_of("A", q1="abd", q2="mnx"), run_of("B", q1="bca", q2="m"), run_of("C", q1="cd", q2="xy")],
        {"A": 2, "B": 2, "C": 2},
    )


def test_uniqueness_by_hand(worked: Pool) -> None:
    found = diversity(worked)
    assert found.systems == (Share("A", 4, 2), Share("B", 3, 0), Share("C", 4, 3))
    assert [share.unique_share for share in found.systems] == [0.5, 0.0, 0.75]
    assert found.union == Share("all", 8, 5)
    assert found.union.unique_share == 0.625
    assert found.mean_unique_share == pytest.approx((0.5 + 0 + 0.75) / 3)
    assert (found.extra, found.queries) == (0, 2)


def test_overlap_by_hand(worked: Pool) -> None:
    # A and B share b and m; B and C share c. The row's pairs are 4, 3 and 4.
    expected = [[1, 2 / 4, 0], [2 / 3, 1, 1 / 3], [0, 1 / 4, 1]]
    assert diversity(worked).overlap == pytest.approx(np.array(expected))


def test_rbo_by_hand(worked: Pool) -> None:
    # Only the first two ranks count, p = 0.9, (1-p)/p = 1/9.
    # A–B, q1: a b and b c share 0, 1: 1/9 · 1/2 · 0.81 + 1/2 · 0.81 = 0.045 + 0.405 = 0.45.
    # A–B, q2: m n and m, s = 1, l = 2, shares 1, 1: 1/9 (0.9 + 0.405 + beyond 0.405) + 0.81 = 1.
    # B–C, q1: b c and c d as A–B's q1: 0.45; q2: m and x y share nothing: 0. A–C: nothing at all.
    expected = [[1, 0.725, 0], [0.725, 1, 0.225], [0, 0.225, 1]]
    assert diversity(worked).rbo == pytest.approx(np.array(expected))


def test_grades_by_hand(worked: Pool) -> None:
    # a 3, b 3, c 0, d 0, m 1, n 1 graded; x, y not; (q1, z) is graded and in no run.
    grades = {"a": 3, "b": 3, "c": 0, "d": 0, "z": 2}
    qrels = qrels_of({**{("q1", d): g for d, g in grades.items()}, ("q2", "m"): 1, ("q2", "n"): 1})
    found = diversity_by_grade(worked, qrels)
    # Unique: d of grade 0, n of 1, none of 2 as z is not in the pool, a of 3.
    assert found.grades == (Share("0", 2, 1), Share("1", 2, 1), Share("2", 0, 0), Share("3", 2, 1))
    assert found.relevant == Share("≥ 1", 4, 2)
    assert found.ungraded == 2
    assert found.grades[2].unique_share is None


def test_a_grade_counts_for_its_own_query_only(worked: Pool) -> None:
    found = diversity_by_grade(worked, qrels_of({("q2", "a"): 3, ("q1", "m"): 3, ("q9", "a"): 3}))
    assert found.grades == (Share("3", 0, 0),)
    assert found.ungraded == 8


def test_a_pool_without_any_grade(worked: Pool) -> None:
    nothing = np.empty(0, dtype=np.int64)
    found = diversity_by_grade(worked, Qrels(Ids([]), Ids([]), nothing, nothing, nothing))
    assert found.grades == ()
    assert found.relevant == Share("≥ 1", 0, 0)
    assert found.relevant.unique_share is None
    assert found.ungraded == 8


def test_a_system_that_returns_nothing_has_no_share() -> None:
    pool = depth_pool([run_of("A", q1="ab"), ranked("empty", {})], {"A": 2, "empty": 2})
    found = diversity(pool)
    assert found.systems[1] == Share("empty", 0, 0)
    assert found.systems[1].unique_share is None
    assert found.mean_unique_share == 1.0  # of A alone, not (1 + 0) / 2
    assert found.overlap[0].tolist() == [1, 0]
    assert np.isnan(found.overlap[1]).all()
    assert found.rbo[0, 0] == pytest.approx(1)
    assert np.isnan(found.rbo[[0, 1, 1], [1, 0, 1]]).all()


def test_only_systems_that_feed_the_pool_count() -> None:
    runs = [run_of("A", q1="ab"), run_of("theirs", q1="abz"), run_of("B", q1="b")]
    found = diversity(depth_pool(runs, {"A": 2, "theirs": 0, "B": 1}))
    assert found.systems == (Share("A", 2, 1), Share("B", 1, 0))
    assert found.union == Share("all", 2, 1)
    assert found.overlap.shape == found.rbo.shape == (2, 2)


def test_extra_pairs_are_counted_apart() -> None:
    pool = depth_pool([run_of("A", q1="ab")], {"A": 1}, [("q1", "b"), ("q1", "w")])
    found = diversity(pool)
    assert (len(pool), found.union, found.extra) == (3, Share("all", 1, 1), 2)
    assert diversity_by_grade(pool, qrels_of({("q1", "w"): 2})).ungraded == 1


def test_a_pool_of_nothing() -> None:
    found = diversity(depth_pool([ranked("A", {}), ranked("B", {})], {"A": 2, "B": 2}))
    assert found.union == Share("all", 0, 0)
    assert found.union.unique_share is None
    assert found.mean_unique_share is None
    assert np.isnan(found.overlap).all()
    assert np.isnan(found.rbo).all()


def heads(run: Run, depth: int) -> set[Pair]:
    return {pair for pair, rank in ranks(run).items() if rank <= depth}


@given(runs(st.integers(1, 4)), st.lists(st.integers(0, 4), min_size=4, max_size=4))
def test_tables_equal_sets(many: Sequence[Run], depths: list[int]) -> None:
    depth = dict(zip((run.run_tag for run in many), depths, strict=False))
    if not any(depth.values()):
        return
    found = diversity(depth_pool(many, depth))
    fed = {run.run_tag: heads(run, depth[run.run_tag]) for run in many if depth[run.run_tag]}
    everyone = set().union(*fed.values())
    alone = {pair for pair in everyone if sum(pair in one for one in fed.values()) == 1}
    assert found.systems == tuple(Share(tag, len(one), len(one & alone)) for tag, one in fed.items())
    assert found.union == Share("all", len(everyone), len(alone))
    for row, one in enumerate(fed.values()):
        for column, other in enumerate(fed.values()):
            share = len(one & other) / len(one) if one else math.nan
            assert found.overlap[row, column] == pytest.approx(share, nan_ok=True)


@given(
    runs(st.integers(1, 3)),
    st.dictionaries(st.tuples(query_ids, st.sampled_from(AWKWARD)), st.integers(0, 3), min_size=1),
)
def test_grade_tables_equal_sets(many: Sequence[Run], grades: dict[Pair, int]) -> None:
    fed = [heads(run, 3) for run in many]
    found = diversity_by_grade(depth_pool(many, {run.run_tag: 3 for run in many}), qrels_of(grades))
    everyone = set().union(*fed)
    alone = {pair for pair in everyone if sum(pair in one for one in fed) == 1}

    def share(name: str, wanted: set[int]) -> Share:
        chosen = {pair for pair in everyone if grades.get(pair) in wanted}
        return Share(name, len(chosen), len(chosen & alone))

    assert found.grades == tuple(share(str(grade), {grade}) for grade in sorted(set(grades.values())))
    assert found.relevant == share("≥ 1", {1, 2, 3})
    assert found.ungraded == len(everyone - grades.keys())


def rbo(one: list[str], other: list[str], p: float) -> float:
    """RBO_ext of two lists, as tests/stats checks it against the paper's equation."""
    (short, long) = sorted((one, other), key=len)
    s, n = len(short), len(long)
    common = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(common[d] / d * p**d for d in range(1, n + 1))
    total += sum(common[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((common[n] - common[s]) / n + common[s] / s) * p**n


@given(runs(st.integers(2, 3)), st.lists(st.integers(1, 5), min_size=3, max_size=3))
def test_rbo_is_the_mean_over_shared_queries(many: Sequence[Run], depths: list[int]) -> None:
    depth = dict(zip((run.run_tag for run in many), depths, strict=False))
    found = diversity(depth_pool(many, depth)).rbo
    lists = [
        {query_id: [doc_id for doc_id, _ in hits][: depth[run.run_tag]] for query_id, hits in listed(run).items()}
        for run in many
    ]
    for a, one in enumerate(lists):
        for b, other in enumerate(lists):
            values = [rbo(one[query_id], other[query_id], 0.9) for query_id in one.keys() & other.keys()]
            mean = sum(values) / len(values) if values else math.nan
            assert found[a, b] == pytest.approx(mean, nan_ok=True, abs=1e-12)
