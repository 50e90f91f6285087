"""Estimates as results: their order, what they compare, refusals, warnings, and coverage of all intervals at once."""

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from quati_pool.errors import QuatiPoolError
from quati_pool.estimation import summary
from quati_pool.estimation.pair_estimates import PairEstimator, folds
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.query_regression import QuerySample, clipped, shared_weight
from quati_pool.estimation.results import Estimate, Target
from quati_pool.estimation.summary import Choices, Labelled, PairValues, QueryValues, from_pairs, from_queries
from tests.estimation.small_frames import SCALE, collection, draw

TAGS = ["d", "b", "a", "c"]
QUERIES, DRAWN = 60, 20


def values(seed: int = 1, systems: int = 4, drawn: int = DRAWN, queries: int = QUERIES) -> QueryValues:
    """System 1 is the best, 0 and 2 differ a little, 3 is the worst."""
    generator = np.random.default_rng(seed)
    effect = np.resize([0.0, 0.15, 0.004, -0.2], systems)
    people = 0.5 + effect + 0.15 * generator.standard_normal((queries, 1))
    people = people + 0.02 * generator.standard_normal((queries, systems))
    judge = 0.2 + 0.8 * people + 0.05 * generator.standard_normal((queries, systems))
    chosen = QuerySample(generator.permutation(queries)[:drawn], np.zeros(queries, dtype=int))
    return QueryValues(people[chosen.drawn], judge, chosen)


def estimated(given: QueryValues, target: Target = "these-queries", **choices: object) -> Estimate:
    tags = TAGS if given.people.shape[1] == 4 else [f"s{number:02}" for number in range(given.people.shape[1])]
    return from_queries("nDCG@10", target, tags, given, Choices(**choices))


@pytest.mark.parametrize("target", ["these-queries", "queries-like-these"])
def test_systems_are_those_of_the_regression_the_best_first(target: Target) -> None:
    given = values()
    found = estimated(given, target)
    like_these = target == "queries-like-these"
    sums = given.sample.judge_weights(given.people, given.judge)
    weight = shared_weight(*sums)
    means = given.sample.means(given.people, given.judge, weight, like_these=like_these)
    alone = given.sample.alone(given.people, like_these=like_these)
    assert [one.run_tag for one in found.systems] == ["b", "a", "d", "c"]
    assert (found.measure, found.target) == ("nDCG@10", target)
    assert found.degrees == pytest.approx(DRAWN - 1)
    for one in found.systems:
        run = TAGS.index(one.run_tag)
        half = stats.t.ppf(0.975, DRAWN - 1) * means.standard_error[run]
        assert one.estimate == pytest.approx(means.estimate[run])
        assert (one.low, one.high) == pytest.approx((one.estimate - half, one.estimate + half))
        assert one.standard_error == pytest.approx(means.standard_error[run])
        half = stats.t.ppf(0.975, DRAWN - 1) * alone.standard_error[run]
        expected = (alone.estimate[run], alone.estimate[run] - half, alone.estimate[run] + half)
        assert astuple(one.people_only) == pytest.approx(expected)
        assert one.judge_only == pytest.approx(given.judge[:, run].mean())
        assert one.judge_weight == pytest.approx(weight.mean())
        assert one.own_weight == pytest.approx(clipped(*sums)[:, run].mean())
    assert found.warnings == ()


@pytest.mark.parametrize("target", ["these-queries", "queries-like-these"])
def test_effective_queries_are_how_many_people_alone_would_need(target: Target) -> None:
    # A judge who says nothing is worth no query more than were drawn.
    given = values()
    nothing = replace(given, judge=np.full_like(given.judge, 0.5))
    for one in estimated(nothing, target).systems:
        assert one.effective_queries == pytest.approx(DRAWN)
    # With the variance s² of a query's value, m queries have the same squared error: s²(1/m − 1/N), or s²/m for queries
    # like these.
    spread = given.people.var(axis=0, ddof=1)
    for one in estimated(given, target).systems:
        assert one.effective_queries is not None
        assert one.effective_queries > 1.5 * DRAWN
        of_frame = 1 / QUERIES if target == "these-queries" else 0
        variance = spread[TAGS.index(one.run_tag)] * (1 / one.effective_queries - of_frame)
        assert one.standard_error**2 == pytest.approx(variance)


