"""Which of two systems is better, which tie, and what further labels would decide the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.estimated import Estimated
from quati_pool.records import Int
from quati_pool.stats.bootstrap import DRAWS, multiplicities
from quati_pool.stats.ratio import ratio
from quati_pool.stats.significance import holm_adjusted

Values = npt.NDArray[np.float64]

POWER = 0.8
FEWEST = 8
"""A difference that fewer queries than these show is inconclusive, whatever its p."""

_DRAWS = 5000
_BLOCK = 4_000_000
# A variance below this share of the one that was estimated is a rounding error.
_NOTHING = 1e-9


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
    enough = support >= FEWEST
    # What too few queries show is not tested, and so no member of the family.
    decided = holm_adjusted(np.where(enough, p_values(differences), np.nan)) <= alpha
    tied = holm_adjusted(np.where(enough, tie_p_values(differences, delta), np.nan)) <= alpha
    found = np.where(tied, "tie", "inconclusive")
    return np.where(decided, np.where(differences.estimate > 0, "better", "worse"), found)


def simultaneous_quantile(differences: Estimated, alpha: float, seed: int) -> float | None:
    """The number of standard errors within which all differences lie at once with probability 1 − ``alpha``: the
    quantile of the largest of their absolute t in resamples of the drawn queries, each with standard errors of its own
    (Efron, Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5). Errors of drawn pairs are sums of many,
    and simulated as normal. None without a difference that has a standard error."""
    error = differences.standard_error
    defined = error > 0
    if not defined.any():
        return None
    scaled = differences.rows[:, defined] / error[defined]
    units, rest = scaled[: differences.units], _compact(scaled[differences.units :])
    normal = (rest**2).sum(axis=0)
    generator = np.random.default_rng(seed)
    largest = []
    for draws, counts in _resamples(differences.units, scaled.shape[1], seed):
        t = generator.standard_normal((draws, len(rest))) @ rest
        if counts is not None:
            sums, squares = counts @ units, counts @ units**2
            number = differences.units
            variance = (squares - sums**2 / number) * (number / (number - 1)) + normal
            t = (t + sums) * ratio(np.ones_like(variance), np.sqrt(np.maximum(variance, 0)), variance > _NOTHING, 0.0)
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
    each, None where not even all would.

    ``variance``, shape (differences,), is what the ``drawn`` of ``frame`` units contribute to the error, falling as
    1/n − 1/N, and ``fixed`` what further ones do not lessen. The test is two-sided at alpha / ``comparisons``.
    """
    from scipy.special import ndtri

    if drawn >= frame:
        return [None] * len(variance)
    wanted = (delta / (ndtri(1 - alpha / comparisons / 2) + ndtri(POWER))) ** 2
    unit = variance / (1 / drawn - 1 / frame)
    room = wanted - fixed + unit / frame
    counts = np.ceil(unit / np.where(room > 0, room, np.nan)) - drawn
    return [None if np.isnan(one) or one > frame - drawn else max(int(one), 1) for one in counts]
