"""Measures that a random sample of pairs can estimate: sums of discounted gains, and nDCG, their share of an ideal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError, TranslatableText

Values = npt.NDArray[np.float64]

_NAME = re.compile(r"(nDCG|DCG|P(?:\(rel=([0-9]+)\))?)@([1-9][0-9]*)\Z")
_TIED = 0.02
_SERVED = "a sample of pairs serves nDCG, DCG and P with a cutoff"


@dataclass(frozen=True, eq=False)
class PairMeasure:
    """A measure Σ δ(rank) · gain over the first ``cutoff`` ranks, divided by its value for an ideal ranking of the pool
    if it is ``normalized``.

    ``discounts``, shape (cutoff,), are δ of the ranks from 1. ``relevant``: the grade from which a document gains 1;
    None if the gain is the grade itself, as in trec_eval (a grade below 0 gains nothing).
    """

    name: str
    discounts: Values
    normalized: bool
    relevant: int | None = None

    @property
    def cutoff(self) -> int:
        return len(self.discounts)

    def levels(self, scale: Sequence[int]) -> Mapping[int, float]:
        """What each grade of the scale adds to the gain of the grade below it: the gain of g is the sum over h ≤ g."""
        if self.relevant is not None:
            return {self.relevant: 1.0}
        return {high: float(high - low) for low, high in pairwise(sorted({0, *(one for one in scale if one > 0)}))}

    def ideal(self, counts: Values) -> tuple[Values, Values]:
        """The discounts Σ δ(r) of the first ``counts`` ranks, and their derivative. A count may be a fraction; beyond
        the cutoff nothing is added."""
        sums = np.concatenate([[0.0], np.cumsum(self.discounts)])
        steps = np.append(self.discounts, 0.0)
        capped = np.clip(counts, 0, self.cutoff)
        whole = np.floor(capped).astype(np.int64)
        slope: Values = steps[whole]
        total: Values = sums[whole] + (capped - whole) * slope
        return total, slope


def parse_pair_measure(name: str) -> PairMeasure:
    """The measure called ``name`` (nDCG@10, DCG@10, P@10 or P(rel=2)@10).

    Raises ConfigError for a measure that depends on more than sums over pairs, such as AP or RR.
    """
    found = _NAME.match(name)
    if found is None:
        text = f"{name!r} cannot be estimated from a sample of pairs: {_SERVED}; draw --random-queries for it"
        raise ConfigError(TranslatableText(text, "not_from_pairs", measure=name))
    kind, relevant, cutoff = found[1], found[2], int(found[3])
    if kind.startswith("P"):
        return PairMeasure(name, np.full(cutoff, 1.0 / cutoff), normalized=False, relevant=int(relevant or 1))
    discounts = 1.0 / np.log2(np.arange(2, cutoff + 2))
    return PairMeasure(name, discounts, normalized=kind == "nDCG")


def served_by_pairs(name: str) -> PairMeasure | None:
    """The measure called ``name``; None if a sample of pairs cannot estimate it."""
    return None if _NAME.match(name) is None else parse_pair_measure(name)


def highest_value(name: str, scale: Sequence[int]) -> float:
    """The highest value that the measure can have: 1, except for DCG."""
    found = _NAME.match(name)
    if found is None or found[1] != "DCG":
        return 1.0
    return float(parse_pair_measure(name).discounts.sum()) * max(*scale, 0)


def tie_bound(delta: float | None, name: str, scale: Sequence[int]) -> float:
    """How far tied systems may differ in a measure: ``delta``, by default 0.02 of the measure's highest value."""
    return _TIED * highest_value(name, scale) if delta is None else delta
