"""Paired tests of per-query differences, and Holm's correction for multiple tests.

Every test is two-sided, takes differences of shape (comparisons, queries) and returns one ``Outcome`` per comparison.
Differences are first rounded to twelve decimals, so that 0.3 - 0.2 equals 0.2 - 0.1, and equal values computed in
different ways differ by 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

FLIPS = 10_000
EXACT = 12
"""With at most this many nonzero differences, all 2ⁿ sign flips are enumerated."""

_DECIMALS = 12
# The size of one block of signs: 16 MB.
_BLOCK = 2_000_000


class Outcome(NamedTuple):
    """A test's p-value, or None with the reason why it is undefined."""

    p: float | None
    undefined: str | None = None


PairedTest = Callable[[Values, int], list[Outcome]]

_FEW = Outcome(None, "fewer than two queries")
_NONE_DIFFERS = Outcome(None, "no query differs")
_SAME = Outcome(None, "the difference is the same on every query, so it has no spread")


def t_test(differences: Values, seed: int = 0) -> list[Outcome]:
    """Student's paired t-test; ``seed`` is not used.

    Undefined if all differences are 0 or equal, since t divides by their spread.
    """
    from scipy.special import stdtr

    differences = _rounded(differences)
    n = differences.shape[1]
    if n < 2:
        return [_FEW] * len(differences)
    spread = differences.std(axis=1, ddof=1)
    largest = np.abs(differences).max(axis=1)
    # Not `spread == 0`: the spread of equal numbers can be a rounding error above 0.
    flat = np.ptp(differences, axis=1) <= 1e-9 * largest
    t = differences.mean(axis=1) / np.where(flat, 1, spread) * np.sqrt(n)
    p = 2 * stdtr(n - 1, -np.abs(t))
    return [
        _NONE_DIFFERS if size == 0 else _SAME if same else Outcome(float(value))
        for value, same, size in zip(p, flat, largest, strict=True)
    ]


def wilcoxon(differences: Values, seed: int = 0) -> list[Outcome]:
    """Wilcoxon's signed-rank test; ``seed`` is not used.

    Differences of 0 are dropped, as Wilcoxon did (Biometrics Bulletin 1(6), 1945); if none is left, the test is
    undefined. Computed by scipy: exactly for at most 50 differences without ties or at most 13 with ties, otherwise
    by the normal approximation.
    """
    from scipy import stats

    found = []
    for row in _rounded(differences):
        other = row[row != 0]
        if len(row) < 2:
            found.append(_FEW)
        elif len(other) == 0:
            found.append(_NONE_DIFFERS)
        else:
            found.append(Outcome(float(stats.wilcoxon(other).pvalue)))
    return found


def randomisation(differences: Values, seed: int = 0) -> list[Outcome]:
    """Fisher's randomisation test: how often the mean is at least as far from 0 when each query's sign is flipped at
    random (Smucker, Allan and Carterette, CIKM 2007).

    Exact with at most ``EXACT`` nonzero differences (with none, p is 1); otherwise with ``FLIPS`` random flips, the
    same for all comparisons, and p = (1 + flips at least as far) / (1 + flips), since the observed signs are one of
    the possible flips (Phipson and Smyth, 2010).
    """
    differences = _rounded(differences)
    count, n = differences.shape
    if n < 2:
        return [_FEW] * count
    observed = np.abs(differences.sum(axis=1))
    # Sums in a different order differ in their last bits.
    threshold = observed - 1e-12 * np.abs(differences).sum(axis=1)
    few = (differences != 0).sum(axis=1) <= EXACT
    p = np.empty(count)
    for row in np.flatnonzero(few):
        p[row] = _exact(differences[row], threshold[row])
    if not few.all():
        p[~few] = _sampled(differences[~few], threshold[~few], seed)
    return [Outcome(float(value)) for value in p]


TESTS: dict[str, PairedTest] = {"t": t_test, "wilcoxon": wilcoxon, "randomisation": randomisation}


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values after Holm's step-down adjustment (Scandinavian Journal of Statistics 6(2), 1979): comparing them with α
    keeps the probability of any false finding in the family at most α. None, an undefined test, is not part of the
    family and stays None."""
    adjusted = holm_adjusted(np.array([np.nan if p is None else p for p in p_values], dtype=np.float64))
    return [None if np.isnan(p) else float(p) for p in adjusted]


def holm_adjusted(p_values: Values) -> Values:
    """``holm`` for an array of p-values, in which NaN is an undefined test."""
    adjusted = np.full(len(p_values), np.nan)
    defined = np.flatnonzero(~np.isnan(p_values))
    order = defined[np.argsort(p_values[defined], kind="stable")]
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _rounded(differences: Values) -> Values:
    rounded: Values = np.round(np.asarray(differences, dtype=np.float64), _DECIMALS).astype(np.float64, copy=False)
    return rounded


def _exact(row: Values, threshold: float) -> float:
    row = row[row != 0]
    patterns = np.arange(2 ** len(row))
    signs = 1.0 - 2.0 * ((patterns[:, None] >> np.arange(len(row))) & 1)
    return float((np.abs(signs @ row) >= threshold).mean())


def _sampled(differences: Values, threshold: Values, seed: int) -> Values:
    generator = np.random.default_rng(seed)
    count, n = differences.shape
    step = max(1, _BLOCK // n)
    at_once = max(1, _BLOCK // step)
    as_far = np.zeros(count)
    for start in range(0, FLIPS, step):
        signs = generator.integers(0, 2, size=(min(step, FLIPS - start), n)) * 2.0 - 1.0
        for first in range(0, count, at_once):
            some = slice(first, first + at_once)
            as_far[some] += (np.abs(signs @ differences[some].T) >= threshold[some]).sum(axis=0)
    return (1 + as_far) / (1 + FLIPS)
