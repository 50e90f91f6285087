"""When too few pairs are drawn and graded to estimate from."""

from __future__ import annotations

from typing import Literal

import numpy as np

from quati_pool.estimation.estimated import Values
from quati_pool.estimation.pair_measures import PairMeasure

LEAST_BY_CHANCE = 50
"""The fewest pairs that were left to chance (π below 1) from which anything is estimated: the variance of fewer is not
known well enough for an interval."""
UNSURE_IDEAL = 0.1
"""The ``ideal_error`` above which nDCG is not estimated from pairs: its bias then is no longer small against its
interval. On TREC DL 2021 the bias of nDCG@10 is −0.006 where it is 0.06 (1,500 pairs), −0.013 at 0.09 (1,050), and
−0.026 at 0.16 (738), where intervals contain the truth in only 92 % of the samples."""
PLANNED_IDEAL = 0.08
"""The expected ``ideal_error`` of samples of which hardly one exceeds ``UNSURE_IDEAL``."""

Refusal = Literal["few-pairs", "unsure-ideal"]
"""Fewer pairs than ``LEAST_BY_CHANCE``, or too few for the ideal of nDCG."""


def too_few(inclusion: Values) -> bool:
    """Whether pairs with these probabilities, shape (n,), are too few for an interval."""
    return 0 < int((inclusion < 1).sum()) < LEAST_BY_CHANCE


def ideal_error(errors: Values) -> float:
    """The mean of the squared relative ``errors`` of the ideals of queries, shape (queries,), none of which counts as
    more than 1: a single drawn pair of small π makes some too large for a mean of them to say anything."""
    return float(np.minimum(errors, 1.0).mean())


def ideal_is_unsure(measure: PairMeasure, errors: Values) -> bool:
    """Whether ``measure`` has an ideal that is not known well enough; ``errors``, shape (queries,), are its squared
    relative errors."""
    return measure.normalized and ideal_error(errors) > UNSURE_IDEAL
