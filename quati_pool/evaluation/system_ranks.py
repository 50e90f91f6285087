"""Ranks by means; means that differ only in their last bits, by the order of summation, are ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_DECIMALS = 12


def rounded(means: npt.NDArray[Any]) -> Values:
    """Means, rounded so that ties are equal."""
    result: Values = np.round(means, _DECIMALS)
    return result


def ranks(means: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Ranks from 1 along the first axis, the highest mean first; ties share the best of their ranks."""
    values = rounded(means)
    places: npt.NDArray[np.int64] = (values[None] > values[:, None]).sum(axis=1) + 1
    return places
