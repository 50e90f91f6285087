"""What a pool lacks: estimates by hand, their intervals by simulation, their invariants, and TREC DL 2021."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_runs import ranked
from scipy.stats import beta, gamma, hypergeom, poisson

from quati_pool.pooling.completeness import (
    NO_FAMILIES,
    NOT_OF_THE_FRAME,
    NOTHING_DRAWN,
    NOTHING_TWICE,
    Completeness,
    Draw,
    LastRound,
    Unseen,
    capture_recapture,
    pool_completeness,
    relevant_in_frame,
    unseen_in_frames,
)
from quati_pool.pooling.pool import Pool, depth_pool
from quati_pool.records import Run
from tests.estimation import dl_2021

# ---- capture–recapture


def caught(alone: Sequence[int], twice: int, often: int, others: int = 0) -> Unseen:
    found = capture_recapture(np.array(alone), np.array(twice), np.array(often), np.array(others))
    return Unseen(*map(float, found))


def test_two_families_are_chapmans_estimator() -> None:
    # n1 = 20 and n2 = 15 documents, 10 of both: N = 21 · 16 / 11 − 1 = 29.545 (Chapman 1951). 25 are known, so that
    # 4.545 are not: 10 · 5 / (10 + 1).
    found = caught([10, 5], 10, 10)
    assert found.estimate == pytest.approx(50 / 11)
    assert found.estimate == pytest.approx(21 * 16 / 11 - 1 - 25)


def test_families_of_equal_strength_are_chaos_estimator() -> None:
    # Chao (1987), t occasions: (t − 1)/t · f1² / 2 f2; here f1 = 12, f2 = 5, with f2 + 1: 2/3 · 144 / 12 = 8.
    assert caught([4, 4, 4], 5, 9).estimate == pytest.approx(8)


def test_the_interval_is_log_normal_around_the_linearised_variance() -> None:
    # By hand, u = (4, 4, 4), f2 = 5: slopes (12 − 4)/6 = 4/3 each, variance 8 + 12 · 16/9 + 64 · 5/36 = 38.222;
    # K = exp(1.95996 √ln(1 + 38.222/64)) = exp(1.95996 · 0.68394) = 3.8209; 8/K = 2.09, 8K = 30.57; rounded outwards.
    assert caught([4, 4, 4], 5, 9) == pytest.approx((8, 2, 31))


def test_without_documents_caught_alone_nothing_is_estimated_to_be_missing() -> None:
    # The upper limit of a Poisson count of 0 is −ln 0.025 = 3.689: 3.689² / 2 · 2/3 / (30 + 1) = 0.146, and so 1.
    assert caught([0, 0, 0], 10, 30) == (0, 0, 1)
    # Of 2 it is 7.225, where only one family found documents alone: 7.225² / 2 · 2/3 / (3 + 1) = 4.35.
    assert poisson.cdf(2, 7.225) == pytest.approx(0.025, abs=1e-4)
    assert caught([2, 0, 0], 0, 3) == (0, 0, 5)


def test_known_documents_that_no_family_found_are_not_missing() -> None:
    assert caught([4, 4, 4], 5, 9, others=3) == pytest.approx((5, 0, 28))
    assert caught([4, 4, 4], 5, 9, others=40) == (0, 0, 0)


@pytest.mark.parametrize(
    ("documents", "chances"),
    [(100, [0.3] * 5), (100, [0.5, 0.2]), (30, [0.6, 0.4, 0.3]), (500, [0.6, 0.4, 0.3, 0.2, 0.1]), (15, [0.5] * 4)],
)
def test_intervals_of_independent_families_cover_what_is_missing(documents: int, chances: list[float]) -> None:
    draws = 2000
    found = np.random.default_rng(1).random((draws, documents, len(chances))) < chances
    times = found.sum(axis=2)
    alone = (found & (times == 1)[..., None]).sum(axis=1)
    missing = (times == 0).sum(axis=1)
    estimate, low, high = capture_recapture(alone, (times == 2).sum(axis=1), (times >= 2).sum(axis=1))
    # 2,000 draws of a coverage of .95 vary by .005 (one standard error); few documents make it less exact.
    assert 0.93 < ((low <= missing) & (missing <= high)).mean() < 0.99
    # Nearly without bias, where Σ u u / f2 would be too high: within 3 standard errors and 2 % of the documents.
    error = estimate - missing
    assert abs(error.mean()) < 3 * error.std() / math.sqrt(draws) + 0.02 * documents


def test_documents_that_differ_in_difficulty_make_it_a_lower_bound() -> None:
    # Half of the documents are found by each family with .6, half with .1: 100 · .9^5 + 100 · .4^5 = 60.1 are missed.
    chance = np.repeat([0.6, 0.1], 100)[:, None]
    found = np.random.default_rng(2).random((500, 200, 5)) < chance
    times = found.sum(axis=2)
    alone = (found & (times == 1)[..., None]).sum(axis=1)
    estimate, _, _ = capture_recapture(alone, (times == 2).sum(axis=1), (times >= 2).sum(axis=1))
    assert 20 < estimate.mean() < (times == 0).sum(axis=1).mean() - 10


counts = st.lists(st.integers(0, 40), min_size=2, max_size=6)


@given(counts, st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.data())
def test_invariants_of_captures(alone: list[int], twice: int, more: int, others: int, data: st.DataObject) -> None:
    found = caught(alone, twice, twice + more, others)
    assert 0 <= found.low <= found.high
    assert found.low <= found.estimate <= found.high
    if not any(alone):
        assert found.estimate == 0
    # One more that was caught twice never raises it, one more that was caught alone never lowers it.
    assert caught(alone, twice + 1, twice + more + 1, others).estimate <= found.estimate
    place = data.draw(st.integers(0, len(alone) - 1))
    raised = [count + (position == place) for position, count in enumerate(alone)]
    assert caught(raised, twice, twice + more, others).estimate >= found.estimate
    # A family that found nothing alone changes nothing.
    assert caught([*alone, 0], twice, twice + more, others).estimate == pytest.approx(found.estimate)


# ---- the random share


def test_the_exact_interval_holds_every_number_that_is_not_improbable() -> None:
    for frame, drawn in [(30, 10), (12, 12), (25, 1)]:
        for relevant in range(drawn + 1):
            low, high = relevant_in_frame(*map(np.array, ([relevant], [drawn], [frame])))
            possible = [
                total
                for total in range(relevant, frame - drawn + relevant + 1)
                if hypergeom.sf(relevant - 1, frame, total, drawn) > 0.025
                and hypergeom.cdf(relevant, frame, total, drawn) > 0.025
            ]
            assert (low[0], high[0]) == (min(possible), max(possible))


def test_one_draw_by_hand() -> None:
    # 20 of 100 candidates drawn, 3 relevant: 15 in the frame. The pool holds 40 of them by now, 9 relevant: 6 are
    # outside. The highest number of which at most 3 are drawn with more than 2.5 % is 35.
    assert hypergeom.cdf(3, 100, 36, 20) < 0.025 < hypergeom.cdf(3, 100, 35, 20)
    low, high = relevant_in_frame(np.array([3]), np.array([20]), np.array([100]))
    assert high[0] == 35
    assert unseen_in_frames([Draw(20, 3, 100, 9, 40)]) == (6, max(low[0] - 9, 0), 26)


def test_several_draws_by_hand() -> None:
    # Weights 5 and 10: 5 · 4 + 10 · 2 = 40 relevant candidates, 11 of them in the pool. Not drawn: mean 4 · 4 + 9 · 2 =
    # 34, variance (5 · 4 · 4 + 10 · 9 · 2)(1 − 6/31) = 209.68, since 6 of 30 are relevant; at the upper end 34 + 9 and
    # 209.68 + 90. The 6 drawn are known.
    found = unseen_in_frames([Draw(20, 4, 100, 7, 40), Draw(10, 2, 100, 4, 30)])
    variance = 260 * 25 / 31
    low = gamma.ppf(0.025, 34**2 / variance, scale=variance / 34) + 6 - 11
    high = gamma.ppf(0.975, 43**2 / (variance + 90), scale=(variance + 90) / 43) + 6 - 11
    assert found == (29, math.floor(low), math.ceil(high))


@pytest.mark.parametrize(
    ("totals", "frame", "drawn"),
    [([10], 100, 20), ([10] * 20, 100, 20), ([1] * 20, 100, 20), (list(range(0, 40, 2)), 150, 15), ([1, 0, 0], 50, 25)],
)
def test_intervals_of_random_draws_cover_what_is_missing(totals: list[int], frame: int, drawn: int) -> None:
    random, relevant = np.random.default_rng(3), np.array(totals)
    hits, errors = [], []
    for _ in range(400):
        found = random.hypergeometric(relevant, frame - relevant, drawn)
        unseen = unseen_in_frames([Draw(drawn, int(one), frame, int(one), drawn) for one in found])
        missing = (relevant - found).sum()
        hits.append(unseen.low <= missing <= unseen.high)
        errors.append(unseen.estimate - missing)
    # At least .95 but for the error of 400 draws (one standard error .011).
    assert np.mean(hits) > 0.92
    assert abs(np.mean(errors)) < 3 * np.std(errors) / 20 + 1e-9


@given(st.lists(st.tuples(*[st.integers(1, 30)] * 5), min_size=1, max_size=4))
def test_invariants_of_draws(rows: list[tuple[int, ...]]) -> None:
    draws = []
    for drawn, found, rest, known, more in rows:
        relevant, pooled = min(found, drawn), min(more, rest)
        draws.append(Draw(drawn, relevant, drawn + rest, relevant + min(known, pooled), drawn + pooled))
    unseen = unseen_in_frames(draws)
    outside = sum(draw.frame - draw.pooled for draw in draws)
    assert 0 <= unseen.low <= unseen.high <= outside
    assert 0 <= unseen.estimate <= outside
    # A frame that was drawn completely leaves nothing to estimate.
    complete = [Draw(draw.frame, draw.relevant, draw.frame, draw.relevant, draw.frame) for draw in draws]
    assert unseen_in_frames(complete) == (0, 0, 0)


# ---- a whole pool

DOCS = ["a", "b", "c", "d", "e", "f"]


def run(run_tag: str, **docs: str) -> Run:
    """A run that returns the letters of each query in their order."""
    scored = {(query, doc): float(-rank) for query, found in docs.items() for rank, doc in enumerate(found)}
    return ranked(run_tag, scored)


def estimated(pool: Pool, relevant: set[tuple[str, str]], families: Sequence[str | None], **changes: Any) -> Any:
    pairs = zip(pool.queries.decode(pool.query).to_pylist(), pool.docs.decode(pool.doc).to_pylist(), strict=True)
    grades = np.array([int(pair in relevant) for pair in pairs])
    graded = changes.pop("graded", np.ones(len(pool), dtype=bool))
    return pool_completeness(replace(pool, **changes), grades, graded, families)


SYSTEMS = [run("A", q="abcd", p="ab"), run("B", q="bcea", p="cd"), run("C", q="cfba", p="ef")]
RELEVANT = {("q", "a"), ("q", "b"), ("q", "c"), ("q", "f"), ("p", "a")}
POOL = depth_pool(SYSTEMS, {"A": 2, "B": 2, "C": 2}, extra=[("q", "x")])


def test_families_count_once_and_only_what_they_fed() -> None:
    # q to depth 2: A a b, B b c, C c f, and the extra x; relevant a, b, c, f. As three families: a and f once, b and c
    # twice: u = (1, 0, 1), so 1 · 1 / (2 + 1). With A and B as one: a, b and f once, c twice: u = (2, 1): 2 / 2.
    three = {one.query_id: one for one in estimated(POOL, RELEVANT, ["A", "B", "C"]).queries}
    assert (three["q"].once, three["q"].twice, three["q"].relevant, three["q"].pairs) == (2, 2, 4, 5)
    assert three["q"].capture.estimate == pytest.approx(1 / 3)
    two = estimated(POOL, RELEVANT, ["AB", "AB", "C"])
    assert two.families == ("AB", "C")
    found = next(one for one in two.queries if one.query_id == "q")
    assert (found.once, found.twice) == (3, 1)
    assert found.capture.estimate == pytest.approx(1)
    # Over both queries p's a is caught by AB alone: u = (3, 1), f2 = 1.
    assert two.whole.capture.estimate == pytest.approx(3 / 2)
    # A known relevant document that no family found is one of those that are estimated.
    extra = estimated(POOL, RELEVANT | {("q", "x")}, ["AB", "AB", "C"])
    assert extra.whole.capture.estimate == pytest.approx(1 / 2)


def test_what_is_undefined_says_why() -> None:
    found = estimated(POOL, RELEVANT, ["A", "B", "C"])
    p = next(one for one in found.queries if one.query_id == "p")
    assert (p.capture, p.undefined["capture"]) == (None, NOTHING_TWICE)
    assert (p.random, p.undefined["random"]) == (None, NOTHING_DRAWN)
    assert found.whole.capture is not None
    one = estimated(POOL, RELEVANT, ["A", "A", None])
    assert (one.whole.capture, one.whole.undefined["capture"]) == (None, NO_FAMILIES)
    assert estimated(POOL, RELEVANT, [None] * 3).whole.undefined["capture"] == NO_FAMILIES


def test_queries_that_are_not_graded_enough_are_not_estimated() -> None:
    names = np.array(POOL.queries.decode(POOL.query).to_pylist())
    found = estimated(POOL, RELEVANT, ["A", "B", "C"], graded=names == "q")
    assert (found.not_graded, [one.query_id for one in found.queries]) == (("p",), ["q"])
    assert (found.whole.pairs, found.whole.relevant) == (5, 4)
    nothing = estimated(POOL, RELEVANT, ["A", "B", "C"], graded=np.zeros(len(POOL), dtype=bool))
    assert (nothing.queries, nothing.whole.capture) == ((), None)


def test_the_random_share_and_the_rounds_of_a_growing_pool() -> None:
    # One query, 40 candidates. Round 1: a random share of 10 of all 40, 4 relevant. Round 2: 6 by a method, 3 relevant.
    # Round 3: 4 more, 4 relevant. 4 · 40 / 10 = 16 in the frame, 11 found, 5 outside.
    docs = [f"d{n:02}" for n in range(20)]
    one = ranked("A", {("q", doc): -float(n) for n, doc in enumerate(docs)})
    pool = depth_pool([one, run("B", q="")], {"A": 40, "B": 40})
    reason = np.array(["random"] * 10 + ["mm-ns"] * 10, dtype=object)
    inclusion = np.array([0.25] * 10 + [np.nan] * 10)
    number = np.array([1] * 10 + [2] * 6 + [3] * 4, dtype=np.int32)
    relevant = {("q", docs[n]) for n in (0, 1, 2, 3, 10, 11, 12, 16, 17, 18, 19)}
    changes = {"reason": reason, "inclusion": inclusion, "round": number}
    found = estimated(pool, relevant, ["A", "B"], **changes)
    (query,) = found.queries
    low, high = relevant_in_frame(np.array([4]), np.array([10]), np.array([40]))
    assert query.random == found.whole.random == (5, max(low[0] - 11, 0), min(high[0] - 11, 20))
    assert (query.drawn, query.frame) == (10, 40)
    assert [(one.round, one.pairs, one.relevant, one.total) for one in found.rounds] == [
        (1, 10, 4, 4), (2, 6, 3, 7), (3, 4, 4, 11),
    ]  # fmt: skip
    # All 4 of the last round: Clopper and Pearson's lower end is .025^(1/4) = .398.
    assert query.last == LastRound(3, 4, 4, pytest.approx(0.025**0.25))
    assert query.last.low == pytest.approx(beta.ppf(0.025, 4, 1))
    assert query.needs == ("last round",)
    # A draw of which the probability does not fit: 10 of 10 / .6, and a frame smaller than what the pool has of it.
    for rate in (0.6, 0.9):
        wrong = np.where(reason == "random", rate, np.nan)
        unknown = estimated(pool, relevant, ["A", "B"], **{**changes, "inclusion": wrong}).queries[0]
        assert (unknown.random, unknown.undefined["random"]) == (None, NOT_OF_THE_FRAME)


def test_a_draw_of_a_later_round_is_of_what_the_pool_did_not_hold() -> None:
    # 12 in the pool at first, 8 relevant; then 5 of the 20 other candidates at random, 1 relevant: 4 among them, of
    # which 1 is known.
    docs = [f"d{n:02}" for n in range(17)]
    pool = depth_pool([ranked("A", {("q", doc): -float(n) for n, doc in enumerate(docs)})], {"A": 40})
    changes = {
        "reason": np.array(["depth"] * 12 + ["random"] * 5, dtype=object),
        "inclusion": np.array([1.0] * 12 + [0.25] * 5),
        "round": np.array([1] * 12 + [2] * 5, dtype=np.int32),
    }
    found = estimated(pool, {("q", docs[n]) for n in (*range(8), 12)}, ["A"], **changes)
    assert found.whole.random.estimate == pytest.approx(3)
    assert found.whole.frame == 20


def needs(relevant: int, capture: Unseen | None = None, random: Unseen | None = None, low: float = 0) -> Any:
    last = LastRound(2, 10, 5, low)
    return Completeness("q", 30, 30, relevant, 0, 0, capture, 0, 0, random, last).needs


def test_a_query_needs_more_only_where_the_lower_end_says_so() -> None:
    assert needs(20, Unseen(9, 2, 30)) == ()  # 2 of 22 are less than a tenth
    assert needs(20, Unseen(9, 3, 30)) == ("capture-recapture",)
    assert needs(3, Unseen(9, 0, 30)) == ()
    assert needs(3, None, Unseen(9, 1, 30)) == ("random share",)
    assert needs(3, None, None, 0.11) == ("last round",)
    assert needs(3, None, None, 0.1) == ()


# ---- real data


def _family(run_tag: str) -> str:
    """The group that submitted a run to TREC DL 2021."""
    groups = (
        "Fast", "NLE", "TUW", "WLU", "bcai", "ielab", "ihsm", "mono", "p_", "pash", "pass", "paug", "top1000", "uogTr",
        "wat", "yorku21",
    )  # fmt: skip
    return next(group for group in groups if run_tag.removeprefix("bl_").startswith(group))


def _pool(tags: Sequence[str], depth: int) -> tuple[Pool, np.ndarray]:
    """A depth pool of runs of TREC DL 2021, and NIST's grades of its pairs."""
    runs, nist = dl_2021.top_20_runs(), dl_2021.grades("nist")
    some = [ranked(tag, {(q, d): s for q, docs in runs[tag].items() for d, s in docs.items()}) for tag in tags]
    pool = depth_pool(some, dict.fromkeys(tags, depth))
    pairs = zip(pool.queries.decode(pool.query).to_pylist(), pool.docs.decode(pool.doc).to_pylist(), strict=True)
    # Every document of a run's first ten was graded.
    return pool, np.array([nist[query][doc] for query, doc in pairs])


