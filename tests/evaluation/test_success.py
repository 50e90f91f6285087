"""Success@k against a count query by query, ir_measures, and random orders counted one by one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import Rows, listed, ranked, rows

from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import score
from quati_pool.evaluation.success import first_relevant, random_success, success
from quati_pool.records import Run
from tests.evaluation.small_qrels import Grades, nested, qrels_of, run_of, some_grades

DEPTH = 7


def counted(run: Run, grades: Grades, k: int) -> float:
    """Success@k by looking at each query's first k documents."""
    hits, by_query = listed(run), nested(grades)
    found = [
        any(judged.get(doc_id, 0) > 0 for doc_id, _ in hits.get(query_id, [])[:k])
        for query_id, judged in by_query.items()
    ]
    return sum(found) / len(found)


@given(rows(), some_grades())
def test_success_is_what_counting_gives_at_every_k(one: Rows, grades: Grades) -> None:
    if one and {query for query, _ in one}.isdisjoint(query for query, _ in grades):
        return
    run = ranked("s", one)
    joined = JudgedRuns([run], qrels_of(grades))
    whole = success(first_relevant(joined), DEPTH)[0]
    cut = success(first_relevant(joined, DEPTH), DEPTH)[0]
    assert whole.tolist() == cut.tolist() == [counted(run, grades, k) for k in range(1, DEPTH + 1)]


@given(st.lists(rows(max_size=20), min_size=2, max_size=3), some_grades(highest=1))
def test_success_is_that_of_ir_measures_for_all_runs_at_once(several: list[Rows], grades: Grades) -> None:
    judged = {query for query, _ in grades}
    runs = [
        ranked(f"s{place}", scored)
        for place, scored in enumerate(several)
        if not scored or not judged.isdisjoint(query for query, _ in scored)
    ]
    if not runs:
        return
    joined = JudgedRuns(runs, qrels_of(grades))
    theirs = score(joined, [f"Success@{k}" for k in range(1, DEPTH + 1)]).values.mean(axis=2)
    np.testing.assert_allclose(success(first_relevant(joined, DEPTH), DEPTH), theirs, atol=1e-12)


def test_the_first_relevant_rank_of_each_query_in_the_order_of_the_qrels() -> None:
    # b is the second of q2; q1's relevant one is not returned; q3 is not returned at all; a is judged 0.
    run = run_of("s", q1="ac", q2="abz", q4="z")
    grades = {("q2", "b"): 2, ("q2", "z"): 1, ("q1", "a"): 0, ("q1", "x"): 1, ("q3", "a"): 1}
    found = first_relevant(JudgedRuns([run], qrels_of(grades)))
    assert found.tolist() == [[2, 0, 0]]
    # One of three queries, from its second document on.
    assert success(found, 3).tolist() == [[0.0, 1 / 3, 1 / 3]]


def test_a_run_without_rows_has_no_success() -> None:
    joined = JudgedRuns([ranked("none", {})], qrels_of({("q", "a"): 1}))
    assert success(first_relevant(joined, 3), 3).tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("documents", [1, 2, 181, 1000])
def test_with_one_relevant_document_a_random_order_succeeds_with_k_of_n(documents: int) -> None:
    depth = min(documents, 100)
    found = random_success(np.ones(225, dtype=np.int64), documents, depth)
    assert found == pytest.approx([k / documents for k in range(1, depth + 1)], abs=1e-12)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1, max_size=4))))
def test_a_random_order_succeeds_as_often_as_all_orders_do_on_average(drawn: tuple[int, list[int]]) -> None:
    documents, relevant = drawn
    orders = list(itertools.permutations(range(documents)))
    for k, found in enumerate(random_success(np.array(relevant), documents, documents + 2), 1):
        # The first R documents are the relevant ones.
        hits = [sum(any(doc < several for doc in order[:k]) for order in orders) for several in relevant]
        assert found == pytest.approx(sum(hits) / len(orders) / len(relevant), abs=1e-12)


@given(st.integers(1, 300), st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(1, 100))
def test_a_random_order_succeeds_as_the_binomials_say(documents: int, some: list[int], depth: int) -> None:
    relevant = [min(several, documents) for several in some]
    found = random_success(np.array(relevant), documents, depth)
    k = min(depth, documents)
    each = [1 - Fraction(math.comb(documents - several, k), math.comb(documents, k)) for several in relevant]
    assert found[-1] == pytest.approx(float(sum(each) / len(each)), abs=1e-12)


def test_ten_million_documents_neither_overflow_nor_lose_the_line() -> None:
    found = random_success(np.array([1, 1]), 10_000_000, 100)
    assert found[-1] == pytest.approx(1e-5, rel=1e-9)
    everything = random_success(np.array([10_000_000, 0]), 10_000_000, 3)
    assert everything.tolist() == [0.5, 0.5, 0.5]


def test_what_cannot_be_counted_is_refused_in_one_line() -> None:
    none = JudgedRuns([run_of("s", q="a")], qrels_of({("q", "a"): 1}))
    with pytest.raises(ConfigError, match="the depth is 0"):
        success(first_relevant(none), 0)
    with pytest.raises(ConfigError, match="no judged query"):
        success(np.zeros((1, 0), dtype=np.int64), 1)
    with pytest.raises(ConfigError, match="4 relevant documents of 3; give 0 to 3"):
        random_success(np.array([4]), 3, 1)
