"""Ranks by means, where last bits do not count."""

from __future__ import annotations

import numpy as np

from quati_pool.evaluation.system_ranks import ranks, rounded


def test_ties_share_the_best_of_their_ranks() -> None:
    # 0.1 + 0.2 is 0.30000000000000004.
    assert ranks(np.array([0.3, 0.1 + 0.2, 0.9, 0.1])).tolist() == [2, 2, 1, 4]
    assert ranks(np.array([])).tolist() == []


def test_ranks_go_down_the_runs_of_each_measure() -> None:
    assert ranks(np.array([[0.1, 5], [0.2, 5], [0.3, 4]])).tolist() == [[3, 1], [2, 1], [1, 3]]


def test_what_differs_in_its_last_bits_is_equal_once_rounded() -> None:
    one, other = rounded(np.array([0.1 + 0.2, 0.3]))
    assert one == other
    assert rounded(np.array([0.3, 0.3 + 1e-9])).tolist() == [0.3, 0.300000001]
