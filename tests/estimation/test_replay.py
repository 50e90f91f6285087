"""Replays of estimates where people graded everything: small collections whose outcome is known, and TREC DL 2021."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.estimation.replay.census import Census
from quati_pool.estimation.replay.results import Decisions, Method, MethodReplay, Replay, ReplayPlan
from quati_pool.estimation.replay.running import replay
from quati_pool.estimation.results import TARGETS, Target
from quati_pool.estimation.summary import Choices, QueryValues, from_queries
from quati_pool.processes.local import LocalEngine
from tests.estimation.dl_2021 import DL2021, dl_2021
from tests.serial_engine import SerialEngine

QUERIES, SYSTEMS, POOL = 20, 4, 12


def census(*, judge: str = "noisy", seed: int = 0) -> Census:
    """Four systems that rank 12 pairs of each of 20 queries; the better ones rank relevant pairs higher.

    The judge gives people's grades ("perfect"), or others where it errs ("noisy").
    """
    random = np.random.default_rng(seed)
    relevance = random.choice(4, (QUERIES, POOL), p=[0.5, 0.2, 0.2, 0.1])
    noise = random.integers(-1, 2, relevance.shape) if judge == "noisy" else 0
    by_judge = np.clip(relevance + noise, 0, 3)
    scores = relevance[None] + np.linspace(0.5, 3, SYSTEMS)[:, None, None] * random.normal(
        size=(SYSTEMS, QUERIES, POOL)
    )
    order = np.argsort(-scores, axis=2)
    rank = np.argsort(order, axis=2) + 1
    system, query, place = (axis.ravel() for axis in np.indices(rank.shape))
    frame = PairFrame(
        np.repeat(np.arange(QUERIES), POOL),
        QUERIES,
        by_judge.ravel(),
        SYSTEMS,
        query * POOL + place,
        system,
        rank.ravel(),
    )
    people, judged = (ndcg(grades, order) for grades in (relevance, by_judge))
    return Census(people, judged, frame, relevance.ravel(), [0, 1, 2, 3], parse_pair_measure("nDCG@5"))


def ndcg(grades: np.ndarray, order: np.ndarray) -> np.ndarray:
    """nDCG@5 by hand, shape (queries, systems)."""
    discounts = 1 / np.log2(np.arange(2, 7))
    gains = np.take_along_axis(np.broadcast_to(grades, order.shape), order, axis=2)[:, :, :5] @ discounts
    ideal = -np.sort(-grades, axis=1)[:, :5] @ discounts
    return (gains / np.maximum(ideal, 1e-12)).T


def done(graded: Census, **plan: Any) -> Replay:
    return replay(graded, ReplayPlan(**{"queries": 8, "pairs": 100, "draws": 10, **plan}), SerialEngine())


def of(found: Replay, method: Method, target: Target = "these-queries") -> MethodReplay:
    (one,) = (one for one in found.methods if (one.method, one.target) == (method, target))
    return one


def same(a: Replay, b: Replay) -> bool:
    return all(
        x.labels == y.labels
        and x.decisions == y.decisions
        and x.simultaneous_coverage == y.simultaneous_coverage
        and x.refused == y.refused
        and all(
            np.array_equal(getattr(getattr(x, part), name), getattr(getattr(y, part), name))
            for part in ("systems", "differences")
            for name in ("coverage", "half_width", "bias", "error")
        )
        for x, y in zip(a.methods, b.methods, strict=True)
    )


def test_every_method_is_replayed_for_both_targets() -> None:
    found = done(census(), draws=25)
    methods = ["people-only", "queries", "pairs", "uniform-pairs", "judge-only"]
    assert [(one.target, one.method) for one in found.methods] == [
        (target, method) for target in TARGETS for method in methods
    ]
    assert [one.draws for one in found.methods] == [25, 25, 25, 25, 1, 25, 25, 25, 25, 25]
    assert [one.labels for one in found.methods if one.method in ("queries", "people-only")] == [8 * POOL] * 4
    assert of(found, "pairs").labels == pytest.approx(100, abs=4)
    assert len(found.a) == SYSTEMS * (SYSTEMS - 1) // 2
    assert found.truth == pytest.approx(census().people.mean(axis=0))


@pytest.mark.slow
def test_processes_give_what_one_gives() -> None:
    graded, plan = census(), ReplayPlan(queries=8, pairs=100, draws=50)
    progress: list[int] = []
    serial = replay(graded, plan, SerialEngine(), progress.append)
    with LocalEngine(2) as engine:
        assert same(replay(graded, plan, engine), serial)
    assert progress == [0, 20, 40, 50]


def test_draws_depend_on_the_seed_alone() -> None:
    graded = census()
    first = done(graded)
    assert same(done(graded), first)
    assert not same(done(graded, seed=1), first)


def test_targets_are_replayed_independently() -> None:
    graded = census()
    both = done(graded)
    for target in TARGETS:
        alone = done(graded, targets=(target,))
        kept = replace(both, methods=tuple(one for one in both.methods if one.target == target))
        assert same(alone, kept)


def test_a_perfect_judge_leaves_no_error_in_whole_queries() -> None:
    found = of(done(census(judge="perfect")), "queries")
    assert found.systems.coverage.tolist() == [1] * SYSTEMS
    assert np.abs(found.systems.half_width).max() < 1e-9
    assert np.abs(found.systems.error).max() < 1e-9
    judge_only = of(done(census(judge="perfect")), "judge-only")
    assert np.abs(judge_only.systems.bias).max() < 1e-12
    assert judge_only.labels == 0


def test_all_queries_or_all_pairs_leave_no_error() -> None:
    found = done(census(), queries=QUERIES, pairs=QUERIES * POOL)
    for method in ("people-only", "queries", "pairs", "uniform-pairs"):
        one = of(found, method)  # type: ignore[arg-type]
        assert one.systems.coverage.tolist() == [1] * SYSTEMS
        assert np.abs([one.systems.half_width, one.systems.error]).max() < 1e-9
        assert one.labels == QUERIES * POOL
        assert found.relative_width(one) == (None, None)
        assert one.decisions == Decisions(1, 0, 0, 0, 0)
        assert one.simultaneous_coverage == 1
    like_these = of(found, "pairs", "queries-like-these")
    assert like_these.systems.half_width.min() > 0.01


def test_with_all_queries_systems_tie_only_if_they_are_the_same() -> None:
    graded = census()
    same_twice = replace(graded, people=graded.people[:, [0, 1, 1, 3]], judge=graded.judge[:, [0, 1, 1, 3]])
    verdicts = of(done(same_twice, queries=QUERIES, delta=0.5), "queries").decisions
    assert (verdicts.ordered, verdicts.tied) == (5 / 6, 1 / 6)
    like_these = of(done(graded, queries=QUERIES), "queries", "queries-like-these").decisions
    assert like_these.decided < 1


def test_collections_with_fewer_pairs_than_are_asked_for_are_drawn_in_full() -> None:
    graded = census()
    frame = graded.frame
    kept = (frame.query > 2) | (np.arange(len(frame)) % POOL < 6)
    number = np.cumsum(kept) - 1
    ranked = kept[frame.pair]
    smaller = replace(
        frame, query=frame.query[kept], judge=frame.judge[kept], pair=number[frame.pair[ranked]],
        system=frame.system[ranked], rank=frame.rank[ranked],
    )  # fmt: skip
    of_all = replace(graded, frame=smaller, relevance=graded.relevance[kept])
    found = of(done(of_all, pairs=len(smaller), draws=30), "pairs", "queries-like-these")
    assert found.labels < len(smaller)
    # In a collection with a few more pairs, only a few are left to chance.
    assert 0 < found.estimated <= found.draws == 30


def test_draws_that_estimate_would_refuse_are_counted_and_left_out() -> None:
    few = done(census(), pairs=30)
    for one in (of(few, "pairs"), of(few, "uniform-pairs", "queries-like-these")):
        assert (one.refused, one.estimated) == ({"few-pairs": 10}, 0)
        assert np.isnan(one.systems.coverage).all()
        assert np.isnan(one.decisions.decided)
        assert one.simultaneous_coverage is None
        assert 20 < one.labels < 40
        assert few.relative_width(one) == (None, None)
    assert of(few, "queries").refused == {}
    some = of(done(census(), pairs=53, draws=40), "uniform-pairs")
    assert set(some.refused) == {"few-pairs", "unsure-ideal"}
    assert 0 < some.estimated < 40
    assert not np.isnan(some.systems.coverage).any()


@pytest.mark.parametrize("baseline", [None, 1])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("judge", ["noisy", "perfect"])
def test_simultaneous_intervals_are_those_of_estimate(target: Target, baseline: int | None, judge: str) -> None:
    graded = census(judge=judge)
    draws = 40
    found = of(done(graded, draws=draws, targets=(target,), baseline=baseline, alpha=0.3), "queries", target)
    run_tags = [f"s{system}" for system in range(SYSTEMS)]
    truth = dict(zip(run_tags, graded.truth.tolist(), strict=True))
    held = 0
    for draw in range(draws):
        generator = np.random.default_rng([0, draw])
        collection = np.arange(QUERIES)
        if target == "queries-like-these":
            collection = generator.integers(0, QUERIES, QUERIES)
        drawn = generator.permutation(QUERIES)[:8]
        people, by_judge = graded.people[collection], graded.judge[collection]
        values = QueryValues(people[drawn], by_judge, QuerySample(drawn, np.zeros(QUERIES, dtype=np.int64)))
        choices = Choices(baseline=None if baseline is None else run_tags[baseline], alpha=0.3)
        differences = from_queries("nDCG@5", target, run_tags, values, choices).differences
        held += all(
            one.low is None or one.high is None or one.low - 1e-9 <= truth[one.a] - truth[one.b] <= one.high + 1e-9
            for one in differences
        )
    # Where the target is queries like these, a part of the errors is simulated, with other random numbers.
    room = 0 if target == "these-queries" else 1 / draws
    assert found.simultaneous_coverage == pytest.approx(held / draws, abs=room + 1e-12)


def test_rounding_errors_are_no_errors_of_simultaneous_intervals() -> None:
    found = of(done(census(judge="perfect"), draws=40), "queries")
    assert (found.systems.half_width < 1e-12).all()
    assert found.simultaneous_coverage == 1


def test_simultaneous_intervals_are_computed_in_the_first_draws_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quati_pool.estimation.replay.results.SIMULTANEOUS_DRAWS", 4)
    few, more = done(census(), draws=4, alpha=0.3), done(census(), draws=30, alpha=0.3)
    assert more.plan.simultaneous_draws == 4
    assert [one.simultaneous_coverage for one in few.methods] == [one.simultaneous_coverage for one in more.methods]


def test_differences_to_a_baseline() -> None:
    graded = census()
    found, every = done(graded, baseline=2), done(graded)
    assert found.a.tolist() == [0, 1, 3]
    assert found.b.tolist() == [2, 2, 2]
    assert of(found, "queries").decisions == of(every, "queries").decisions
    pairs = list(zip(every.a.tolist(), every.b.tolist(), strict=True))
    same_pair = pairs.index((0, 2))
    for method in ("people-only", "pairs"):  # whose differences do not depend on the others
        one, other = of(found, method), of(every, method)  # type: ignore[arg-type]
        assert one.differences.half_width[0] == pytest.approx(other.differences.half_width[same_pair])
        assert one.differences.coverage[0] == other.differences.coverage[same_pair]


def test_a_measure_that_pairs_cannot_serve() -> None:
    found = done(replace(census(), measure=None), targets=("these-queries",))
    assert [one.method for one in found.methods] == ["people-only", "queries", "judge-only"]


@pytest.mark.parametrize("baseline", [None, 1])
@pytest.mark.parametrize("target", TARGETS)
def test_a_draw_is_estimated_as_estimate_does(target: Target, baseline: int | None) -> None:
    graded = census()
    plan = {"queries": 8, "draws": 1, "targets": (target,), "baseline": baseline, "seed": 3}
    found = of(done(graded, **plan), "queries", target)
    generator = np.random.default_rng([3, 0])
    collection = np.arange(QUERIES)
    if target == "queries-like-these":
        collection = generator.integers(0, QUERIES, QUERIES)
    drawn = generator.permutation(QUERIES)[:8]
    people, judge = graded.people[collection], graded.judge[collection]
    values = QueryValues(people[drawn], judge, QuerySample(drawn, np.zeros(QUERIES, dtype=np.int64)))
    run_tags = [f"s{system}" for system in range(SYSTEMS)]
    choices = Choices(baseline=None if baseline is None else run_tags[baseline])
    expected = from_queries("nDCG@5", target, run_tags, values, choices)
    systems = {one.run_tag: one for one in expected.systems}
    truth = graded.truth
    for place, run_tag in enumerate(run_tags):
        one = systems[run_tag]
        assert found.systems.bias[place] == pytest.approx(one.estimate - truth[place])
        assert found.systems.half_width[place] == pytest.approx((one.high - one.low) / 2)
        assert found.systems.coverage[place] == (one.low <= truth[place] <= one.high)
    replayed = {abs(round(bias, 9)) for bias in _differences_of(graded, baseline, found)}
    assert replayed == {abs(round(one.estimate, 9)) for one in expected.differences}
    if baseline is None:
        assert found.decisions.decided == np.mean([one.verdict != "inconclusive" for one in expected.differences])


def _differences_of(graded: Census, baseline: int | None, found: MethodReplay) -> list[float]:
    """The estimated differences of a replay of one draw."""
    a, b = done(graded, draws=1, baseline=baseline).a, done(graded, draws=1, baseline=baseline).b
    differences: list[float] = (found.differences.bias + graded.truth[a] - graded.truth[b]).tolist()
    return differences


def of_values(people: np.ndarray, judge: np.ndarray) -> Census:
    """A measure's values alone, of queries with one pair each."""
    queries, none = np.arange(len(people)), np.zeros(0, dtype=np.int64)
    frame = PairFrame(queries, len(people), np.zeros_like(queries), people.shape[1], none, none, none)
    return Census(people, judge, frame, np.zeros_like(queries), [0, 1], None)


