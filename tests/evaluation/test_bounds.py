"""Bounds of nDCG over the unjudged: against every assignment of grades, and by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import Rows, ranked, rows

from quati_pool.errors import ConfigError
from quati_pool.evaluation.bounds import ndcg_bounds
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import score
from tests.evaluation.small_qrels import Grades, nested, qrels_of, run_of, some_grades


def ndcg(ranking: list[str], grades: dict[str, int], k: int) -> float:
    gains = [max(grades.get(doc, 0), 0) for doc in ranking[:k]]
    ideal = sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:k]
    dcg, best = (sum(gain / math.log2(rank + 1) for rank, gain in enumerate(row, 1)) for row in (gains, ideal))
    return dcg / best if best else 0.0


def brute_force(ranking: list[str], grades: dict[str, int], k: int, scale: list[int]) -> tuple[float, float]:
    free = [doc for doc in ranking[:k] if doc not in grades]
    values = [
        ndcg(ranking, {**grades, **dict(zip(free, given, strict=True))}, k)
        for given in itertools.product(scale, repeat=len(free))
    ]
    return min(values), max(values)


# Few or many judged documents that were not returned decide what one more costs in the ideal.
others = st.lists(st.integers(0, 3), max_size=8)
positions = st.lists(st.none() | st.integers(0, 3), max_size=7)
scales = st.sampled_from([[0, 1, 2, 3], [0, 1], [0, 1, 3], [0, 3], [1, 2, 3], [-1, 0, 2], [0, 1, 2], [2], [0]])


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(positions, others, st.integers(1, 6), scales)
def test_bounds_are_those_of_all_assignments(
    returned: list[int | None], elsewhere: list[int], k: int, scale: list[int]
) -> None:
    """``returned`` holds the grade at each rank, None where it is unjudged."""
    ranking = [f"d{rank:02}" for rank in range(len(returned))]
    grades = {doc: grade for doc, grade in zip(ranking, returned, strict=True) if grade is not None}
    grades |= {f"x{n}": grade for n, grade in enumerate(elsewhere)}
    if not grades:
        return
    run = ranked("s", {("q", doc): float(-rank) for rank, doc in enumerate(ranking)})
    low, high = ndcg_bounds(JudgedRuns([run], qrels_of({("q", doc): grade for doc, grade in grades.items()})), k, scale)
    expected = brute_force(ranking, grades, k, scale)
    assert (low[0, 0], high[0, 0]) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(rows(), some_grades())
def test_many_queries_with_ties_lie_around_the_score(one: Rows, grades: Grades) -> None:
    if one and {query for query, _ in one}.isdisjoint(query for query, _ in grades):
        return
    run, qrels = ranked("s", one), qrels_of(grades)
    low, high = ndcg_bounds(JudgedRuns([run], qrels), 3, [0, 1, 2, 3])
    found = score(JudgedRuns([run], qrels), ["nDCG@3", "Judged@3"])
    values, judged = found.values[0]
    assert (low[0] <= values + 1e-12).all()
    assert (high[0] >= values - 1e-12).all()
    whole = (judged == 1) | found.missing[0]
    assert low[0, whole] == pytest.approx(values[whole], abs=1e-12)
    assert high[0, whole] == pytest.approx(values[whole], abs=1e-12)
    for query, (query_id, own) in enumerate(nested(grades).items()):
        ranking = run.docs.decode(run.doc[run.query == run.queries.encode([query_id])[0]]).to_pylist()
        expected = brute_force(ranking, own, 3, [0, 1, 2, 3])
        assert (low[0, query], high[0, query]) == pytest.approx(expected, abs=1e-12)


def test_no_relevance_for_the_unjudged_is_not_the_lower_bound() -> None:
    # a (grade 1) at rank 1, u unjudged at rank 2. u of 0: 1 / 1. u of 3: (1 + 3/log2(3)) / (3 + 1/log2(3)).
    low, high = ndcg_bounds(JudgedRuns([run_of("s", q="au")], qrels_of({("q", "a"): 1})), 10, [0, 1, 2, 3])
    second = 1 / math.log2(3)
    assert low[0, 0] == pytest.approx((1 + 3 * second) / (3 + second))
    assert low[0, 0] < 0.8
    assert high[0, 0] == pytest.approx(1)


def test_the_last_rank_can_raise_or_lower() -> None:
    # The one relevant document was not returned: with u of 0 the run has 0, with u of 3 at rank 2 and J = 1 of
    # grade 1 it has (3/log2(3)) / (3 + 1/log2(3)).
    low, high = ndcg_bounds(
        JudgedRuns([run_of("s", q="xu")], qrels_of({("q", "x"): 0, ("q", "a"): 1})), 2, [0, 1, 2, 3]
    )
    second = 1 / math.log2(3)
    assert low[0, 0] == 0
    assert high[0, 0] == pytest.approx(3 * second / (3 + second))


def test_shapes_follow_runs_and_judged_queries() -> None:
    grades = {("q2", "a"): 1, ("q1", "b"): 0, ("q3", "a"): 2}
    runs = [run_of("A", q1="b", q3="ax", q9="z"), run_of("B", q2="a"), ranked("empty", {})]
    low, high = ndcg_bounds(JudgedRuns(runs, qrels_of(grades)), 1, [0, 1, 2, 3])
    # q2 is missing from A; q1 has nothing relevant and nothing unjudged; beyond the cutoff x does not count.
    assert low.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert high.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]


def test_no_runs() -> None:
    low, high = ndcg_bounds(JudgedRuns([], qrels_of({("q", "a"): 1})), 10, [0, 1])
    assert low.shape == high.shape == (0, 1)


def test_at_a_deep_cutoff_no_assignment_lies_outside() -> None:
    """All assignments are too many at k = 100; random ones must not lie outside."""
    generator = np.random.default_rng(0)
    docs = [f"d{n:03}" for n in range(150)]
    grades = {doc: int(generator.integers(0, 4)) for doc in docs if generator.random() < 0.4}
    run = ranked("s", {("q", doc): float(-rank) for rank, doc in enumerate(docs[:120])})
    low, high = ndcg_bounds(
        JudgedRuns([run], qrels_of({("q", doc): grade for doc, grade in grades.items()})), 100, [0, 1, 2, 3]
    )
    free = [doc for doc in docs[:100] if doc not in grades]
    for share in np.linspace(0, 1, 50):
        given_ = {doc: int(generator.integers(1, 4)) for doc in free if generator.random() < share}
        found = ndcg(docs[:120], {**grades, **given_}, 100)
        assert low[0, 0] - 1e-12 <= found <= high[0, 0] + 1e-12


@pytest.mark.parametrize(
    ("cutoff", "scale", "message"),
    [(0, [0, 1], "the cutoff is 0; give a whole number from 1"), (10, [], "the scale has no grade; give")],
)
def test_bad_arguments_are_refused(cutoff: int, scale: list[int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ndcg_bounds(JudgedRuns([run_of("s", q="a")], qrels_of({("q", "a"): 1})), cutoff, scale)
