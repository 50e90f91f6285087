"""Runs beside qrels are joined once, and say the same however deep they were joined before."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import runs

from quati_pool.errors import QuatiPoolError
from quati_pool.evaluation.judged_runs import JudgedRows, JudgedRuns, Judgements
from quati_pool.records import Run
from tests.evaluation.small_qrels import Grades, qrels_of, run_of, some_grades


def columns(rows: JudgedRows) -> list[list[int]]:
    return [column.tolist() for column in (rows.query, rows.rank, rows.judgement)]


@given(runs(st.integers(1, 3)), some_grades(), st.lists(st.none() | st.integers(1, 4), min_size=1, max_size=4))
def test_rows_to_any_depth_in_any_order_are_those_joined_to_that_depth(
    many: list[Run], grades: Grades, depths: list[int | None]
) -> None:
    qrels = qrels_of(grades)
    judged = {query_id for query_id, _ in grades}
    many = [run for run in many if judged & set(run.queries.decode(run.query).to_pylist())]
    joined = JudgedRuns(many, qrels)
    for depth in depths:
        alone = list(Judgements(qrels).rows(many, depth))
        found = joined.rows(depth)
        assert list(map(columns, found)) == list(map(columns, alone))
        assert [rows.unjudged_queries for rows in found] == [rows.unjudged_queries for rows in alone]


def test_rows_are_looked_up_again_only_for_a_greater_depth() -> None:
    with mock.patch.object(Judgements, "rows", autospec=True, side_effect=Judgements.rows) as looked_up:
        joined = JudgedRuns([run_of("s", q="abcd")], qrels_of({("q", "a"): 1, ("q", "d"): 2}))
        for depth in (2, 1, 2, 3, 2, None, 4, None, 1):
            joined.rows(depth)
    assert [call.args[2] for call in looked_up.call_args_list] == [2, 3, None]


def test_a_run_without_any_judged_query_is_refused_each_time() -> None:
    joined = JudgedRuns([run_of("s", other="a")], qrels_of({("q", "a"): 1}))
    for _ in range(2):
        with pytest.raises(QuatiPoolError, match="s: 0 of its 1 queries"):
            joined.rows(10)


def test_no_runs_have_no_rows() -> None:
    assert JudgedRuns([], qrels_of({("q", "a"): 1})).rows(np.iinfo(np.int64).max) == []
