"""The worst query of each cluster: by hand, against pandas, scipy and a plain bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from threadpoolctl import threadpool_limits

from quati_pool.evaluation.robust import Robust, Robustness, robust
from quati_pool.evaluation.scores import Scores
from quati_pool.stats.bootstrap import Interval, multiplicities

Values = Mapping[str, Sequence[float]]


def scores_of(*measures: Values) -> Scores:
    """Scores of the measures m1, m2, … by run_tag, one number for each of the queries q0, q1, …"""
    array = np.array([list(values.values()) for values in measures], dtype=np.float64).swapaxes(0, 1)
    runs, _, queries = array.shape
    return Scores(
        run_tags=tuple(measures[0]),
        measures=tuple(f"m{n}" for n, _ in enumerate(measures, 1)),
        query_ids=tuple(f"q{n}" for n in range(queries)),
        values=array,
        missing=np.zeros((runs, queries), dtype=bool),
        without_relevant=np.zeros(queries, dtype=bool),
        unjudged_queries=(0,) * runs,
    )


def named(*clusters: str | None) -> dict[str, str | None]:
    return {f"q{n}": cluster_id for n, cluster_id in enumerate(clusters)}


def found_of(scores: Scores, clusters: Mapping[str, str | None], draws: int = 50, seed: int = 0) -> Robust:
    found = robust(scores, clusters, draws, seed)
    assert found is not None
    return found


def figures(found: Robustness) -> tuple[float, float, float]:
    return found.mean.value, found.minimum.value, found.drop.value


def test_the_figures_of_a_small_case_by_hand() -> None:
    # x = {q0, q2, q3}, y = {q1, q4}, z = {q5}; q6 is in no cluster, q7 not in the file.
    clusters = named("x", "y", "x", "x", "y", "z", None)
    steady = [0.6, 0.6, 0.5, 0.7, 0.6, 0.6, 1.0, 1.0]
    bold = [1.0, 1.0, 0.0, 1.0, 0.3, 0.9, 0.0, 0.0]
    found = found_of(scores_of({"bold": bold, "steady": steady}), clusters)
    assert (found.queries, found.clusters, found.single) == (6, 3, 1)
    assert (found.without_cluster, found.unknown) == (2, 1)
    # steady: minima 0.5, 0.6, 0.6, mean 17/30; its mean over the six is 3.6 / 6.
    # bold: minima 0, 0.3, 0.9, mean 0.4; its mean over the six is 4.2 / 6 = 0.7: first by the mean, second here.
    assert [(row.run_tag, row.rank, row.rank_by_mean) for row in found.rows] == [("steady", 1, 2), ("bold", 2, 1)]
    assert figures(found.rows[0].measures["m1"]) == pytest.approx((0.6, 17 / 30, 1 / 30))
    assert figures(found.rows[1].measures["m1"]) == pytest.approx((0.7, 0.4, 0.3))
    # Without z: steady 3.0 / 5 and (0.5 + 0.6) / 2, bold 3.3 / 5 and (0 + 0.3) / 2.
    assert figures(found.rows[0].of_several["m1"]) == pytest.approx((0.6, 0.55, 0.05))
    assert figures(found.rows[1].of_several["m1"]) == pytest.approx((0.66, 0.15, 0.51))
    assert found.tau == {"m1": -1.0}


def test_a_large_cluster_of_failures_puts_the_mean_below_the_cluster_minimum() -> None:
    # Mean 1 / 4 over queries, (0 + 1) / 2 over clusters.
    found = found_of(scores_of({"A": [0, 0, 0, 1]}), named("x", "x", "x", "y"))
    assert figures(found.rows[0].measures["m1"]) == (0.25, 0.5, -0.25)


def test_queries_that_fare_as_their_cluster_does_drop_by_exactly_0() -> None:
    # 0.3 three times and 0.8 three times, over 6, is not (0.3 + 0.8) / 2 in its last bits.
    found = found_of(scores_of({"A": [0.3, 0.8] * 3}), named(*"xyxyxy"))
    assert found.rows[0].measures["m1"].drop == (0.0, Interval(0.0, 0.0, 0))


def test_clusters_of_one_query_drop_by_exactly_0() -> None:
    values = {"A": [0.1 * n for n in range(10)], "B": [0.3, 0.1, 0.2] * 3 + [0.7]}
    found = found_of(scores_of(values), named(*"jihgfedcba"))
    assert (found.clusters, found.single) == (10, 10)
    for row in found.rows:
        assert row.measures["m1"].drop == (0.0, Interval(0.0, 0.0, 0))
        assert row.measures["m1"].mean.value == pytest.approx(row.measures["m1"].minimum.value)
        assert row.of_several == {}


def test_every_measure_has_its_own_figures_and_the_first_ranks() -> None:
    first, second = {"A": [0.2, 0.4], "B": [0.3, 0.3]}, {"A": [0.9, 0.8], "B": [0.1, 0.5]}
    found = found_of(scores_of(first, second), named("x", "x"))
    assert [(row.run_tag, row.rank, row.rank_by_mean) for row in found.rows] == [("B", 1, 1), ("A", 2, 1)]
    assert figures(found.rows[1].measures["m2"]) == pytest.approx((0.85, 0.8, 0.05))
    assert figures(found.rows[0].measures["m2"]) == pytest.approx((0.3, 0.1, 0.2))
    # By m1 the means are tied, by m2 both orders put A first.
    assert found.tau == {"m1": "all systems are tied by mean", "m2": 1.0}


def test_a_correlation_of_ties_or_of_one_system_is_undefined() -> None:
    assert found_of(scores_of({"A": [1, 0]}), named("x", "y")).tau == {"m1": "fewer than two systems"}
    tied = found_of(scores_of({"A": [1, 0], "B": [0, 1]}), named("x", "x"))
    assert tied.tau == {"m1": "all systems are tied by mean and by cluster minimum"}
    assert [row.rank for row in tied.rows] == [1, 1]


def test_one_cluster_has_no_interval_and_no_draws_have_none() -> None:
    scores = scores_of({"A": [0.2, 0.4]})
    for found in (found_of(scores, named("x", "x")), found_of(scores, named("x", "y"), draws=0)):
        assert [one.interval for one in found.rows[0].measures["m1"]] == [Interval(None, None)] * 3


def test_no_judged_query_in_a_cluster_is_no_figure() -> None:
    scores = scores_of({"A": [0.2, 0.4]})
    assert robust(scores, named(None, None)) is None
    assert robust(scores, {"other": "x"}) is None


@st.composite
def clustered(draw: st.DrawFn) -> tuple[dict[str, list[float]], list[str | None]]:
    queries = draw(st.integers(1, 12))
    values = st.lists(st.integers(0, 4).map(lambda n: n / 4), min_size=queries, max_size=queries)
    runs = draw(st.lists(values, min_size=1, max_size=4))
    cluster = st.sampled_from(["x", "y", "z", "1", None])
    return dict(zip("ABCD", runs, strict=False)), draw(st.lists(cluster, min_size=queries, max_size=queries))


@settings(max_examples=30)
@given(clustered())
def test_figures_equal_pandas_and_tau_scipy(case: tuple[dict[str, list[float]], list[str | None]]) -> None:
    values, clusters = case
    found = robust(scores_of(values), named(*clusters), draws=5)
    frame = pd.DataFrame({**values, "cluster": clusters}).dropna(subset=["cluster"])
    if frame.empty:
        assert found is None
        return
    assert found is not None
    tags = list(values)
    means, minima = frame[tags].mean(), frame.groupby("cluster")[tags].min().mean()
    sizes = frame.groupby("cluster")["cluster"].transform("size")
    several = frame[sizes > 1]
    for row in found.rows:
        tag = row.run_tag
        assert figures(row.measures["m1"]) == pytest.approx((means[tag], minima[tag], means[tag] - minima[tag]))
        assert row.rank == 1 + sum(minima > minima[tag] + 1e-9)
        assert row.rank_by_mean == 1 + sum(means > means[tag] + 1e-9)
        if several.empty:
            assert row.of_several == {}
        else:
            low = several.groupby("cluster")[tag].min().mean()
            mean = several[tag].mean()
            assert figures(row.of_several["m1"]) == pytest.approx((mean, low, mean - low))
    assert found.single == (frame["cluster"].value_counts() == 1).sum()
    assert (found.queries, found.without_cluster) == (len(frame), len(clusters) - len(frame))
    tau = stats.kendalltau(minima.round(9), means.round(9)).statistic if len(tags) > 1 else np.nan
    if np.isnan(tau):
        assert isinstance(found.tau["m1"], str)
    else:
        assert found.tau["m1"] == pytest.approx(tau)


def test_intervals_resample_whole_clusters() -> None:
    generator = np.random.default_rng(2)
    clusters = [f"c{n}" for n in generator.integers(0, 12, size=40)]
    values = {"A": generator.random(40).tolist(), "B": generator.random(40).tolist()}
    found = found_of(scores_of(values), named(*clusters), draws=200, seed=7)
    ids = list(dict.fromkeys(clusters))
    several = [one for one in ids if clusters.count(one) > 1]
    for among, of in ((ids, "measures"), (several, "of_several")):
        draws = np.concatenate(list(multiplicities(len(among), 200, 7))).astype(int)
        for row in found.rows:
            by_cluster = [
                [value for value, one in zip(values[row.run_tag], clusters, strict=True) if one == cluster_id]
                for cluster_id in among
            ]
            drawn = []
            for counts in draws:
                taken = [one for one, count in zip(by_cluster, counts, strict=True) for _ in range(count)]
                mean, minimum = np.mean(np.concatenate(taken)), np.mean([min(one) for one in taken])
                drawn.append((mean, minimum, mean - minimum))
            expected = np.quantile(np.array(drawn), [0.025, 0.975], axis=0).T
            got = getattr(row, of)["m1"]
            assert np.array([one.interval[:2] for one in got]) == pytest.approx(expected)


def test_the_number_of_threads_changes_no_figure() -> None:
    generator = np.random.default_rng(3)
    values = {f"run{number:02}": generator.random(3000).tolist() for number in range(20)}
    clusters = named(*(f"c{n}" for n in generator.integers(0, 1500, size=3000)))
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(found_of(scores_of(values), clusters, draws=300))
    assert found[0] == found[1] == found[2]


def test_the_order_of_queries_and_the_names_of_clusters_change_no_figure() -> None:
    values = {"A": [0.1, 0.9, 0.4, 0.6], "B": [0.5, 0.2, 0.8, 0.3]}
    one = found_of(scores_of(values), named("x", "y", "x", "y"), draws=0)
    turned = {tag: row[::-1] for tag, row in values.items()}
    other = found_of(scores_of(turned), named("b 1", "é", "b 1", "é"), draws=0)
    assert one == other