def test_half_the_groups_of_dl_2021_and_what_nist_knows_beyond_their_pool() -> None:
    nist, runs = dl_2021.grades("nist"), dl_2021.top_20_runs()
    relevant = {(query, doc) for query, found in nist.items() for doc, grade in found.items() if grade >= 2}
    in_runs = {(query, doc) for found in runs.values() for query, docs in found.items() for doc in docs} & relevant
    groups = sorted({_family(run_tag) for run_tag in runs})
    measured = []
    for half in (groups[::2], groups[1::2]):
        tags = [run_tag for run_tag in sorted(runs) if _family(run_tag) in half]
        pool, grades = _pool(tags, 10)
        found = pool_completeness(pool, grades, np.ones(len(pool), dtype=bool), [_family(tag) for tag in tags], 2)
        pooled, capture = found.whole.relevant, found.whole.capture
        assert capture is not None
        need = len(found.needing_more)
        outside = (len(in_runs) - pooled, len(relevant) - pooled)
        measured.append((len(tags), pooled, round(capture.estimate), capture.low, capture.high, *outside, need))
        # A lower bound query by query too: NIST knows of no fewer than the lower end.
        known = Counter(query for query, _ in relevant)
        held = [one.capture.low <= known[str(one.query_id)] - one.relevant for one in found.queries if one.capture]
        assert np.mean(held) > 0.95
    # Systems; relevant in the pool; the estimate of what is outside and its interval; what is outside it, in any run's
    # first 20, and in all that NIST graded; queries that need more.
    assert measured == [(34, 1653, 863, 714, 1043, 581, 1774, 18), (29, 1262, 454, 358, 575, 972, 2165, 9)]


