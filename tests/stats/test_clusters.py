"""The lowest value of each cluster, by hand and against pandas."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.stats.clusters import cluster_minima, cluster_sizes


def test_minima_and_sizes_by_hand() -> None:
    # Cluster 2 has the second value alone, cluster 5 the first and the third; clusters come by their numbers.
    clusters = np.array([5, 2, 5])
    values = np.array([[3.0, 1.0, 2.0], [0.1, 0.9, 0.7]])
    assert cluster_minima(values, clusters).tolist() == [[1.0, 2.0], [0.9, 0.1]]
    assert cluster_minima(values[0], clusters).tolist() == [1.0, 2.0]
    assert cluster_minima(values[None], clusters).shape == (1, 2, 2)
    assert cluster_sizes(clusters).tolist() == [1, 2]


@given(
    st.lists(st.tuples(st.integers(-3, 6), st.floats(-5, 5)), min_size=1, max_size=40),
    st.integers(1, 3),
)
def test_minima_equal_pandas(rows: list[tuple[int, float]], systems: int) -> None:
    clusters = np.array([cluster for cluster, _ in rows])
    values = np.array([[value * factor for _, value in rows] for factor in range(1, systems + 1)])
    before = values.copy()
    grouped = pd.DataFrame(values.T).groupby(clusters)
    found = cluster_minima(values, clusters)
    assert np.array_equal(found, grouped.min().to_numpy().T)
    assert cluster_sizes(clusters).tolist() == grouped.size().tolist()
    assert found.mean(axis=1) == pytest.approx(grouped.min().mean().to_numpy())
    assert np.array_equal(values, before)


def test_a_value_that_is_undefined_makes_its_cluster_undefined_and_no_other() -> None:
    found = cluster_minima(np.array([math.nan, 0.2, 0.3, 0.1]), np.array([0, 0, 1, 1]))
    assert math.isnan(found[0])
    assert found[1] == 0.1


def test_no_values_have_no_clusters() -> None:
    assert cluster_minima(np.empty((2, 0)), np.empty(0, dtype=np.int64)).shape == (2, 0)
    assert cluster_sizes(np.empty(0, dtype=np.int64)).tolist() == []


def test_whole_numbers_are_values_too() -> None:
    assert cluster_minima(np.array([3, 1]), np.array([0, 0])).dtype == np.float64


def test_each_value_has_its_cluster() -> None:
    with pytest.raises(ValueError, match="3 values and 2 clusters; expected one for each value"):
        cluster_minima(np.zeros(3), np.array([0, 1]))
