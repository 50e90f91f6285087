"""Fusions against plain dictionaries and Python floats."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from random_runs import Rows, any_score, expected_order, listed, ranked, ranks, rows

from quati_pool.errors import ConfigError
from quati_pool.records import Run
from quati_pool.registry import FUSIONS
from quati_pool.retrieval.fusion import CombMnz, CombParameters, CombSum, Rrf, RrfParameters

WAYS = ["min-max", "z-score", "sum", "none"]

# Moderate numbers, so that a brute-force sum in another order rounds to the same float32 all but always:
# multiples of 1/8 are exact in float64 whatever the order of additions.
eighths = st.integers(-40, 40).map(lambda n: n / 8)
weights = st.integers(1, 8).map(lambda n: n / 4)
inputs = st.integers(1, 4).flatmap(
    lambda n: st.tuples(
        st.lists(rows(eighths, max_size=15), min_size=n, max_size=n),
        st.none() | st.lists(weights, min_size=n, max_size=n),
    )
)


def rank_table(scored: Rows) -> dict[tuple[str, str], int]:
    return {
        (query_id, doc_id): rank
        for query_id, hits in expected_order(scored).items()
        for rank, (doc_id, _) in enumerate(hits, 1)
    }


def normalized(scored: Rows, how: str) -> Rows:
    """The definitions, a query at a time."""
    result: Rows = {}
    for wanted in {query_id for query_id, _ in scored}:
        mine = {pair: score for pair, score in scored.items() if pair[0] == wanted}
        values = list(mine.values())
        low, high, n = min(values), max(values), len(values)
        for pair, score in mine.items():
            if how == "none":
                result[pair] = score
            elif how == "min-max":
                result[pair] = 1.0 if high == low else (score - low) / (high - low)
            elif how == "sum":
                total = math.fsum(value - low for value in values)
                result[pair] = 1 / n if high == low else (score - low) / total
            else:
                mean, deviation = math.fsum(values) / n, statistics.pstdev(values)
                result[pair] = 0.0 if high == low else (score - mean) / deviation
    return result


def added(
    many: Sequence[Rows], factors: Sequence[float] | None, contribution: Callable[[Rows], Rows], times: bool
) -> Rows:
    """The sum of weighted contributions of each pair, times its number of inputs where ``times``."""
    parts: dict[tuple[str, str], list[float]] = {}
    for scored, weight in zip(many, factors or [1.0] * len(many), strict=True):
        for pair, value in contribution(scored).items():
            parts.setdefault(pair, []).append(weight * value)
    return {pair: sum(values) * (len(values) if times else 1) for pair, values in parts.items()}


def check(fused: Run, expected: Rows) -> None:
    """The same pairs with the same scores but for the last bit of a float32, in the order that the rule
    of ties gives the fused scores."""
    found = {(query_id, doc_id): score for query_id, hits in listed(fused).items() for doc_id, score in hits}
    assert found.keys() == expected.keys()
    for pair, score in expected.items():
        assert found[pair] == pytest.approx(score, rel=1e-6, abs=1e-12)
    assert listed(fused) == expected_order({pair: float(score) for pair, score in found.items()})


@given(inputs, st.sampled_from([0, 1, 60, 7.5]))
def test_rrf_equals_its_formula(many: tuple[list[Rows], list[float] | None], k: float) -> None:
    """Bit for bit, and so in the very order: contributions are added in the order of the inputs."""
    scored, factors = many
    fused = Rrf(RrfParameters(k=k, weights=factors)).fuse("f", [ranked(f"s{i}", one) for i, one in enumerate(scored)])
    expected = added(
        scored, factors, lambda one: {pair: 1 / (k + rank) for pair, rank in rank_table(one).items()}, False
    )
    assert listed(fused) == expected_order(expected)


@given(inputs, st.sampled_from(WAYS))
def test_combsum_equals_its_formula(many: tuple[list[Rows], list[float] | None], how: str) -> None:
    scored, factors = many
    fusion = CombSum(CombParameters(normalization=how, weights=factors))
    fused = fusion.fuse("f", [ranked(f"s{i}", one) for i, one in enumerate(scored)])
    expected = added(scored, factors, lambda one: normalized(one, how), False)
    check(fused, expected)
    if how in ("none", "min-max"):  # no sum of many terms inside: the same operations, bit for bit
        assert listed(fused) == expected_order(expected)


@given(inputs, st.sampled_from(WAYS))
def test_combmnz_equals_its_formula(many: tuple[list[Rows], list[float] | None], how: str) -> None:
    scored, factors = many
    fusion = CombMnz(CombParameters(normalization=how, weights=factors))
    fused = fusion.fuse("f", [ranked(f"s{i}", one) for i, one in enumerate(scored)])
    expected = added(scored, factors, lambda one: normalized(one, how), True)
    check(fused, expected)
    if how in ("none", "min-max"):
        assert listed(fused) == expected_order(expected)


@given(st.lists(rows(any_score, max_size=15), min_size=2, max_size=3), st.sampled_from(sorted(FUSIONS.names())))
def test_a_fusion_of_fusions(many: list[Rows], method: str) -> None:
    """Fusing fused runs is fusing runs that hold the same rankings."""
    kind = FUSIONS.get(method)
    fusion = kind(kind.Parameters())
    first = fusion.fuse("inner", [ranked(f"s{i}", one) for i, one in enumerate(many)])
    other = ranked("other", many[0])
    # The same inner run, rebuilt from its rows over vocabularies of its own.
    rebuilt = ranked(
        "inner", {(query, doc): float(score) for query, hits in listed(first).items() for doc, score in hits}
    )
    assert listed(fusion.fuse("outer", [first, other])) == listed(fusion.fuse("outer", [rebuilt, other]))


@given(inputs, st.randoms(use_true_random=False), st.sampled_from(sorted(FUSIONS.names())))
def test_the_row_order_of_inputs_does_not_matter(
    many: tuple[list[Rows], list[float] | None], chance: object, method: str
) -> None:
    """float32 scores compared exactly, from shuffled frames too."""
    kind = FUSIONS.get(method)
    fusion = kind(kind.Parameters(weights=many[1]))
    frames = {f"s{i}": ranked(f"s{i}", one).to_frame() for i, one in enumerate(many[0])}
    shuffled = {}
    for tag, frame in frames.items():
        positions = list(range(len(frame)))
        chance.shuffle(positions)  # type: ignore[attr-defined]
        shuffled[tag] = frame.iloc[positions]
    plain = fusion.fuse("f", Run.from_frames(frames))
    assert listed(fusion.fuse("f", Run.from_frames(shuffled))) == listed(plain)


@given(inputs, st.integers(1, 6), st.sampled_from(sorted(FUSIONS.names())))
def test_depth_cuts_the_whole_fusion(many: tuple[list[Rows], list[float] | None], depth: int, method: str) -> None:
    kind = FUSIONS.get(method)
    runs = [ranked(f"s{i}", one) for i, one in enumerate(many[0])]
    fusion = kind(kind.Parameters(weights=many[1]))
    assert listed(fusion.fuse("f", runs, depth)) == listed(fusion.fuse("f", runs).head(depth))


def test_rrf_by_hand() -> None:
    # k = 60. d1: 1/61 + 1/62 = 0.032522; d2: 1/62 = 0.016129; d3: 1/61 = 0.016393; d3 before d2.
    one = ranked("a", {("q", "d1"): 9.0, ("q", "d2"): 5.0})
    other = ranked("b", {("q", "d3"): 0.9, ("q", "d1"): 0.8})
    fused = Rrf(RrfParameters()).fuse("rrf", [one, other])
    assert [doc_id for doc_id, _ in listed(fused)["q"]] == ["d1", "d3", "d2"]
    assert fused.score.tolist() == pytest.approx([0.0325225, 0.0163934, 0.0161290], abs=1e-7)
    assert fused.run_tag == "rrf"


def test_combmnz_by_hand() -> None:
    # min-max: a gives d1 1, d2 0.25, d3 0; b gives d2 1, d4 0. CombSUM: d2 1.25, d1 1, d3 0, d4 0.
    # CombMNZ doubles d2, which two inputs return. At 0, d4 precedes d3.
    one = ranked("a", {("q", "d1"): 10.0, ("q", "d2"): 4.0, ("q", "d3"): 2.0})
    other = ranked("b", {("q", "d2"): 0.7, ("q", "d4"): 0.2})
    summed = CombSum(CombParameters()).fuse("s", [one, other])
    assert listed(summed) == {"q": [("d2", 1.25), ("d1", 1.0), ("d4", 0.0), ("d3", 0.0)]}
    times = CombMnz(CombParameters()).fuse("m", [one, other])
    assert listed(times) == {"q": [("d2", 2.5), ("d1", 1.0), ("d4", 0.0), ("d3", 0.0)]}


@pytest.mark.parametrize(("how", "each"), [("min-max", 1.0), ("z-score", 0.0), ("sum", 0.25), ("none", 7.0)])
def test_a_query_whose_scores_are_all_equal(how: str, each: float) -> None:
    constant = ranked("a", {("q", doc_id): 7.0 for doc_id in "abcd"})
    fused = CombSum(CombParameters(normalization=how)).fuse("f", [constant])
    assert fused.score.tolist() == [each] * 4


def test_only_the_documents_of_the_query_normalise_it() -> None:
    run = ranked("a", {("q1", "a"): 1.0, ("q1", "b"): 3.0, ("q2", "a"): 100.0, ("q2", "b"): 300.0})
    fused = CombSum(CombParameters()).fuse("f", [run])
    assert listed(fused) == {"q1": [("b", 1.0), ("a", 0.0)], "q2": [("b", 1.0), ("a", 0.0)]}


def test_an_input_that_returns_nothing() -> None:
    run = ranked("a", {("q", "a"): 1.0, ("q", "b"): 3.0})
    for method in FUSIONS.names():
        kind = FUSIONS.get(method)
        fused = kind(kind.Parameters()).fuse("f", [ranked("none", {}), run])
        assert ranks(fused) == {("q", "b"): 1, ("q", "a"): 2}
        assert len(kind(kind.Parameters()).fuse("f", [ranked("none", {})])) == 0


def test_weights_must_be_one_a_system() -> None:
    runs = [ranked("a", {("q", "a"): 1.0})] * 3
    with pytest.raises(ConfigError) as caught:
        Rrf(RrfParameters(weights=[1.0, 2.0])).fuse("mix", runs)
    assert str(caught.value) == "mix fuses 3 systems and has 2 weights; give one weight per system"


def test_a_score_beyond_float32_is_refused() -> None:
    runs = [ranked(tag, {("q", "a"): 3e38, ("q", "b"): -3e38}) for tag in "xy"]
    with pytest.raises(ConfigError) as caught:
        CombSum(CombParameters(normalization="none")).fuse("mix", runs)
    assert str(caught.value) == "mix: a fused score is too large for float32; normalise, or lower the weights"
    # Normalised they are 1 and 0 each.
    assert CombSum(CombParameters()).fuse("mix", runs).score.tolist() == [2.0, 0.0]


@pytest.mark.parametrize("wrong", [{"k": -1}, {"k": math.inf}, {"weights": [math.nan]}, {"depth": 3}])
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RrfParameters(**wrong)


def test_integers_and_categories_as_frames() -> None:
    """pandas keeps repeated ids as categories; what they stand for counts, not their codes."""
    frame = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"], "score": np.array([1, 2])})
    coded = frame.astype({"query_id": "category", "doc_id": "category"})
    assert listed(Run.from_frame("s", coded)) == listed(Run.from_frame("s", frame)) == {"q": [("a", 2), ("b", 1)]}
