"""What a judge learns from: targets, class balance and the split by query, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.training.judge_data import Examples, TaughtPair, balance, calibrated, split_by_query


def pair(query_id: str, doc_id: str, *grades: int, expected: float | None = None) -> TaughtPair:
    known = tuple(map(float, grades)) if expected is None else (expected,)
    return TaughtPair(query_id, doc_id, f"query {query_id}", f"text {doc_id}", grades, known)


def test_targets_are_those_that_the_grades_say() -> None:
    some = Examples.of([pair("a", "1", 0), pair("a", "2", 3, 1), pair("a", "3", 2, expected=1.5)], range(4), 2)
    # Shares of the teachers above grades 0, 1 and 2.
    assert some.targets("ordinal").tolist() == [[0, 0, 0], [1, 0.5, 0.5], [1, 1, 0]]
    assert some.targets("binary").tolist() == [[0], [0.5], [1]]
    # (expected - 0) / 3: 0, the mean of 3 and 1, and 1.5.
    assert some.targets("expected")[:, 0].tolist() == pytest.approx([0, 2 / 3, 0.5])
    assert some.relevant.tolist() == [False, True, True]


def test_scales_need_not_begin_at_0() -> None:
    some = Examples.of([pair("a", "1", -1), pair("a", "2", 4), pair("a", "3", 1)], [4, -1, 1], 1)
    assert some.scale == (-1, 1, 4)
    assert some.targets("ordinal").tolist() == [[0, 0], [1, 1], [1, 0]]
    assert some.targets("expected")[:, 0].tolist() == pytest.approx([0, 1, 0.4])
    assert some.targets("binary")[:, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize("relevant_from", [0, 5, -1])
def test_the_lowest_relevant_grade_is_on_the_scale_above_its_lowest(relevant_from: int) -> None:
    with pytest.raises(ConfigError, match=f"the lowest relevant grade {relevant_from} is not one of 1, 2, 3"):
        Examples.of([pair("a", "1", 0)], range(4), relevant_from)


def many(queries: int, docs: int = 4) -> Examples:
    return Examples.of([pair(f"q{q}", f"d{d}", 3 * (d == 0)) for q in range(queries) for d in range(docs)], range(4), 2)


@given(st.integers(2, 40), st.sampled_from([0.0, 0.01, 0.2, 0.5]), st.integers(0, 3))
def test_queries_are_split_whole(queries: int, share: float, seed: int) -> None:
    number = 0 if share == 0 else max(round(share * queries), 1)
    if queries - number < 2:
        with pytest.raises(QuatiPoolError, match="learns from relevant and irrelevant pairs of two queries or more"):
            split_by_query(many(queries), share, seed)
        return
    training, held_out = split_by_query(many(queries), share, seed)
    trained, kept_back = set(training.query_ids), set(held_out.query_ids)
    assert not trained & kept_back
    assert (len(trained), len(kept_back)) == (queries - number, number)
    assert (len(training), len(held_out)) == (4 * (queries - number), 4 * number)
    # Whether a query is held out depends on its hash alone, not on the order of the pairs.
    order = np.random.default_rng(seed).permutation(4 * queries)
    pairs = [pair(f"q{row // 4}", f"d{row % 4}", 3 * (row % 4 == 0)) for row in order]
    assert set(split_by_query(Examples.of(pairs, range(4), 2), share, seed)[1].query_ids) == kept_back


def test_nothing_is_learned_from_grades_that_are_all_relevant_or_all_irrelevant() -> None:
    for grade, what in ((0, "no relevant"), (3, "no irrelevant")):
        some = Examples.of([pair(f"q{q}", "d", grade) for q in range(5)], range(4), 2)
        with pytest.raises(QuatiPoolError, match=f"there is {what} one among their 4 pairs to train on.*--negatives N"):
            split_by_query(some, 0.2, 0)


def test_both_sides_of_a_threshold_weigh_the_same_and_the_log_odds_are_taken_back() -> None:
    # Thresholds have 6 of 8 and 2 of 8 pairs above them.
    targets = np.array([[1, 1]] * 2 + [[1, 0]] * 4 + [[0, 0]] * 2, dtype=float)
    found = balance(targets, "ordinal", np.ones(8))
    assert found.positive_weights == pytest.approx([2 / 6, 6 / 2])
    assert found.shifts == pytest.approx([math.log(2 / 6), math.log(6 / 2)])
    # Pairs above the second threshold are left as they are with 0.8, the others with 0.2: of those above the first one
    # (2 * 0.8 + 4 * 0.2) / 6 = 0.4, of those below it 0.2.
    unchanged = np.array([0.8] * 2 + [0.2] * 6)
    found = balance(targets, "ordinal", unchanged)
    assert found.shifts == pytest.approx([math.log(2 / 6 * 0.4 / 0.2), math.log(6 / 2 * 0.8 / 0.2)])
    assert balance(targets[:, :1], "expected", unchanged).shifts.tolist() == [0]


@given(
    st.lists(st.tuples(st.floats(-8, 8), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=30),
    st.floats(-3, 3),
)
def test_a_calibrated_judge_has_its_teachers_mean(rows: list[tuple[float, float]], shift: float) -> None:
    outputs, targets = (np.array(column)[:, None] for column in zip(*rows, strict=True))
    (found,) = calibrated(outputs, targets, np.array([shift]))
    share = float(targets.mean())
    if 0 < share < 1:
        assert expit(outputs - found).mean() == pytest.approx(share, abs=1e-6)
    else:
        assert found == shift


def test_calibration_by_hand() -> None:
    # A quarter is above the threshold, and all outputs are 2: log(1/3) is what each is to be.
    (found,) = calibrated(np.full((4, 1), 2.0), np.array([[1.0], [0], [0], [0]]), np.zeros(1))
    assert found == pytest.approx(2 + math.log(3))
    assert calibrated(np.empty((0, 2)), np.empty((0, 2)), np.array([1.0, 2.0])).tolist() == [1, 2]


def test_a_threshold_that_no_pair_passes_has_no_weight() -> None:
    found = balance(np.array([[1.0, 0.0], [0.0, 0.0]]), "ordinal", np.ones(2))
    assert found.positive_weights.tolist() == [1, 1]
    assert found.shifts.tolist() == [0, 0]
    # One of 100: its weight is bounded.
    assert balance(np.eye(100)[:, :1], "binary", np.ones(100)).positive_weights.tolist() == [20]
