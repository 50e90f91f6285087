"""Means over all queries from people's values for queries drawn at random and a judge's for all of them.

The regression estimator of survey sampling (Cochran, Sampling Techniques, 1977, chapters 7 and 12): people's mean over
the drawn queries, corrected by λ times what the judge says of the queries that were not drawn. λ is estimated, for each
drawn query, from the others, and used in the form of Mickey (Journal of the American Statistical Association 54(287),
1959), which is unbiased for any sample size: the queries but one are a sample too, and given them the last one is drawn
at random from the rest. With all queries drawn it is people's mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.estimated import Estimated
from quati_pool.records import Int
from quati_pool.stats.ratio import ratio
from quati_pool.stats.sample_sizes import FEWEST_OF_STRATUM

Values = npt.NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class QuerySample:
    """Queries drawn at random without replacement within strata: at least 3 from each, or all of it.

    ``drawn``, shape (n,), are their positions; ``stratum``, shape (queries,), is the number of every query's stratum,
    from 0.

    In the arrays of its methods, ``people`` has shape (n, columns), in the order of ``drawn``, and ``judge`` shape
    (queries, columns).
    """

    drawn: Int
    stratum: Int

    @cached_property
    def sizes(self) -> Int:
        """The number of queries of each stratum, shape (strata,)."""
        return np.bincount(self.stratum)

    @cached_property
    def counts(self) -> Int:
        """The number of drawn queries of each stratum, shape (strata,)."""
        return np.bincount(self._of, minlength=len(self.sizes))

    @cached_property
    def _of(self) -> Int:
        """The stratum of each drawn query."""
        return self.stratum[self.drawn]

    @property
    def shares(self) -> Values:
        """The weight of each drawn query in a mean over all queries, shape (n,)."""
        shares: Values = (self.sizes / self.sizes.sum() / np.maximum(self.counts, 1))[self._of]
        return shares

    def judge_weights(self, people: Values, judge: Values) -> tuple[Values, Values]:
        """For each drawn query and column, the numerator and the denominator of the λ that the other drawn queries
        give, shape (n, columns) each. Their sums over columns give the λ that the columns share."""
        of_drawn = judge[self.drawn]
        y, f = self._centred(people), self._centred(of_drawn)
        # What the queries of a stratum add to the variance of the estimate is multiplied by this.
        share = (self.sizes / self.sizes.sum()) ** 2 / self.counts * (self.counts >= FEWEST_OF_STRATUM)
        unseen = share * (1 - self.counts / self.sizes)
        share = unseen if unseen.any() else share
        numerator, denominator = self._without_one(y * f, share), self._without_one(f * f, share)
        # Of equal values, the sums of squares around their mean are rounding errors.
        differ = denominator > _ROUNDING * (share @ self._sums(of_drawn**2))
        return np.where(differ, numerator, 0.0), np.where(differ, denominator, 0.0)

    def _without_one(self, products: Values, share: Values) -> Values:
        """The weighted sum over strata of the covariances without each query in turn; ``products`` are of centred
        columns, shape (n, columns)."""
        # Smaller strata, which have all of their queries drawn, have no share.
        counts = np.maximum(self.counts, FEWEST_OF_STRATUM)
        n = counts[self._of, None]
        sums = self._sums(products)
        all_of_it: Values = (share / (counts - 1))[:, None] * sums
        # Without one of n, a sum of squares around the mean falls by n/(n − 1) of its term.
        less = (sums[self._of] - n / (n - 1) * products) / (n - 2)
        without: Values = all_of_it.sum(axis=0) + share[self._of, None] * less - all_of_it[self._of]
        return without

    def means(self, people: Values, judge: Values, weight: Values, *, like_these: bool) -> Estimated:
        """The estimated means over all queries; ``weight`` is the λ of each drawn query, shape (n, columns) or (n, 1).

        With ``like_these`` the variance is that of the mean of the population that all queries were drawn from.
        """
        n, size = self.counts[self._of, None], self.sizes[self._of, None]
        of_drawn = judge[self.drawn]
        total, drawn_total = self._sums_of_frame(judge), self._sums(of_drawn)
        undrawn = (total - drawn_total)[self._of]
        rest = (undrawn + of_drawn) / (size - n + 1)
        each = (self._sums(people)[self._of] - people + (size - n + 1) * (people - weight * (of_drawn - rest))) / size
        shares = self.sizes / self.sizes.sum()
        estimate: Values = shares @ (self._sums(each) / self.counts[:, None])
        residuals = self._centred(people - weight * (of_drawn - (total / self.sizes[:, None])[self._of]))
        rows = (shares[self._of, None] * np.sqrt((1 - n / size) / (n * np.maximum(n - 1, 1)))) * residuals
        error = np.concatenate([rows, self._between(people)]) if like_these else rows
        return Estimated(estimate, error, rows, self._degrees(rows), self._spread(people), len(rows), 1 + like_these)

    def alone(self, people: Values, *, like_these: bool) -> Estimated:
        """``means`` without a judge."""
        nothing = np.zeros((len(self.stratum), people.shape[1]))
        return self.means(people, nothing, np.zeros((len(people), 1)), like_these=like_these)

    def _between(self, people: Values) -> Values:
        """Rows whose sum of squares is the variance of a mean over all queries, as a sample of a population; the first
        n are those of the drawn queries."""
        shares = self.sizes / self.sizes.sum()
        queries = self.sizes.sum()
        degrees = np.maximum(self.counts - 1, 1)[self._of]
        within = np.sqrt(shares[self._of] / (queries * degrees))[:, None] * self._centred(people)
        means = self._sums(people) / self.counts[:, None]
        strata = np.sqrt(shares / queries)[:, None] * (means - shares @ means)
        return np.concatenate([within, strata])

    def _spread(self, people: Values) -> Values:
        """The variance of a single query's value, shape (columns,)."""
        spread: Values = (self._between(people) ** 2).sum(axis=0) * self.sizes.sum()
        return spread

    def _degrees(self, rows: Values) -> float:
        """Satterthwaite's degrees of freedom of the mean variance of all columns."""
        parts = self._sums(rows**2).mean(axis=1) if rows.shape[1] else np.zeros(len(self.sizes))
        if not parts.any():
            return float(max(len(self.drawn) - len(self.sizes), 1))
        return float(parts.sum() ** 2 / (parts**2 / np.maximum(self.counts - 1, 1)).sum())

    def _centred(self, values: Values) -> Values:
        centred: Values = values - (self._sums(values) / self.counts[:, None])[self._of]
        return centred

    def _sums(self, values: Values) -> Values:
        """Sums over the drawn queries of each stratum, shape (strata, columns)."""
        return _grouped(values, self._of, len(self.sizes))

    def _sums_of_frame(self, values: Values) -> Values:
        return _grouped(values, self.stratum, len(self.sizes))


def shared_weight(numerator: Values, denominator: Values) -> Values:
    """One λ for all columns, of each drawn query: shape (n, 1), from 0 to 1."""
    return clipped(numerator.sum(axis=1, keepdims=True), denominator.sum(axis=1, keepdims=True))


def clipped(numerator: Values, denominator: Values) -> Values:
    """λ as the ratio of both, clipped to 0 and 1; 0 where the judge's values have no spread."""
    return np.clip(ratio(numerator, denominator, otherwise=0.0), 0.0, 1.0)


def _grouped(values: Values, group: Int, groups: int) -> Values:
    member = np.arange(groups)[:, None] == group
    sums: Values = member.astype(np.float64) @ values
    return sums
