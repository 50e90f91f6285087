"""Candidates against dictionaries, a query at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import ranked, ranks, runs

from quati_pool.pooling import candidates as module
from quati_pool.pooling.candidates import Candidates, Rankings, candidates
from quati_pool.records import Ids, Run

depths_of = st.lists(st.integers(0, 5), min_size=4, max_size=4)


def named(frame: Candidates) -> list[tuple[str, str]]:
    """The pairs in their order."""
    query_ids, doc_ids = frame.queries.decode(frame.query).to_pylist(), frame.docs.decode(frame.doc).to_pylist()
    return list(zip(query_ids, doc_ids, strict=True))


def depth_by_tag(many: Sequence[Run], depths: Sequence[int]) -> dict[str, int]:
    return {run.run_tag: depth for run, depth in zip(many, depths, strict=False)}


@given(runs(st.integers(1, 4)), depths_of, st.sampled_from([1, 7, 1_000_000]))
def test_candidates_are_the_union_of_the_heads(many: Sequence[Run], depths: list[int], rows: int) -> None:
    depth = depth_by_tag(many, depths)
    feeding = [run for run in many if depth[run.run_tag]]
    if not feeding:
        with pytest.raises(ValueError, match="no run feeds the pool"):
            candidates(many, depth)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", rows)
        frame = candidates(many, depth)

    heads = {run.run_tag: {p: rank for p, rank in ranks(run).items() if rank <= depth[run.run_tag]} for run in feeding}
    order = frame.queries.values.to_pylist()
    expected = sorted(set().union(*heads.values()), key=lambda pair: (order.index(pair[0]), pair[1].encode()))
    assert named(frame) == expected
    assert len(frame) == len(expected)
    assert frame.run_tags == tuple(heads)
    assert frame.sizes.tolist() == [sum(pair[0] == query_id for pair in expected) for query_id in order]
    for query, query_id in enumerate(order):
        check_rankings(frame.rankings(query), [pair for pair in expected if pair[0] == query_id], heads)


def check_rankings(
    rankings: Rankings, pairs: list[tuple[str, str]], heads: Mapping[str, dict[tuple[str, str], int]]
) -> None:
    """The rankings of a query, whose ``pairs`` are numbered in their order, against each run's ranks of them."""
    assert rankings.size == len(pairs)
    assert len(rankings.by_run) == len(heads)
    for row, head in zip(rankings.by_run.tolist(), heads.values(), strict=True):
        ordered = sorted((pair for pair in pairs if pair in head), key=lambda pair: head[pair])
        assert row == [pairs.index(pair) for pair in ordered] + [-1] * (len(row) - len(ordered))
    # No column that all runs leave empty.
    assert rankings.by_run.shape[1] == max(sum(pair in head for pair in pairs) for head in heads.values())
    assert rankings.popularity.tolist() == [sum(pair in head for head in heads.values()) for pair in pairs]
    assert rankings.best_rank.tolist() == [min(head[pair] for head in heads.values() if pair in head) for pair in pairs]
    for candidate, pair in enumerate(pairs):
        found = [column.tolist() for column in rankings.places(candidate)]
        assert found == [
            [run for run, head in enumerate(heads.values()) if pair in head],
            [head[pair] for head in heads.values() if pair in head],
        ]


def test_a_worked_example() -> None:
    # Query 1: a ranks d3, d1, d2 and b ranks d2, d4. Query 2: b alone ranks d1. A depth of 2 cuts d2 of a.
    a = ranked("a", {("1", "d3"): 3.0, ("1", "d1"): 2.0, ("1", "d2"): 1.0})
    b = ranked("b", {("1", "d2"): 3.0, ("1", "d4"): 2.0, ("2", "d1"): 1.0})
    c = ranked("c", {("1", "d9"): 3.0})
    frame = candidates([a, b, c], {"a": 2, "b": 2, "c": 0})
    assert named(frame) == [("1", "d1"), ("1", "d2"), ("1", "d3"), ("1", "d4"), ("2", "d1")]
    assert frame.starts.tolist() == [0, 4, 5]
    assert frame.run_tags == ("a", "b")
    first, second = frame.rankings(0), frame.rankings(1)
    assert first.by_run.tolist() == [[2, 0], [1, 3]]
    assert first.popularity.tolist() == [1, 1, 1, 1]
    assert first.best_rank.tolist() == [2, 1, 1, 2]
    # Numbers of a query's own candidates begin at 0; a run without documents of the query has a row of its own.
    assert second.by_run.tolist() == [[-1], [0]]


def test_a_query_without_documents_has_no_candidates() -> None:
    queries, docs = Ids(["empty", "1", "void"]), Ids(["d1", "d2"])
    run = Run.ranked("a", queries, docs, np.array([1, 1]), np.array([0, 1]), np.array([1.0, 2.0]))
    frame = candidates([run], {"a": 10})
    assert frame.sizes.tolist() == [0, 2, 0]
    for query in (0, 2):
        rankings = frame.rankings(query)
        assert (rankings.size, rankings.by_run.shape) == (0, (1, 0))
        assert rankings.popularity.tolist() == rankings.best_rank.tolist() == []


def test_runs_without_any_rows_make_an_empty_frame() -> None:
    frame = candidates([Run.empty("a"), Run.empty("b")], {"a": 10, "b": 10})
    assert len(frame) == 0
    assert frame.starts.tolist() == [0]


def test_ranks_with_gaps_are_cut_by_rank_and_counted_without_gaps() -> None:
    # d1 to d5 at ranks 1 to 5; a vocabulary without d2 leaves ranks 1, 3, 4 and 5, of which depth 4 keeps three.
    run = ranked("a", {("1", f"d{rank}"): -float(rank) for rank in range(1, 6)}).known(Ids(["d5", "d4", "d3", "d1"]))
    assert run.rank.tolist() == [1, 3, 4, 5]
    frame = candidates([run], {"a": 4})
    assert named(frame) == [("1", "d1"), ("1", "d3"), ("1", "d4")]
    assert frame.rankings(0).by_run.tolist() == [[0, 1, 2]]
    assert frame.rankings(0).best_rank.tolist() == [1, 2, 3]


@given(runs(st.integers(2, 4)))
def test_the_order_of_the_runs_changes_nothing_but_that_of_the_columns(many: Sequence[Run]) -> None:
    depth = depth_by_tag(many, [3] * 4)
    one, other = candidates(many, depth), candidates(many[::-1], depth)
    assert sorted(named(one)) == sorted(named(other))
    by_query = {query_id: query for query, query_id in enumerate(other.queries.values.to_pylist())}
    for query, query_id in enumerate(one.queries.values.to_pylist()):
        rankings, mirrored = one.rankings(query), other.rankings(by_query[query_id])
        assert rankings.by_run.tolist() == mirrored.by_run[::-1].tolist()
