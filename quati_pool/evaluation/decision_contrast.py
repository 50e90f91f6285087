"""How often two qrels decide differently which of two systems is better (Otero, Parapar and Ferro, 2023, arXiv
2308.09340, for cheap qrels against complete ones)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from quati_pool.evaluation.significance import Comparison


@dataclass(frozen=True)
class DecisionContrast:
    """Pairs of systems by whether their difference is significant under two qrels ``a`` and ``b``: under ``both`` with
    the same better system, under both with ``opposed`` ones, under one alone, under ``neither``."""

    both: int
    opposed: int
    only_a: int
    only_b: int
    neither: int

    @property
    def pairs(self) -> int:
        return self.both + self.opposed + self.only_a + self.only_b + self.neither

    @property
    def false_of_a(self) -> float | None:
        """The share of the pairs decided under ``a`` that ``b`` does not decide, or decides the other way; None if
        ``a`` decides none."""
        decided = self.both + self.opposed + self.only_a
        return (self.opposed + self.only_a) / decided if decided else None

    @property
    def missed_by_a(self) -> float | None:
        """The share of the pairs decided under ``b`` that ``a`` does not decide; None if ``b`` decides none."""
        decided = self.both + self.opposed + self.only_b
        return self.only_b / decided if decided else None


def contrast(a: Iterable[Comparison], b: Iterable[Comparison]) -> DecisionContrast:
    """Contrasts the comparisons of the same pairs of systems under two qrels."""
    better_a, better_b = ({frozenset((one.a, one.b)): _better(one) for one in these} for these in (a, b))
    pairs = [(better_a[pair], better_b[pair]) for pair in better_a]
    both = sum(one is not None and one == other for one, other in pairs)
    opposed = sum(one is not None and other is not None and one != other for one, other in pairs)
    only_a = sum(one is not None and other is None for one, other in pairs)
    only_b = sum(one is None and other is not None for one, other in pairs)
    return DecisionContrast(both, opposed, only_a, only_b, len(pairs) - both - opposed - only_a - only_b)


def _better(one: Comparison) -> str | None:
    """The significantly better system, if any."""
    if not one.significant or not one.difference:
        return None
    return one.a if one.difference > 0 else one.b
