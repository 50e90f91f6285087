"""Hansen–Hurwitz totals of active sampling have no bias, and totals by 1 − Π(1 − p_t) have one.

Once in expectation, over all sequences of draws with their exact probabilities, and once over 100,000 draws.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from quati_pool.pooling.candidates import Rankings
from quati_pool.pooling.methods import active_sampling
from quati_pool.pooling.methods.active_sampling import ActiveSampling, ActiveSamplingParameters, hansen_hurwitz
from quati_pool.pooling.methods.base import QueryPool

Values = npt.NDArray[np.float64]
Estimator = Callable[["Recorded"], float]

# Two runs of five documents, which share one.
FIVE = Rankings(5, np.array([[0, 1, 2], [3, 4, 1]], dtype=np.int32))
GRADES = np.array([2.0, 1.0, 0.0, 0.0, 1.0])
TOTAL = 4.0
DRAWS = 4
# The less trust in the runs being alike, the more the mixture adapts.
ADAPTING = ActiveSamplingParameters(uniform=0.1, trust=0.5)


class Recorded(ActiveSampling):
    """Keeps the probabilities of all documents in each draw."""

    def __init__(self, pool: QueryPool, parameters: ActiveSamplingParameters = ADAPTING) -> None:
        super().__init__(pool, parameters)
        self.probabilities: list[Values] = []

    def _draw(self, candidate: int) -> None:
        self.probabilities.append(self._probabilities)
        super()._draw(candidate)


def take(method: ActiveSampling, grades: Values | None) -> None:
    """Takes all that the method proposes; without ``grades`` it learns nothing."""
    while (proposal := method.propose()) is not None:
        method.choose(proposal.candidate)
        if grades is not None:
            method.learn(proposal.candidate, relevant=bool(grades[proposal.candidate] > 0))


def hansen_hurwitz_of(grades: Values) -> Estimator:
    return lambda method: hansen_hurwitz(method.draws, grades)


def horvitz_thompson_of(grades: Values) -> Estimator:
    """The total as if 1 − Π(1 − p_t) were each document's probability of being drawn."""

    def estimate(method: Recorded) -> float:
        inclusion = 1 - np.prod(1 - np.array(method.probabilities), axis=0)
        drawn = np.unique([candidate for candidate, _ in method.draws])
        return float((grades[drawn] / inclusion[drawn]).sum())

    return estimate


def all_sequences(
    patch: pytest.MonkeyPatch,
    rankings: Rankings,
    parameters: ActiveSamplingParameters,
    draws: int,
    grades: Values | None,
) -> Iterator[Recorded]:
    """The method after each sequence of ``draws`` documents."""
    units: list[float] = []
    patch.setattr(active_sampling, "_units", lambda pool: units)
    for sequence in itertools.product(range(rankings.size), repeat=draws):
        units.clear()
        method = Recorded(QueryPool(rankings, draws=draws), parameters)
        for candidate in sequence:
            # The middle of the document's part of [0, 1).
            ends = np.cumsum(method._probabilities)
            units.append(float(ends[candidate] - method._probabilities[candidate] / 2))
            take(method, grades)
        assert tuple(candidate for candidate, _ in method.draws) == sequence
        yield method


def expectations(sequences: Iterator[Recorded], estimators: Sequence[Estimator]) -> list[float]:
    """The expectation of each estimator over all sequences of draws."""
    rows = [
        (math.prod(probability for _, probability in method.draws), *(estimate(method) for estimate in estimators))
        for method in sequences
    ]
    probabilities, *estimates = zip(*rows, strict=True)
    assert math.fsum(probabilities) == pytest.approx(1.0, abs=1e-12)
    return [math.fsum(p * value for p, value in zip(probabilities, column, strict=True)) for column in estimates]


def test_two_draws_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of two runs ranks one document, and the first is relevant. The first draw takes either with p = ½.
    # After the first document its run has found 1/(½) = 2 and with trust 2 the share (1 + 2)/(2 + 2) = ¾, so that
    # p = .8 · ¾ + .2/2 = .7 in the second draw; after the second document p = ½ again.
    # Hansen–Hurwitz: ½ · (.7 · (2 + 1/.7)/2 + .3 · 2/2) + ½ · ½ · 2/2 = ½ · (1.2 + .3) + ¼ = 1.
    # 1 − Π(1 − p_t) is 1 − ½ · .3 = .85 after the first document, and .75 else: ½/.85 + ¼/.75 = 10/17 + 1/3 = 47/51.
    rankings, grades = Rankings(2, np.array([[0], [1]], dtype=np.int32)), np.array([1.0, 0.0])
    sequences = all_sequences(monkeypatch, rankings, ActiveSamplingParameters(uniform=0.2, trust=2.0), 2, grades)
    found = expectations(sequences, [hansen_hurwitz_of(grades), horvitz_thompson_of(grades)])
    assert found == pytest.approx([1.0, 47 / 51], abs=1e-12)


@pytest.mark.parametrize("parameters", [ADAPTING, ActiveSamplingParameters()], ids=["adapting", "default"])
def test_only_hansen_hurwitz_has_the_total_as_its_expectation(
    monkeypatch: pytest.MonkeyPatch, parameters: ActiveSamplingParameters
) -> None:
    sequences = all_sequences(monkeypatch, FIVE, parameters, DRAWS, GRADES)
    unbiased, biased = expectations(sequences, [hansen_hurwitz_of(GRADES), horvitz_thompson_of(GRADES)])
    assert unbiased == pytest.approx(TOTAL, abs=1e-12)
    assert biased < TOTAL - 0.1


def test_neither_has_a_bias_where_nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = all_sequences(monkeypatch, FIVE, ADAPTING, DRAWS, None)
    found = expectations(sequences, [hansen_hurwitz_of(GRADES), horvitz_thompson_of(GRADES)])
    assert found == pytest.approx([TOTAL, TOTAL], abs=1e-12)


@pytest.mark.slow
def test_100_000_draws_have_the_total_as_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    estimators = [hansen_hurwitz_of(GRADES), horvitz_thompson_of(GRADES)]
    estimates = np.empty((100_000 // DRAWS, 2))
    for seed in range(len(estimates)):
        method = Recorded(QueryPool(FIVE, "1", DRAWS, seed))
        take(method, GRADES)
        assert len(method.draws) == DRAWS
        estimates[seed] = [estimate(method) for estimate in estimators]
    mean = estimates.mean(axis=0)
    error = estimates.std(axis=0, ddof=1) / math.sqrt(len(estimates))
    assert abs(mean[0] - TOTAL) < 4 * error[0]
    assert mean[1] < TOTAL - 50 * error[1]
    # The draws by hashes are those of the exact probabilities.
    exact = expectations(all_sequences(monkeypatch, FIVE, ADAPTING, DRAWS, GRADES), estimators)
    assert (np.abs(mean - exact) < 4 * error).all()
