"""Which pairs people should look at to find errors, in which order.

These pairs are chosen for what they are, not drawn: no probability is known, and nothing about other pairs follows from
people's grades of them.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from quati_pool.annotation.sampling import Values
from quati_pool.records import Int

Queue = Literal["sure-relevant", "contradictions", "near-duplicates"]
QUEUES: tuple[Queue, ...] = get_args(Queue)

SUPPORT_DEPTH = 10
"""A system supports a pair that it ranks this high."""


def sure_relevant(grades: Values, ranks: Int, least: float, tie: Values) -> Int:
    """The rows of the pairs with at least the grade ``least``: highest grade first, then those that most systems rank
    in their first ``SUPPORT_DEPTH``, then those with the best rank in any of them, then by ``tie``.

    ``grades``, shape (pairs,), are a judge's, NaN without one; ``ranks``, shape (pairs, systems), are from 1, 0 where a
    system did not return the pair.
    """
    support = ((ranks >= 1) & (ranks <= SUPPORT_DEPTH)).sum(axis=1)
    best = np.where(ranks >= 1, ranks, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    rows = np.flatnonzero(grades >= least)
    order = np.lexsort((tie[rows], best[rows], -support[rows], -grades[rows]))
    found: Int = rows[order]
    return found


def contradictions(answers: Values, tie: Values) -> Int:
    """The rows of the pairs that got different grades: the largest gap between two answers first, then the largest
    variance, then by ``tie``. ``answers``, shape (answers, pairs), have NaN where there is none."""
    there = ~np.isnan(answers)
    count = np.maximum(there.sum(axis=0), 1)
    gap = np.where(there, answers, -np.inf).max(axis=0, initial=-np.inf) - np.where(there, answers, np.inf).min(
        axis=0, initial=np.inf
    )
    mean = np.where(there, answers, 0.0).sum(axis=0) / count
    variance = np.where(there, (answers - mean) ** 2, 0.0).sum(axis=0) / count
    rows = np.flatnonzero(gap > 0)
    # Equal variances of other numbers of answers may differ by rounding.
    order = np.lexsort((tie[rows], -np.round(variance[rows], 9), -gap[rows]))
    found: Int = rows[order]
    return found
