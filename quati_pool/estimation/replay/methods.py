"""What each method estimates from one draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quati_pool.estimation.estimated import Estimated, Values
from quati_pool.estimation.gain_spread import Weighting, assumed, by_grade, gains, labelled, of_answers
from quati_pool.estimation.pair_estimates import PairEstimator, PairSample, folds
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.estimation.pair_probabilities import probabilities
from quati_pool.estimation.pair_refusals import Refusal, ideal_is_unsure, too_few
from quati_pool.estimation.query_regression import QuerySample, clipped, shared_weight
from quati_pool.estimation.replay.census import Census
from quati_pool.estimation.replay.results import PAIRS, Method, ReplayPlan


@dataclass(frozen=True, eq=False)
class DrawEstimates:
    """What a method estimates from one draw: ``systems``, and the estimates that differences are taken from, of all
    pairs of systems and of those that are compared.

    ``by_query``, shape (queries, systems), are values of single queries, in which systems must differ often enough for
    a verdict. ``all_graded``: whether people's grades of all pairs were used.
    """

    labels: int
    by_query: Values
    systems: Estimated
    for_pairs: Estimated
    for_compared: Estimated
    all_graded: bool


@dataclass(frozen=True)
class RefusedDraw:
    """A draw from which ``estimate`` would give nothing."""

    labels: int
    reason: Refusal


def people_only(census: Census, sample: QuerySample, *, like_these: bool) -> DrawEstimates:
    people = census.people[sample.drawn]
    found = sample.alone(people, like_these=like_these)
    return DrawEstimates(_labels(census, sample), people, found, found, found, _all(census, sample))


def whole_queries(census: Census, sample: QuerySample, baseline: int | None, *, like_these: bool) -> DrawEstimates:
    people, judge = census.people[sample.drawn], census.judge
    systems, for_pairs, for_compared = (
        sample.means(people, judge, weight, like_these=like_these)
        for weight in (
            shared_weight(*sample.judge_weights(people, judge)),
            _difference_weight(sample, people, judge, None),
            _difference_weight(sample, people, judge, baseline),
        )
    )
    return DrawEstimates(_labels(census, sample), people, systems, for_pairs, for_compared, _all(census, sample))


def judge_only(census: Census) -> DrawEstimates:
    """The judge's means with t intervals, as for a sample of queries: how they would be read if they were people's."""
    judge, queries = census.judge, len(census.judge)
    mean = judge.mean(axis=0)
    rows = (judge - mean) / np.sqrt(queries * (queries - 1))
    found = Estimated(mean, rows, rows, float(queries - 1), np.full(len(mean), np.nan), queries)
    return DrawEstimates(0, judge, found, found, found, all_graded=False)


def _labels(census: Census, sample: QuerySample) -> int:
    return int(census.frame.sizes[sample.drawn].sum())


def _all(census: Census, sample: QuerySample) -> bool:
    return len(sample.drawn) == len(census.people)


def _difference_weight(sample: QuerySample, people: Values, judge: Values, baseline: int | None) -> Values:
    """λ that all differences of two systems share, or those to the baseline: of each drawn query, shape (n, 1)."""
    if baseline is not None:
        return shared_weight(*sample.judge_weights(people - people[:, [baseline]], judge - judge[:, [baseline]]))
    # The covariances of all differences of S systems sum up to S times those of the systems, less that of their sum.
    systems = people.shape[1]
    factors = np.append(np.full(systems, float(systems)), -1.0)[:, None]
    over, under = sample.judge_weights(_with_sum(people), _with_sum(judge))
    return clipped(over @ factors, under @ factors)


def _with_sum(values: Values) -> Values:
    return np.column_stack([values, values.sum(axis=1)])


@dataclass(frozen=True, eq=False)
class PairDesign:
    """Pairs drawn one by one (Poisson), each with its probability in ``inclusion``, shape (pairs,)."""

    estimator: PairEstimator
    measure: PairMeasure
    inclusion: Values
    relevance: Values

    def estimates(self, uniform: Values, *, like_these: bool) -> DrawEstimates | RefusedDraw:
        """Estimates from one draw, by the random numbers ``uniform``, shape (pairs,)."""
        drawn = np.flatnonzero(uniform < self.inclusion)
        if not len(drawn) or too_few(self.inclusion[drawn]):
            return RefusedDraw(len(drawn), "few-pairs")
        stratum, sizes = np.zeros(len(drawn), dtype=np.int64), np.array([len(uniform)])
        sample = PairSample(drawn, self.relevance[drawn], self.inclusion[drawn], stratum, sizes, poisson=True)
        means = self.estimator.estimate(sample)
        if ideal_is_unsure(self.measure, means.ideal_error):
            return RefusedDraw(len(drawn), "unsure-ideal")
        found = means.means(like_these=like_these)
        return DrawEstimates(len(drawn), means.by_query, found, found, found, len(drawn) == len(uniform))


def pair_designs(census: Census, plan: ReplayPlan) -> dict[Method, PairDesign]:
    """The designs that draw pairs; none for a measure that they cannot serve. Of a census with fewer pairs than shall
    be drawn, as many are expected as can be."""
    frame, measure = census.frame, census.measure
    if measure is None:
        return {}
    estimator = PairEstimator(frame, measure, census.scale, folds(len(frame), plan.seed))
    relevance = census.relevance.astype(np.float64)
    inclusion: dict[Method, Values] = {
        method: probabilities(frame, measure, plan.pairs, spread=_spread(census, measure, plan, by), capped=True)
        for by, method in PAIRS.items()
        if by == "discount" or by in plan.by
    }
    inclusion["uniform-pairs"] = probabilities(frame, measure, plan.pairs, uniform=1, capped=True)
    return {method: PairDesign(estimator, measure, values, relevance) for method, values in inclusion.items()}


def _spread(census: Census, measure: PairMeasure, plan: ReplayPlan, by: Weighting) -> Values | None:
    """What the weights of pairs are multiplied by, None for nothing."""
    frame = census.frame
    if by == "discount":
        return None
    if by == "disagreement":
        assert census.further is not None, "judges disagree if there are several"
        return of_answers(gains(measure, census.scale, np.vstack([frame.judge, census.further])))
    if not plan.pilot:
        return assumed(gains(measure, census.scale, frame.judge_or_mean), plan.correlation)
    # Other random numbers than those of any draw: probabilities must not depend on what is drawn with them.
    drawn = np.random.default_rng([plan.seed, 0, 1]).permutation(len(frame))[: plan.pilot]
    people = gains(measure, census.scale, census.relevance[drawn])
    return labelled(frame.judge_or_mean, by_grade(frame.judge_or_mean[drawn], people))
