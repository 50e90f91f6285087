"""Division where the denominator may be 0."""

from __future__ import annotations

import numpy as np

from quati_pool.stats.ratio import ratio


def test_a_denominator_of_0_or_below_is_undefined() -> None:
    found = ratio(np.array([1, 2, 3]), np.array([4, 0, -1]))
    assert found.tolist()[0] == 0.25
    assert np.isnan(found[1:]).all()


def test_what_is_undefined_can_have_a_value_of_its_own() -> None:
    assert ratio(np.array([1.0, 2.0]), np.array([2.0, 0.0]), otherwise=0).tolist() == [0.5, 0.0]


def test_what_is_defined_can_be_said() -> None:
    found = ratio(np.array([1.0, 1.0]), np.array([-2.0, 4.0]), np.array([True, False]))
    assert found[0] == -0.5
    assert np.isnan(found[1])


def test_shapes_broadcast_down_to_single_numbers() -> None:
    # Each row by its own total: 1/4, 3/4; 0 of nothing.
    shares = ratio(np.array([[1, 3], [0, 0]]), np.array([[4], [0]]))
    assert shares[0].tolist() == [0.25, 0.75]
    assert np.isnan(shares[1]).all()
    assert ratio(np.ones((2, 2)), np.array(2.0)).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert ratio(np.array(1), np.array(4), np.array(True)).shape == ()
