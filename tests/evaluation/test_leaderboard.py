"""Leaderboards, unjudged shares and the table of conditions, by hand and against a plain bootstrap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.leaderboard import ConditionResult, leaderboard, systems_by_condition
from quati_pool.evaluation.scores import Scores, score
from quati_pool.evaluation.significance import compare
from quati_pool.stats.bootstrap import multiplicities
from tests.evaluation.small_qrels import qrels_of, run_of


def scores_of(values: dict[str, list[float]], measure: str = "P@5") -> Scores:
    """Scores of one measure by run_tag, one number a query."""
    array = np.array(list(values.values()))[:, None, :]
    queries = array.shape[2]
    return Scores(
        run_tags=tuple(values),
        measures=(measure,),
        query_ids=tuple(f"q{n}" for n in range(queries)),
        values=array,
        missing=np.zeros((len(values), queries), dtype=bool),
        without_relevant=np.zeros(queries, dtype=bool),
        unjudged_queries=(0,) * len(values),
    )


def test_rows_come_best_first_with_what_they_rest_on() -> None:
    # q1's relevant document is a, q2 has none; A finds it at rank 1, B at rank 2, C not.
    grades = {("q1", "a"): 1, ("q2", "b"): 0}
    runs = [run_of("C", q1="x", q2="x"), run_of("B", q1="xa"), run_of("A", q1="a", q2="b", q3="a")]
    found = leaderboard(score(JudgedRuns(runs, qrels_of(grades)), ["RR", "P@1"]))
    assert [(row.run_tag, row.rank) for row in found.rows] == [("A", 1), ("B", 2), ("C", 3)]
    assert [row.measures["RR"].mean for row in found.rows] == [1 / 2, 1 / 4, 0]
    assert [row.measures["P@1"].mean for row in found.rows] == [1 / 2, 0, 0]
    assert [row.missing_queries for row in found.rows] == [0, 1, 0]
    assert [row.unjudged_queries for row in found.rows] == [1, 0, 0]
    assert (found.measures, found.queries, found.without_relevant) == (("RR", "P@1"), 2, 1)


def test_equal_means_share_a_rank_by_run_tag() -> None:
    # 0.1 + 0.2 and 0.3 differ in their last bits.
    found = leaderboard(scores_of({"z": [0.1, 0.2, 0.0], "b": [0.3, 0.0, 0.0], "a": [0.2, 0.1, 0.0], "top": [1, 0, 0]}))
    assert [(row.run_tag, row.rank) for row in found.rows] == [("top", 1), ("a", 2), ("b", 2), ("z", 2)]
    below = leaderboard(scores_of({"z": [0.5], "b": [0.5], "c": [0.1]}))
    assert [(row.run_tag, row.rank) for row in below.rows] == [("b", 1), ("z", 1), ("c", 3)]


def test_own_queries_alone_make_a_mean_its_interval_and_a_comparison() -> None:
    # A lacks q3, B lacks q1; together they have q2 and q4.
    values = {"A": [1.0, 0.4, 0.0, 0.1], "B": [0.0, 0.3, 0.8, 0.4]}
    missing = np.array([[False, False, True, False], [True, False, False, False]])
    scores = replace(scores_of(values), missing=missing, own=True)
    found = leaderboard(scores, draws=300, seed=7)
    means = {row.run_tag: (row.measures["P@5"].mean, row.queries, row.missing_queries) for row in found.rows}
    assert means == {"A": (pytest.approx(1.5 / 3), 3, 1), "B": (pytest.approx(1.5 / 3), 3, 1)}
    drawn = np.random.default_rng(7).integers(0, 4, size=(300, 4))
    a = [np.mean([values["A"][q] for q in draw if q != 2]) if (draw != 2).any() else np.nan for draw in drawn]
    interval = found.rows[0].measures["P@5"].interval
    assert (interval.low, interval.high) == pytest.approx(np.nanquantile(a, [0.025, 0.975]))
    (one,) = compare(scores, "P@5", "t")
    # Over q2 and q4: 0.4 - 0.3 and 0.1 - 0.4.
    assert (one.difference, one.p) == pytest.approx((-0.1, stats.ttest_rel([0.4, 0.1], [0.3, 0.4]).pvalue))
    apart = replace(scores, missing=np.array([[False, False, True, True], [True, True, False, False]]))
    (one,) = compare(apart, "P@5", "t")
    assert (one.difference, one.p, one.significant) == (None, None, False)
    assert one.undefined == "the two return no judged query in common"


def test_intervals_are_percentiles_of_resampled_means() -> None:
    generator = np.random.default_rng(5)
    values = {"A": generator.random(30).tolist(), "B": generator.random(30).tolist()}
    found = leaderboard(scores_of(values), draws=500, seed=3)
    draws = np.concatenate(list(multiplicities(30, 500, 3))).astype(int)
    for row in found.rows:
        means = [np.mean(np.repeat(values[row.run_tag], counts)) for counts in draws]
        low, high, undefined = row.measures["P@5"].interval
        assert (low, high) == pytest.approx(np.quantile(means, [0.025, 0.975]).tolist())
        assert undefined == 0


def test_the_same_seed_gives_the_same_board_and_every_run_the_same_draws() -> None:
    values = np.random.default_rng(5).random(40).tolist()
    found = leaderboard(scores_of({"A": values, "B": values}), seed=1)
    assert found.rows[0].measures["P@5"] == found.rows[1].measures["P@5"]
    assert leaderboard(scores_of({"A": values}), seed=1).rows[0].measures == found.rows[0].measures
    assert leaderboard(scores_of({"A": values}), seed=2).rows[0].measures != found.rows[0].measures


def test_intervals_are_the_same_whatever_the_threads_and_the_other_runs() -> None:
    """Products of matrices as large as these differ in their last bits with either."""
    table = np.random.default_rng(5).random((45, 1000))
    values = {f"run{number:02}": row.tolist() for number, row in enumerate(table)}
    boards = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            boards.append(leaderboard(scores_of(values)).rows)
    assert boards[0] == boards[1] == boards[2]
    together = {row.run_tag: row.measures for row in boards[0]}
    for run_tag in ("run00", "run31", "run44"):
        (alone,) = leaderboard(scores_of({run_tag: values[run_tag]})).rows
        assert alone.measures == together[run_tag]


def test_without_draws_there_are_means_and_no_intervals() -> None:
    found = leaderboard(scores_of({"A": [0.5, 1.0], "B": [0.0, 0.5]}), draws=0)
    assert [row.measures["P@5"].mean for row in found.rows] == [0.75, 0.25]
    assert [row.measures["P@5"].interval for row in found.rows] == [(None, None, 0)] * 2


def test_conditions_side_by_side() -> None:
    ten = scores_of({"B": [0.5, 0.5], "A": [0.9, 0.7]})
    one = scores_of({"A": [0.4, 0.4], "C": [0.6, 0.4], "D": [0.4, 0.4]})
    found = systems_by_condition({"10M": ten, "1M": one}, "P@5")
    assert found.conditions == ("10M", "1M")
    assert found.rows == (
        ("A", (ConditionResult(0.8, 1, None), ConditionResult(0.4, 2, pytest.approx(-0.4)))),
        ("B", (ConditionResult(0.5, 2, None), None)),
        ("C", (None, ConditionResult(0.5, 1, None))),
        ("D", (None, ConditionResult(0.4, 2, None))),
    )


def test_conditions_need_the_measure_in_each() -> None:
    with pytest.raises(ConfigError, match="'P@5' was not computed"):
        systems_by_condition({"a": scores_of({"A": [1.0]}), "b": scores_of({"A": [1.0]}, "AP")}, "P@5")
