"""Ranks systems by means; means that differ only in their last bits, because of the order of summation, are ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_DECIMALS = 12


def rounded(means: npt.NDArray[Any]) -> Values:
    """The means rounded so that ties are exactly equal."""
    result: Values = np.round(means, _DECIMALS)
    return result


def ranks(means: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Ranks from 1 along the first axis, 1 for the highest mean; ties share the best of their ranks."""
    values = rounded(means)
    places: npt.NDArray[np.int64] = (values[None] > values[:, None]).sum(axis=1) + 1
    return places
