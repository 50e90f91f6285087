"""Means over all queries from people's grades of pairs drawn with known probabilities, and a judge's of all pairs.

Sums of discounted gains are estimated by the difference estimator: the calibrated grades of all pairs plus, weighted by
1/π, how far people's grades of the drawn ones lie from them (Särndal, Swensson, Wretman, Model Assisted Survey
Sampling, 1992, section 6.3). The ideal of nDCG follows from the estimated number of pairs of each grade; the ratio of
both is corrected for its bias as by Beale (Industrielle Organisation 31, 1962; Tin, Journal of the American Statistical
Association 60(309), 1965), and its variance is that of its linear approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.calibration import FOLDS, Calibration
from quati_pool.estimation.estimated import Estimated
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import PairMeasure
from quati_pool.records import Int
from quati_pool.stats.design_variance import design_residuals
from quati_pool.stats.ratio import ratio

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairSample:
    """The pairs of a frame that were drawn and graded by people: ``pair``, ``relevance``, ``inclusion`` and ``stratum``
    have shape (n,), ``sizes``, shape (strata,), counts the pairs of the frame in each stratum. With ``poisson`` each
    pair was drawn on its own; otherwise a fixed number at random from each stratum."""

    pair: Int
    relevance: Values
    inclusion: Values
    stratum: Int
    sizes: Int
    poisson: bool

    def __len__(self) -> int:
        return len(self.pair)


@dataclass(frozen=True, eq=False)
class PairMeans:
    """Estimates of every system. ``by_query``, shape (queries, systems), are those of single queries, ``rows``, shape
    (n, systems), the residuals whose products are the covariances of the means over these queries. ``ideal_error``,
    shape (queries,): the squared relative error of each query's ideal; 0 without one."""

    by_query: Values
    rows: Values
    ideal_error: Values

    def means(self, *, like_these: bool) -> Estimated:
        """The means over all queries; with ``like_these`` their variance is that of the mean of the population that the
        queries were drawn from, which follows from the estimates of single queries alone."""
        queries = len(self.by_query)
        estimate = self.by_query.mean(axis=0)
        centred = self.by_query - estimate
        spread = (centred**2).sum(axis=0) / (queries - 1) if queries > 1 else np.full(len(estimate), np.nan)
        # The values of single queries also vary because pairs were drawn.
        own = np.maximum(spread - queries * (self.rows**2).sum(axis=0), 0.0)
        if not like_these:
            return Estimated(estimate, self.rows, self.rows, None, own)
        return Estimated(
            estimate, centred / np.sqrt(queries * (queries - 1)), self.rows, float(queries - 1), own, queries
        )


class PairEstimator:
    """Estimates ``measure`` for the systems of a frame, whose grades are on ``scale``. ``fold``, shape (pairs,), splits
    the pairs for calibration."""

    def __init__(
        self, frame: PairFrame, measure: PairMeasure, scale: list[int], fold: Int, *, use_judge: bool = True
    ) -> None:
        self._frame, self._measure = frame, measure
        levels = measure.levels(scale)
        self._grades, self._gains = np.array(list(levels)), np.array(list(levels.values()))
        self._discounts = frame.discounts(measure)
        self._calibration = Calibration(frame, fold, measure.cutoff, use_judge=use_judge)

    def estimate(self, sample: PairSample) -> PairMeans:
        reached = self._reached(sample.relevance)
        predicted = self._calibration.predict(sample.pair, reached)
        errors = reached - predicted[sample.pair]
        corrected = predicted.copy()
        corrected[sample.pair] += errors / sample.inclusion[:, None]
        sums = self._by_query(corrected @ self._gains)
        query = self._frame.query[sample.pair]
        gain_errors = self._discounts[sample.pair].toarray() * (errors @ self._gains)[:, None]
        if not self._measure.normalized:
            return PairMeans(sums, self._residuals(gain_errors, sample), np.zeros(self._frame.queries))
        counts = self._counts(corrected, sample.pair, reached)
        discounted, slope = self._measure.ideal(counts)
        # No ideal is below a first gain, so that a query without a relevant document scores 0.
        ideal = np.maximum(discounted @ self._gains, self._gains[0] * self._measure.discounts[0])
        ideal_errors = (errors * slope[query]) @ self._gains
        values, ideal_error = self._ratio(sums, ideal, gain_errors, ideal_errors, sample)
        # A count that was set to a bound does not depend on the errors.
        free = slope * (counts == self._total(corrected))
        ideal_errors = (errors * free[query]) @ self._gains
        linear = (gain_errors - values[query] * ideal_errors[:, None]) / ideal[query, None]
        return PairMeans(values, self._residuals(linear, sample), ideal_error)

    def under(self, relevance: Values) -> Values:
        """The measure if all pairs have these grades, shape (pairs,): shape (queries, systems)."""
        reached = self._reached(relevance)
        sums = self._by_query(reached @ self._gains)
        if not self._measure.normalized:
            return sums
        ideal = self._measure.ideal(self._total(reached))[0] @ self._gains
        return ratio(sums, ideal[:, None], otherwise=0.0)

    def _reached(self, relevance: Values) -> Values:
        return (relevance[:, None] >= self._grades).astype(np.float64)

    def _by_query(self, gains: Values) -> Values:
        summed: Any = self._frame.by_query(self._discounts * gains[:, None])
        found: Values = summed.toarray()
        return found

    def _total(self, values: Values) -> Values:
        """Sums over the pairs of each query, shape (queries, columns)."""
        query, queries = self._frame.query, self._frame.queries
        return np.column_stack([np.bincount(query, column, minlength=queries) for column in values.T])

    def _counts(self, corrected: Values, pair: Int, reached: Values) -> Values:
        """The estimated number of each query's pairs that reach each grade, shape (queries, grades): never fewer than
        people have seen, never more than there are, and falling with the grade."""
        seen = np.zeros_like(corrected)
        seen[pair] = reached
        least = self._total(seen)
        counts = np.clip(self._total(corrected), least, self._frame.sizes[:, None])
        falling: Values = np.maximum(np.minimum.accumulate(counts, axis=1), least)
        return falling

    def _ratio(
        self, sums: Values, ideal: Values, gain_errors: Values, ideal_errors: Values, sample: PairSample
    ) -> tuple[Values, Values]:
        """The ratio of both in each query, corrected for its bias, and the squared relative error of the ideal."""
        from scipy.sparse import csr_array

        scale = np.sqrt(1 - sample.inclusion) / sample.inclusion
        query = self._frame.query[sample.pair]
        weighted = ideal_errors * scale
        variance = np.bincount(query, weighted**2, minlength=self._frame.queries) / ideal**2
        by_query = csr_array(
            (weighted * scale, (query, np.arange(len(query)))), shape=(self._frame.queries, len(query))
        )
        covariance = by_query @ gain_errors / ideal[:, None]
        values: Values = (sums + covariance) / (ideal * (1 + variance))[:, None]
        return values, variance

    def _residuals(self, linear: Values, sample: PairSample) -> Values:
        weighted = linear / sample.inclusion[:, None] / self._frame.queries
        return design_residuals(weighted, sample.inclusion, sample.stratum, sample.sizes, sample.poisson)


def folds(pairs: int, seed: int) -> Int:
    """A fold of each pair, at random: shape (pairs,)."""
    return np.random.default_rng(seed).integers(0, FOLDS, pairs)
