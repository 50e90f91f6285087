"""Plans keep what they promise, and the grades that they are tried out on are as they are said to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from quati_pool.estimation.decisions import needed
from quati_pool.estimation.pair_estimates import PairEstimator, PairSample, folds
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.planning import (
    LEAST_PAIRS,
    PlannedDesign,
    Planner,
    projected_half_width,
    queries_by_residuals,
)
from quati_pool.estimation.planning_goals import Detection, Goal, HalfWidth, quantile
from quati_pool.estimation.query_regression import QuerySample, shared_weight
from quati_pool.estimation.results import Drawn, Estimate, Target
from quati_pool.estimation.summary import Choices, QueryValues, from_queries
from quati_pool.estimation.synthetic_grades import grades_by_correlation, grades_from_labels
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from tests.estimation.dl_2021 import dl_2021
from tests.estimation.small_frames import SCALE, collection

NDCG = parse_pair_measure("nDCG@10")
UNSURE = 0.5


def pool(queries: int = 40, judge: float = 0.3) -> PairFrame:
    """A pool whose judge gives some 3 of 10 pairs no grade, by default."""
    return collection(3, queries=queries, pairs=40, systems=5, depth=20, ungraded=judge).frame


def truths(frame: PairFrame, correlation: float = 0.6, number: int = 4) -> list[np.ndarray]:
    return [grades_by_correlation(frame, correlation, np.random.default_rng(seed)) for seed in range(number)]


def plan(
    frame: PairFrame, goal: Goal, target: Target = "these-queries", measure: str = "nDCG@10", correlation: float = 0.6
) -> tuple[PlannedDesign, PlannedDesign]:
    planner = Planner(frame, parse_pair_measure(measure), SCALE, truths(frame, correlation), goal, target, 0)
    return planner.queries(), planner.pairs(UNSURE)


def detection(systems: int = 5, difference: float = 0.1, power: float = 0.8) -> Detection:
    a, b = np.triu_indices(systems, k=1)
    return Detection(most=difference, power=power, level=0.05, a=a, b=b)


# The grades that plans are tried out on


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6, 1.0])
def test_the_correlation_of_grades_and_their_distribution_are_as_stated(correlation: float) -> None:
    frame = pool(queries=200)
    judge = frame.judge_or_mean
    found = [grades_by_correlation(frame, correlation, np.random.default_rng(seed)) for seed in range(40)]
    correlations = [np.corrcoef(people, judge)[0, 1] for people in found]
    assert np.mean(correlations) == pytest.approx(correlation, abs=0.02)
    shares = np.mean([np.bincount(people, minlength=5) / len(judge) for people in found], axis=0)
    assert shares == pytest.approx(np.bincount(judge, minlength=5) / len(judge), abs=0.01)


def test_agreement_differs_between_queries() -> None:
    frame = pool(queries=300)
    people = grades_by_correlation(frame, 0.5, np.random.default_rng(1))
    shares = np.bincount(frame.query, people == frame.judge_or_mean) / frame.sizes
    # Of 40 pairs with a common share, it would have a standard deviation of at most 0.08.
    assert shares.std() > 0.15


def test_labels_stay_and_pairs_get_what_people_gave_to_pairs_with_the_same_grade_by_the_judge() -> None:
    frame = pool()
    people = np.where(frame.query % 4 == 0, 10 + frame.judge_or_mean, NO_GRADE)
    found = grades_from_labels(frame, people, np.random.default_rng(0))
    graded = people != NO_GRADE
    assert (found[graded] == people[graded]).all()
    assert (found == 10 + frame.judge_or_mean).all()


def test_a_query_takes_its_grades_from_one_donor() -> None:
    frame = replace(pool(), judge=np.zeros(40 * 40, dtype=np.int64))
    people = np.where(frame.query < 10, frame.query, NO_GRADE)
    found = grades_from_labels(frame, people, np.random.default_rng(0))
    donors = [np.unique(found[frame.query == query]) for query in range(40)]
    assert {len(one) for one in donors} == {1}
    assert len({int(one[0]) for one in donors[10:]}) > 5


def test_grades_of_the_judge_that_no_labelled_pair_has_take_any_label() -> None:
    frame = pool(judge=0.0)
    lowest = frame.judge == frame.judge.min()
    people = np.where(lowest & (frame.query < 12), 2, NO_GRADE)
    assert (grades_from_labels(frame, people, np.random.default_rng(0)) == 2).all()


# Plans against samples drawn in other ways


def query_half_width(frame: PairFrame, relevance: np.ndarray, count: int, draws: int = 400) -> float:
    """The mean half-width of 95 % intervals from whole queries."""
    estimator = PairEstimator(frame, NDCG, SCALE, folds(len(frame), 0))
    values, judge = estimator.under(relevance.astype(float)), estimator.under(frame.judge_or_mean.astype(float))
    generator, found = np.random.default_rng(99), []
    for _ in range(draws):
        drawn = generator.choice(frame.queries, count, replace=False)
        sample = QuerySample(drawn, np.zeros(frame.queries, dtype=np.int64))
        people = values[drawn]
        weight = shared_weight(*sample.judge_weights(people, judge))
        found.append(sample.means(people, judge, weight, like_these=False).half_width(0.05).mean())
    return float(np.mean(found))


def pair_half_width(frame: PairFrame, relevance: np.ndarray, count: int, draws: int = 20) -> float:
    """The mean half-width of 95 % intervals from drawn pairs."""
    estimator = PairEstimator(frame, NDCG, SCALE, folds(len(frame), 0))
    inclusion, generator, found = probabilities(frame, NDCG, count), np.random.default_rng(99), []
    for _ in range(draws):
        pair = np.flatnonzero(generator.random(len(frame)) < inclusion)
        sample = PairSample(
            pair, relevance[pair].astype(float), inclusion[pair], np.zeros(len(pair), dtype=int),
            np.array([len(frame)]), poisson=True,
        )  # fmt: skip
        found.append(estimator.estimate(sample).means(like_these=False).half_width(0.05).mean())
    return float(np.mean(found))


def test_the_figure_of_a_plan_is_what_samples_of_its_size_give() -> None:
    frame = pool()
    [truth] = truths(frame, number=1)
    planner = Planner(frame, NDCG, SCALE, [truth], HalfWidth(most=0.05, level=0.05), "these-queries", 0)
    queries, pairs = planner.queries(), planner.pairs(UNSURE)
    assert queries.count is not None
    assert queries.figure <= 0.05
    assert queries.figure == pytest.approx(query_half_width(frame, truth, queries.count), rel=0.06)
    assert pairs.count is not None
    assert pairs.figure <= 0.05
    assert pairs.figure == pytest.approx(pair_half_width(frame, truth, pairs.count), rel=0.06)


@cache
def _dl_frame() -> PairFrame:
    """Every third run of TREC DL 2021."""
    frame = dl_2021().frame
    kept = frame.system % 3 == 0
    return replace(frame, systems=21, pair=frame.pair[kept], system=frame.system[kept] // 3, rank=frame.rank[kept])


def _by_the_true_correlation() -> list[np.ndarray]:
    frame, people = _dl_frame(), dl_2021().relevance
    return truths(frame, float(np.corrcoef(people, frame.judge)[0, 1]), 6)


def _from_15_queries() -> list[np.ndarray]:
    frame, found = _dl_frame(), []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        drawn = np.isin(frame.query, generator.choice(frame.queries, 15, replace=False))
        people = np.where(drawn, dl_2021().relevance, NO_GRADE)
        found.append(grades_from_labels(frame, people, generator))
    return found


@pytest.mark.parametrize("grades", [_by_the_true_correlation, _from_15_queries])
@pytest.mark.parametrize("half_width", [0.03, 0.075])
def test_plans_keep_their_promise_on_dl_2021(grades: Callable[[], list[np.ndarray]], half_width: float) -> None:
    frame, people = _dl_frame(), dl_2021().relevance
    planner = Planner(frame, NDCG, SCALE, grades(), HalfWidth(most=half_width, level=0.05), "these-queries", 0)
    queries, pairs = planner.queries(), planner.pairs(UNSURE)
    assert queries.count is not None
    assert query_half_width(frame, people, queries.count) == pytest.approx(half_width, rel=0.2)
    assert pairs.count is not None
    # For wide intervals the ideal of nDCG needs more pairs than their width.
    assert pairs.figure <= half_width
    assert pair_half_width(frame, people, pairs.count) == pytest.approx(pairs.figure, rel=0.2)


# What goals mean


def test_several_looks_need_more() -> None:
    frame = pool()
    once, thrice = (plan(frame, HalfWidth(most=0.05, level=0.05 / looks)) for looks in (1, 3))
    for one, three in zip(once, thrice, strict=True):
        assert one.count is not None
        assert three.count is not None
        assert three.count > one.count


def test_a_half_width_has_quantiles_of_students_t() -> None:
    goal = HalfWidth(most=0.05, level=0.05)
    assert goal.figure(0.1, 14.0) == pytest.approx(0.21448, abs=1e-5)
    assert goal.figure(0.1, np.inf) == pytest.approx(0.195996, abs=1e-5)
    assert quantile(0.975, np.array([14.0, np.inf])) == pytest.approx([2.14479, 1.95996], abs=1e-5)


def test_a_detection_needs_what_is_needed_to_decide_with_normal_quantiles() -> None:
    goal = detection(difference=0.05)
    variance, drawn, frame = 0.002, 20, 200
    [more] = needed(np.array([variance]), np.zeros(1), drawn, frame, 0.05, 0.05, 10)
    assert more is not None
    unit = variance / (1 / drawn - 1 / frame)
    for count, enough in ((drawn + more, True), (drawn + more - 1, False)):
        error = np.sqrt(unit * (1 / count - 1 / frame))
        assert (goal.figure(error, np.inf) <= goal.most) == enough


def test_more_power_smaller_differences_and_more_comparisons_need_more() -> None:
    frame = pool()
    usual = plan(frame, detection())
    baseline = replace(detection(), a=np.array([1, 2, 3, 4]), b=np.zeros(4, dtype=int))
    for more, less in (
        (plan(frame, detection(power=0.95)), usual),
        (plan(frame, detection(difference=0.08)), usual),
        (usual, plan(frame, baseline)),
    ):
        for one, other in zip(more, less, strict=True):
            assert one.count is not None
            assert other.count is not None
            assert one.count > other.count


# The ends


def test_queries_like_these_have_a_floor_that_no_number_of_labels_goes_below() -> None:
    frame = pool()
    for design in plan(frame, HalfWidth(most=0.01, level=0.05), "queries-like-these"):
        assert design.count is None
        assert (design.labels, design.queries) == (len(frame), frame.queries)
        assert design.figure > 0.01
    estimator = PairEstimator(frame, NDCG, SCALE, folds(len(frame), 0))
    spread = np.mean([estimator.under(one.astype(float)).std(axis=0, ddof=1).mean() for one in truths(frame)])
    assert design.figure == pytest.approx(quantile(0.975, frame.queries - 1.0) * spread / np.sqrt(frame.queries))


def test_all_labels_reach_any_half_width_for_these_queries() -> None:
    frame = pool()
    queries, pairs = plan(frame, HalfWidth(most=0.0, level=0.05))
    assert (queries.count, queries.labels, queries.figure) == (frame.queries, len(frame), 0)
    assert (pairs.count, pairs.queries, pairs.figure) == (len(frame), frame.queries, 0)


def test_no_plan_has_fewer_than_8_queries_or_100_pairs() -> None:
    queries, pairs = plan(pool(), HalfWidth(most=10, level=0.05), measure="DCG@10")
    assert (queries.count, queries.queries) == (FEWEST_QUERIES, FEWEST_QUERIES)
    assert pairs.count == LEAST_PAIRS
    assert pairs.queries <= LEAST_PAIRS
    assert (queries.minimum, pairs.minimum) == ("queries", "pairs")


def test_what_the_goal_takes_is_no_minimum() -> None:
    for design in plan(pool(), HalfWidth(most=0.05, level=0.05)):
        assert design.minimum is None
    for design in plan(pool(), HalfWidth(most=0.01, level=0.05), "queries-like-these"):
        assert (design.count, design.minimum) == (None, None)


def test_of_8_queries_all_are_drawn() -> None:
    queries, _ = plan(pool(queries=FEWEST_QUERIES), HalfWidth(most=0.1, level=0.05))
    assert (queries.count, queries.figure) == (FEWEST_QUERIES, 0)


def test_ndcg_needs_enough_pairs_for_its_ideal() -> None:
    frame, goal = pool(), HalfWidth(most=10, level=0.05)
    planner = Planner(frame, NDCG, SCALE, truths(frame), goal, "these-queries", 0)
    strict, lenient = planner.pairs(0.01), planner.pairs(UNSURE)
    assert strict.count is not None
    assert lenient.count is not None
    assert strict.count > 2 * lenient.count
    assert strict.minimum == "ideal"


def test_pairs_outside_the_first_ranks_are_never_planned_for_measures_without_an_ideal() -> None:
    frame = pool()
    _, pairs = plan(frame, HalfWidth(most=0.0, level=0.05), measure="P@10")
    assert pairs.count == len(np.unique(frame.pair[frame.rank <= 10])) < len(frame)


def test_a_worse_judge_needs_more_queries() -> None:
    frame = pool()
    bad, good = (plan(frame, HalfWidth(most=0.04, level=0.05), correlation=one)[0] for one in (0.1, 0.9))
    assert bad.count is not None
    assert good.count is not None
    assert bad.count > 1.5 * good.count


def test_plans_depend_on_the_seed_alone() -> None:
    frame = pool()
    assert plan(frame, detection()) == plan(frame, detection())


# From estimates


def _estimate(count: int = 12, target: Target = "these-queries", looks: int = 1) -> tuple[Estimate, Drawn]:
    """An estimate from whole queries of a pool of 40."""
    frame = pool()
    estimator = PairEstimator(frame, NDCG, SCALE, folds(len(frame), 0))
    values = estimator.under(truths(frame)[0].astype(float))
    judge = estimator.under(frame.judge_or_mean.astype(float))
    drawn = np.random.default_rng(5).permutation(40)[:count]
    sample = QuerySample(drawn, np.zeros(40, dtype=np.int64))
    run_tags = [f"s{number}" for number in range(5)]
    found = from_queries(
        "nDCG@10", target, run_tags, QueryValues(values[drawn], judge, sample), Choices(looks=looks), list(range(5))
    )
    return found, Drawn(
        unit="queries", design="", queries=40, labelled=count, pairs=len(frame), labels=40 * count, covered=len(frame)
    )


def test_an_estimate_is_planned_from_by_how_its_error_falls() -> None:
    these, drawn = _estimate()
    wanted = 0.7 * mean_half_width(these)
    design = queries_by_residuals(these, these, drawn, HalfWidth(most=wanted, level=0.05))
    assert design.count is not None
    assert design.figure == pytest.approx(projected_half_width(these, drawn, design.count - 12))
    assert design.figure <= wanted < projected_half_width(these, drawn, design.count - 13) * 1.04
    assert design.labels == 40 * design.count


def test_from_an_estimate_of_all_queries_all_are_planned() -> None:
    these, drawn = _estimate(count=40)
    design = queries_by_residuals(these, these, drawn, HalfWidth(most=0.05, level=0.05))
    assert (design.count, design.figure) == (40, 0)


def test_an_estimate_for_queries_like_these_keeps_its_floor() -> None:
    (these, drawn), (like_these, _) = _estimate(), _estimate(target="queries-like-these")
    goal = HalfWidth(most=0.01, level=0.05)
    design = queries_by_residuals(these, like_these, drawn, goal)
    assert (design.count, design.labels) == (None, drawn.pairs)
    assert 0.01 < design.figure < mean_half_width(like_these)


def mean_half_width(found: Estimate) -> float:
    return float(np.mean([(one.high - one.low) / 2 for one in found.systems]))


@pytest.mark.parametrize("looks", [1, 3])
def test_without_further_labels_the_half_width_is_projected_to_be_as_it_is(looks: int) -> None:
    found, drawn = _estimate(looks=looks)
    assert projected_half_width(found, drawn, 0) == pytest.approx(mean_half_width(found))


def test_further_labels_are_projected_to_narrow_intervals_down_to_nothing() -> None:
    found, drawn = _estimate()
    widths = [projected_half_width(found, drawn, more) for more in (0, 1, 5, 27, 28, 100)]
    assert widths == sorted(widths, reverse=True)
    assert widths[3] > 0
    assert widths[4] == widths[5] == 0
    # The squared standard error falls as 1/n − 1/40, and the quantile has 16 degrees of freedom.
    error = np.mean([one.standard_error for one in found.systems])
    assert widths[2] == pytest.approx(error * np.sqrt((1 / 17 - 1 / 40) / (1 / 12 - 1 / 40)) * 2.11991, rel=1e-4)


def test_the_projection_for_pairs_counts_pairs_and_has_normal_quantiles() -> None:
    found, drawn = _estimate()
    of_pairs = replace(found, degrees=None)
    all_queries = replace(drawn, unit="pairs", labelled=40, labels=400, pairs=1600)
    error = np.mean([one.standard_error for one in found.systems])
    assert projected_half_width(of_pairs, all_queries, 0) == pytest.approx(1.959964 * error)
    expected = 1.959964 * error * np.sqrt((1 / 800 - 1 / 1600) / (1 / 400 - 1 / 1600))
    assert projected_half_width(of_pairs, all_queries, 400) == pytest.approx(expected)
    assert projected_half_width(of_pairs, all_queries, 1200) == 0


def test_the_projection_for_pairs_of_some_queries_counts_the_queries_that_get_done() -> None:
    found, drawn = _estimate()
    partly = replace(drawn, unit="pairs", labelled=12, labels=120)
    assert projected_half_width(found, partly, 0) == pytest.approx(mean_half_width(found))
    error = np.mean([one.standard_error for one in found.systems])
    assert projected_half_width(found, partly, 120) == pytest.approx(error / np.sqrt(2) * quantile(0.975, 23.0))


def test_nothing_is_projected_for_queries_like_these() -> None:
    found, drawn = _estimate(target="queries-like-these")
    with pytest.raises(ValueError, match="give one for these-queries"):
        projected_half_width(found, drawn, 5)