def test_verdicts_are_held_against_the_truth() -> None:
    random = np.random.default_rng(0)
    people = np.array([0.6, 0.4]) + random.normal(0, 0.01, (30, 2))
    found = done(of_values(people, people[:, ::-1]), draws=5)
    assert of(found, "people-only").decisions == Decisions(1, 0, 0, 0, 0)
    assert of(found, "judge-only").decisions == Decisions(1, 0, 1, 1, 0)
    alike = 0.5 + random.normal(0, 0.001, (30, 2))
    found = done(of_values(people, alike), draws=5, delta=0.01)
    assert of(found, "judge-only").decisions == Decisions(0, 1, 0, None, 1)
    tied = of(done(of_values(alike, people), draws=5), "people-only").decisions
    assert tied.decided == 1
    assert tied.tied >= 0.8
    assert tied.wrong_tie_draws == 0


# ---- TREC DL 2021


DRAWS = 300


def replayed(every: int, pairs: float, targets: tuple[Target, ...] = TARGETS) -> tuple[Replay, list[str]]:
    """Every so many of the runs, by sorted run_tag, and the baseline p_bm25."""
    data = dl_2021()
    run_tags = sorted({*data.run_tags[::every], "p_bm25"})
    plan = ReplayPlan(queries=15, pairs=pairs, draws=DRAWS, targets=targets, baseline=run_tags.index("p_bm25"))
    with LocalEngine(2) as engine:
        return replay(of_systems(data, run_tags), plan, engine), run_tags