def test_all_pairs_are_compared_the_better_one_first() -> None:
    given = values()
    found = estimated(given, delta=0.03)
    names = [(one.a, one.b) for one in found.differences]
    assert names == [("b", "a"), ("b", "d"), ("b", "c"), ("a", "d"), ("a", "c"), ("d", "c")]
    a, b = (np.array([TAGS.index(name) for name in side]) for side in zip(*names, strict=True))
    people, judge = given.people[:, a] - given.people[:, b], given.judge[:, a] - given.judge[:, b]
    weight = shared_weight(*given.sample.judge_weights(people, judge))
    direct = given.sample.means(people, judge, weight, like_these=False)
    p = 2 * stats.t.sf(np.abs(direct.estimate) / direct.standard_error, DRAWN - 1)
    adjusted = multipletests(p, method="holm")[1]
    assert found.critical is not None
    assert found.critical > stats.t.ppf(0.975, DRAWN - 1)
    for number, one in enumerate(found.differences):
        half = found.critical * direct.standard_error[number]
        assert one.estimate == pytest.approx(direct.estimate[number])
        assert (one.low, one.high) == pytest.approx((one.estimate - half, one.estimate + half))
        assert (one.p, one.p_adjusted) == pytest.approx((p[number], adjusted[number]))
    assert [one.verdict for one in found.differences] == ["better", "better", "better", "tie", "better", "better"]
    assert all(one.needed is None and one.reason is None for one in found.differences)


def test_with_a_baseline_each_other_system_is_compared_with_it() -> None:
    found = estimated(values(), baseline="a", delta=0.03)
    assert [(one.a, one.b, one.verdict) for one in found.differences] == [
        ("b", "a", "better"),
        ("d", "a", "tie"),
        ("c", "a", "worse"),
    ]
    assert found.baseline == "a"


def test_large_tables_are_computed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    given = values(seed=2, systems=7)
    expected = estimated(given)
    monkeypatch.setattr(summary, "_BLOCK", 4)
    found = estimated(given)
    assert len(found.differences) == 21
    for one, other in zip(found.differences, expected.differences, strict=True):
        assert (one.a, one.b, one.verdict) == (other.a, other.b, other.verdict)
        assert (one.estimate, one.low, one.high) == pytest.approx((other.estimate, other.low, other.high))


def test_looks_share_the_error_probability() -> None:
    given = values()
    once, often = estimated(given), estimated(given, looks=5)
    tenth = estimated(given, alpha=0.01)
    for one, other, whole in zip(often.systems, tenth.systems, once.systems, strict=True):
        assert (one.low, one.high) == (other.low, other.high)
        assert one.high - one.low > whole.high - whole.low
    assert often.critical == tenth.critical
    assert [one.verdict for one in often.differences] == [one.verdict for one in tenth.differences]
    assert (often.alpha, often.looks) == (0.05, 5)


def test_the_seed_decides_the_simulated_quantile_alone() -> None:
    given = values()
    one, same, other = (estimated(given, seed=seed) for seed in (1, 1, 2))
    assert one.critical == same.critical
    assert one.critical == pytest.approx(other.critical, rel=0.06)
    assert one.systems == other.systems


def test_systems_with_equal_estimates_are_ordered_by_their_tag() -> None:
    given = values()
    equal = QueryValues(given.people[:, [0, 0, 0, 0]], given.judge[:, [0, 0, 0, 0]], given.sample)
    found = estimated(equal)
    assert [one.run_tag for one in found.systems] == ["a", "b", "c", "d"]
    assert found.critical is None
    for one in found.differences:
        assert (one.estimate, one.low, one.high) == (0, None, None)
        assert (one.p, one.p_adjusted, one.verdict) == (None, None, "inconclusive")
        assert one.reason == "people's grades make no difference in any query"


def test_few_queries_that_show_a_difference_are_inconclusive() -> None:
    given = values()
    people = given.people.copy()
    # Systems 0 and 1 differ in 3 of the drawn queries, by much, and in one by a rounding error.
    people[:, 1] = people[:, 0]
    people[:3, 1] += 0.5
    people[5, 1] += 1e-15
    found = estimated(replace(given, people=people), baseline="d")
    (one,) = (one for one in found.differences if one.a == "b")
    assert one.verdict == "inconclusive"
    assert one.reason == "people's grades make a difference in only 3 queries"
    people[:, 1] = people[:, 0]
    people[0, 1] += 0.5
    found = estimated(replace(given, people=people), baseline="d")
    assert "people's grades make a difference in only 1 query" in [one.reason for one in found.differences]


