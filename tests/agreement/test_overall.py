"""Agreement of all labelers: against krippendorff and statsmodels, and AC1 and AC2 by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import krippendorff
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from statsmodels.stats.inter_rater import fleiss_kappa

from quati_pool.agreement.overall import overall
from quati_pool.agreement.pairwise import pairwise
from quati_pool.agreement.ratings import Ratings
from quati_pool.stats.bootstrap import Interval, multiplicities
from tests.agreement.rated import Grades, annotations, columns, grade_sets, random_ratings, rated

SCALE = (0, 1, 2, 3)
NAMES = ["alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss_kappa", "gwet_ac1", "gwet_ac2"]


def grades_of(ratings: Ratings) -> npt.NDArray[np.float64]:
    """Grades, NaN where missing, shape (labelers, pairs)."""
    return np.where(ratings.grade >= 0, np.take(ratings.scale, ratings.grade), np.nan)


def alpha(grades: npt.NDArray[np.float64], level: str) -> float:
    return float(krippendorff.alpha(reliability_data=grades, level_of_measurement=level))


def fleiss(grades: npt.NDArray[np.float64], scale: tuple[int, ...]) -> float:
    complete = grades[:, ~np.isnan(grades).any(axis=0)]
    return float(fleiss_kappa(np.stack([(complete == grade).sum(axis=0) for grade in scale], axis=1)))


def gwet(grades: npt.NDArray[np.float64], scale: tuple[int, ...], weights: npt.NDArray[np.float64]) -> float:
    """Gwet's coefficient as its definition reads, one pair and one two of its grades at a time."""
    shares, agreements = [], []
    for unit in grades.T:
        given_ = [scale.index(int(grade)) for grade in unit if grade == grade]
        shares.append(np.bincount(given_, minlength=len(scale)) / len(given_))
        if len(given_) > 1:
            agreements.append(np.mean([weights[x, y] for x, y in itertools.permutations(given_, 2)]))
    share = np.mean(shares, axis=0)
    chance = weights.sum() / (len(scale) * (len(scale) - 1)) * (share * (1 - share)).sum()
    return float((np.mean(agreements) - chance) / (1 - chance))


def quadratic(grades: int) -> npt.NDArray[np.float64]:
    return np.array([[1 - (x - y) ** 2 / (grades - 1) ** 2 for y in range(grades)] for x in range(grades)])


def oracle(grades: npt.NDArray[np.float64], scale: tuple[int, ...]) -> dict[str, float]:
    return {
        **{f"alpha_{level}": alpha(grades, level) for level in ("nominal", "ordinal", "interval")},
        "fleiss_kappa": fleiss(grades, scale),
        "gwet_ac1": gwet(grades, scale, np.eye(len(scale))),
        "gwet_ac2": gwet(grades, scale, quadratic(len(scale))),
    }


