"""Coefficients of two labelers against the Quati paper, scikit-learn and scipy, and where they are undefined."""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.coefficients import COEFFICIENTS, coefficients, cohen_kappa, why_undefined
from tests.agreement.rated import HA1_HA2, HA1_LLM, HA3_LLM, grade_tables, rows_of

SCALE = (0, 1, 2, 3)
Table = npt.NDArray[np.int64]


def of(table: npt.ArrayLike, scale: tuple[int, ...] = SCALE) -> dict[str, float]:
    return {name: float(value) for name, value in coefficients(np.asarray(table), scale).items()}


def oracle(table: Table, scale: tuple[int, ...] = SCALE) -> dict[str, float]:
    """The same from rows of grades, by scikit-learn and scipy; NaN where those say so or refuse."""
    a, b = rows_of(table, scale)
    if not a:
        return dict.fromkeys(COEFFICIENTS, math.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappas = [cohen_kappa_score(a, b, labels=list(scale), weights=w) for w in (None, "linear", "quadratic")]
        constant = len(set(a)) == 1 or len(set(b)) == 1
        tests = (stats.spearmanr, stats.pearsonr, stats.kendalltau)
        correlations = [math.nan if constant else test(a, b).statistic for test in tests]
    return dict(
        zip(COEFFICIENTS, [*kappas, *correlations, np.mean(np.equal(a, b)), np.mean(a) - np.mean(b)], strict=True)
    )


@pytest.mark.parametrize(
    ("table", "kappa", "spearman", "pearson"),
    [(HA1_HA2, 0.4369, 0.6931, 0.6982), (HA1_LLM, 0.3234, 0.6073, 0.5982), (HA3_LLM, 0.3498, 0.6296, 0.6326)],
)
def test_the_papers_figures_to_the_fourth_decimal(
    table: list[list[int]], kappa: float, spearman: float, pearson: float
) -> None:
    found = of(table)
    assert [round(found[name], 4) for name in ("kappa", "spearman", "pearson")] == [kappa, spearman, pearson]


def test_the_names_are_those_of_the_json() -> None:
    names = "kappa kappa_linear kappa_quadratic spearman pearson kendall agreement difference"
    assert list(COEFFICIENTS) == names.split()


@given(grade_tables())
def test_all_equal_scikit_learn_and_scipy(table: Table) -> None:
    assert of(table) == pytest.approx(oracle(table), abs=1e-12, nan_ok=True)


@given(grade_tables(3))
def test_uneven_scales_change_pearson_and_the_difference_only(table: Table) -> None:
    scale = (-2, 0, 7)
    found = of(table, scale)
    assert found == pytest.approx(oracle(table, scale), abs=1e-12, nan_ok=True)
    for name in COEFFICIENTS.keys() - {"pearson", "difference"}:
        assert found[name] == pytest.approx(of(table, (0, 1, 2))[name], abs=0, nan_ok=True)


def test_large_counts_equal_scipy() -> None:
    table = np.random.default_rng(3).integers(0, 20_000, (4, 4))
    assert of(table) == pytest.approx(oracle(table), abs=1e-12)


@given(st.lists(grade_tables(3), min_size=1, max_size=5))
def test_many_tables_at_a_time_equal_one_by_one(many: list[Table]) -> None:
    stacked = coefficients(np.stack([many, many]), (0, 1, 2))
    for name, values in stacked.items():
        assert values.shape == (2, len(many))
        assert values[1].tolist() == pytest.approx([of(table, (0, 1, 2))[name] for table in many], abs=0, nan_ok=True)


@given(grade_tables())
def test_swapping_the_labelers_changes_the_sign_of_the_difference_only(table: Table) -> None:
    found, swapped = of(table), of(table.T)
    swapped["difference"] = -swapped["difference"]
    assert swapped == pytest.approx(found, abs=1e-12, nan_ok=True)


@given(grade_tables(3), st.integers(0, 3))
def test_an_unused_grade_changes_nothing_but_weights_by_its_place(table: Table, place: int) -> None:
    wider = np.insert(np.insert(table, place, 0, axis=0), place, 0, axis=1)
    scale = tuple(np.insert([1, 5, 9], place, [0, 3, 7, 11][place]).tolist())
    found, narrow = of(wider, scale), of(table, (1, 5, 9))
    for name in COEFFICIENTS.keys() - ({"kappa_linear", "kappa_quadratic"} if place in (1, 2) else set()):
        assert found[name] == pytest.approx(narrow[name], abs=1e-12, nan_ok=True), name


def test_weights_need_not_be_counts() -> None:
    whole, half = of(np.array(HA1_LLM)), of(np.array(HA1_LLM) / 2)
    assert half == pytest.approx(whole, abs=1e-12)


def test_perfect_and_reversed_correlations_are_one() -> None:
    generator = np.random.default_rng(1)
    for counts in generator.integers(1, 1000, (50, 3)):
        found = of(np.diag(counts), (0, 1, 7))
        assert [found[name] for name in ("kappa", "agreement", "difference")] == [1, 1, 0]
        turned = of(np.diag(counts)[::-1], (0, 1, 2))
        for name in ("spearman", "pearson", "kendall"):
            assert 1 - 1e-12 <= found[name] <= 1
            if name != "spearman" or counts[0] == counts[2]:
                assert -1 <= turned[name] <= -1 + 1e-12


def only(**cells: int) -> Table:
    """A table with these cells: ``g02=3`` is three pairs of grade 0 from a and 2 from b."""
    table = np.zeros((4, 4), dtype=np.int64)
    for name, count in cells.items():
        table[int(name[1]), int(name[2])] = count
    return table


CORRELATIONS = {"spearman", "pearson", "kendall"}
KAPPAS = {"kappa", "kappa_linear", "kappa_quadratic"}


@pytest.mark.parametrize(
    ("table", "undefined", "reason"),
    [
        (only(), set(COEFFICIENTS), "no common pair"),
        (only(g22=9), CORRELATIONS | KAPPAS, "both gave every pair the grade 2"),
        (only(g01=4), CORRELATIONS, "HA1 gave every pair the grade 0, LLM the grade 1"),
        (only(g00=4, g03=1), CORRELATIONS, "HA1 gave every pair the grade 0"),
        (only(g13=4, g33=1), CORRELATIONS, "LLM gave every pair the grade 3"),
        (only(g11=1), CORRELATIONS | KAPPAS, "one common pair only"),
        (only(g12=1), CORRELATIONS, "one common pair only"),
    ],
)
def test_what_is_undefined_and_why(table: Table, undefined: set[str], reason: str) -> None:
    found = of(table)
    assert {name for name, value in found.items() if math.isnan(value)} == undefined
    assert why_undefined(table, [f"the grade {grade}" for grade in SCALE], "HA1", "LLM") == reason


def test_kappa_of_one_constant_labeler_is_zero() -> None:
    for table in (only(g00=4, g03=1), only(g01=4), only(g13=2, g33=5)):
        assert [of(table)[name] for name in sorted(KAPPAS)] == pytest.approx([0, 0, 0], abs=1e-15)


def test_agreement_and_difference_of_constant_labelers_stay_defined() -> None:
    assert (of(only(g13=5))["agreement"], of(only(g13=5))["difference"]) == (0, -2)
    assert (of(only(g22=5))["agreement"], of(only(g22=5))["difference"]) == (1, 0)


def test_only_the_named_coefficients_are_computed() -> None:
    assert list(coefficients(np.array(HA1_HA2), SCALE, ["kendall", "kappa"])) == ["kendall", "kappa"]


def test_kappa_of_two_sequences_of_grades_is_that_of_scikit_learn() -> None:
    one, other = [0, 1, 1, 3, 3, 0], [0, 1, 3, 3, 0, 0]
    assert cohen_kappa((0, 1, 2, 3), one, other) == pytest.approx(cohen_kappa_score(one, other))
    assert cohen_kappa((0, 1), [1, 1], [1, 1]) is None
    assert cohen_kappa((0, 1), [], []) is None