def test_what_is_inconclusive_says_how_many_queries_would_decide() -> None:
    given = values()
    found = estimated(given, delta=0.003)
    (one,) = (one for one in found.differences if one.verdict == "inconclusive")
    assert {one.a, one.b} == {"a", "d"}
    assert one.reason is None
    assert one.needed is not None
    # The error that is left follows from the half-width: the test of six differences at 0.05/6, two-sided.
    assert found.critical is not None
    unit = ((one.high - one.low) / 2 / found.critical) ** 2 / (1 / DRAWN - 1 / QUERIES)
    first = unit * ((stats.norm.ppf(1 - 0.05 / 12) + stats.norm.ppf(0.8)) / 0.003) ** 2
    assert one.needed == int(np.ceil(first / (1 + first / QUERIES))) - DRAWN


def test_one_system_has_no_difference() -> None:
    given = values()
    single = QueryValues(given.people[:, :1], given.judge[:, :1], given.sample)
    found = from_queries("nDCG@10", "these-queries", ["only"], single, Choices())
    assert found.differences == ()
    assert found.critical is None
    assert len(found.systems) == 1


def test_fewer_than_eight_queries_are_refused() -> None:
    assert estimated(values(drawn=8)).degrees == pytest.approx(7)
    with pytest.raises(QuatiPoolError, match=r"^7 queries .* needs at least 8"):
        estimated(values(drawn=7))


def test_a_weight_at_an_end_is_warned_of() -> None:
    given = values()
    (low,) = estimated(replace(given, judge=1 - given.judge)).warnings
    assert low.startswith("λ is 0")
    (high,) = estimated(replace(given, judge=given.judge / 5)).warnings
    assert high.startswith("λ is at 1")
    (constant,) = estimated(replace(given, judge=np.full_like(given.judge, 0.1))).warnings
    assert constant == low


def test_values_that_are_estimates_themselves_add_their_errors() -> None:
    # The value of each of 8 drawn queries of 20 has an error of ±e, of its own. Over all signs, the squared standard
    # error of the mean is (1 − 8/20)·s²/8 + e²/8 on average: that of drawing queries, and that of the values.
    error, truth = 0.1, values(systems=1, drawn=8, queries=20)
    nothing = np.zeros_like(truth.judge)
    noise = np.full((8, 1), error / 8)
    found: dict[Target, list[float]] = {"these-queries": [], "queries-like-these": []}
    for signs in product([-1, 1], repeat=8):
        seen = truth.people + error * np.array(signs)[:, None]
        given = QueryValues(seen, nothing, truth.sample, noise=noise)
        for target, errors in found.items():
            errors.append(estimated(given, target).systems[0].standard_error ** 2)
    spread = truth.people.var(ddof=1)
    assert np.mean(found["these-queries"]) == pytest.approx((1 - 8 / 20) * spread / 8 + error**2 / 8)
    # s²/8 of the values as they were seen has both parts.
    assert np.mean(found["queries-like-these"]) == pytest.approx(spread / 8 + error**2 / 8)


def test_people_alone_may_have_other_values() -> None:
    given = values()
    other = given.people + 0.1
    expected = [one.people_only.estimate + 0.1 for one in estimated(given).systems]
    found = estimated(replace(given, alone=other))
    assert [one.people_only.estimate for one in found.systems] == pytest.approx(expected)
    assert [one.estimate for one in found.systems] == [one.estimate for one in estimated(given).systems]


def test_systems_that_rank_alike_tie() -> None:
    given = values()
    columns = [0, 1, 0, 3]
    twin = replace(given, people=given.people[:, columns], judge=given.judge[:, columns])
    found = from_queries("nDCG@10", "these-queries", TAGS, twin, Choices(), rankings=[0, 1, 0, 2])
    verdicts = {(one.a, one.b): (one.verdict, one.reason) for one in found.differences}
    assert verdicts["a", "d"] == ("tie", "both rank the pool's documents alike")
    assert verdicts["b", "a"] == ("better", None)


