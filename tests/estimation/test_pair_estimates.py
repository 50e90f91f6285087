"""Means from drawn pairs: a census against pytrec_eval and ir_measures, all samples of small frames, designs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import dcg_score

from quati_pool.estimation.calibration import FOLDS
from quati_pool.estimation.pair_estimates import PairEstimator, PairMeans, PairSample, folds
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.estimation.pair_measures import parse_pair_measure
from quati_pool.estimation.pair_probabilities import probabilities
from tests.estimation.small_frames import SCALE, Collection, collection, collections, draw, poisson_sample

MEASURES = ["nDCG@10", "nDCG@3", "DCG@10", "P@10", "P(rel=2)@10"]


def estimator(
    one: Collection, name: str, *, seed: int = 0, scale: list[int] = SCALE, use_judge: bool = True
) -> PairEstimator:
    return PairEstimator(
        one.frame, parse_pair_measure(name), scale, folds(len(one.frame), seed), use_judge=use_judge
    )  # fmt: skip


def unpredicted(one: Collection, name: str) -> PairEstimator:
    """All pairs are in one fold, none is left to predict them from, and each is predicted not to be relevant."""
    return PairEstimator(one.frame, parse_pair_measure(name), SCALE, np.zeros(len(one.frame), dtype=int))


def census(one: Collection) -> PairSample:
    pairs = np.random.default_rng(1).permutation(len(one.frame))
    return poisson_sample(one, np.ones(len(one.frame)), pairs)


def oracle(one: Collection, name: str) -> np.ndarray:
    """Shape (queries, systems), by pytrec_eval, ir_measures, or scikit-learn."""
    qrels, queries = one.qrels(), range(one.frame.queries)
    columns = []
    for run in one.runs():
        if name.startswith("DCG"):
            columns.append([_dcg(one, run.get(str(query), {}), int(name.split("@")[1])) for query in queries])
            continue
        if "rel=" in name:
            metrics = ir_measures.iter_calc([ir_measures.parse_measure(name)], qrels, run)
            found = {metric.query_id: metric.value for metric in metrics}
        else:
            wanted = {"nDCG@10": "ndcg_cut.10", "nDCG@3": "ndcg_cut.3", "P@10": "P.10"}[name]
            key = wanted.replace(".", "_")
            evaluated = pytrec_eval.RelevanceEvaluator(qrels, {wanted}).evaluate(run)
            found = {query: values[key] for query, values in evaluated.items()}
        columns.append([found.get(str(query), 0.0) for query in queries])
    return np.array(columns).T


def _dcg(one: Collection, scores: dict[str, float], cutoff: int) -> float:
    ranked = sorted(scores, key=lambda pair: -scores[pair])
    # scikit-learn refuses a single document; ones that are not relevant change nothing.
    relevance = [max(int(one.relevance[int(pair)]), 0) for pair in ranked] + [0, 0]
    return float(dcg_score([relevance], [list(range(len(relevance), 0, -1))], k=cutoff))


# People's grades of all pairs.


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("scale", [SCALE, [0, 1], [0, 2, 5], [-1, 0, 1, 2]])
def test_a_census_is_the_measure_without_error(name: str, scale: list[int]) -> None:
    for seed in range(4):
        one = collection(seed, pairs=18, depth=12, scale=scale)
        expected = oracle(one, name)
        found = estimator(one, name, seed=seed, scale=scale)
        means = found.estimate(census(one))
        np.testing.assert_allclose(means.by_query, expected, atol=1e-10)
        np.testing.assert_allclose(found.under(one.relevance), expected, atol=1e-10)
        assert not means.rows.any()
        assert not means.ideal_error.any()
        these = means.means(like_these=False)
        np.testing.assert_allclose(these.estimate, expected.mean(axis=0))
        assert not these.half_width(0.05).any()


def test_queries_without_a_relevant_pair_score_0() -> None:
    one = collection(5)
    one = replace(one, relevance=np.where(one.frame.query == 2, 0, one.relevance))
    means = estimator(one, "nDCG@10").estimate(census(one))
    assert not means.by_query[2].any()
    np.testing.assert_allclose(means.by_query, oracle(one, "nDCG@10"), atol=1e-10)


@given(collections)
def test_systems_that_rank_few_pairs_or_miss_a_query(one: Collection) -> None:
    kept = (one.frame.query[one.frame.pair] + one.frame.system) % 3 > 0
    frame = replace(
        one.frame, pair=one.frame.pair[kept], system=one.frame.system[kept], rank=one.frame.rank[kept]
    )  # fmt: skip
    one = Collection(frame, one.relevance)
    for name in ("nDCG@10", "P@10"):
        np.testing.assert_allclose(estimator(one, name).under(one.relevance), oracle(one, name), atol=1e-10)


@pytest.mark.parametrize("name", MEASURES)
def test_a_judge_is_evaluated_under_its_own_grades(name: str) -> None:
    one = collection(6)
    judged = Collection(one.frame, one.frame.judge)
    np.testing.assert_allclose(estimator(one, name).under(one.frame.judge), oracle(judged, name), atol=1e-10)


# A judge who is always right.


def test_a_perfect_judge_leaves_next_to_no_error() -> None:
    # The ridge shrinks a little, so that predictions from a few hundred pairs are not exactly right.
    one = collection(7, queries=20, pairs=50)
    right = Collection(replace(one.frame, judge=one.relevance), one.relevance)
    inclusion = probabilities(right.frame, parse_pair_measure("nDCG@10"), 400)
    truth = oracle(right, "nDCG@10").mean(axis=0)
    for use_judge, bound in ((True, 0.008), (False, np.inf)):
        means = estimator(right, "nDCG@10", use_judge=use_judge).estimate(draw(right, inclusion, 8))
        found = means.means(like_these=False)
        assert np.abs(found.estimate - truth).max() < bound
        assert found.half_width(0.05).max() < bound
        if not use_judge:
            assert found.half_width(0.05).min() > 0.03


# All samples of small frames.


def every_poisson_sample(
    one: Collection, inclusion: np.ndarray, estimator: PairEstimator
) -> tuple[np.ndarray, list[PairMeans]]:
    """The probability of each possible sample, and what it gives."""
    chances, found = [], []
    for chosen in product([False, True], repeat=len(one.frame)):
        drawn = np.flatnonzero(chosen)
        chances.append(np.where(chosen, inclusion, 1 - inclusion).prod())
        found.append(estimator.estimate(poisson_sample(one, inclusion, drawn)))
    return np.array(chances), found


@pytest.fixture(scope="module")
def tiny() -> tuple[Collection, np.ndarray]:
    one = collection(9, queries=2, pairs=4, systems=2, depth=4)
    inclusion = np.random.default_rng(10).uniform(0.15, 0.95, len(one.frame))
    inclusion[3] = 1
    return one, inclusion


@pytest.mark.parametrize("name", ["DCG@3", "P@4"])
def test_sums_are_unbiased_over_all_samples(tiny: tuple[Collection, np.ndarray], name: str) -> None:
    # Predictions differ from sample to sample. They come from other folds than the pair's, which were drawn
    # independently of it, so that its expected correction is what its prediction lacks, whatever that is.
    one, inclusion = tiny
    fold = np.arange(len(one.frame)) % FOLDS
    calibrated = PairEstimator(one.frame, parse_pair_measure(name), SCALE, fold)
    for used in (calibrated, unpredicted(one, name)):
        chances, found = every_poisson_sample(one, inclusion, used)
        assert chances.sum() == pytest.approx(1)
        mean = np.tensordot(chances, np.array([means.by_query for means in found]), axes=1)
        np.testing.assert_allclose(mean, used.under(one.relevance), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["DCG@3", "P@4"])
def test_the_covariances_of_sums_are_unbiased_over_all_samples(tiny: tuple[Collection, np.ndarray], name: str) -> None:
    # With fixed predictions.
    one, inclusion = tiny
    chances, found = every_poisson_sample(one, inclusion, unpredicted(one, name))
    estimates = np.array([means.by_query.mean(axis=0) for means in found])
    centred = estimates - chances @ estimates
    true = (chances[:, None] * centred).T @ centred
    estimated = np.tensordot(chances, np.array([means.rows.T @ means.rows for means in found]), axes=1)
    np.testing.assert_allclose(estimated, true, rtol=1e-10)


def test_the_covariances_of_fixed_sizes_are_unbiased_over_all_samples() -> None:
    one = collection(11, queries=2, pairs=5, systems=2, depth=4)
    stratum, sizes, counts = np.arange(10) % 2, np.array([5, 5]), [2, 3]
    inclusion = (np.array(counts) / sizes)[stratum]
    used, estimates, estimated = unpredicted(one, "DCG@3"), [], []
    of = [combinations(np.flatnonzero(stratum == number).tolist(), count) for number, count in enumerate(counts)]
    for chosen in product(*of):
        drawn = np.array(sum(chosen, ()))
        sample = PairSample(
            drawn, one.relevance[drawn], inclusion[drawn], stratum[drawn], sizes, poisson=False
        )  # fmt: skip
        means = used.estimate(sample)
        estimates.append(means.by_query.mean(axis=0))
        estimated.append(means.rows.T @ means.rows)
    np.testing.assert_allclose(np.mean(estimates, axis=0), used.under(one.relevance).mean(axis=0))
    np.testing.assert_allclose(np.mean(estimated, axis=0), np.cov(np.array(estimates).T, ddof=0))


# Designs.


def test_a_fixed_size_of_equal_residuals_has_no_error_but_a_rate_has() -> None:
    # One query whose 240 pairs are all relevant, and which a system ranks all; 60 are drawn. Each stands for 4 of 240,
    # u = 4/240. Every sample of 60 says 60·4 = 240, but if each pair was drawn on its own, what is said varies with the
    # number of pairs: Σ (1 − π) u² = 60 · 0.75 · (4/240)² = 0.0125.
    ranks = np.arange(1, 241)
    grades = np.ones(240, dtype=int)
    frame = PairFrame(np.zeros(240, dtype=int), 1, grades, 1, ranks - 1, np.zeros(240, dtype=int), ranks)
    one = Collection(frame, grades)
    by_rate = poisson_sample(one, np.full(240, 0.25), np.random.default_rng(12).permutation(240)[:60])
    used = unpredicted(one, "P@240")
    means = used.estimate(replace(by_rate, poisson=False))
    assert means.by_query == pytest.approx(np.ones((1, 1)))
    assert means.means(like_these=False).standard_error == pytest.approx([0], abs=1e-12)
    assert used.estimate(by_rate).means(like_these=False).standard_error ** 2 == pytest.approx([0.0125])


def test_a_fixed_size_is_estimated_by_strata() -> None:
    # Two queries with 4 pairs each, ranked 1 to 4; P@4. From each 2 are drawn, π = 1/2. Relevant ones have
    # u = (1/4)/(1/2)/2 queries = 1/4, others 0. Of query 0 both drawn are relevant, which has no spread; of query 1 one
    # of two: (1 − 2/4)·2/1·Σ(u − ū)² = 2·(1/8)² = 1/32.
    query, ranks = np.repeat([0, 1], 4), np.tile([1, 2, 3, 4], 2)
    relevance = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    frame = PairFrame(query, 2, np.zeros(8, dtype=int), 1, np.arange(8), np.zeros(8, dtype=int), ranks)
    one = Collection(frame, relevance)
    used = unpredicted(one, "P@4")
    drawn = np.array([0, 1, 4, 5])
    half = np.full(4, 0.5)
    by_query = PairSample(drawn, relevance[drawn], half, query[drawn], np.array([4, 4]), poisson=False)
    assert used.estimate(by_query).means(like_these=False).standard_error ** 2 == pytest.approx([1 / 32])
    # Without a relevant one of query 1 neither stratum varies. One stratum of both does: (1 − 4/8)·4/3·4·(1/8)² = 1/24.
    drawn = np.array([0, 1, 5, 6])
    by_query = PairSample(drawn, relevance[drawn], half, query[drawn], np.array([4, 4]), poisson=False)
    assert used.estimate(by_query).means(like_these=False).standard_error == pytest.approx([0], abs=1e-12)
    together = replace(by_query, stratum=np.zeros(4, dtype=int), sizes=np.array([8]))
    assert used.estimate(together).means(like_these=False).standard_error ** 2 == pytest.approx([1 / 24])


def test_drawing_every_pair_by_strata_leaves_no_error() -> None:
    one = collection(13)
    sample = replace(census(one), poisson=False)
    assert not estimator(one, "nDCG@10").estimate(sample).rows.any()


# The ideal.


@given(collections, st.integers(0, 1000), st.floats(0.05, 0.9))
def test_counts_stay_within_what_is_seen_and_what_there_is(one: Collection, seed: int, rate: float) -> None:
    frame = one.frame
    sample = draw(one, np.full(len(frame), rate), seed)
    used = estimator(one, "nDCG@10", seed=seed)
    reached = (sample.relevance[:, None] >= np.array([1, 2, 3])).astype(float)
    # Corrected probabilities may be anything.
    corrected = np.random.default_rng(seed).normal(0.3, 2, (len(frame), 3))
    counts = used._counts(corrected, sample.pair, reached)
    seen = np.zeros((frame.queries, 3))
    np.add.at(seen, frame.query[sample.pair], reached)
    assert (counts >= seen).all()
    assert (counts <= frame.sizes[:, None]).all()
    assert (np.diff(counts, axis=1) <= 0).all()


@given(collections, st.integers(0, 1000), st.floats(0.05, 0.9), st.sampled_from(MEASURES))
def test_estimates_are_finite_whatever_was_drawn(one: Collection, seed: int, rate: float, name: str) -> None:
    means = estimator(one, name, seed=seed).estimate(draw(one, np.full(len(one.frame), rate), seed))
    assert np.isfinite(means.by_query).all()
    assert np.isfinite(means.rows).all()
    assert np.isfinite(means.ideal_error).all()
    nothing = poisson_sample(one, np.full(len(one.frame), rate), np.array([], dtype=int))
    assert not estimator(one, name).estimate(nothing).by_query.any()


def test_beales_correction_by_hand() -> None:
    # One query with 4 pairs, of which one system ranks the first two. Grades are 0 or 1, all predicted 0. For nDCG@1,
    # pairs 0 and 1 are relevant and drawn with π = 1/2: D̂ = 1/π = 2; of the count Ĉ = 4 the first place counts: Î = 1,
    # whose slope there is 0, so that B = T = 0.
    frame = PairFrame(
        np.zeros(4, dtype=int), 1, np.zeros(4, dtype=int), 1, np.array([0, 1]), np.array([0, 0]), np.array([1, 2])
    )
    one = Collection(frame, np.array([1, 1, 0, 0]))
    half = np.full(4, 0.5)
    first = PairEstimator(frame, parse_pair_measure("nDCG@1"), [0, 1], np.zeros(4, dtype=int))
    assert first.estimate(poisson_sample(one, half, np.array([0, 1]))).by_query == pytest.approx(np.array([[2.0]]))
    # For nDCG@3, δ = 1, a = 1/log2(3) and 1/2, only pair 0 is drawn: D̂ = 2, Ĉ = 2, Î = 1 + a, with the slope 1/2. The
    # error of the pair is 1 in the gain of the system and 1/2 in the ideal: with (1 − π)/π² = 2, B = 2·1·(1/2) = 1 and
    # T = 2·(1/2)² = 1/2. Beale: (2 + 1/Î)/(Î·(1 + 0.5/Î²)).
    third = PairEstimator(frame, parse_pair_measure("nDCG@3"), [0, 1], np.zeros(4, dtype=int))
    means = third.estimate(poisson_sample(one, half, np.array([0])))
    ideal = 1 + 1 / np.log2(3)
    value = (2 + 1 / ideal) / (ideal * (1 + 0.5 / ideal**2))
    assert means.by_query == pytest.approx(np.array([[value]]))
    assert means.ideal_error == pytest.approx(0.5 / ideal**2)
    # Linearised: (1 − value/2)/Î, times √(1 − π)/π = √2.
    assert np.abs(means.rows) == pytest.approx(np.array([[abs(1 - value / 2) / ideal * np.sqrt(2)]]))


# Order, and queries like these.


@given(collections, st.integers(0, 1000), st.sampled_from(["nDCG@10", "DCG@10"]))
def test_the_order_of_pairs_queries_and_systems_changes_nothing(one: Collection, seed: int, name: str) -> None:
    generator = np.random.default_rng(seed)
    frame, size = one.frame, len(one.frame)
    fold, inclusion = folds(size, seed), np.random.default_rng(seed).uniform(0.2, 1, size)
    sample = draw(one, inclusion, seed)
    expected = PairEstimator(frame, parse_pair_measure(name), SCALE, fold).estimate(sample)

    order, entries = generator.permutation(size), generator.permutation(len(frame.pair))
    queries, systems = generator.permutation(frame.queries), generator.permutation(frame.systems)
    place = np.argsort(order)
    moved = PairFrame(
        queries[frame.query[order]],
        frame.queries,
        frame.judge[order],
        frame.systems,
        place[frame.pair][entries],
        systems[frame.system][entries],
        frame.rank[entries],
    )
    drawn = generator.permutation(place[sample.pair])
    other = Collection(moved, one.relevance[order])
    found = PairEstimator(moved, parse_pair_measure(name), SCALE, fold[order]).estimate(
        poisson_sample(other, inclusion[order], drawn)
    )
    np.testing.assert_allclose(found.by_query[queries][:, systems], expected.by_query, atol=1e-9)
    covariances = (found.rows.T @ found.rows)[systems][:, systems]
    np.testing.assert_allclose(covariances, expected.rows.T @ expected.rows, atol=1e-9)


def test_for_queries_like_these_the_error_is_that_between_queries() -> None:
    one = collection(14, queries=12)
    sample = draw(one, np.full(len(one.frame), 0.5), 15)
    means = estimator(one, "nDCG@10").estimate(sample)
    found = means.means(like_these=True)
    np.testing.assert_allclose(found.standard_error, means.by_query.std(axis=0, ddof=1) / np.sqrt(12))
    np.testing.assert_allclose(found.drawing_variance, (means.rows**2).sum(axis=0))
    assert found.degrees == 11
    # What single queries vary by, less what they do because pairs were drawn.
    own = means.by_query.var(axis=0, ddof=1) - 12 * (means.rows**2).sum(axis=0)
    np.testing.assert_allclose(found.spread, np.maximum(own, 0))


# Coverage where the truth is known.


@pytest.mark.slow
def test_intervals_cover_the_mean_of_these_queries() -> None:
    one = collection(16, queries=50, pairs=60, systems=6, depth=30)
    for name, expected, low, high in (("nDCG@10", 900, 0.93, 0.985), ("DCG@10", 600, 0.93, 0.97)):
        measure = parse_pair_measure(name)
        inclusion = probabilities(one.frame, measure, expected)
        truth = oracle(one, name).mean(axis=0)
        covered, errors = [], []
        for seed in range(600):
            used = PairEstimator(one.frame, measure, SCALE, folds(len(one.frame), seed))
            found = used.estimate(draw(one, inclusion, seed)).means(like_these=False)
            covered.append(np.abs(found.estimate - truth) <= found.half_width(0.05))
            errors.append(found.estimate - truth)
        assert low <= np.mean(covered) <= high
        # DCG is unbiased: its mean error is within three standard errors (draws are independent, systems are not).
        mean = np.array(errors).mean(axis=1)
        if name == "DCG@10":
            assert abs(mean.mean()) < 3 * mean.std() / np.sqrt(len(mean))
