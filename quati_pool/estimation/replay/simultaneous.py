"""Whether simultaneous intervals of differences contain the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.estimated import Estimated, Values
from quati_pool.records import Int
from quati_pool.stats.bootstrap import DRAWS, multiplicities

_ROUNDING = 1e-12
# A variance below this share of the one that was estimated is a rounding error.
_NOTHING = 1e-9
_BLOCK = 100_000


class SimultaneousIntervals:
    """The intervals of ``decisions.simultaneous_quantile`` for the differences of systems ``a`` and ``b``, shape
    (comparisons,) each, which hold all at once with probability 1 − ``alpha``.

    All of them contain the truth if the largest error in standard errors is at most a quantile of resampled ones. That
    is known as soon as so many resamples exceed it, most often after a tenth of them, while the quantile takes them
    all.
    """

    def __init__(self, a: Int, b: Int, alpha: float, seed: int) -> None:
        self._a, self._b, self._seed = a, b, seed
        self._exceeding = alpha * (DRAWS - 1)
        self._step = max(1, _BLOCK // max(len(a), 1))
        self._counts: dict[int, Values] = {}

    def contain(self, systems: Estimated, differences: Estimated, truth: Values, tested: npt.NDArray[np.bool_]) -> bool:
        """Whether the intervals of all ``tested`` differences contain the ``truth``, shape (comparisons,) each. The
        ``differences`` are those of the estimates of ``systems``."""
        error, errors = differences.standard_error, np.abs(differences.estimate - truth)
        errors[errors <= _ROUNDING] = 0.0
        varying = tested & (error > 0)
        if errors[tested & ~varying].any():
            return False
        largest = (errors[varying] / error[varying]).max(initial=0.0)
        return not largest or self._exceeded(systems, largest, varying, error[varying] ** 2)

    def _exceeded(self, systems: Estimated, largest: float, varying: npt.NDArray[np.bool_], estimated: Values) -> bool:
        """Whether enough resamples have a difference with an error above ``largest``; ``estimated`` are the variances
        of the ``varying`` ones."""
        a, b, number = self._a[varying], self._b[varying], systems.units
        # For each part the systems' rows, shape (systems, units).
        units, *others = (part.T for part in np.split(systems.rows[: number * systems.parts], systems.parts))
        # Fewer rows with the same products.
        compact: Values = np.linalg.qr(systems.rows[number:], mode="r")  # type: ignore[assignment]
        rest = compact.T
        resampled = number > 1
        squares = sum((part[a] - part[b]) ** 2 for part in (units, *others)) * (number / max(number - 1, 1))
        fixed = systems.rows[number * systems.parts :].T
        normal = (((fixed[a] - fixed[b]) ** 2).sum(axis=1) if resampled else estimated)[:, None]
        generator, exceeding = np.random.default_rng(self._seed), 0
        for start in range(0, DRAWS, self._step):
            counts = self._multiplicities(number)[:, start : start + self._step]
            sums = units @ counts
            errors = sums + rest @ generator.standard_normal((rest.shape[1], counts.shape[1]))
            squared = _squared_differences(errors, a, b)
            if not resampled:
                beyond = squared > largest**2 * normal
            else:
                variance = squares @ counts
                variance -= (squared if not rest.size else _squared_differences(sums, a, b)) / (number - 1)
                for part in others:
                    variance -= _squared_differences(part @ counts, a, b) / (number - 1)
                variance += normal
                beyond = (squared > largest**2 * variance) & (variance > _NOTHING * estimated[:, None])
            exceeding += int(beyond.any(axis=0).sum())
            if exceeding > self._exceeding:
                return True
        return False

    def _multiplicities(self, units: int) -> Values:
        """How often each unit occurs in each resample, shape (units, resamples)."""
        if units not in self._counts:
            self._counts[units] = np.concatenate(list(multiplicities(units, DRAWS, self._seed))).T.copy()
        return self._counts[units]


def _squared_differences(values: Values, a: Int, b: Int) -> Values:
    """Of the rows ``a`` and ``b``."""
    found: Values = values[a]
    found -= values[b]
    found *= found
    return found