# Pairs.


@pytest.mark.parametrize("target", ["these-queries", "queries-like-these"])
def test_estimates_from_pairs(target: Target) -> None:
    one = collection(3, queries=20, pairs=40, systems=4)
    sample = draw(one, np.full(len(one.frame), 0.4), 4)
    measure, fold = parse_pair_measure("nDCG@10"), folds(len(one.frame), 5)
    estimator = PairEstimator(one.frame, measure, SCALE, fold)
    means = estimator.estimate(sample)
    alone = PairEstimator(one.frame, measure, SCALE, fold, use_judge=False).estimate(sample)
    judge_only = estimator.under(one.frame.judge)
    labelled = Labelled(len(sample), len(one.frame), "pairs")
    found = from_pairs("nDCG@10", target, TAGS, PairValues(means, alone, judge_only, labelled), Choices())
    like_these = target == "queries-like-these"
    expected, people = means.means(like_these=like_these), alone.means(like_these=like_these)
    quantile = stats.t.ppf(0.975, 19) if like_these else stats.norm.ppf(0.975)
    assert found.degrees == (19 if like_these else None)
    estimates = [system.estimate for system in found.systems]
    assert estimates == sorted(estimates, reverse=True)
    for system in found.systems:
        run = TAGS.index(system.run_tag)
        half = quantile * expected.standard_error[run]
        assert (system.low, system.high) == pytest.approx(
            (expected.estimate[run] - half, expected.estimate[run] + half)
        )  # fmt: skip
        assert system.people_only.estimate == pytest.approx(people.estimate[run])
        assert system.judge_only == pytest.approx(judge_only[:, run].mean())
        assert system.judge_weight is None
        assert system.own_weight is None
        # A variance s² of the queries' own values: the error of m whole queries is s²(1/m − 1/N), or s²/m.
        of_frame = 0 if like_these else 1 / 20
        if system.effective_queries is not None:
            variance = expected.spread[run] * (1 / system.effective_queries - of_frame)
            assert system.standard_error**2 == pytest.approx(variance)
    for difference in found.differences:
        a, b = TAGS.index(difference.a), TAGS.index(difference.b)
        rows = expected.rows[:, a] - expected.rows[:, b]
        assert difference.estimate == pytest.approx(expected.estimate[a] - expected.estimate[b])
        assert found.critical is not None
        half = found.critical * np.sqrt(rows @ rows)
        assert difference.high - difference.estimate == pytest.approx(half)


# All intervals at once.


@pytest.mark.slow
def test_all_intervals_of_differences_cover_at_once() -> None:
    # Over 600 draws a coverage has a standard error of √(0.95·0.05/600) = 0.009. Holm's decisions are wrong in at most
    # 5 % of samples.
    given = values(seed=6, systems=6, queries=100)
    generator = np.random.default_rng(7)
    everything = values(seed=6, systems=6, queries=100, drawn=100)
    people = np.empty((100, 6))
    people[everything.sample.drawn] = everything.people
    truth = people.mean(axis=0)
    covered = wrong = 0
    for seed in range(600):
        chosen = replace(given.sample, drawn=generator.permutation(100)[:15])
        found = estimated(replace(given, people=people[chosen.drawn], sample=chosen), seed=seed)
        true = [truth[int(one.a[1:])] - truth[int(one.b[1:])] for one in found.differences]
        inside = [one.low <= value <= one.high for one, value in zip(found.differences, true, strict=True)]
        covered += all(inside)
        wrong += any(
            {"better": value <= 0, "worse": value >= 0, "tie": abs(value) > 0.02, "inconclusive": False}[one.verdict]
            for one, value in zip(found.differences, true, strict=True)
        )
    assert 0.925 <= covered / 600 <= 0.975
    assert wrong / 600 <= 0.05 + 0.018


def test_a_census_decides_every_difference_unless_grades_are_missing() -> None:
    census = values(drawn=QUERIES)
    found = estimated(census).differences
    assert {one.verdict for one in found} == {"better"}
    assert all(one.estimate > 0 and one.low == one.high for one in found)
    assert {one.verdict for one in estimated(replace(census, complete=False)).differences} == {"inconclusive"}
