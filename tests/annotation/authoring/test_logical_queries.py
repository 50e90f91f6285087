"""Queries are exactly those of the definitions, irredundant, and drawn with the probabilities of the settings."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quati_pool.annotation.authoring.constraints import (
    Cluster,
    ClusterSettings,
    ConstraintIndex,
    clusters,
    index_constraints,
)
from quati_pool.annotation.authoring.logical_queries import (
    ClusterAnswers,
    Discarded,
    Draw,
    LogicalQuery,
    cluster_answers,
    draws,
    logical_queries,
    logical_query,
)
from quati_pool.files.triples import Triples
from tests.annotation.authoring import constraints_oracle as oracle
from tests.annotation.authoring.constraints_oracle import Constraint, Graph, Triple
from tests.annotation.authoring.made_graphs import brute_force, coded, in_memory, planted


def named(index: ConstraintIndex, cluster: Cluster, query: LogicalQuery | Discarded) -> oracle.Query | str:
    if isinstance(query, Discarded):
        return query.reason
    ids = index.constraints(cluster.constraints)
    signed: dict[Constraint, bool] = {tuple(ids[place]): negated for place, negated in query.constraints}
    answers = index.ids.entities.decode(query.answers).to_pylist()
    assert answers == sorted(answers, key=str.encode)
    return oracle.Query(query.query_id, signed, set(answers))


def drawn(triples: Triples, config: ClusterSettings) -> list[list[oracle.Query | str]]:
    index = index_constraints(triples, config.min_shared)
    hashed = index.hashes(config.seed)
    return [
        [
            named(index, cluster, query)
            for query in logical_queries(cluster, cluster_answers(index, cluster), hashed, config)
        ]
        for cluster in clusters(index, config)
    ]


def expected(graph: Graph, config: ClusterSettings, found: list[oracle.Cluster]) -> list[list[oracle.Query | str]]:
    return [
        oracle.queries(
            graph,
            cluster,
            config.seed,
            config.draws,
            config.drop,
            config.negate,
            config.max_kept,
            config.max_answers,
        )
        for cluster in found
    ]


@pytest.mark.slow
@pytest.mark.parametrize("config", [ClusterSettings(), ClusterSettings(seed=5, drop=0.3, negate=0.4, max_answers=40)])
def test_queries_of_20_000_triples_are_those_of_brute_force(tmp_path: Path, config: ClusterSettings) -> None:
    rows, graph, of_graph = brute_force(config.seed)
    found = drawn(coded(rows, tmp_path), config)
    assert found == expected(graph, config, of_graph)
    kinds = Counter("query" if isinstance(query, oracle.Query) else query for of_one in found for query in of_one)
    assert kinds["query"] > 200
    assert kinds["repeated"] > 10
    sizes = Counter(len(query.signed) for of_one in found for query in of_one if isinstance(query, oracle.Query))
    assert set(sizes) == {1, 2, 3, 4}
    if config.max_answers == 40:
        assert kinds["no_answers"] > 10
        assert kinds["too_many_answers"] > 10
        assert any(any(query.signed.values()) for of_one in found for query in of_one if not isinstance(query, str))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("pq"), st.sampled_from("abcdef")), min_size=5, max_size=60
    ),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    st.integers(1, 4),
    st.sampled_from([3, 5000]),
)
def test_small_graphs_as_by_brute_force(
    rows: list[Triple], seed: int, drop: float, negate: float, most: int, most_answers: int
) -> None:
    config = ClusterSettings(seed=seed, drop=drop, negate=negate, max_kept=most, max_answers=most_answers)
    graph = Graph(rows)
    found = drawn(in_memory(rows), config)
    assert found == expected(graph, config, oracle.clusters(graph, seed))
    for query in (query for of_one in found for query in of_one if isinstance(query, oracle.Query)):
        assert 1 <= len(query.signed) <= most
        assert not all(query.signed.values())
        assert 0 < len(query.answers) <= most_answers
        # Each constraint is needed, and so it is in every part of the query with one that is not negated: the lemma by
        # which cutting after removing is sound.
        for size in range(1, len(query.signed) + 1):
            for part in combinations(query.signed.items(), size):
                signed = dict(part)
                if not all(signed.values()):
                    answers = oracle.answers_of(graph, signed)
                    for constraint in signed:
                        rest = oracle.without(signed, constraint)
                        assert not rest or all(rest.values()) or oracle.answers_of(graph, rest) != answers


# By hand: constraints 0 to 4 with the answers of 0 {1,2,3,4,5,6}, 1 {1,2,3,4}, 2 {1,2,7}, 3 {3,4,5}, 4 {8,9}.
ANSWERS = [{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4}, {1, 2, 7}, {3, 4, 5}, {8, 9}]
ENTITIES = np.arange(1, 10, dtype=np.int32)
KNOWN = ClusterAnswers(ENTITIES, np.array([[x in answers for x in range(1, 10)] for answers in ANSWERS]))
CLUSTER = Cluster("c", (10, 11, 12, 13, 14), np.array([], dtype=np.int32))


def by_hand(kept: str, order: list[int] | None = None, most: int = 4) -> tuple[dict[int, bool], list[int]] | str:
    """The query of a draw such as "0 1 -2": of constraints 0 and 1, and not 2."""
    dropped, negated = np.ones(5, dtype=bool), np.zeros(5, dtype=bool)
    for word in kept.split():
        dropped[abs(int(word))] = False
        negated[abs(int(word))] = word.startswith("-")
    draw = Draw(1, dropped, negated, np.array(order or [0, 1, 2, 3, 4], dtype=np.uint64))
    found = logical_query(CLUSTER, KNOWN, draw, ClusterSettings(max_kept=most, max_answers=5))
    return found.reason if isinstance(found, Discarded) else (dict(found.constraints), found.answers.tolist())


def test_redundant_constraints_are_removed() -> None:
    # 0 holds all that 1 does; without 1, 2 leaves the same two.
    assert by_hand("0 1") == ({1: False}, [1, 2, 3, 4])
    # The broadest goes first: 0, then 1, though 2 alone has 7 in addition.
    assert by_hand("0 2") == ({0: False, 2: False}, [1, 2])
    assert by_hand("0 1 2") == ({1: False, 2: False}, [1, 2])
    # Nothing of 1 is in 4, so that "not 4" excludes nothing.
    assert by_hand("1 -4") == ({1: False}, [1, 2, 3, 4])
    assert by_hand("1 -3") == ({1: False, 3: True}, [1, 2])
    # The last without negation remains.
    assert by_hand("3 -2") == ({3: False}, [3, 4, 5])


def test_discarded_draws() -> None:
    assert by_hand("") == "no_positive"
    assert by_hand("-1 -2") == "no_positive"
    assert by_hand("1 -0") == "no_answers"
    assert by_hand("0") == "too_many_answers"
    assert by_hand("3") == ({3: False}, [3, 4, 5])


def test_too_many_constraints_are_cut_by_their_numbers() -> None:
    # 7 is excluded by 1 alone, but nothing by 2 alone.
    assert by_hand("1 2 -3") == ({1: False, 3: True}, [1, 2])
    # 1 and 2 are excluded by "not 2" alone, 3 to 5 by "not 3" alone, and 0 is the only one without negation.
    assert by_hand("0 -2 -3", most=3) == ({0: False, 2: True, 3: True}, [6])
    assert by_hand("0 -2 -3", [1, 0, 2, 0, 0], most=2) == ({0: False, 3: True}, [1, 2, 6])
    # Of two, both negated, the last gives way to the constraint without negation.
    assert by_hand("0 -2 -3", [9, 1, 2, 3, 4], most=2) == ({0: False, 2: True}, [3, 4, 5, 6])


def test_an_entity_with_100_000_answers_gives_no_query(tmp_path: Path) -> None:
    rows = [("hub", f"p{c}", f"o{n}") for n in range(100_000) for c in range(3)]
    index = index_constraints(coded(rows, tmp_path))
    config = ClusterSettings(drop=0, negate=0)
    (cluster,) = (found for found in clusters(index, config) if len(found.shared) > 3)
    assert sorted(index.constraints(cluster.constraints)) == [("hub", f"p{c}", "obj") for c in range(3)]
    assert len(cluster.shared) == 100_000
    found = logical_queries(cluster, cluster_answers(index, cluster), index.hashes(0), config)
    assert found == [Discarded(f"{cluster.cluster_id}-{n}", "too_many_answers") for n in range(1, 6)]


def test_frequencies_of_raw_draws() -> None:
    rows = [(x, f"p{c}", f"h{c}") for c in range(10) for x in ("x", "y")]
    index = index_constraints(in_memory(rows))
    config = ClusterSettings(draws=20_000)
    (cluster,) = (found for found in clusters(index, config) if len(found.constraints) == 10)
    drawn = draws(cluster, index.hashes(0), config)
    dropped = np.array([draw.dropped for draw in drawn])
    negated = np.array([draw.negated for draw in drawn])
    order = np.array([draw.order for draw in drawn]).argmin(axis=1)
    low, high = stats.binom.interval(0.9999, 20_000, 0.1)
    for place in range(10):
        assert low <= dropped[:, place].sum() <= high
        assert low <= negated[:, place].sum() <= high
    # Independent of one another and of other constraints, and neither says which are kept by number.
    low, high = stats.binom.interval(0.9999, 200_000, 0.01)
    assert low <= (dropped & negated).sum() <= high
    assert low <= (dropped & np.roll(dropped, 1, axis=1)).sum() <= high
    assert low <= (negated & np.roll(negated, 1, axis=0)).sum() <= high
    assert stats.chisquare(np.bincount(order, minlength=10)).pvalue > 1e-4
    first_dropped = dropped[np.arange(20_000), order].sum()
    low, high = stats.binom.interval(0.9999, 20_000, 0.1)
    assert low <= first_dropped <= high


def test_draws_of_clusters_differ(tmp_path: Path) -> None:
    index = index_constraints(coded(planted(3_000), tmp_path))
    hashed = index.hashes(0)
    config = ClusterSettings()
    states = [draw.order.tobytes() for cluster in clusters(index, config) for draw in draws(cluster, hashed, config)]
    assert len(states) > 50
    assert len(set(states)) == len(states)
