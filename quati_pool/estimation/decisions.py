"""Which of two systems is better, which tie, and what further labels would decide the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.estimated import Estimated
from quati_pool.records import Int
from quati_pool.stats.bootstrap import DRAWS, multiplicities
from quati_pool.stats.ratio import ratio
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.stats.significance import holm_adjusted

Values = npt.NDArray[np.float64]

POWER = 0.8

_DRAWS = 5000
_BLOCK = 4_000_000
# A variance below this share of the one that was estimated is a rounding error.
_NOTHING = 1e-9
_DECIMALS = 12


def p_values(differences: Estimated) -> Values:
    """Two-sided p of each difference, shape (comparisons,); NaN where it has no standard error."""
    return 2 * _tail(differences, np.abs(differences.estimate))


def tie_p_values(differences: Estimated, delta: float) -> Values:
    """The larger p of the two one-sided tests that a difference is within ±``delta`` (Schuirmann, Journal of
    Pharmacokinetics and Biopharmaceutics 15, 1987), shape (comparisons,)."""
    return _tail(differences, delta - np.abs(differences.estimate))


def _tail(differences: Estimated, distance: Values) -> Values:
    """The probability of an error above ``distance``."""
    from scipy.special import ndtr, stdtr

    error = differences.standard_error
    t = np.where(error > 0, distance, np.nan) / np.where(error > 0, error, 1.0)
    tail: Values = ndtr(-t) if differences.degrees is None else stdtr(differences.degrees, -t)
    return tail


def verdicts(differences: Estimated, support: Int, alpha: float, delta: float) -> npt.NDArray[np.str_]:
    """ "better", "worse", "tie" or "inconclusive" for each difference, shape (comparisons,).

    Better and worse have a Holm-adjusted p of at most ``alpha``; so has a tie, of the tests that it is within ±delta.
    ``support``, shape (comparisons,), counts the queries in which people's grades make a difference.
    """
    enough = support >= FEWEST_QUERIES
    # What too few queries show is not tested, and so no member of the family.
    decided = holm_adjusted(np.where(enough, p_values(differences), np.nan)) <= alpha
    tied = holm_adjusted(np.where(enough, tie_p_values(differences, delta), np.nan)) <= alpha
    found = np.where(tied, "tie", "inconclusive")
    return np.where(decided, np.where(differences.estimate > 0, "better", "worse"), found)


def known_verdicts(differences: Values) -> npt.NDArray[np.str_]:
    """The verdicts on differences that are known, as all was graded."""
    signs = np.sign(np.round(differences, _DECIMALS)).astype(np.int64)
    return np.array(["tie", "better", "worse"])[signs]


def simultaneous_quantile(differences: Estimated, alpha: float, seed: int) -> float | None:
    """The number of standard errors within which all differences lie at once with probability 1 − ``alpha``: the
    quantile of the largest of their absolute t in resamples of the drawn queries, each with standard errors of its own
    (Efron, Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5). Errors of drawn pairs, and those of all
    queries as a sample of a population, are sums of many, and simulated as normal. None without a difference that has a
    standard error."""
    error = differences.standard_error
    defined = error > 0
    if not defined.any():
        return None
    scaled = differences.rows[:, defined] / error[defined]
    number, estimated = differences.units, differences.units * differences.parts
    blocks, rest = np.split(scaled[:estimated], differences.parts), _compact(scaled[number:])
    fixed = (scaled[estimated:] ** 2).sum(axis=0)
    generator = np.random.default_rng(seed)
    largest = []
    for draws, counts in _resamples(number, scaled.shape[1], seed):
        t = generator.standard_normal((draws, len(rest))) @ rest
        if counts is not None:
            variance = fixed + sum(_variance(counts, rows) for rows in blocks)
            t += counts @ blocks[0]
            t *= ratio(np.ones_like(variance), np.sqrt(np.maximum(variance, 0)), variance > _NOTHING, 0.0)
        largest.append(np.abs(t).max(axis=1))
    return float(np.quantile(np.concatenate(largest), 1 - alpha))


def _resamples(units: int, columns: int, seed: int) -> Iterator[tuple[int, Values | None]]:
    """Blocks of draws: how many, and how often each of the ``units`` occurs in each; None without units."""
    step = max(1, _BLOCK // columns)
    if units < 2:
        yield from ((min(step, _DRAWS - start), None) for start in range(0, _DRAWS, step))
        return
    for block in multiplicities(units, DRAWS, seed):
        for start in range(0, len(block), step):
            part = block[start : start + step]
            yield len(part), part


def _variance(counts: Values, rows: Values) -> Values:
    """The variances that the drawn queries, each with a row, give where they occur ``counts`` times, shape (draws,
    columns)."""
    number = len(rows)
    variance: Values = (counts @ rows**2 - (counts @ rows) ** 2 / number) * (number / (number - 1))
    return variance


def _compact(rows: Values) -> Values:
    """Fewer rows with the same rowsᵀ·rows."""
    if len(rows) <= rows.shape[1]:
        return rows
    compact: Values = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]
    return compact


def needed(
    variance: Values, fixed: Values, drawn: int, frame: int, alpha: float, delta: float, comparisons: int
) -> list[int | None]:
    """How many further queries or pairs would find a difference of ``delta`` with a power of 80 %: at least 1
    each, and at most all that are left; None where not even those would.

    ``variance``, shape (differences,), is what the ``drawn`` of ``frame`` units contribute to the error, falling as
    1/n − 1/N, and ``fixed`` what further ones do not lessen. The test is two-sided at alpha / ``comparisons``.
    """
    from scipy.special import ndtri

    left = frame - drawn
    if left <= 0:
        return [None] * len(variance)
    wanted = (delta / (ndtri(1 - alpha / comparisons / 2) + ndtri(POWER))) ** 2
    # What is fixed is the rest of a subtraction, and seldom exactly 0.
    missed = ~(fixed <= wanted + _NOTHING * variance)
    unit = variance / (1 / drawn - 1 / frame)
    room = wanted - np.where(missed, 0.0, fixed) + unit / frame
    # Without room there is no error at all.
    counts = np.ceil(ratio(unit, room, room > 0, 0.0)) - drawn
    return [None if one else int(count) for one, count in zip(missed, np.clip(counts, 1, left), strict=True)]
