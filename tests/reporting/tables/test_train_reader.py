"""The tables of ``train reader``."""

from __future__ import annotations

import pytest

from quati_pool.reporting.tables.train_reader import interval


@pytest.mark.parametrize(
    ("right", "n", "low", "high"), [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (1, 29, 0.0061, 0.1718)]
)
def test_the_interval_of_an_accuracy_is_wilsons(right: int, n: int, low: float, high: float) -> None:
    """The examples of Newcombe (Statistics in Medicine 17, 1998), table I, method 3."""
    found = interval("accuracy", 100 * right / n, n)
    assert found == pytest.approx((100 * low, 100 * high), abs=0.005)


def test_other_measures_have_none() -> None:
    assert interval("F1", 50.0, 10) is None
    assert interval("accuracy", None, 0) is None