def of_systems(data: DL2021, run_tags: list[str]) -> Census:
    kept = np.array([data.run_tags.index(run_tag) for run_tag in run_tags])
    number = np.full(len(data.run_tags), -1)
    number[kept] = np.arange(len(kept))
    frame = data.frame
    ranked = number[frame.system] >= 0
    frame = replace(
        frame,
        systems=len(kept),
        pair=frame.pair[ranked],
        system=number[frame.system[ranked]],
        rank=frame.rank[ranked],
    )
    people, judge = data.people[:, kept], data.judge[:, kept]
    return Census(people, judge, frame, data.relevance, [0, 1, 2, 3], parse_pair_measure("nDCG@10"))


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, 1])
def test_dl_2021(every: int) -> None:
    """The figures that the designs are chosen by, with room for the error of ``DRAWS`` draws in single systems."""
    found, run_tags = replayed(every, 3065)
    queries, pairs = of(found, "queries"), of(found, "pairs")
    for part in (queries.systems, queries.differences):
        assert 0.93 <= part.coverage.mean() <= 0.965
        assert part.coverage.min() >= 0.88
    ratios = found.relative_width(queries)
    assert ratios[0] is not None
    assert ratios[1] is not None
    assert ratios[0] <= 0.77
    assert ratios[1] <= 0.61
    assert queries.decisions.wrong_order_draws <= 0.05
    assert 3040 <= pairs.labels <= 3090
    assert pairs.systems.half_width.mean() <= 0.030
    assert pairs.differences.half_width.mean() <= 0.035
    assert 0.93 <= pairs.systems.coverage.mean() <= 0.97
    assert 0.93 <= pairs.differences.coverage.mean() <= 0.97
    assert abs(pairs.systems.bias.mean()) <= 0.006
    assert np.abs(pairs.systems.bias).max() <= 0.006
    assert pairs.decisions.decided >= 0.60
    assert pairs.decisions.wrong_order_draws <= 0.05
    for method in ("queries", "pairs"):
        like_these = of(found, method, "queries-like-these")  # type: ignore[arg-type]
        for part in (like_these.systems, like_these.differences):
            assert 0.92 <= part.coverage.mean() <= 0.97
    assert of(found, "judge-only").systems.coverage.mean() < 0.1
    assert len(run_tags) == len(found.truth)


@pytest.mark.slow
def test_dl_2021_with_fewer_pairs() -> None:
    found, _ = replayed(3, 1500, ("these-queries",))
    pairs = of(found, "pairs")
    assert 1480 <= pairs.labels <= 1520
    assert pairs.systems.half_width.mean() <= 0.055
    assert pairs.differences.half_width.mean() <= 0.060
    assert 0.93 <= pairs.systems.coverage.mean() <= 0.985
    assert 0.93 <= pairs.differences.coverage.mean() <= 0.985
