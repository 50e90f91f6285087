"""Exact lower and upper bounds of nDCG: how far it could move if the unjudged documents were judged.

Gains are split into levels: a document with gain g has every level up to g, and the weight of a level is its gain
minus that of the level below. If n_t of the run's unjudged documents are at or above level t,

    DCG = DCG of the judged + Σ weight_t · A(n_t)    and    IDCG = Σ weight_t · D(J_t + n_t),

where A(n) is the sum of n discounts among the unjudged ranks (the largest for the upper bound, the smallest for
the lower), D(n) is the sum of the first n discounts up to the cutoff, and J_t is the number of judged documents at
or above the level. For a fixed ratio λ, DCG - λ · IDCG is a sum over levels (Dinkelbach, Management Science 13(7),
1967).

One more document costs λ times a discount that grows with the level, because J_t falls. So for the upper bound the
best n_t falls with the level: each level can be solved separately, and the sets nest. For the lower bound the best
n_t of each level by itself would rise with the level, which no assignment allows: for two adjacent blocks of levels
with n > n', raising the upper one to n or lowering the lower one to n' is no worse. So n_t is the same at all levels:
some documents have the highest grade and the others the lowest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRows, JudgedRuns, Judgements
from quati_pool.stats.ratio import ratio

Values = npt.NDArray[np.float64]


def ndcg_bounds(joined: JudgedRuns, cutoff: int, scale: Sequence[int]) -> tuple[Values, Values]:
    """The lowest and the highest nDCG@``cutoff`` that each run could have on each judged query.

    The unjudged documents within the cutoff can have any grade of ``scale``; other unjudged documents count as not
    relevant. Gains are linear (a negative grade gains 0), discounts log2(rank + 1); the ideal ranking consists of the
    judged documents and these unjudged ones. 0 if the ideal is 0, and for a query that the run lacks.

    Returns two arrays of shape (runs, queries), queries in the order of ``Scores.query_ids``. Raises
    ConfigError for a cutoff below 1 or an empty scale.
    """
    if cutoff < 1:
        raise ConfigError(f"the cutoff is {cutoff}; give a whole number from 1")
    if not len(scale):
        raise ConfigError("the scale has no grade; give its grades, such as 0, 1, 2, 3")
    bounds = _Bounds(joined.judged, cutoff, scale)
    found = [bounds.of(rows) for rows in joined.rows(cutoff)]
    shape = (len(joined.runs), len(joined.judged.query_ids))
    low = np.array([one for one, _ in found]).reshape(shape)
    high = np.array([other for _, other in found]).reshape(shape)
    return low, high


class _Bounds:
    """Computes the bounds under one set of judgements.

    Every unjudged document has the levels up to the lowest grade of the scale, and none has those above the highest.
    The levels between two adjacent grades of the scale (qrels may hold further grades) form one step; each document
    takes some number of steps up from the lowest grade.

    ``_ideal``, shape (queries, steps + 2, cutoff + 1): for each step, the part of IDCG that its levels contribute if
    n = 0 … cutoff unjudged documents reach it. The first entry is for the levels that all unjudged documents have,
    the last for those that none has.
    """

    def __init__(self, judged: Judgements, cutoff: int, scale: Sequence[int]) -> None:
        self._gain: Values = np.maximum(judged.relevance, 0).astype(np.float64)
        self._cutoff = cutoff
        self._queries = len(judged.query_ids)
        self._discount = 1 / np.log2(np.arange(2, cutoff + 2))
        grades = np.unique(np.maximum(np.asarray(scale, dtype=np.int64), 0))
        self._lowest_gain = float(grades[0])
        self._rise: Values = np.diff(grades).astype(np.float64)
        levels = np.setdiff1d(np.union1d(grades, self._gain), [0])
        step = np.searchsorted(grades, levels)
        weight = np.where(np.arange(len(grades) + 1)[:, None] == step, np.diff(levels, prepend=0), 0.0)
        reaching = np.zeros((self._queries, len(levels)), dtype=np.int64)
        for place, level in enumerate(levels):
            reaching[:, place] = np.bincount(judged.query[self._gain >= level], minlength=self._queries)
        sums = np.r_[0.0, np.cumsum(self._discount)]
        documents = np.minimum(reaching[:, :, None] + np.arange(cutoff + 1), cutoff)
        self._ideal: Values = np.einsum("sl,qln->qsn", weight, sums[documents])

    def of(self, rows: JudgedRows) -> tuple[Values, Values]:
        """The lower and upper bound of one run, each of shape (queries,)."""
        known = rows.judgement >= 0
        discount = self._discount[rows.rank - 1]
        gained = self._gain[rows.judgement[known]] * discount[known]
        judged = np.bincount(rows.query[known], weights=gained, minlength=self._queries)
        # The discounts of the unjudged ranks in descending order, padded with 0.
        free = np.zeros((self._queries, self._cutoff))
        free[rows.query[~known], rows.rank[~known] - 1] = discount[~known]
        free = -np.sort(-free, axis=1)
        count = np.count_nonzero(free, axis=1)
        dcg: Values = judged + self._lowest_gain * free.sum(axis=1)
        every = np.arange(self._queries)
        idcg = self._ideal[every, 0, count] + self._ideal[:, -1, 0]
        # Sums of the n largest and of the n smallest discounts, n = 0 … cutoff, constant beyond their number.
        number = np.minimum(np.arange(self._cutoff + 1), count[:, None])
        largest: Values = np.c_[np.zeros(self._queries), np.cumsum(free, axis=1)]
        smallest: Values = largest[:, -1:] - np.take_along_axis(largest, count[:, None] - number, axis=1)
        steps = np.take_along_axis(self._ideal[:, 1:-1], number[:, None], axis=2)
        return self._lowest(dcg, idcg, smallest, steps), self._highest(dcg, idcg, largest, steps)

    def _lowest(self, dcg: Values, idcg: Values, smallest: Values, steps: Values) -> Values:
        """The smallest ratio over n, where n documents take all steps and the others none."""
        found = _by_ideal(dcg[:, None] + self._rise.sum() * smallest, idcg[:, None] + steps.sum(axis=1))
        lowest: Values = found.min(axis=1)
        return lowest

    def _highest(self, dcg: Values, idcg: Values, largest: Values, steps: Values) -> Values:
        """Dinkelbach's iteration: λ is set to the ratio at the best n for the current λ, until it no longer rises."""
        gains = self._rise[:, None] * largest[:, None]
        factor = np.zeros(self._queries)
        while True:
            best = (gains - factor[:, None, None] * steps).argmax(axis=2)[:, :, None]
            top = dcg + np.take_along_axis(gains, best, axis=2).sum(axis=(1, 2))
            bottom = idcg + np.take_along_axis(steps, best, axis=2).sum(axis=(1, 2))
            reached = np.maximum(_by_ideal(top, bottom), factor)
            # There are finitely many assignments and each is better than the last; smaller rises are rounding errors.
            if (reached - factor <= 1e-14).all():
                return reached
            factor = reached


def _by_ideal(dcg: Values, idcg: Values) -> Values:
    """DCG / IDCG; 0 where IDCG is 0, as in trec_eval."""
    return ratio(dcg, idcg, otherwise=0)
