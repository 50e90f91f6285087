"""SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators) for many states at once.

The n-th number from a seed is ``mix(seed + n * GAMMA)``, modulo 2^64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""The increment of the state: 2^64 divided by the golden ratio, rounded to an odd number."""


def mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Applies a bijection of 64-bit numbers in which every output bit depends on all input bits. Works in place, and
    returns ``values``."""
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values