@pytest.mark.parametrize("labelers", [2, 3, 5])
@pytest.mark.parametrize("missing", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("scale", [(0, 1), SCALE, (-3, 0, 1, 10)])
def test_values_equal_the_oracles_with_missing_grades(labelers: int, missing: float, scale: tuple[int, ...]) -> None:
    ratings = random_ratings(labelers, labelers, missing=missing, scale=scale)
    found = overall(ratings, 0)
    assert list(found.values) == NAMES
    assert found.values == pytest.approx(oracle(grades_of(ratings), scale), abs=1e-12)
    raters = (ratings.grade >= 0).sum(axis=0)
    assert found.n["fleiss_kappa"] == (raters == labelers).sum()
    assert {found.n[name] for name in NAMES if name != "fleiss_kappa"} == {(raters > 1).sum()}
    assert found.graded == len(ratings)
    assert (found.intervals, found.undefined) == ({}, {})


def test_an_unused_grade_matters_to_gwet_alone() -> None:
    narrow = random_ratings(2, 3, scale=(0, 1, 2))
    wide = replace(narrow, scale=SCALE)
    values, wider = overall(narrow, 0).values, overall(wide, 0).values
    assert [wider[name] for name in NAMES[:4]] == pytest.approx([values[name] for name in NAMES[:4]], abs=1e-12)
    assert wider["gwet_ac1"] == pytest.approx(gwet(grades_of(wide), wide.scale, np.eye(4)), abs=1e-12)
    assert wider["gwet_ac1"] != pytest.approx(values["gwet_ac1"])


def test_ac1_and_ac2_by_hand() -> None:
    # Four pairs, grades 0 to 2:         shares of 0, 1, 2     agreement    weighted 1, 3/4, 0
    #   0 0 0                            1    0    0           1            1
    #   0 1 1                            1/3  2/3  0           2/6          (1·1.5 + 2·1.75) / 6 = 5/6
    #   2 2 -                            0    0    1           1            1
    #   1 - -                            0    1    0           –            –
    # Means: shares 1/3, 5/12, 1/4; agreement 7/9 and 17/18. Sum of share (1 - share): 94/144.
    # AC1: chance 94/144 / 2 = 47/144; (112 - 47) / (144 - 47) = 65/97.
    # AC2: weights sum to 3 + 4 · 3/4 = 6, chance 6/6 · 94/144 = 47/72; (68 - 47) / (72 - 47) = 21/25.
    ratings = rated(
        {
            "a": {("q1", "w"): 0, ("q1", "x"): 0, ("q2", "y"): 2, ("q2", "z"): 1},
            "b": {("q1", "w"): 0, ("q1", "x"): 1, ("q2", "y"): 2},
            "c": {("q1", "w"): 0, ("q1", "x"): 1},
        },
        (0, 1, 2),
    )
    found = overall(ratings, 0)
    assert found.values["gwet_ac1"] == pytest.approx(65 / 97, abs=1e-15)
    assert found.values["gwet_ac2"] == pytest.approx(21 / 25, abs=1e-15)
    assert (found.n["gwet_ac1"], found.n["fleiss_kappa"], found.graded) == (3, 2, 4)
    assert (found.queries["gwet_ac1"], found.queries["alpha_nominal"], found.queries["fleiss_kappa"]) == (2, 2, 1)
    assert found.ac2_weights == "quadratic, by position in the scale"


def test_ac1_of_two_labelers_equals_its_closed_form() -> None:
    # Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008: chance from mean margins.
    ratings = Ratings.join(annotations(), SCALE)
    table = pairwise(ratings, 0)[0].confusion / 240
    share = (table.sum(axis=0) + table.sum(axis=1)) / 2
    chance = (share * (1 - share)).sum() / 3
    expected = (np.trace(table) - chance) / (1 - chance)
    assert overall(ratings, 0).values["gwet_ac1"] == pytest.approx(expected, abs=1e-12)


def test_intervals_equal_a_loop_over_rows() -> None:
    ratings = random_ratings(11, 3, queries=8, each=12, missing=0.4)
    draws, seed = 30, 3
    found = overall(ratings, draws, seed)
    assert set(found.queries.values()) == {8}
    grades = grades_of(ratings)
    order = np.argsort(ratings.queries.values.to_pylist())
    samples = []
    for times in np.concatenate(list(multiplicities(8, draws, seed))).astype(int):
        chosen = np.concatenate([np.flatnonzero(ratings.query == query) for query in np.repeat(order, times)])
        samples.append(oracle(grades[:, chosen], SCALE))
    for name in NAMES:
        expected = np.quantile([sample[name] for sample in samples], [0.025, 0.975])
        assert found.intervals[name][:2] == pytest.approx(expected, abs=1e-12), name


def test_each_coefficient_resamples_the_queries_that_bear_on_it() -> None:
    found = overall(
        columns({"q1": {"a": "01", "b": "01", "c": "0-"}, "q2": {"a": "2", "b": "1"}, "q3": {"c": "3"}}), 20
    )
    assert [found.queries[name] for name in NAMES] == [2, 2, 2, 1, 3, 3]
    assert [found.n[name] for name in NAMES] == [3, 3, 3, 1, 3, 3]
    assert found.intervals["fleiss_kappa"] == Interval(None, None)
    assert found.undefined == {"fleiss_kappa": "every pair got the grade 0 from all"}


def test_one_query_has_no_interval() -> None:
    found = overall(columns({"q": {"a": "0123", "b": "0113"}}), 20)
    assert None not in found.values.values()
    assert set(found.intervals.values()) == {Interval(None, None)}
    reason = "one query only; an interval over queries needs two"
    assert found.undefined == {f"intervals.{name}": reason for name in NAMES}


@pytest.mark.parametrize("graded", [{}, {"a": {("q", "x"): 1}}])
def test_fewer_than_two_labelers(graded: dict[str, Grades]) -> None:
    found = overall(rated(graded), 20)
    assert found.values == dict.fromkeys(NAMES)
    assert found.undefined == dict.fromkeys(NAMES, "there are no two labelers")


def test_no_pair_graded_twice() -> None:
    found = overall(rated({name: {("q", name): 1} for name in "abc"}), 20)
    assert found.undefined == {
        name: f"no pair was graded by {'all 3' if name == 'fleiss_kappa' else 'two'} labelers" for name in NAMES
    }


def test_one_grade_throughout_leaves_gwet_alone_defined() -> None:
    found = overall(columns({"q1": {"a": "22", "b": "22"}, "q2": {"a": "2", "b": "2"}}), 20)
    assert found.undefined == dict.fromkeys(NAMES[:4], "every pair got the grade 2 from all")
    assert (found.values["gwet_ac1"], found.values["gwet_ac2"]) == (1, 1)
    assert found.intervals["gwet_ac1"] == (1, 1, 0)


def test_a_scale_of_one_grade() -> None:
    found = overall(rated({"a": {("q", "x"): 1}, "b": {("q", "x"): 1}}, (1,)), 20)
    assert found.undefined["gwet_ac1"] == "the scale has one grade only"
    assert found.values == dict.fromkeys(NAMES)


@given(grade_sets(), grade_sets(), grade_sets())
def test_no_order_of_labelers_or_pairs_changes_a_value(a: Grades, b: Grades, c: Grades) -> None:
    turned = [dict(reversed(grades.items())) for grades in (a, b, c)]
    one = overall(rated(dict(zip("abc", (a, b, c), strict=True))), 10)
    other = overall(rated(dict(zip("xyz", reversed(turned), strict=True))), 10)
    assert one.values == other.values
    assert one.intervals == other.intervals
    assert one.undefined == other.undefined
