"""The pool whose grades evaluate tells is made once a set of runs, of no more rows than fed it."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from random_runs import ranked, runs

from quati_pool.commands.evaluate import PoolQuality, Settings, measure
from quati_pool.evaluation.measures import parse_measures
from quati_pool.labels.gathered import Gathered, LabelSource
from quati_pool.pooling.diversity import diversity_by_grade
from quati_pool.pooling.pool import depth_pool
from quati_pool.project.runs import RunSet
from quati_pool.records import Run
from tests.evaluation.small_qrels import Grades, qrels_of, run_of, some_grades

DEPTHS = {"A": 2, "B": 2, "C": 1}


@given(runs(st.integers(1, 3)), some_grades(), st.integers(0, 4), st.integers(1, 4))
def test_a_pool_of_the_heads_of_runs_has_the_grades_of_the_pool_of_whole_runs(
    many: list[Run], grades: Grades, first: int, rest: int
) -> None:
    depths = {run.run_tag: rest for run in many} | {many[0].run_tag: first}
    heads = [run.head(depths[run.run_tag]) for run in many]
    qrels = qrels_of(grades)
    assert diversity_by_grade(depth_pool(heads, depths), qrels) == diversity_by_grade(depth_pool(many, depths), qrels)


def test_one_pool_serves_all_qrels_and_a_run_that_answers_none_of_their_queries_is_in_none() -> None:
    many = [run_of("A", q1="abc", q2="xy"), run_of("B", q1="bd", q2="xz"), run_of("C", q2="xw")]
    both = qrels_of({("q1", "a"): 1, ("q1", "b"): 2, ("q2", "x"): 0, ("q2", "w"): 3})
    # C has nothing for q1.
    one = qrels_of({("q1", "a"): 2, ("q1", "b"): 0, ("q1", "d"): 1})
    sources = [LabelSource(name, "assessor", qrels, None) for name, qrels in (("both", both), ("one", one))]
    gathered = Gathered(None, {grade: str(grade) for grade in range(4)}, True, sources, [], {}, "", {})
    run_set = RunSet("", many, DEPTHS, {tag: tag for tag in DEPTHS}, of_workspace=True)
    with mock.patch("quati_pool.project.runs.depth_pool", side_effect=depth_pool) as proposed:
        found = measure(None, gathered, [run_set], parse_measures(["P@2"]), Settings(draws=10))
    assert proposed.call_count == 1
    qualities = [condition.quality for condition in found.conditions]
    expected = [
        diversity_by_grade(depth_pool(many, DEPTHS), both),
        diversity_by_grade(depth_pool([*many[:2], ranked("C", {})], DEPTHS), one),
    ]
    assert [quality.grades for quality in qualities if isinstance(quality, PoolQuality)] == expected
    # a, b and d of q1 are graded, x, y, z of q2 not; w came from C alone.
    assert expected[1].ungraded == 3
