"""Selects the best of many scores, including all that tie at the cut-off."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def best(scores: npt.NDArray[np.float32], depth: int, slack: float = 0.0) -> npt.NDArray[np.intp]:
    """The positions, in any order, of the ``depth`` highest scores and of all others that reach the lowest of these
    minus ``slack``."""
    if len(scores) <= depth:
        return np.arange(len(scores))
    last = float(np.partition(scores, len(scores) - depth)[len(scores) - depth])
    return np.flatnonzero(scores >= last - slack)
