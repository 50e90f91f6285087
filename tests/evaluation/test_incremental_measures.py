"""Values under some of the judgements are those of plain re-evaluation under the reduced qrels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import runs

from quati_pool.evaluation.incremental_measures import Recount, recountable
from quati_pool.evaluation.judged_runs import JudgedRuns, Judgements
from quati_pool.evaluation.measures import DEFAULTS, deepest, resolve
from quati_pool.evaluation.scores import score
from quati_pool.records import Run
from tests.evaluation.small_qrels import Grades, qrels_of, run_of, some_grades

BY_CUTOFF = [
    *DEFAULTS, "nDCG@1", "nDCG@3", "nDCG(dcg='log2')@2", "R@2", "RR@10", "RR(rel=3)@2", "P@3", "P(rel=2)@5", "Judged@3",
    "Success@2", "Success(rel=2)@5", "AP@3", "AP(rel=2)@10",
]  # fmt: skip
WHOLE = ["nDCG", "AP", "AP(rel=2)", "RR", "RR(rel=2)", "Judged"]


def recounted(many: Sequence[Run], grades: Grades, kept: Sequence[bool], names: Sequence[str]) -> np.ndarray:
    measures = resolve(names)
    judged = Judgements(qrels_of(grades))
    recount = Recount(judged, list(judged.rows(many, deepest(measures))), measures)
    return recount.values(np.array(kept, dtype=bool))


def scored(many: Sequence[Run], grades: Grades, kept: Sequence[bool], names: Sequence[str]) -> np.ndarray:
    """By ir_measures on the reduced qrels; 0 for a query that they lack."""
    query_ids = list(dict.fromkeys(query_id for query_id, _ in grades))
    left = {pair: grade for (pair, grade), stays in zip(grades.items(), kept, strict=True) if stays}
    values = np.zeros((len(many), len(names), len(query_ids)))
    for row, run in enumerate(many):
        of_run = set(run.queries.decode(run.query).to_pylist())
        if left and (not of_run or of_run & {query_id for query_id, _ in left}):
            found = score(JudgedRuns([run], qrels_of(left)), names)
            values[row][:, [query_ids.index(query_id) for query_id in found.query_ids]] = found.values[0]
    return values


@given(runs(st.integers(1, 3)), some_grades(), st.data())
@pytest.mark.parametrize("names", [BY_CUTOFF, WHOLE], ids=["by cutoff", "whole"])
def test_equals_ir_measures_on_the_reduced_qrels(
    names: list[str], many: Sequence[Run], grades: Grades, data: st.DataObject
) -> None:
    judged = {query_id for query_id, _ in grades}
    many = [run for run in many if not len(run) or judged & set(run.queries.decode(run.query).to_pylist())]
    kept = data.draw(st.lists(st.booleans(), min_size=len(grades), max_size=len(grades)))
    for some in (kept, [True] * len(grades), [False] * len(grades)):
        np.testing.assert_allclose(
            recounted(many, grades, some, names), scored(many, grades, some, names), rtol=0, atol=1e-12
        )


def test_by_hand() -> None:
    # The run a b c d; a 1, b 2, c 3, e 3. Without b and e: ideal c a.
    run, grades = run_of("A", q="abcd"), {("q", "a"): 1, ("q", "b"): 2, ("q", "c"): 3, ("q", "e"): 3}
    ndcg = (1 / 1 + 3 / 2) / (3 / 1 + 1 / np.log2(3))
    names = ["nDCG@3", "R(rel=2)@3", "RR(rel=2)@3", "Judged@4", "P@2", "AP"]
    found = recounted([run], grades, [True, False, True, False], names)[0, :, 0]
    # R: c of c. RR: c at 3. Judged: a, c of 4. P@2: a of 2. AP: (1/1 + 2/3) / 2.
    assert found.tolist() == pytest.approx([ndcg, 1, 1 / 3, 0.5, 0.5, 5 / 6])
    found = recounted([run], grades, [True] * 4, names)[0, :, 0]
    # R: b, c of b, c, e. RR: b at 2. Judged: 3 of 4. P@2: 1. AP: (1 + 1 + 1) / 4.
    whole = (1 + 2 / np.log2(3) + 3 / 2) / (3 + 3 / np.log2(3) + 2 / 2)
    assert found.tolist() == pytest.approx([whole, 2 / 3, 0.5, 0.75, 1, 0.75])


def test_negative_grades_gain_nothing_and_are_judged() -> None:
    grades = {("q", "a"): -1, ("q", "b"): 2, ("q", "c"): -2}
    for kept in ([True, True, True], [True, False, True], [False, True, True]):
        names = ["nDCG@3", "R@3", "AP", "Judged@2"]
        mine, theirs = (by([run_of("A", q="abc")], grades, kept, names) for by in (recounted, scored))
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("name", [*BY_CUTOFF, *WHOLE])
def test_common_measures_are_recounted(name: str) -> None:
    assert recountable(resolve([name])[0])


@pytest.mark.parametrize(
    "name",
    ["nDCG(dcg='exp-log2')@10", "nDCG(gains={1:0,2:1})@10", "nDCG(judged_only=True)@10", "Bpref", "Rprec", "ERR@10"],
)
def test_other_measures_are_left_to_ir_measures(name: str) -> None:
    assert not recountable(resolve([name])[0])


def test_no_runs_and_no_measures() -> None:
    assert recounted([], {("q", "a"): 1}, [True], ["nDCG@10"]).shape == (0, 1, 1)
    judged = Judgements(qrels_of({("q", "a"): 1}))
    assert Recount(judged, list(judged.rows([run_of("A", q="a")])), []).values(np.ones(1, dtype=bool)).shape == (
        1,
        0,
        1,
    )
