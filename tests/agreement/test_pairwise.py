"""Agreement of pairs of labelers: the paper's figures, intervals against a loop over rows, reasons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.coefficients import COEFFICIENTS, coefficients
from quati_pool.agreement.pairwise import pairwise, per_query, queries_by_id
from quati_pool.agreement.ratings import Ratings
from quati_pool.stats.bootstrap import Interval, interval, multiplicities
from tests.agreement.rated import HA1_HA2, Grades, annotations, columns, grade_sets, qrels, random_ratings, rated

SCALE = (0, 1, 2, 3)
DRAWS = 40


def test_the_released_annotations_give_the_papers_figures() -> None:
    ratings = Ratings.join(annotations(), SCALE, ["HA1", "HA2"])
    (pair,) = pairwise(ratings)
    assert (pair.a, pair.b, pair.n, pair.queries) == ("HA1", "HA2", 240, 24)
    assert pair.confusion.tolist() == HA1_HA2
    figures = [pair.values[name] for name in ("kappa", "spearman", "pearson")]
    assert figures == pytest.approx([0.4369, 0.6931, 0.6982], abs=5e-5)
    # By hand from the table: 139 of 240 on the diagonal; HA1's grades sum to 351, HA2's to 345.
    assert pair.values["agreement"] == 139 / 240
    assert pair.values["difference"] == 6 / 240
    assert pair.undefined == {}
    for name, (low, high, undefined) in pair.intervals.items():
        value = pair.values[name]
        assert value is not None
        assert low is not None
        assert high is not None
        assert low < value < high
        assert undefined == 0
    (praca, *others) = per_query(ratings)
    assert praca.query_id == "Onde está localizada a Praça XV de Novembro?"
    assert praca.pairs[0].n == 10
    assert praca.pairs[0].values["kappa"] == pytest.approx(0.2647, abs=5e-5)
    assert len(others) == 23


def resampled_rows(ratings: Ratings, a: str, b: str, seed: int) -> list[tuple[list[int], list[int]]]:
    """The grades of both in each of DRAWS resamples, row by row, of the queries with a common pair in the
    order of their ids."""
    common = (ratings.of(a) >= 0) & (ratings.of(b) >= 0)
    rows: dict[str, list[tuple[int, int]]] = {}
    columns_ = (ratings.queries.decode(ratings.query).to_pylist(), ratings.of(a), ratings.of(b))
    for query_id, x, y, kept in zip(*columns_, common, strict=True):
        if kept:
            rows.setdefault(query_id, []).append((ratings.scale[x], ratings.scale[y]))
    in_order = [rows[query_id] for query_id in sorted(rows, key=str.encode)]
    samples = []
    for times in np.concatenate(list(multiplicities(len(in_order), DRAWS, seed))):
        sample = [pair for one, n in zip(in_order, times, strict=True) for _ in range(int(n)) for pair in one]
        samples.append(([x for x, _ in sample], [y for _, y in sample]))
    return samples


def test_intervals_equal_a_loop_over_rows() -> None:
    ratings = random_ratings(5, labelers=3)
    for pair in pairwise(ratings, DRAWS, seed=7):
        samples = resampled_rows(ratings, pair.a, pair.b, 7)
        oracles = {
            "kappa": lambda a, b: cohen_kappa_score(a, b, labels=SCALE),
            "kappa_linear": lambda a, b: cohen_kappa_score(a, b, labels=SCALE, weights="linear"),
            "kappa_quadratic": lambda a, b: cohen_kappa_score(a, b, labels=SCALE, weights="quadratic"),
            "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
            "pearson": lambda a, b: stats.pearsonr(a, b).statistic,
            "kendall": lambda a, b: stats.kendalltau(a, b).statistic,
            "agreement": lambda a, b: np.mean(np.equal(a, b)),
            "difference": lambda a, b: np.mean(a) - np.mean(b),
        }
        assert list(pair.intervals) == list(oracles)
        for name, oracle in oracles.items():
            expected = np.quantile([oracle(a, b) for a, b in samples], [0.025, 0.975])
            assert pair.intervals[name][:2] == pytest.approx(expected, abs=1e-12), name
        for grade in (1, 2, 3):
            kappas = [cohen_kappa_score(np.array(a) >= grade, np.array(b) >= grade) for a, b in samples]
            found = pair.binarized[grade].intervals["kappa"]
            assert found[:2] == pytest.approx(np.quantile(kappas, [0.025, 0.975]), abs=1e-12)


def test_all_pairs_come_in_the_labelers_order() -> None:
    ratings = random_ratings(1, labelers=4)
    names = [(pair.a, pair.b) for pair in pairwise(ratings, 0)]
    assert names == [("L1", "L2"), ("L1", "L3"), ("L1", "L4"), ("L2", "L3"), ("L2", "L4"), ("L3", "L4")]


def test_a_pairs_interval_does_not_depend_on_the_other_labelers() -> None:
    graded: dict[str, Grades] = {
        name: {(f"q{i % 6}", f"d{i}"): (i * step) % 4 for i in range(40)} for name, step in (("a", 1), ("b", 3))
    }
    (alone,) = pairwise(rated(graded), DRAWS)
    third = {("q0", "d0"): 1, ("q1", "d1"): 0, ("new", "d0"): 3}
    beside = pairwise(rated({"c": third, **graded}), DRAWS)[-1]
    assert (beside.a, beside.b) == ("a", "b")
    assert beside.intervals == alone.intervals


def test_no_draws_no_intervals() -> None:
    (pair,) = pairwise(random_ratings(1, labelers=2), 0)
    assert pair.intervals == {}
    assert pair.undefined == {}
    assert pair.binarized[2].intervals == {}
    assert pair.values["kappa"] is not None


def test_the_seed_decides_the_interval() -> None:
    ratings = random_ratings(1, labelers=2)
    first, again, other = (pairwise(ratings, DRAWS, seed)[0].intervals for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_a_common_pair_everything_is_undefined_and_says_so() -> None:
    (pair,) = pairwise(rated({"a": {("q", "x"): 1}, "b": {("q", "y"): 1}}), DRAWS)
    assert (pair.n, pair.queries, pair.confusion.sum()) == (0, 0, 0)
    assert pair.values == dict.fromkeys(COEFFICIENTS)
    assert pair.undefined == dict.fromkeys(COEFFICIENTS, "no common pair")
    assert pair.intervals == dict.fromkeys(COEFFICIENTS, Interval(None, None))
    assert pair.binarized[1].undefined == pair.undefined


def test_one_query_has_values_and_no_interval() -> None:
    (pair,) = pairwise(columns({"q": {"a": "0123", "b": "0023"}, "other": {"a": "1"}}), DRAWS)
    assert pair.queries == 1
    assert None not in pair.values.values()
    assert pair.intervals == dict.fromkeys(COEFFICIENTS, Interval(None, None))
    reason = "one query only; an interval over queries needs two"
    assert pair.undefined == {f"intervals.{name}": reason for name in COEFFICIENTS}


def test_a_constant_labeler_is_named_with_the_grade() -> None:
    (pair,) = pairwise(columns({"q1": {"HA1": "000", "LLM": "012"}, "q2": {"HA1": "00", "LLM": "03"}}), DRAWS)
    assert pair.values["kappa"] == 0
    reason = "HA1 gave every pair the grade 0"
    assert pair.undefined == dict.fromkeys(("spearman", "pearson", "kendall"), reason)
    assert pair.intervals["spearman"] == Interval(None, None, DRAWS)
    # Both stay below 3 in q1, so a draw of q1 alone has no kappa at the threshold 3, other draws have 0.
    binary = pair.binarized[3]
    assert binary.values["kappa"] == 0
    assert binary.undefined["pearson"] == "HA1 gave every pair a grade below 3"
    assert 0 < binary.intervals["kappa"].undefined < DRAWS / 2


def test_an_interval_with_most_draws_undefined_is_undefined() -> None:
    # a gives another grade in q1 alone, b in q2 alone. Of ten queries a draw has both with a probability
    # of 1 - 2 · 0.9^10 + 0.8^10 = 0.41: correlations lack 59 % of the draws, kappa only those without
    # either, 0.8^10 = 0.11.
    rows = {"q1": {"a": "01", "b": "00"}, "q2": {"a": "00", "b": "01"}} | {
        f"q{i}": {"a": "0", "b": "0"} for i in range(3, 11)
    }
    (pair,) = pairwise(columns(rows), 2000)
    lost = pair.intervals["pearson"].undefined
    assert lost / 2000 == pytest.approx(0.59, abs=0.04)
    assert pair.values["pearson"] is not None
    assert pair.intervals["pearson"] == Interval(None, None, lost)
    assert pair.undefined["intervals.pearson"] == f"undefined in {lost:,} of 2,000 resamples"
    assert pair.intervals["kappa"].undefined / 2000 == pytest.approx(0.11, abs=0.03)
    assert pair.intervals["kappa"].low is not None
    assert "intervals.kappa" not in pair.undefined


@given(grade_sets(), grade_sets(), st.permutations(range(30)))
def test_the_order_of_the_input_changes_nothing(a: Grades, b: Grades, order: list[int]) -> None:
    def shuffled(grades: Grades) -> Grades:
        rows = list(grades.items())
        return dict([rows[i] for i in order if i < len(rows)])

    (first,), (second,) = (pairwise(rated({"a": x, "b": y}), 20) for x, y in ((a, b), (shuffled(a), shuffled(b))))
    assert first.values == second.values
    assert first.intervals == second.intervals
    assert first.undefined == second.undefined
    assert first.confusion.tolist() == second.confusion.tolist()


@given(grade_sets(), grade_sets())
def test_swapping_the_labelers_flips_the_difference_alone(a: Grades, b: Grades) -> None:
    (one,), (other,) = (pairwise(Ratings.join(graded, SCALE), 20) for graded in (
        {"a": qrels(a), "b": qrels(b)}, {"b": qrels(b), "a": qrels(a)},
    ))  # fmt: skip
    assert one.confusion.tolist() == other.confusion.T.tolist()
    assert (one.n, one.queries, one.undefined) == (other.n, other.queries, other.undefined)
    for name in COEFFICIENTS:
        low, high, undefined = (math.nan if end is None else end for end in one.intervals[name])
        value, swapped = (math.nan if x.values[name] is None else x.values[name] for x in (one, other))
        if name == "difference":
            value, low, high = -value, -high, -low
        assert swapped == pytest.approx(value, abs=1e-12, nan_ok=True)
        found = [math.nan if end is None else end for end in other.intervals[name]]
        assert found == pytest.approx([low, high, undefined], abs=1e-12, nan_ok=True)


@given(grade_sets(), grade_sets(), st.sampled_from([1, 2, 3]))
def test_binarised_equals_recomputing_on_binarised_grades(a: Grades, b: Grades, grade: int) -> None:
    (pair,) = pairwise(rated({"a": a, "b": b}), 20)
    binary = {
        name: {key: int(value >= grade) for key, value in grades.items()} for name, grades in (("a", a), ("b", b))
    }
    (recomputed,) = pairwise(rated(binary, (0, 1)), 20)
    assert pair.binarized[grade].values == recomputed.values
    assert pair.binarized[grade].intervals == recomputed.intervals
    assert pair.binarized[grade].undefined.keys() == recomputed.undefined.keys()


@settings(max_examples=20)
@given(grade_sets(), grade_sets(), grade_sets())
def test_per_query_equals_each_query_alone(a: Grades, b: Grades, c: Grades) -> None:
    graded = {"a": a, "b": b, "c": c}
    ratings = rated(graded)
    found = {query.query_id: query.pairs for query in per_query(ratings)}
    for query_id in ratings.queries.values.to_pylist():
        here = {
            name: {pair: grade for pair, grade in grades.items() if pair[0] == query_id}
            for name, grades in graded.items()
        }
        alone = [pair for pair in pairwise(rated(here), 0) if pair.n]
        pairs = found.pop(query_id, ())
        assert [(p.a, p.b, p.n, p.values, p.undefined) for p in pairs] == [
            (p.a, p.b, p.n, p.values, p.undefined) for p in alone
        ]
    assert not found


def test_per_query_gives_only_the_named_coefficients() -> None:
    (query,) = per_query(columns({"q": {"a": "00", "b": "00"}}), ["kappa", "agreement"])
    assert query.pairs[0].values == {"kappa": None, "agreement": 1}
    assert query.pairs[0].undefined == {"kappa": "both gave every pair the grade 0"}


def test_queries_come_in_the_order_of_their_ids() -> None:
    ratings = rated({"a": {(query_id, "d"): 0 for query_id in ("é", "b", "10", "9", "B")}})
    assert ratings.queries.decode(queries_by_id(ratings)).to_pylist() == ["10", "9", "B", "b", "é"]


def test_blocks_of_resamples_are_put_together_in_order() -> None:
    # 3,000 queries are drawn in blocks of 666; each draw's share must be that of its own multiplicities.
    generator = np.random.default_rng(0)
    grades = generator.integers(0, 2, (2, 3000))
    made = {
        name: {(f"q{i:04d}", "d"): int(g) for i, g in enumerate(row)} for name, row in zip("ab", grades, strict=True)
    }
    (pair,) = pairwise(rated(made, (0, 1)), 1500)
    times = np.concatenate(list(multiplicities(3000, 1500, 0)))
    assert len(list(multiplicities(3000, 1500, 0))) == 3
    expected = interval(times @ (grades[0] == grades[1]) / 3000)
    assert pair.intervals["agreement"] == pytest.approx(expected, abs=1e-12)
    tables = np.stack([times @ ((grades[0] == x) & (grades[1] == y)) for x in (0, 1) for y in (0, 1)], axis=1)
    assert pair.intervals["kappa"] == interval(coefficients(tables.reshape(-1, 2, 2), (0, 1))["kappa"])
