"""Aggregates several grades of one pair into one: of a judge's samples, or of several labelers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction


def mean(grades: Sequence[int]) -> int:
    """The arithmetic mean, with halves rounded up: 0 and 1 give 1, -1 and 0 give 0."""
    return _half_up(Fraction(sum(grades), len(grades)))


def median(grades: Sequence[int]) -> int:
    """The middle grade; for an even number of grades the mean of the two in the middle, with halves rounded up."""
    ordered = sorted(grades)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else mean(ordered[middle - 1 : middle + 1])


def mode(grades: Sequence[int]) -> int:
    """The most frequent grade; the lowest of them if tied."""
    counts = Counter(grades)
    return min(counts, key=lambda grade: (-counts[grade], grade))


def majority(grades: Sequence[int]) -> int | None:
    """The grade given more than half of the time; None if there is none."""
    grade, count = Counter(grades).most_common(1)[0]
    return grade if 2 * count > len(grades) else None


METHODS: dict[str, Callable[[Sequence[int]], int | None]] = {
    "mean": mean,
    "median": median,
    "mode": mode,
    "majority": majority,
}


def _half_up(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
