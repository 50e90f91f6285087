"""The best of many scores, with every document that ties at the cut-off."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def best(scores: npt.NDArray[np.float32], depth: int, slack: float = 0.0) -> npt.NDArray[np.intp]:
    """Positions, in no order, of the ``depth`` highest scores and all that equal the lowest of them, or come
    within ``slack`` of it."""
    if len(scores) <= depth:
        return np.arange(len(scores))
    last = float(np.partition(scores, len(scores) - depth)[len(scores) - depth])
    return np.flatnonzero(scores >= last - slack)
