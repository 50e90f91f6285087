"""Active sampling (Li and Kanoulas, Active sampling for large-scale information retrieval evaluation, CIKM 2017).

Documents are drawn with replacement from a mixture of the runs, which changes with what was found. Whether a document
is drawn then depends on earlier grades, so that 1 − Π(1 − p_t) is not its inclusion probability; totals are estimated
by the mean of y/p_t over the draws (Hansen and Hurwitz, Annals of Mathematical Statistics 14, 1943), which has no bias
as long as each p_t is known before its draw and the number of draws is fixed.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from quati_pool.files.yaml_file import Model
from quati_pool.pooling.methods.base import PoolMethod, Proposal, QueryPool, Values
from quati_pool.stats.hashing import hashes

_UNIT = 2.0**-53


class ActiveSamplingParameters(Model):
    uniform: Annotated[
        float, Field(gt=0, le=1, description="the share of draws in which all candidates have the same probability")
    ] = 0.1
    trust: Annotated[
        float, Field(gt=0, description="how many draws it takes until grades count as much as the runs being alike")
    ] = 5.0


class ActiveSampling(PoolMethod):
    """Draws ``QueryPool.draws`` times; a document that is drawn again costs no label.

    A run's share in the mixture is proportional to the estimated probability that a draw from it is relevant, shrunk
    towards ½; it changes with each draw of a document that is known to be relevant. Within a run a document is drawn
    by its weight in average precision (Aslam and Pavlu 2007): rank r of N has (1 + 1/r + … + 1/N) / 2N.
    """

    id = "pool_method/active-sampling"
    summary = "random draws with replacement, from better runs more often; totals can be estimated from them"
    Parameters = ActiveSamplingParameters
    moves = False
    random = True

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        by_run = self.rankings.by_run
        self._lengths = np.count_nonzero(by_run >= 0, axis=1)
        self._harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1, by_run.shape[1] + 1)))
        self._units = _units(pool)
        self._found = np.zeros(len(by_run))
        self._relevant: dict[int, bool] = {}
        self.draws: list[tuple[int, float]] = []
        """Each draw so far, with the probability that it had."""
        self._probabilities = self._mixed()

    def propose(self) -> Proposal | None:
        while len(self.draws) < len(self._units) and self.rankings.size:
            place = np.searchsorted(np.cumsum(self._probabilities), self._units[len(self.draws)], side="right")
            candidate = min(int(place), self.rankings.size - 1)
            if not self.chosen[candidate]:
                return Proposal(candidate, 0.0)
            self._draw(candidate)
        return None

    def choose(self, candidate: int) -> None:
        proposed = self.propose()
        super().choose(candidate)
        if proposed is not None and proposed.candidate == candidate:
            self._draw(candidate)

    def learn(self, candidate: int, *, relevant: bool) -> None:
        self._relevant[candidate] = relevant
        if relevant:
            for drawn, probability in self.draws:
                if drawn == candidate:
                    self._count(drawn, probability)
            self._probabilities = self._mixed()

    def _draw(self, candidate: int) -> None:
        probability = float(self._probabilities[candidate])
        self.draws.append((candidate, probability))
        self.used = len(self.draws)
        if self._relevant.get(candidate):
            self._count(candidate, probability)
            self._probabilities = self._mixed()

    def _count(self, candidate: int, probability: float) -> None:
        """Adds a draw of a relevant candidate to the runs that rank it. The mean over all draws estimates the
        probability that a draw from the run is relevant."""
        runs, ranks = self.rankings.places(candidate)
        lengths = self._lengths[runs]
        within = (1 + self._harmonic[lengths] - self._harmonic[ranks - 1]) / (2 * lengths)
        self._found[runs] += within / probability

    def _mixed(self) -> Values:
        """The probability of each candidate in the next draw, shape (size,)."""
        uniform, size, lengths = self.parameters.uniform, self.rankings.size, self._lengths
        if not size:
            return np.empty(0)
        # In proportion to (trust/2 + found) / (trust + draws), whose denominator all runs share.
        share = np.where(lengths > 0, 0.5 * self.parameters.trust + self._found, 0.0)
        share *= (1 - uniform) / share.sum()
        factor = share / (2 * np.maximum(lengths, 1))
        weights = factor[:, None] * (1 + self._harmonic[lengths, None] - self._harmonic[:-1])
        # A sum in a fixed order, which no number of threads changes. What follows a run's last candidate is dropped.
        mixed = np.bincount(self.rankings.by_run.ravel() + 1, weights.ravel(), size + 1)[1:]
        found: Values = mixed + uniform / size
        return found


def hansen_hurwitz(draws: list[tuple[int, float]], values: Values) -> float:
    """The estimated total of ``values``, shape (size,), over all candidates: the mean of value/p over the draws.

    Raises ValueError without a draw.
    """
    if not draws:
        raise ValueError("there is no draw")
    return float(np.mean([values[candidate] / probability for candidate, probability in draws]))


def _units(pool: QueryPool) -> Values:
    """A number in [0, 1) for each draw, shape (draws,)."""
    numbers = [str(number) for number in range(pool.draws)]
    found = hashes("active-sampling", pool.seed, [pool.query_id] * pool.draws, numbers)
    return (found >> np.uint64(11)).astype(np.float64) * _UNIT
