from __future__ import annotations

from quati_pool.evaluation.decision_contrast import contrast
from quati_pool.evaluation.significance import Comparison


def compared(a: str, b: str, difference: float | None, *, significant: bool = True) -> Comparison:
    return Comparison(a, b, difference, 0.01, 0.01, significant)


def test_pairs_are_counted_by_who_decides_them_whatever_their_order() -> None:
    judge = [
        compared("x", "y", 0.2),
        compared("x", "z", 0.1),
        compared("y", "z", 0.1),
        compared("w", "x", 0.0, significant=False),
        compared("w", "y", 0.1, significant=False),
        compared("w", "z", None, significant=False),
    ]
    people = [
        compared("y", "x", -0.3),
        compared("z", "x", 0.1),
        compared("y", "z", 0.1, significant=False),
        compared("w", "x", 0.2),
        compared("w", "y", 0.1, significant=False),
        compared("w", "z", 0.1, significant=False),
    ]
    found = contrast(judge, people)
    assert (found.both, found.opposed, found.only_a, found.only_b, found.neither) == (1, 1, 1, 1, 2)
    assert (found.pairs, found.false_of_a, found.missed_by_a) == (6, 2 / 3, 1 / 3)


def test_without_a_decision_no_share_is_defined() -> None:
    found = contrast([compared("x", "y", 0.1, significant=False)], [compared("x", "y", 0.1, significant=False)])
    assert (found.false_of_a, found.missed_by_a) == (None, None)
