"""Weighted agreement and its intervals: against other libraries, all samples of small populations, and real data."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import t
from sklearn.metrics import cohen_kappa_score

from quati_pool.agreement.coefficients import COEFFICIENTS, coefficients
from quati_pool.agreement.design_weights import WeightedTable
from quati_pool.agreement.estimates import Estimates
from quati_pool.agreement.pair_designs import Draw, PairDesign, PairProbabilities, PairSample
from quati_pool.stats.bootstrap import Values
from tests.agreement.designs import SCALE, Population
from tests.shared_data import shared

WORDS = [f"the grade {grade}" for grade in SCALE]


def simple(weight: np.ndarray, sizes: int | None = None, poisson: bool = True) -> PairSample:
    """A sample of one stratum with these weights, 1/π."""
    n = len(weight)
    nothing = PairProbabilities([], [], [], np.empty(0))
    design = PairDesign(key="1", name="design 1", drawn=nothing, poisson=poisson)
    rows, one = np.arange(n), np.zeros(n, dtype=np.int64)
    return PairSample(rows, weight, (Draw(design, rows, weight, rows, 1 / weight, one, np.array([sizes or n])),), 0)


def estimates(table: WeightedTable, intervals: bool = True, threshold: int | None = None) -> Estimates:
    return table.estimates(SCALE, WORDS, "ana", "llm", intervals=intervals, threshold=threshold)


# ---- coefficients


@pytest.mark.parametrize(
    ("name", "weights"), [("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")]
)
def test_weighted_kappa_is_that_of_scikit_learn(name: str, weights: str | None) -> None:
    random = np.random.default_rng(3)
    a = random.integers(0, 4, 60)
    b = np.clip(a + random.integers(-1, 2, 60), 0, 3)
    weight = random.uniform(1, 9, 60)
    found = estimates(WeightedTable(simple(weight), a, b, 4)).values[name]
    assert found == pytest.approx(cohen_kappa_score(a, b, sample_weight=weight, weights=weights), abs=1e-12)


def test_the_weighted_correlation_and_share_are_those_of_numpy() -> None:
    random = np.random.default_rng(4)
    a, b, weight = random.integers(0, 4, 50), random.integers(0, 4, 50), random.uniform(1, 5, 50)
    found = estimates(WeightedTable(simple(weight), a, b, 4)).values
    covariance = np.cov(a, b, aweights=weight)
    assert found["pearson"] == pytest.approx(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
    assert found["agreement"] == pytest.approx(np.average(a == b, weights=weight))
    assert found["difference"] == pytest.approx(np.average(a - b, weights=weight))


def test_whole_weights_count_a_pair_as_often() -> None:
    random = np.random.default_rng(5)
    a, b, weight = random.integers(0, 4, 30), random.integers(0, 4, 30), random.integers(1, 5, 30)
    found = estimates(WeightedTable(simple(weight.astype(float)), a, b, 4), intervals=False)
    counts = np.zeros((4, 4), dtype=np.int64)
    np.add.at(counts, (a, b), weight)
    for name, value in coefficients(counts, SCALE).items():
        assert found.values[name] == pytest.approx(float(value), abs=1e-12)
    assert found.intervals == {}


def test_a_census_has_the_coefficients_of_its_counts_and_no_width() -> None:
    a, b = np.array([0, 1, 2, 3, 3, 0, 1, 2]), np.array([0, 1, 1, 3, 2, 2, 1, 2])
    counts = Population(a, b).counts
    for poisson in (True, False):
        table = WeightedTable(simple(np.ones(8), poisson=poisson), a, b, 4)
        np.testing.assert_array_equal(table.counts, counts)
        np.testing.assert_allclose(table.shares, counts / 8)
        found = estimates(table)
        for name, value in coefficients(counts, SCALE).items():
            assert found.values[name] == pytest.approx(float(value), abs=1e-15)
            assert found.intervals[name].low == pytest.approx(float(value), abs=1e-12)
            assert found.intervals[name].high == pytest.approx(float(value), abs=1e-12)


def test_undefined_coefficients_have_reasons() -> None:
    found = estimates(WeightedTable(simple(np.array([2.0, 3])), np.array([1, 1]), np.array([1, 1]), 4))
    assert found.values["kappa"] is None
    assert found.intervals["kappa"].low is None
    assert found.undefined["kappa"] == "both gave every pair the grade 1"
    assert "intervals.kappa" not in found.undefined
    assert found.values["agreement"] == 1
    one = estimates(WeightedTable(simple(np.array([2.0])), np.array([1]), np.array([2]), 4))
    assert one.undefined["intervals.agreement"] == "one common pair only; an interval under the design needs two"


def test_a_threshold_is_that_of_binarised_grades() -> None:
    random = np.random.default_rng(6)
    a, b, weight = random.integers(0, 4, 40), random.integers(0, 4, 40), random.uniform(1, 5, 40)
    found = estimates(WeightedTable(simple(weight), a, b, 4), threshold=2)
    same = WeightedTable(simple(weight), (a >= 2) * 1, (b >= 2) * 1, 2).estimates(
        (0, 1), ["below", "above"], "ana", "llm", intervals=True
    )
    assert found.values == pytest.approx(same.values)
    assert found.intervals["kappa"].low == pytest.approx(same.intervals["kappa"].low)


# ---- variances, against those of the coefficients over all samples

_RANDOM = np.random.default_rng(7)
A = _RANDOM.integers(0, 4, 32)
B = np.where(_RANDOM.random(32) < 0.6, A, _RANDOM.integers(0, 4, 32))
STRATUM = [0] * 15 + [1] * 17
POPULATION = Population(A.tolist(), B.tolist())

# 11 queries of 2 to 4 pairs, those from the 8th on in a second stratum.
QUERY = np.repeat(np.arange(11), [3, 2, 4, 3, 3, 3, 2, 3, 3, 2, 4])
QUERIES = Population(A.tolist(), B.tolist(), QUERY.tolist())
QUERY_STRATUM = (QUERY >= 7).astype(int).tolist()
QUERY_INCLUSION = np.where(QUERY >= 7, 3 / 4, 6 / 7)


def spread(population: Population, samples: Iterator[tuple[PairDesign, ...]]) -> dict[str, tuple[float, float]]:
    """By coefficient: its variance over the samples, and the mean of its estimated variances."""
    values: list[Values] = []
    variances: list[Values] = []
    for designs in samples:
        sample = population.sample(*designs)
        assert sample is not None
        table = population.table(sample, population.graded(designs))
        errors = table.standard_errors(lambda tables: coefficients(tables, SCALE))
        found = coefficients(table.shares, SCALE)
        values.append(np.array([found[name] for name in COEFFICIENTS]))
        variances.append(np.array([errors[name] for name in COEFFICIENTS]) ** 2)
    true, mean = np.var(values, axis=0), np.mean(variances, axis=0)
    return {name: (float(true[i]), float(mean[i])) for i, name in enumerate(COEFFICIENTS)}


def test_fixed_sizes_within_strata() -> None:
    """Shares are linear in the sample where sizes are fixed, so that the variances of linear coefficients are unbiased;
    those of the others are within 10 % for 30 pairs."""
    inclusion = np.where(np.array(STRATUM) == 0, 14 / 15, 16 / 17)
    samples = (
        (POPULATION.design(np.array([*first, *second]), inclusion, STRATUM, framed=False),)
        for first, second in product(combinations(range(15), 14), combinations(range(15, 32), 16))
    )
    found = spread(POPULATION, samples)
    for name, (true, mean) in found.items():
        assert mean == pytest.approx(true, rel=1e-6 if name in ("agreement", "difference") else 0.1), name


def whole_queries(queries: Iterable[int]) -> PairDesign:
    drawn = np.flatnonzero(np.isin(QUERY, list(queries)))
    return QUERIES.design(drawn, QUERY_INCLUSION, QUERY_STRATUM, whole_queries=True)


def test_whole_queries() -> None:
    """The number of pairs varies with the queries, so that no coefficient is linear: within 20 % for 9 queries."""
    chosen = product(combinations(range(7), 6), combinations(range(7, 11), 3))
    found = spread(QUERIES, ((whole_queries([*first, *second]),) for first, second in chosen))
    for name, (true, mean) in found.items():
        assert mean == pytest.approx(true, rel=0.2), name


def test_the_quantile_is_that_of_t_with_the_queries_less_their_strata() -> None:
    design = whole_queries([0, 1, 2, 3, 4, 6, 7, 8, 10])
    sample = QUERIES.sample(design)
    assert sample is not None
    assert sample.draws[0].sizes.tolist() == [7, 4]
    table = QUERIES.table(sample, QUERIES.graded([design]))
    error = table.standard_errors(lambda tables: coefficients(tables, SCALE))["difference"]
    found = estimates(table)
    assert found.values["difference"] is not None
    assert found.intervals["difference"].high == pytest.approx(found.values["difference"] + t.ppf(0.975, 7) * error)


def test_two_designs_of_one_seed_have_no_smaller_variance_than_is_true() -> None:
    """All pairs are in one random order, of which both designs take the first ones of their own strata."""
    strata, sizes = [np.arange(32) % 2, np.array(STRATUM)], np.array([[14, 8], [7, 15]])
    random = np.random.default_rng(8)

    def drawn(order: npt.NDArray[np.int64], design: int) -> PairDesign:
        ordered = strata[design][order]
        rows = np.concatenate([order[ordered == one][: sizes[design, one]] for one in (0, 1)])
        inclusion = (sizes[design] / np.bincount(strata[design]))[strata[design]]
        return POPULATION.design(rows, inclusion, strata[design].tolist(), key=str(design))

    found = spread(
        POPULATION, ((drawn(order, 0), drawn(order, 1)) for order in random.permuted([range(32)] * 400, axis=1))
    )
    for name in ("agreement", "difference", "kappa"):
        true, mean = found[name]
        assert true < mean < 4 * true, name


# ---- real data


def grades(name: str) -> dict[tuple[str, str], int]:
    with gzip.open(shared(f"trec-dl-2021/{name}.qrels.gz"), "rt") as lines:
        rows = (line.split() for line in lines)
        return {(query_id, doc_id): int(grade) for query_id, _, doc_id, grade in rows if int(grade) in SCALE}


def covers(sample: PairSample | None, population: Population, drawn: npt.NDArray[np.int64], truth: float) -> bool:
    """Whether the interval of κ over the ``drawn`` pairs holds the ``truth``."""
    assert sample is not None
    table = WeightedTable(sample, population.a[drawn], population.b[drawn], 4)
    found = coefficients(table.shares, SCALE, ["kappa"])["kappa"]
    error = table.standard_errors(lambda tables: coefficients(tables, SCALE, ["kappa"]))["kappa"]
    return bool(abs(found - truth) <= t.ppf(0.975, min(draw.degrees for draw in sample.draws)) * error)


def test_weighted_kappa_covers_the_truth_where_two_judges_disagree_more_often_in_the_sample() -> None:
    """ESTIMATES, section 4: of 240 pairs 60 are drawn for people, 20 each of those that two judges grade alike, one
    grade apart and further apart; κ of people and one of these judges. Without weights, as if the 60 were a simple
    random sample, κ is too low."""
    people, judge, other = grades("nist"), grades("llama-3.2-3b"), grades("gpt-4o")
    common = sorted(people.keys() & judge.keys() & other.keys())
    random = np.random.default_rng(2021)
    weighted, unweighted = [], []
    for _ in range(20):
        frame = [common[place] for place in random.choice(len(common), 240, replace=False)]
        population = Population([people[pair] for pair in frame], [judge[pair] for pair in frame])
        stratum = np.array([min(abs(judge[pair] - other[pair]), 2) for pair in frame])
        inclusion = 20 / np.bincount(stratum)[stratum]
        truth = float(coefficients(population.counts, SCALE, ["kappa"])["kappa"])
        for _ in range(100):
            drawn = [random.choice(np.flatnonzero(stratum == one), 20, replace=False) for one in range(3)]
            rows = np.sort(np.concatenate(drawn))
            sample = population.sample(population.design(rows, inclusion, stratum.tolist(), framed=False))
            weighted.append(covers(sample, population, rows, truth))
            unweighted.append(covers(simple(np.full(60, 4.0), 240, poisson=False), population, rows, truth))
    assert len(weighted) == 2000
    assert 0.93 <= np.mean(weighted) <= 0.97
    assert np.mean(unweighted) < 0.85
