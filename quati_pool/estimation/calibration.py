"""What people would probably grade a pair, given a judge's grade: the covariate of estimates from drawn pairs.

For each grade h, the probability that people grade a pair h or higher is predicted by ridge regression on the judge's
grade and the number of systems that rank the pair, with effects of queries, which are shrunk according to how far the
queries differ (Searle, Casella, McCulloch, Variance Components, 1992, chapter 3). A pair is never predicted from its
own grade: the labelled pairs are split into folds, and each is predicted from the other folds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.records import Int

Values = npt.NDArray[np.float64]

FOLDS = 5
_RIDGE = 0.5


class Calibration:
    """Predicts people's grades of the pairs of ``frame``, from the judge's grades unless ``use_judge`` is false.

    ``fold``, shape (pairs,), is the fold of each pair. Systems count up to rank ``cutoff``.
    """

    def __init__(self, frame: PairFrame, fold: Int, cutoff: int, *, use_judge: bool = True) -> None:
        self._frame, self._fold = frame, fold
        popularity = np.log1p(np.bincount(frame.pair[frame.rank <= cutoff], minlength=len(frame)))
        columns = [popularity - popularity.mean()]
        if use_judge:
            columns += [(frame.judge == grade).astype(np.float64) for grade in np.unique(frame.judge)]
        self._features = np.column_stack(columns)

    def predict(self, labelled: Int, reached: Values) -> Values:
        """The probability of each pair to reach each grade, shape (pairs, grades), falling with the grade.

        ``labelled``, shape (n,), are the labelled pairs; ``reached``, shape (n, grades), is 1 where people gave a pair
        at least the grade, in ascending order.
        """
        predicted = np.empty((len(self._frame), reached.shape[1]))
        fold = self._fold[labelled]
        for number in range(FOLDS):
            training = fold != number
            wanted = np.flatnonzero(self._fold == number)
            predicted[wanted] = self._predicted(wanted, labelled[training], reached[training])
        return as_probabilities(predicted)

    def _predicted(self, wanted: Int, labelled: Int, reached: Values) -> Values:
        if not len(labelled):
            return np.zeros((len(wanted), reached.shape[1]))
        features, mean = self._features[labelled], reached.mean(axis=0)
        penalty = _RIDGE * np.eye(features.shape[1])
        slopes = np.linalg.solve(features.T @ features + penalty, features.T @ (reached - mean))
        residuals = reached - mean - features @ slopes
        effects = query_effects(self._frame.query[labelled], self._frame.queries, residuals, np.ones_like(residuals))
        found: Values = mean + self._features[wanted] @ slopes + effects[self._frame.query[wanted]]
        return found


def query_effects(query: Int, queries: int, residuals: Values, weights: Values) -> Values:
    """The effect e of each query, shape (queries, n), of residuals that are e · weight and noise, by the method of
    moments; shrunk the more, the less the queries differ.

    ``query``, shape (pairs,), numbers the query of each pair from 0 to ``queries`` − 1; ``residuals`` and ``weights``
    have the shape (pairs, n).
    """

    def totals(values: Values) -> Values:
        return np.column_stack([np.bincount(query, column, minlength=queries) for column in values.T])

    information, total = totals(weights**2), totals(residuals * weights)
    known = int((np.bincount(query, minlength=queries) > 0).sum())
    explained = np.divide(total**2, information, out=np.zeros_like(total), where=information > 0).sum(axis=0)
    within = ((residuals**2).sum(axis=0) - explained) / max(len(query) - known, 1)
    informative = np.maximum(information.sum(axis=0), np.finfo(np.float64).tiny)
    between = np.maximum((explained - within * known) / informative, 0.0)
    spread = within + between * information
    effects: Values = between * total / np.where(spread > 0, spread, 1.0)
    return effects


def as_probabilities(predicted: Values) -> Values:
    """Predictions, shape (pairs, grades), as probabilities to reach ascending grades, which fall with the grade."""
    falling: Values = np.minimum.accumulate(np.clip(predicted, 0.0, 1.0), axis=1)
    return falling
