"""nDCG and DCG of expected gains: by hand, and pytrec_eval's values where all grades are certain."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import Rows, ranked, rows, scores

from quati_pool.evaluation.expected_gains import ExpectedGrades, of_expected_gains, with_expected_gains
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import Scores, score
from quati_pool.records import Run
from tests.evaluation.small_qrels import Grades, qrels_of, run_of, some_grades
from tests.evaluation.test_scores import shares_a_query

SCALE = (0, 1, 2, 3)


def expected_scores(runs: list[Run], grades: Grades, expected: ExpectedGrades, names: list[str]) -> Scores:
    joined = JudgedRuns(runs, qrels_of(grades))
    return with_expected_gains(score(joined, names), joined, expected)


def certain(grades: Grades, scale: tuple[int, ...] = SCALE) -> ExpectedGrades:
    given_ = np.array(list(grades.values()))
    return ExpectedGrades(scale, (given_[:, None] >= np.array(scale[1:])).astype(float))


@settings(max_examples=150)
@given(st.lists(rows(scores), min_size=1, max_size=3), some_grades())
def test_certain_grades_give_pytrec_evals_values(many: list[Rows], grades: Grades) -> None:
    runs = [ranked(f"s{place}", one) for place, one in enumerate(many) if shares_a_query(one, grades)]
    if not runs:
        return
    names = ["nDCG@2", "nDCG@10", "nDCG", "DCG@3", "AP"]
    joined = JudgedRuns(runs, qrels_of(grades))
    plain = score(joined, names)
    np.testing.assert_allclose(expected_scores(runs, grades, certain(grades), names).values, plain.values, atol=1e-12)


def test_grades_below_0_gain_nothing_and_steps_of_the_scale_count() -> None:
    grades = {("q", "a"): -1, ("q", "b"): 4, ("q", "c"): 1, ("q", "d"): 4}
    run = run_of("s", q="abcd")
    for scale in ((-1, 1, 4), (-1, 0, 1, 4)):
        found = expected_scores([run], grades, certain(grades, scale), ["nDCG@3", "DCG@3"])
        plain = score(JudgedRuns([run], qrels_of(grades)), ["nDCG@3"])
        np.testing.assert_allclose(found.of("nDCG@3"), plain.of("nDCG@3"))
        assert found.of("DCG@3")[0, 0] == pytest.approx(4 / log2(3) + 1 / 2)
    # A scale that begins above 0: all have its first grade.
    grades = {("q", "a"): 1, ("q", "b"): 2}
    found = expected_scores([run], grades, certain(grades, (1, 2)), ["DCG@3"])
    assert found.values[0, 0, 0] == pytest.approx(1 + 2 / log2(3))


def test_expected_gains_by_hand() -> None:
    # P(≥ 1, 2) of a: 1, 0.5; of b: 0.5, 0.25; c is not relevant. Gains 1.5, 0.75, 0. The run: b, u (unjudged), a.
    grades = {("q", "a"): 2, ("q", "b"): 1, ("q", "c"): 0}
    expected = ExpectedGrades((0, 1, 2), np.array([[1, 0.5], [0.5, 0.25], [0, 0]]))
    found = expected_scores([run_of("s", q="bua")], grades, expected, ["DCG@3", "nDCG@3", "nDCG@1"])
    dcg = 0.75 + 1.5 / log2(4)
    # Expected are 1.5 documents of grade ≥ 1 and 0.75 of grade ≥ 2: (1 + 0.5/log2 3) + 0.75.
    assert found.of("DCG@3")[0, 0] == pytest.approx(dcg)
    assert found.of("nDCG@3")[0, 0] == pytest.approx(dcg / (1 + 0.5 / log2(3) + 0.75))
    # At 1 the ideal holds one document of grade ≥ 1.
    assert found.of("nDCG@1")[0, 0] == pytest.approx(0.75 / 1.75)


@given(st.integers(0, 1000))
def test_no_ranking_exceeds_the_ideal(seed: int) -> None:
    generator = np.random.default_rng(seed)
    docs = "abcdefgh"
    reached = np.sort(generator.random((len(docs), 3)), axis=1)[:, ::-1]
    grades = {("q", doc): 0 for doc in docs}
    expected = ExpectedGrades(SCALE, reached)
    best = "".join(docs[place] for place in np.argsort(-expected.gains))
    runs = [run_of("best", q=best), run_of("worst", q=best[::-1])]
    found = expected_scores(runs, grades, expected, ["nDCG@5", "nDCG"])
    assert (found.values[0] <= 1 + 1e-12).all()
    assert (found.values[1] <= found.values[0] + 1e-12).all()


def test_a_query_that_a_run_lacks_or_without_gains_counts_0() -> None:
    grades = {("q", "a"): 1, ("r", "a"): 1, ("z", "a"): 0}
    found = expected_scores([run_of("s", q="a", z="a")], grades, certain(grades), ["nDCG@10"])
    assert found.values[0, 0].tolist() == [1.0, 0.0, 0.0]


def test_only_plain_ndcg_and_dcg_are_of_expected_gains() -> None:
    names = ["nDCG@10", "nDCG", "DCG@5", "nDCG(judged_only=True)@10", "nDCG(dcg='exp-log2')@10", "AP", "P@5"]
    assert of_expected_gains(names) == ("nDCG@10", "nDCG", "DCG@5")