def test_random_shares_of_dl_2021_cover_what_a_small_pool_lacks() -> None:
    """The candidates are all runs' first ten, 7,443 pairs; the pool is the first three of half the groups, and a random
    tenth of the candidates."""
    tags = sorted(dl_2021.top_20_runs())
    groups = sorted(set(map(_family, tags)))
    pool, grades = _pool(tags, 10)
    relevant = grades >= 2
    feeding = [_family(tag) in groups[::2] for tag in tags]
    small = ((pool.ranks[:, feeding] > 0) & (pool.ranks[:, feeding] <= 3)).any(axis=1)
    _, query = np.unique(pool.query, return_inverse=True)
    random, hits, errors, widths = np.random.default_rng(4), [], [], []
    for _ in range(100):
        draws, missing = [], 0
        for one in range(query.max() + 1):
            rows = np.flatnonzero(query == one)
            drawn = random.choice(rows, round(len(rows) / 10), replace=False)
            pooled = np.union1d(drawn, rows[small[rows]])
            known = int(relevant[pooled].sum())
            draws.append(Draw(len(drawn), int(relevant[drawn].sum()), len(rows), known, len(pooled)))
            missing += int(relevant[rows].sum()) - known
        unseen = unseen_in_frames(draws)
        hits.append(unseen.low <= missing <= unseen.high)
        errors.append(unseen.estimate - missing)
        widths.append((unseen.high - unseen.low) / 2)
    assert len(pool) == 7443
    # .95 less two standard errors of 100 draws; 1.96 standard deviations of the estimates are 204 documents of 1,100.
    assert np.mean(hits) >= 0.91
    assert abs(np.mean(errors)) < 3 * np.std(errors) / 10
    assert np.mean(widths) < 240
