"""Division where the denominator may be 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def ratio(
    numerator: npt.NDArray[Any],
    denominator: npt.NDArray[Any],
    defined: npt.NDArray[np.bool_] | None = None,
    otherwise: float = np.nan,
) -> Values:
    """``numerator / denominator`` where ``defined`` is true (by default where the denominator is above 0), and
    ``otherwise`` elsewhere. Shapes broadcast."""
    where = np.asarray(denominator) > 0 if defined is None else defined
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator), np.shape(where))
    found: Values = np.divide(numerator, denominator, out=np.full(shape, otherwise, dtype=np.float64), where=where)
    return found
