"""Bootstrap intervals over queries by resampling with replacement.

Resamples are represented by multiplicities, so that a statistic of sums over queries is computed for all draws at once
as ``multiplicities @ summable(sums)`` (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13:
percentile intervals).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

DRAWS = 2000
LEVEL = 0.95

# The size of one block of multiplicities: 16 MB.
_BLOCK = 2_000_000


class Interval(NamedTuple):
    """The percentile interval of a statistic; both ends are None if it is undefined. ``undefined`` is the number of
    draws in which the statistic is undefined."""

    low: float | None
    high: float | None
    undefined: int = 0


def multiplicities(units: int, draws: int, seed: int) -> Iterator[Values]:
    """The number of times each unit is drawn in each of ``draws`` resamples of ``units`` out of ``units``, in blocks of
    shape (some draws, units). The draws depend only on the seed, not on the block size."""
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // max(units, 1))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        drawn = generator.integers(0, max(units, 1), size=(rows, units))
        drawn += np.arange(rows)[:, None] * units
        yield np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


def summable(values: npt.NDArray[Any]) -> Values:
    """``values``, shape (units, …), rounded so that the sum over any resample of the units is exact.

    The order of summation in a matrix product depends on its shape, the processor and the number of threads, which
    changes the last bits of inexact sums. Each column is therefore rounded to multiples of a step: 2⁻⁵² of the number
    of units times their largest absolute value (rounded up to the next power of 2), so that every sum is less than
    2⁵³ steps.
    """
    _, exponent = np.frexp(len(values) * np.abs(values).max(axis=0, initial=0))
    step = np.ldexp(1.0, exponent - 52)
    rounded: Values = np.round(values / step) * step
    return rounded


def interval(values: npt.NDArray[Any], level: float = LEVEL, *, around: float | None = None) -> Interval:
    """The percentile interval of a statistic's values in all draws, shape (draws,). NaN marks an undefined draw; the
    interval is undefined if more than half of the draws are.

    With ``around``, the statistic of the units themselves, the interval is moved by the draws' bias, their mean less
    that. Such is the interval of a rank correlation: noise lowers it, resampling adds noise, and without the move the
    interval may lie below the value. In samples of 25 and 53 queries of TREC DL 2021 with three judges the interval
    holds the τ that as many queries are expected to show in 93 to 99 %, and in 88 to 98 % without the move.
    """
    defined = values[np.isfinite(values)]
    undefined = len(values) - len(defined)
    if len(defined) == 0 or undefined > len(values) / 2:
        return Interval(None, None, undefined)
    bias = 0.0 if around is None else float(defined.mean()) - around
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]) - bias
    return Interval(float(low), float(high), undefined)


class Contrast(NamedTuple):
    """Two figures of the same units, the ``difference`` of the first less the second, and its interval over draws that
    both share; None where a figure is undefined."""

    one: float | None
    other: float | None
    difference: float | None
    interval: Interval


def contrast(one: float, other: float, drawn_one: Values, drawn_other: Values, *, centred: bool = False) -> Contrast:
    """The contrast of two figures, NaN where undefined, and of their values in the same draws, shape (draws,); with
    ``centred`` its interval is around the difference, as for one rank correlation, since the bias of two is not alike.
    """
    difference = one - other
    if np.isnan(difference):
        return Contrast(_known(one), _known(other), None, Interval(None, None))
    drawn = drawn_one - drawn_other
    return Contrast(one, other, difference, interval(drawn, around=difference if centred else None))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
