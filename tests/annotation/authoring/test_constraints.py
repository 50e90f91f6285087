"""Clusters are exactly those of the definitions, and drawn with the probabilities that they give."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quati_pool.annotation.authoring.constraints import (
    ClusterSettings,
    ConstraintIndex,
    clusters,
    gathered,
    index_constraints,
    uniform,
)
from quati_pool.errors import ConfigError
from quati_pool.files.triples import Triples, read_triples
from tests.annotation.authoring import constraints_oracle as oracle
from tests.annotation.authoring.constraints_oracle import Constraint, Graph, Triple
from tests.annotation.authoring.made_graphs import brute_force, coded, in_memory, planted

NAMES = ["a", "B", "é", "a1", "Q10", "Q2", "ü", "z/z"]
SMALL = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["p", "q", "P1"]), st.sampled_from(NAMES)),
    min_size=1,
    max_size=60,
)


def by_ids(index: ConstraintIndex, numbers: tuple[int, ...]) -> list[Constraint]:
    return [tuple(constraint) for constraint in index.constraints(numbers)]


def names(index: ConstraintIndex, codes: np.ndarray) -> list[str]:
    return index.ids.entities.decode(codes).to_pylist()


def drawn(triples: Triples, config: ClusterSettings) -> list[oracle.Cluster]:
    index = index_constraints(triples, config.min_shared)
    return [
        oracle.Cluster(found.cluster_id, by_ids(index, found.constraints), set(names(index, found.shared)))
        for found in clusters(index, config)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_clusters_of_20_000_triples_are_those_of_brute_force(tmp_path: Path, seed: int) -> None:
    rows, _, expected = brute_force(seed)
    assert len(expected) > 100
    assert any(len(cluster.constraints) == 10 for cluster in expected)
    assert drawn(coded(rows, tmp_path), ClusterSettings(seed=seed)) == expected


def test_planted_clusters_are_found(tmp_path: Path) -> None:
    # Constraints that nothing else shares answers with: each group is one cluster, whatever the draws.
    rows = [
        (f"m{group}.{x}", f"P{c}", f"h{group}.{c}")
        for group in range(4)
        for c in range(3 + group)
        for x in range(2 + group)
    ]
    # Two constraints are too few, and one shared answer is too little.
    rows += [(f"two.{x}", f"P{c}", f"two.h{c}") for c in range(2) for x in range(5)]
    rows += [(x, f"P{c}", f"one.h{c}") for c in range(5) for x in ("one", f"one.{c}")]
    found = drawn(coded(rows, tmp_path), ClusterSettings())
    assert sorted((sorted(cluster.constraints), sorted(cluster.shared)) for cluster in found) == [
        (
            [(f"h{group}.{c}", f"P{c}", "subj") for c in range(3 + group)],
            [f"m{group}.{x}" for x in range(2 + group)],
        )
        for group in range(4)
    ]


@settings(max_examples=300, deadline=None)
@given(SMALL, st.integers(0, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 4))
def test_small_graphs_as_by_brute_force(
    rows: list[Triple], seed: int, min_shared: int, smallest: int, more: int
) -> None:
    config = ClusterSettings(
        seed=seed, min_shared=min_shared, min_constraints=smallest, max_constraints=smallest + more
    )
    graph = Graph(rows, min_shared)
    index = index_constraints(in_memory(rows), min_shared)
    assert (
        dict(zip(by_ids(index, tuple(range(len(index)))), range(len(index)), strict=True)).keys()
        == graph.answers.keys()
    )
    for number, constraint in enumerate(by_ids(index, tuple(range(len(index))))):
        assert names(index, index.answers_of(number)) == sorted(graph.answers[constraint], key=str.encode)
    for entity, name in enumerate(index.ids.entities.values.to_pylist()):
        fulfilled = gathered(index.of_entity_starts, index.of_entity, np.array([entity]))
        assert set(by_ids(index, tuple(fulfilled))) == {c for c, answers in graph.answers.items() if name in answers}
    assert dict(zip(index.ids.properties.values.to_pylist(), index.frequency.tolist(), strict=True)) == graph.frequency
    assert index.triples == len(graph.triples)
    found = drawn(in_memory(rows), config)
    assert found == oracle.clusters(graph, seed, smallest, smallest + more)
    used = [constraint for cluster in found for constraint in cluster.constraints]
    assert len(used) == len(set(used))
    for cluster in found:
        assert smallest <= len(cluster.constraints) <= smallest + more
        joint = set.intersection(*(graph.answers[c] for c in cluster.constraints))
        assert joint == cluster.shared
        assert len(joint) >= min_shared


@settings(max_examples=60, deadline=None)
@given(SMALL, st.randoms(use_true_random=False), st.lists(st.integers(0, 60), max_size=3))
def test_neither_order_nor_repetition_of_rows_nor_files_matter(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Triple], generator: random.Random, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    mixed = rows + generator.choices(rows, k=5)
    generator.shuffle(mixed)
    bounds = [0, *sorted(cut for cut in cuts if 0 < cut < len(mixed)), len(mixed)]
    paths = []
    for number, (start, end) in enumerate(itertools.pairwise(bounds)):
        if start < end:
            paths.append(folder / f"{number}.tsv")
            paths[-1].write_text("".join("\t".join(row) + "\n" for row in mixed[start:end]), encoding="utf-8")
    assert drawn(read_triples(paths), ClusterSettings()) == drawn(in_memory(rows), ClusterSettings())


def test_another_seed_gives_other_clusters(tmp_path: Path) -> None:
    triples = coded(planted(3_000), tmp_path)
    assert drawn(triples, ClusterSettings(seed=1)) != drawn(triples, ClusterSettings())


def test_ties_of_keys_are_ordered_by_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    # All numbers alike, so that keys differ by frequency only: p and q have 6 triples each.
    rows = [(x, p, f"h{c}") for x in ("x", "y") for c in range(3) for p in ("p", "q")]
    monkeypatch.setattr("quati_pool.annotation.authoring.constraints.uniform", lambda hashed: np.full(len(hashed), 0.5))
    monkeypatch.setattr(oracle, "uniform", lambda hashed: 0.5)
    found = drawn(in_memory(rows), ClusterSettings(max_constraints=4))
    assert [cluster.constraints for cluster in found] == [
        [("h0", "p", "subj"), ("h0", "q", "subj"), ("h1", "p", "subj"), ("h1", "q", "subj")],
        [("x", "p", "obj"), ("x", "q", "obj"), ("y", "p", "obj"), ("y", "q", "obj")],
    ]
    assert found == oracle.clusters(Graph(rows), 0, 3, 4)


def test_progress_ends_with_all(tmp_path: Path) -> None:
    index = index_constraints(coded(planted(3_000), tmp_path))
    said: list[tuple[int, int]] = []
    list(clusters(index, ClusterSettings(), lambda done, of: said.append((done, of))))
    assert said[0] == (0, len(index))
    assert said[-1] == (len(index), len(index))
    assert said == sorted(said)


def test_uniform_numbers_lie_strictly_between_0_and_1() -> None:
    ends = uniform(np.array([0, 2**64 - 1], dtype=np.uint64))
    assert 0 < ends[0] < ends[1] < 1


# Probabilities.


def four_constraints() -> list[Triple]:
    """A seed c0 with the answers x, y, z and three constraints that share two of them with it: c1 {x, y}, c2 {x, y, z},
    c3 {y, z}; c1 and c3 share one alone. Properties have 3, 4, 8 and 20 triples, of which the others are of entities
    with one answer."""
    rows = [(x, "p0", "c0") for x in "xyz"]
    for c, answers, frequency in (("c1", "xy", 4), ("c2", "xyz", 8), ("c3", "yz", 20)):
        rows += [(x, f"p{c[1]}", c) for x in answers]
        rows += [(f"s{c}{n}", f"p{c[1]}", f"o{c}{n}") for n in range(frequency - len(answers))]
    return rows


def chances(eligible: dict[str, set[str]], shared: set[str], frequency: dict[str, int]) -> dict[tuple[str, ...], float]:
    """The probability of each order of growth, from the definition: each draw in proportion to weight among those
    eligible."""
    now = {c: answers for c, answers in eligible.items() if len(answers & shared) >= 2}
    if not now:
        return {(): 1.0}
    whole = sum(1 / frequency[c] for c in now)
    found: dict[tuple[str, ...], float] = {}
    for c, answers in now.items():
        rest = {other: found for other, found in eligible.items() if other != c}
        for after, chance in chances(rest, shared & answers, frequency).items():
            found[c, *after] = chance / frequency[c] / whole
    return found


def test_growth_has_the_probabilities_of_one_draw_after_another() -> None:
    rows = four_constraints()
    triples = in_memory(rows)
    index = index_constraints(triples)
    others = {"c1": set("xy"), "c2": set("xyz"), "c3": set("yz")}
    expected = chances(others, set("xyz"), {"c1": 4, "c2": 8, "c3": 20})
    # By hand: c1 first has (1/4) / (1/4 + 1/8 + 1/20) = 10/17; c2 is then the only one left that shares two with it.
    assert expected["c1", "c2"] == pytest.approx(10 / 17)
    assert sum(expected.values()) == pytest.approx(1)
    counts: Counter[tuple[str, ...]] = Counter()
    for seed in range(6_000):
        found = next(clusters(index, ClusterSettings(seed=seed, min_constraints=1)))
        seeded, *grown = by_ids(index, found.constraints)
        if seeded[0] == "c0":
            counts[tuple(c for c, _, _ in grown)] += 1
    drawn_orders = sum(counts.values())
    assert set(counts) <= set(expected)
    test = stats.chisquare([counts[order] for order in expected], [drawn_orders * p for p in expected.values()])
    assert test.pvalue > 1e-4
    # The seed itself: weights 1/3, 1/4, 1/8 and 1/20.
    share = (1 / 3) / (1 / 3 + 1 / 4 + 1 / 8 + 1 / 20)
    assert stats.binomtest(drawn_orders, 6_000, share).pvalue > 1e-4


def test_first_seeds_are_in_proportion_to_weight() -> None:
    generator = random.Random(3)
    rows = {
        (f"s{generator.randrange(30)}", f"p{min(int(generator.paretovariate(0.8)), 6)}", f"o{n % 9}")
        for n in range(300)
    }
    index = index_constraints(in_memory(rows))
    weights = 1 / index.odds
    by_property = np.bincount(index.property, weights)
    counts = np.zeros(len(by_property))
    for seed in range(5_000):
        found = next(clusters(index, ClusterSettings(seed=seed, min_constraints=1, max_constraints=1)))
        counts[index.property[found.constraints[0]]] += 1
    test = stats.chisquare(counts, 5_000 * by_property / by_property.sum())
    assert test.pvalue > 1e-4


# Settings.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_shared": 0}, "min_shared is 0; expected 1 or more"),
        ({"max_constraints": 2}, "max_constraints is 2; expected 3 or more"),
        ({"min_questions": 0}, "min_questions is 0; expected 1 or more"),
        ({"drop": 1.0}, "drop is 1.0; expected a probability from 0 to below 1"),
        ({"negate": float("nan")}, "negate is nan; expected a probability from 0 to below 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ClusterSettings(**settings)  # type: ignore[arg-type]


def test_the_defaults_are_those_of_the_paper_and_of_the_docstrings() -> None:
    found = ClusterSettings()
    assert (found.min_shared, found.min_constraints, found.draws, found.drop, found.negate) == (2, 3, 5, 0.1, 0.1)
    assert (found.max_kept, found.max_answers, found.candidates) == (4, 5_000, 100)


def test_an_index_of_other_settings_is_refused() -> None:
    index = index_constraints(in_memory([("a", "p", "b")]), 1)
    with pytest.raises(ValueError, match="min_shared"):
        next(clusters(index, ClusterSettings()))
