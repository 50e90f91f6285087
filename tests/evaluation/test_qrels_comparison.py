"""Two qrels of the same runs: rankings by hand, and intervals, tests and correlations against scipy."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.evaluation.qrels_comparison import RankingComparison, compare_rankings
from quati_pool.evaluation.scores import Scores, Values
from quati_pool.stats.bootstrap import interval
from quati_pool.stats.rank_correlation import kendall_tau

Table = dict[str, dict[str, float]]
"""Values by run_tag and query_id."""


def scores_of(table: Table, measure: str = "nDCG@10") -> Scores:
    query_ids = tuple(next(iter(table.values())))
    values = np.array([[row[query_id] for query_id in query_ids] for row in table.values()])[:, None]
    nothing = np.zeros((len(table), len(query_ids)), dtype=bool)
    return Scores(
        run_tags=tuple(table),
        measures=(measure,),
        query_ids=query_ids,
        values=values,
        missing=nothing,
        without_relevant=nothing.any(axis=0),
        unjudged_queries=(0,) * len(table),
    )


def table(**rows: str) -> Table:
    """Values from run_tag and numbers for the queries q0, q1, …"""
    return {tag: {f"q{i}": float(value) for i, value in enumerate(row.split())} for tag, row in rows.items()}


def compared(a: Table, b: Table, **options: float | str) -> RankingComparison:
    given_options = {"draws": 200, **options}
    return compare_rankings(scores_of(a), scores_of(b), "nDCG@10", **given_options)  # type: ignore[arg-type]


@pytest.fixture
def worked() -> RankingComparison:
    """Means, as the tables stand (a, b): A 0.7, 0.5; B 0.5, 0.6; C 0.3, 0.3; D 0.2, 0.3.

    Ranks A 1, 2; B 2, 1; C 3, 3; D 4, 3 (tied with C): one swap, one tie, of six pairs.
    """
    return compared(
        table(D="0.1 0.3 0.2", A="0.8 0.7 0.6", B="0.5 0.4 0.6", C="0.2 0.3 0.4"),
        table(D="0.3 0.2 0.4", A="0.5 0.4 0.6", B="0.7 0.5 0.6", C="0.3 0.3 0.3"),
    )


def test_ranks_and_rank_changes_by_hand(worked: RankingComparison) -> None:
    ranks = [(one.run_tag, one.rank_a, one.rank_b, one.rank_change) for one in worked.systems]
    assert ranks == [("A", 1, 2, -1), ("B", 2, 1, 1), ("C", 3, 3, 0), ("D", 4, 3, 1)]
    means = [(one.mean_a, one.mean_b) for one in worked.systems]
    assert means == [pytest.approx(pair) for pair in [(0.7, 0.5), (0.5, 0.6), (0.3, 0.3), (0.2, 0.3)]]
    assert (worked.max_rank_change, worked.mean_rank_change) == (1, 0.75)


def test_swaps_by_hand_and_a_tie_is_none(worked: RankingComparison) -> None:
    assert (worked.pairs, worked.tied, len(worked.swaps)) == (6, 1, 1)
    swap = worked.swaps[0]
    assert (swap.better, swap.worse) == ("A", "B")
    assert (swap.difference_a, swap.difference_b) == (pytest.approx(0.2), pytest.approx(-0.1))


def test_correlations_by_hand(worked: RankingComparison) -> None:
    # τ-b: AC AD BC BD concordant, AB discordant, CD tied under b: 3 / √(6 · 5).
    assert worked.tau.value == pytest.approx(3 / math.sqrt(30))
    # τ_AP with a as the reference, down b's B A (C D): at A, B should not be above: 0/1; C and D stand
    # at rank 3 with B and A above, rightly: 2/2 each. 2 · 2/3 - 1.
    assert worked.tau_ap.value == pytest.approx(1 / 3)
    # RBO, p = 0.9: agreement 0 at depth 1, 1 at 2; at 3 parts 1 1 1 0 and 1 1 ½ ½: 2.5 / √(3 · 2.5); 1 at 4.
    agreement = [0, 1, 2.5 / math.sqrt(7.5), 1]
    expected = 0.1 / 0.9 * sum(value * 0.9**depth for depth, value in enumerate(agreement, 1)) + 0.9**4
    assert worked.rbo.value == pytest.approx(expected)


def test_the_first_qrels_name_the_top_and_are_the_reference() -> None:
    a = table(A="0.9", B="0.8", C="0.2", D="0.1")
    b = table(A="0.4", B="0.5", C="0.9", D="0.8")
    # The top 2 of a, A B, are reversed under b; the top 2 of b, C D, have their order under a.
    assert (compared(a, b, top=2).top_tau.value, compared(b, a, top=2).top_tau.value) == (-1, 1)
    # The top 3 of a, A B C: all reversed. The top 3 of b, C D B: CD kept, CB and DB reversed.
    assert compared(a, b, top=3).top_tau.value == -1
    assert compared(b, a, top=3).top_tau.value == pytest.approx(-1 / 3)
    # Estimate b, C D B A, reference a: at D 1/1, at B 0/2, at A 0/3: 2/3 · 1 - 1.
    assert compared(a, b).tau_ap.value == pytest.approx(-1 / 3)
    # A loses two places under b: not the same from the other side.
    other = compared(table(A="3", B="2", C="1"), table(A="1", B="3", C="2"))
    mirrored = compared(table(A="1", B="3", C="2"), table(A="3", B="2", C="1"))
    # Down B C A with A B C the reference: 1/1, 0/2: 0. Down A B C with B C A: 0/1, 1/2: -1/2.
    assert (other.tau_ap.value, mirrored.tau_ap.value) == (pytest.approx(0), pytest.approx(-0.5))


def test_only_common_queries_count_and_all_are_counted() -> None:
    a = {"A": {"x": 0.0, "q1": 0.9, "q2": 0.8}, "B": {"x": 1.0, "q1": 0.1, "q2": 0.2}}
    b = {"B": {"q2": 0.1, "y": 1.0, "q1": 0.3, "z": 1.0}, "A": {"q2": 0.5, "y": 0.0, "q1": 0.4, "z": 0.0}}
    found = compared(a, b)
    assert (found.queries_a, found.queries_b, found.common) == (3, 4, 2)
    assert [(one.run_tag, one.rank_a, one.rank_b) for one in found.systems] == [("A", 1, 1), ("B", 2, 2)]
    assert [one.mean_b for one in found.systems] == [pytest.approx(0.45), pytest.approx(0.2)]
    assert found.tau.value == 1
    assert found.swaps == ()


def random_table(seed: int, systems: int = 6, queries: int = 25) -> tuple[Table, Table]:
    random = np.random.default_rng(seed)
    merit = random.normal(0, 0.05, size=systems)[:, None] + random.random((systems, queries))
    noise = random.normal(0, 0.3, size=(systems, queries))
    return tuple(  # type: ignore[return-value]
        {f"s{i}": {f"q{j}": float(value) for j, value in enumerate(row)} for i, row in enumerate(values)}
        for values in (merit, merit + noise)
    )


@pytest.mark.parametrize("seed", range(4))
def test_swaps_and_their_tests_equal_scipy_with_holm_over_all_pairs(seed: int) -> None:
    a, b = random_table(seed)
    if seed == 3:  # a clear swap
        a["s0"] = {query: value + 1 for query, value in a["s0"].items()}
        b["s0"] = {query: value - 1 for query, value in b["s0"].items()}
    pairs = list(combinations(a, 2))
    adjusted = []
    for one in (a, b):
        raw = [stats.ttest_rel(list(one[i].values()), list(one[j].values())).pvalue for i, j in pairs]
        by_p = sorted(range(len(pairs)), key=lambda place: raw[place])
        highest, holm = 0.0, {}
        for step, place in enumerate(by_p):
            highest = max(highest, min(1.0, raw[place] * (len(pairs) - step)))
            holm[frozenset(pairs[place])] = highest
        adjusted.append(holm)
    expected = set()
    for i, j in pairs:
        difference_a, difference_b = (np.mean(list(one[i].values())) - np.mean(list(one[j].values())) for one in (a, b))
        if difference_a * difference_b < 0:
            expected.add((i, j) if difference_a > 0 else (j, i))
    swaps = compared(a, b).swaps
    assert {(swap.better, swap.worse) for swap in swaps} == expected
    assert len(swaps) == len(expected) > 0
    for swap in swaps:
        p_a, p_b = (one[frozenset((swap.better, swap.worse))] for one in adjusted)
        assert (swap.p_a, swap.p_b) == (pytest.approx(p_a), pytest.approx(p_b))
        assert (swap.significant_a, swap.significant_b) == (p_a <= 0.05, p_b <= 0.05)
    if seed == 3:
        assert any(swap.significant_a and swap.significant_b for swap in swaps)


def test_the_test_and_its_level_are_parameters() -> None:
    # A leads B by 0.2 on average under a, and trails it by as much under b.
    a = table(A="0.9 0.5 0.8 0.6 0.9 0.7", B="0.6 0.4 0.5 0.6 0.6 0.5")
    b = table(A="0.6 0.4 0.5 0.6 0.6 0.5", B="0.9 0.5 0.8 0.6 0.9 0.7")
    for test, expected in [("t", stats.ttest_1samp), ("wilcoxon", stats.wilcoxon)]:
        (swap,) = compared(a, b, test=test).swaps
        # scipy on the differences in tenths: 3 1 3 0 3 2, without the 0 for Wilcoxon.
        differences = [3, 1, 3, 3, 2] if test == "wilcoxon" else [3, 1, 3, 0, 3, 2]
        arguments = (differences, 0) if test == "t" else (differences,)
        p = expected(*arguments).pvalue
        assert swap.p_a == pytest.approx(p)
        assert swap.p_b == pytest.approx(p)
        assert 0.01 < p < 0.2
        for alpha in (0.01, 0.2):
            (swap,) = compared(a, b, test=test, alpha=alpha).swaps
            assert (swap.significant_a, swap.significant_b) == (p <= alpha, p <= alpha)


def test_intervals_equal_a_loop_over_the_same_draws() -> None:
    a, b = random_table(2, systems=5, queries=12)
    found = compared(a, b, draws=60, seed=7)
    values_a, values_b = (np.array([list(row.values()) for row in one.values()]) for one in (a, b))
    random = np.random.default_rng(7)
    taus = []
    for _ in range(60):
        drawn = random.integers(0, 12, size=12)
        taus.append(stats.kendalltau(values_a[:, drawn].mean(axis=1), values_b[:, drawn].mean(axis=1)).statistic)
    # Around the value: without the bias that resampling adds.
    low, high = np.quantile(taus, [0.025, 0.975]) - np.mean(taus) + found.tau.value
    assert (found.tau.interval.low, found.tau.interval.high) == (pytest.approx(low), pytest.approx(min(high, 1.0)))
    assert compared(a, b, draws=60, seed=7) == found
    assert compared(a, b, draws=60, seed=8).tau.interval != found.tau.interval


@pytest.mark.slow
def test_the_interval_of_tau_holds_what_as_many_queries_are_expected_to_show() -> None:
    # 20 systems that differ by less than their queries do, under two judges that err for a system as a whole too.
    random = np.random.default_rng(20261126)
    quality = random.normal(0, 0.04, size=20)
    difficulty = random.normal(0, 0.15, size=2000)
    noise = random.normal(0, 0.15, size=(20, 2000))
    population_a = quality[:, None] + difficulty + noise
    error = random.normal(0, 0.02, size=20)
    population_b = population_a + error[:, None] + random.normal(0, 0.1, size=(20, 2000))

    def taus(chosen: Values, a: Values, b: Values) -> Values:
        return kendall_tau(a[:, chosen].mean(axis=2).T, b[:, chosen].mean(axis=2).T)

    expected = taus(random.integers(0, 2000, size=(4000, 50)), population_a, population_b).mean()
    held, samples = 0, 500
    for _ in range(samples):
        sample = random.integers(0, 2000, size=50)
        a, b = population_a[:, sample], population_b[:, sample]
        value = float(taus(np.arange(50)[None], a, b)[0])
        drawn = taus(random.integers(0, 50, size=(400, 50)), a, b)
        low, high, _ = interval(drawn, around=value)
        assert low is not None
        assert high is not None
        assert low < value < high
        held += low <= expected <= high
    # 0.91 when this was written; a standard error of 500 samples is 0.01.
    assert 0.88 <= held / samples <= 0.98


def test_the_same_qrels_agree_in_every_draw() -> None:
    a, _ = random_table(0)
    found = compared(a, a)
    for correlation in (found.tau, found.tau_ap, found.top_tau, found.rbo):
        assert correlation.value == pytest.approx(1)
        assert (correlation.interval.low, correlation.interval.high) == (pytest.approx(1), pytest.approx(1))
        assert correlation.undefined is None
    assert (found.swaps, found.max_rank_change, found.mean_rank_change) == ((), 0, 0)


def test_means_that_differ_in_their_last_bits_are_ties() -> None:
    # 0.1 + 0.2 + 0.3 is 0.6000000000000001 and 0.3 + 0.2 + 0.1 is 0.6 in floats.
    a = table(A="0.1 0.2 0.3", B="0.3 0.2 0.1")
    found = compared(a, table(A="0.1 0.2 0.3", B="0.1 0.2 0.2"))
    assert [one.rank_a for one in found.systems] == [1, 1]
    assert (found.tied, found.swaps) == (1, ())


def test_undefined_says_why() -> None:
    level, ordered = table(A="0.5 0.4", B="0.4 0.5"), table(A="0.5 0.4", B="0.4 0.2")
    reasons = {
        "all systems are tied under the first qrels": compared(level, ordered),
        "all systems are tied under the second qrels": compared(ordered, level),
        "all systems are tied under the first and the second qrels": compared(level, level),
        "fewer than two systems": compared(table(A="0.5 0.4"), table(A="0.5 0.4")),
    }
    for reason, found in reasons.items():
        for correlation in (found.tau, found.tau_ap, found.top_tau):
            assert (correlation.value, correlation.undefined) == (None, reason)
            assert correlation.interval[:2] == (None, None)
    two_tied_at_the_top = compared(table(A="3", B="2", C="1"), table(A="2", B="2", C="1"), top=2)
    assert two_tied_at_the_top.top_tau.undefined == "the top systems are all tied under one of the qrels"
    assert two_tied_at_the_top.tau.value is not None


def test_a_swap_on_one_query_has_no_test() -> None:
    (swap,) = compared(table(A="1", B="0"), table(A="0", B="1")).swaps
    assert (swap.p_a, swap.p_b, swap.significant_a, swap.significant_b) == (None, None, False, False)
    assert swap.undefined_a == swap.undefined_b == "fewer than two queries"


def test_no_common_query() -> None:
    found = compared({"A": {"q1": 1.0}, "B": {"q1": 0.0}}, {"A": {"q2": 1.0}, "B": {"q2": 0.0}})
    assert (found.common, found.systems, found.swaps, found.pairs) == (0, (), (), 0)
    assert (found.max_rank_change, found.mean_rank_change) == (None, None)
    assert {one.undefined for one in (found.tau, found.tau_ap, found.top_tau, found.rbo)} == {
        "no query is judged in both"
    }


def test_bad_input_is_refused() -> None:
    a = table(A="0.5", B="0.4")
    with pytest.raises(QuatiPoolError, match=r"^B, C: scored under one of the two qrels only; score the same"):
        compared(a, table(A="0.5", C="0.4"))
    with pytest.raises(ConfigError, match="top is 1; give at least 2"):
        compared(a, a, top=1)
    for p in (0.0, 1.0, math.nan):
        with pytest.raises(ConfigError, match="rank-biased overlap"):
            compared(a, a, rbo_p=p)
    with pytest.raises(ConfigError, match="there is no test 'tt'"):
        compared(a, a, test="tt")
    with pytest.raises(ConfigError, match="was not computed"):
        compare_rankings(scores_of(a), replace(scores_of(a), measures=("P@5",)), "nDCG@10")


few = st.sampled_from([0.0, 0.1, 0.2, 0.3])


@given(
    st.integers(2, 5).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(few, min_size=3, max_size=3), min_size=n, max_size=n),
            st.lists(st.lists(few, min_size=3, max_size=3), min_size=n, max_size=n),
        )
    )
)
def test_pairs_are_kept_tied_or_swapped_and_make_up_tau(pair: tuple[list[list[float]], list[list[float]]]) -> None:
    a, b = ({f"s{i}": {f"q{j}": v for j, v in enumerate(row)} for i, row in enumerate(rows)} for rows in pair)
    found = compared(a, b, draws=5)
    kept = found.pairs - found.tied - len(found.swaps)
    ordered = [len({one.rank_a for one in found.systems}), len({one.rank_b for one in found.systems})]
    if min(ordered) == 1:
        assert found.tau.value is None
        return
    assert found.tau.value is not None
    # Goodman and Kruskal's γ has the sign of τ-b and leaves out all ties.
    assert np.sign(found.tau.value) == np.sign(kept - len(found.swaps))


def test_own_queries_alone_rank_the_systems() -> None:
    # Over its own queries A has 0.6 and 0.3, B 0.5 and 0.4, C 0.1 and 0.2 under the two qrels: one swap.
    # Over all queries, 0 for q2, A would have 0.4 and 0.2 and never lead.
    a = table(A="0.6 0.6 0", B="0.5 0.5 0.5", C="0.1 0.1 0.1")
    b = table(A="0.3 0.3 0", B="0.4 0.4 0.4", C="0.2 0.2 0.2")
    missing = np.array([[False, False, True], [False] * 3, [False] * 3])
    one, other = (replace(scores_of(values), missing=missing, own=True) for values in (a, b))
    found = compare_rankings(one, other, "nDCG@10", draws=500, seed=1)
    assert [(system.run_tag, system.mean_a, system.mean_b) for system in found.systems] == [
        ("A", pytest.approx(0.6), pytest.approx(0.3)),
        ("B", pytest.approx(0.5), pytest.approx(0.4)),
        ("C", pytest.approx(0.1), pytest.approx(0.2)),
    ]
    assert [(swap.better, swap.worse) for swap in found.swaps] == [("A", "B")]
    assert found.tau.value == pytest.approx(1 / 3)
    # A draw of q2 alone, three times, leaves A without a mean.
    draws = np.random.default_rng(1).integers(0, 3, size=(500, 3))
    assert found.tau.interval.undefined == (draws == 2).all(axis=1).sum() > 0
    none = np.array([[True] * 3, [False] * 3, [False] * 3])
    found = compare_rankings(replace(one, missing=none), replace(other, missing=none), "nDCG@10", draws=20)
    assert (found.tau.value, found.tau.undefined) == (None, "a system returns no query that both judge")
    assert (found.systems, found.swaps) == ((), ())


def test_a_swap_of_own_means_that_the_common_queries_deny_is_not_significant() -> None:
    # A returns the three easy queries alone: it leads with 0.8 to 0.6, though B is better in each of the three.
    a = table(A="0.80 0.79 0.81 0 0 0", B="0.90 0.90 0.90 0.3 0.3 0.3")
    b = table(A="0.20 0.21 0.19 0 0 0", B="0.30 0.30 0.30 0.3 0.3 0.3")
    missing = np.array([[False] * 3 + [True] * 3, [False] * 6])
    one, other = (replace(scores_of(values), missing=missing, own=True) for values in (a, b))
    (swap,) = compare_rankings(one, other, "nDCG@10", draws=20).swaps
    assert (swap.better, swap.worse) == ("A", "B")
    assert swap.difference_a == pytest.approx(0.2)
    assert (swap.p_a, swap.p_b) == (pytest.approx(stats.ttest_1samp([0.1, 0.11, 0.09], 0).pvalue),) * 2
    assert (swap.significant_a, swap.significant_b) == (False, True)
