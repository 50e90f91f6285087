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
        self._fold = fold
        popularity = np.log1p(np.bincount(frame.pair[frame.rank <= cutoff], minlength=len(frame)))
        features = (popularity - popularity.mean())[:, None]
        if use_judge:
            features = np.hstack([features, grade_indicators(frame.judge)])
        self._regression = PairRegression(frame.query, frame.queries, features)

    def predict(self, labelled: Int, reached: Values) -> Values:
        """The probability of each pair to reach each grade, shape (pairs, grades), falling with the grade.

        ``labelled``, shape (n,), are the labelled pairs; ``reached``, shape (n, grades), is 1 where people gave a pair
        at least the grade, in ascending order.
        """
        predicted = np.empty((len(self._fold), reached.shape[1]))
        fold = self._fold[labelled]
        for number in range(FOLDS):
            training = fold != number
            wanted = np.flatnonzero(self._fold == number)
            predicted[wanted] = self._regression.predict(wanted, labelled[training], reached[training])
        return as_probabilities(predicted)


class PairRegression:
    """Ridge regression on ``features`` of pairs, shape (pairs, features), with shrunk effects of their queries, which
    ``query``, shape (pairs,), numbers from 0 to ``queries`` − 1."""

    def __init__(self, query: Int, queries: int, features: Values) -> None:
        self._query, self._queries, self._features = query, queries, features

    def predict(self, wanted: Int, labelled: Int, targets: Values) -> Values:
        """The targets of the ``wanted`` pairs, shape (wanted, targets), from those of the ``labelled`` ones, shape
        (labelled, targets); 0 without any."""
        if not len(labelled):
            return np.zeros((len(wanted), targets.shape[1]))
        features, mean = self._features[labelled], targets.mean(axis=0)
        penalty = _RIDGE * np.eye(features.shape[1])
        slopes = np.linalg.solve(features.T @ features + penalty, features.T @ (targets - mean))
        effects = self._query_effects(labelled, targets - mean - features @ slopes)
        found: Values = mean + self._features[wanted] @ slopes + effects[self._query[wanted]]
        return found

    def _query_effects(self, labelled: Int, residuals: Values) -> Values:
        """The shrunk mean residual of each query, shape (queries, targets), by the method of moments."""
        query, queries = self._query[labelled], self._queries
        count = np.bincount(query, minlength=queries)[:, None]
        total = np.column_stack([np.bincount(query, column, minlength=queries) for column in residuals.T])
        known = int((count > 0).sum())
        explained = (total**2 / np.maximum(count, 1)).sum(axis=0)
        within = ((residuals**2).sum(axis=0) - explained) / max(len(labelled) - known, 1)
        between = np.maximum((explained - within * known) / len(labelled), 0.0)
        spread = within + between * count
        effects: Values = between * total / np.where(spread > 0, spread, 1.0)
        return effects


def grade_indicators(grades: Int) -> Values:
    """Whether each of ``grades``, shape (pairs,), is each grade that occurs, as 0 and 1: shape (pairs, grades)."""
    indicators: Values = (grades[:, None] == np.unique(grades)).astype(np.float64)
    return indicators


def as_probabilities(predicted: Values) -> Values:
    """Predictions, shape (pairs, grades), as probabilities to reach ascending grades, which fall with the grade."""
    falling: Values = np.minimum.accumulate(np.clip(predicted, 0.0, 1.0), axis=1)
    return falling
