"""Depth pools against sets, a query at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import ranked, ranks, runs

from quati_pool.pooling.pool import Pool, depth_pool, growth
from quati_pool.records import Ids, Run

systems = runs(st.integers(1, 4))


def pairs(pool: Pool) -> list[tuple[str, str]]:
    """The pool's pairs in its order."""
    query_ids, doc_ids = pool.queries.decode(pool.query).to_pylist(), pool.docs.decode(pool.doc).to_pylist()
    return list(zip(query_ids, doc_ids, strict=True))


def fed_by(run: Run, depth: int) -> set[tuple[str, str]]:
    return {pair for pair, rank in ranks(run).items() if rank <= depth}


@given(systems, st.lists(st.integers(0, 5), min_size=4, max_size=4), st.data())
def test_a_pool_equals_the_union_of_the_heads(many: Sequence[Run], depths: list[int], data: st.DataObject) -> None:
    depth = dict(zip((run.run_tag for run in many), depths, strict=False))
    known = many[0].queries.values.to_pylist()
    extra = []
    if known:
        pair = st.tuples(st.sampled_from(known), st.sampled_from(["10", "a", "nowhere", "é"]))
        extra = data.draw(st.lists(pair, unique=True, max_size=4))
    pool = depth_pool(many, depth, extra)

    heads = [fed_by(run, depth[run.run_tag]) for run in many]
    order = pool.queries.values.to_pylist()
    expected = sorted(set().union(extra, *heads), key=lambda pair: (order.index(pair[0]), pair[1].encode()))
    assert pairs(pool) == expected
    assert pool.run_tags == tuple(run.run_tag for run in many)
    assert pool.depths.tolist() == [depth[run.run_tag] for run in many]
    # The ledger: every system's rank of every pair, however deep, 0 where it did not return it.
    for column, run in enumerate(many):
        rank = ranks(run)
        assert pool.ranks[:, column].tolist() == [rank.get(pair, 0) for pair in pairs(pool)]
        assert pool.fed[:, column].tolist() == [pair in heads[column] for pair in pairs(pool)]
    # All of it entered at once and for sure; what a run's head has is not an extra pair, whatever the file says.
    assert pool.round.tolist() == [1] * len(pool)
    assert pool.reason.tolist() == ["depth" if pair in set().union(*heads) else "extra" for pair in pairs(pool)]
    assert pool.inclusion.tolist() == [1.0] * len(pool)


def shared(tag: str, queries: Ids, docs: Ids, rows: list[tuple[int, int, float]]) -> Run:
    query, doc, score = (np.array(column) for column in zip(*rows, strict=True))
    return Run.ranked(tag, queries, docs, query, doc, score)


def test_order_is_the_queries_then_doc_id_in_bytes() -> None:
    queries, docs = Ids(["10", "9", "1"]), Ids(["b", "B", "é", "z", "10", "9"])
    run = shared("s", queries, docs, [(2, 0, 1.0), (0, 0, 1.0), *((1, code, float(code)) for code in range(6))])
    # Queries as the vocabulary lists them; documents by their bytes, whatever their ranks.
    assert pairs(depth_pool([run], {"s": 10})) == [
        ("10", "b"),
        *(("9", doc_id) for doc_id in ("10", "9", "B", "b", "z", "é")),
        ("1", "b"),
    ]


def test_each_system_has_its_own_depth() -> None:
    scored = {("q", doc_id): float(score) for score, doc_id in enumerate("edcba")}  # a first, e last
    deep, shallow = ranked("deep", scored), ranked("shallow", {("q", "x"): 2.0, ("q", "y"): 1.0})
    pool = depth_pool([deep, shallow], {"deep": 3, "shallow": 1})
    assert pairs(pool) == [("q", "a"), ("q", "b"), ("q", "c"), ("q", "x")]


def test_a_system_of_depth_0_stands_in_the_ledger_and_feeds_nothing() -> None:
    one = ranked("one", {("q", "a"): 2.0, ("q", "b"): 1.0})
    theirs = ranked("theirs", {("q", "z"): 9.0, ("q", "a"): 5.0})
    pool = depth_pool([one, theirs], {"one": 10, "theirs": 0})
    assert pairs(pool) == [("q", "a"), ("q", "b")]
    assert pool.ranks.tolist() == [[1, 2], [2, 0]]
    assert pool.fed.tolist() == [[True, False], [True, False]]


def test_extra_pairs_join_whoever_returned_them() -> None:
    queries, docs = Ids(["q1", "q2"]), Ids(["a", "b", "c"])
    run = shared("s", queries, docs, [(0, 0, 3.0), (0, 1, 2.0), (1, 2, 1.0)])
    pool = depth_pool([run], {"s": 1}, [("q1", "b"), ("q2", "new"), ("q1", "a")])
    # b at rank 2 is beyond the depth, new is no system's, a is there already.
    assert pairs(pool) == [("q1", "a"), ("q1", "b"), ("q2", "c"), ("q2", "new")]
    assert pool.ranks[:, 0].tolist() == [1, 2, 1, 0]
    assert pool.fed[:, 0].tolist() == [True, False, True, False]


def test_systems_of_several_corpora_meet_by_their_ids() -> None:
    """Each corpus has a vocabulary of its own, in which the same doc_id has another code."""
    queries = Ids(["q"])
    small = shared("small", queries, Ids(["x", "common"]), [(0, 0, 2.0), (0, 1, 1.0)])
    large = shared("large", queries, Ids(["common", "y", "x"]), [(0, 0, 2.0), (0, 1, 1.0)])
    pool = depth_pool([small, large], {"small": 2, "large": 2})
    assert pairs(pool) == [("q", "common"), ("q", "x"), ("q", "y")]
    assert pool.ranks.tolist() == [[2, 1], [1, 0], [0, 2]]


def test_a_pool_of_nothing() -> None:
    pool = depth_pool([ranked("none", {})], {"none": 10})
    assert len(pool) == 0
    assert pool.ranks.shape == pool.fed.shape == (0, 1)


@given(systems)
def test_growth_counts_the_union_at_each_depth(many: Sequence[Run]) -> None:
    everything = [(pair, rank) for run in many for pair, rank in ranks(run).items()]
    deepest = max((rank for _, rank in everything), default=0)
    expected = [len({pair for pair, rank in everything if rank <= depth}) for depth in range(1, deepest + 1)]
    assert growth(many).tolist() == expected


@pytest.mark.parametrize("times", [1, 3])
def test_growth_by_hand(times: int) -> None:
    # Depth 1: a, c. Depth 2: b, a again. Depth 3: c again. The same systems again add nothing.
    one = ranked("one", {("q", "a"): 3.0, ("q", "b"): 2.0, ("q", "c"): 1.0})
    other = ranked("other", {("q", "c"): 2.0, ("q", "a"): 1.0})
    assert growth([one, other] * times).tolist() == [2, 3, 3]
