"""Pooling methods: worked examples in every step, and the same methods again with dictionaries and fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from quati_pool.pooling.candidates import Rankings
from quati_pool.pooling.methods import active_sampling
from quati_pool.pooling.methods.active_sampling import ActiveSampling, hansen_hurwitz
from quati_pool.pooling.methods.bandits import MaxMean, MaxMeanNonStationary
from quati_pool.pooling.methods.base import PoolMethod, QueryPool
from quati_pool.pooling.methods.depth import Depth
from quati_pool.pooling.methods.judge_order import JudgeOrder, probability_by_grade
from quati_pool.pooling.methods.move_to_front import MoveToFront
from quati_pool.registry import POOL_METHODS

Runs = Sequence[Sequence[int]]
Grades = Sequence[bool | None]
"""Whether each candidate is relevant; None: it gets no grade."""

HALF = Fraction(1, 2)


def rankings(runs: Runs) -> Rankings:
    by_run = np.full((len(runs), max(map(len, runs), default=0)), -1, dtype=np.int32)
    for row, run in zip(by_run, runs, strict=True):
        row[: len(run)] = run
    return Rankings(len({candidate for run in runs for candidate in run}), by_run)


def lettered(*runs: str) -> Rankings:
    """Rankings of documents a, b, c …, which are candidates 0, 1, 2 …"""
    return rankings([["abcdefghij".index(letter) for letter in run] for run in runs])


def made(cls: type[PoolMethod], pool: QueryPool, **parameters: Any) -> PoolMethod:
    return cls(pool, cls.Parameters(**parameters))


def steps(method: PoolMethod, relevant: str) -> Iterator[tuple[str, float]]:
    """What the method proposes and with what priority, each graded before the next."""
    while (proposal := method.propose()) is not None:
        assert method.propose() == proposal
        method.choose(proposal.candidate)
        letter = "abcdefghij"[proposal.candidate]
        method.learn(proposal.candidate, relevant=letter in relevant)
        yield letter, proposal.priority


def exactly(expected: Sequence[tuple[str, float | Fraction]]) -> list[tuple[str, Any]]:
    return [(letter, pytest.approx(float(priority), rel=1e-14)) for letter, priority in expected]


def test_depth_takes_rank_after_rank() -> None:
    # Rank 1: a of the first run, b of the second; the third has nothing. Rank 2: b was taken, d. Rank 3: c.
    method = made(Depth, QueryPool(lettered("abc", "bd", "")))
    assert list(steps(method, "")) == [("a", -1.0), ("b", -1.0), ("d", -2.0), ("c", -3.0)]


def test_move_to_front_stays_while_relevant_and_falls_after() -> None:
    method = made(MoveToFront, QueryPool(lettered("abcd", "befi", "gah")))
    assert list(steps(method, "aceg")) == [
        ("a", 0.0),  # All runs have priority 0: the first one. Relevant: it stays.
        ("b", 0.0),  # Not relevant: −1, 0, 0.
        ("e", 0.0),  # The second run; b was judged through the first, and the second does not pay for it. Relevant.
        ("f", 0.0),  # −1, −1, 0.
        ("g", 0.0),  # The third run. Relevant.
        ("h", 0.0),  # a was judged. Not relevant: −1, −1, −1, and the third run is at its end.
        ("c", -1.0),  # The first of those with −1. Relevant: it stays.
        ("d", -1.0),  # −2, −1; the first run is at its end.
        ("i", -1.0),
    ]
    assert method.propose() is None


def test_move_to_front_learns_nothing_from_a_document_that_it_did_not_propose() -> None:
    method = made(MoveToFront, QueryPool(lettered("ab", "cd")))
    method.choose(1)  # b, say at random.
    method.learn(1, relevant=False)
    assert list(steps(method, "a")) == [("a", 0.0), ("c", 0.0), ("d", -1.0)]


def test_max_mean_where_all_runs_that_rank_a_document_learn() -> None:
    # The mean of Beta(1 + relevant, 1 + returned − relevant) is (1 + relevant)/(2 + returned).
    method = made(MaxMean, QueryPool(lettered("abcd", "beaf", "ghb")))
    assert list(steps(method, "aceg")) == exactly(
        [
            ("a", HALF),  # 1/2 each: the first run. Relevant, ranked by the first and second: 2/3, 2/3, 1/2.
            ("b", Fraction(2, 3)),  # Not relevant, ranked by all: 2/4, 2/4, 1/3.
            ("c", HALF),  # Relevant, ranked by the first: 3/5, 2/4, 1/3.
            ("d", Fraction(3, 5)),  # Not relevant: 3/6, and the first run is at its end.
            ("e", HALF),  # The second run, b is chosen already. Relevant: 3/5.
            ("f", Fraction(3, 5)),  # a is chosen already. The second run is at its end.
            ("g", Fraction(1, 3)),  # Relevant: 2/4.
            ("h", HALF),
        ]
    )


def test_max_mean_where_only_the_run_learns_that_a_document_was_taken_from() -> None:
    method = made(MaxMean, QueryPool(lettered("abcd", "beaf", "ghb")), update="source")
    assert list(steps(method, "aceg")) == exactly(
        [
            ("a", HALF),  # Relevant: 2/3, 1/2, 1/2.
            ("b", Fraction(2, 3)),  # Not relevant: 2/4, 1/2, 1/2.
            ("c", HALF),  # Relevant: 3/5.
            ("d", Fraction(3, 5)),  # 3/6, at its end.
            ("e", HALF),  # Relevant: the second run has 2/3.
            ("f", Fraction(2, 3)),  # 2/4, at its end.
            ("g", HALF),  # Relevant: the third run has 2/3.
            ("h", Fraction(2, 3)),
        ]
    )


def test_mm_ns_forgets() -> None:
    # Relevant and returned of each run after each grade, times .9 before it; the mean is (1 + relevant)/(2 + returned).
    method = made(MaxMeanNonStationary, QueryPool(lettered("abcd", "beaf", "ghb")))
    assert list(steps(method, "aceg")) == exactly(
        [
            ("a", HALF),  # First and second: 1 and 1.
            ("b", Fraction(2, 3)),  # First and second: .9 and 1.9, mean 1.9/3.9; third: 0 and 1, mean 1/3.
            ("c", Fraction(19, 39)),  # First: 1.81 and 2.71, mean 2.81/4.71.
            ("d", Fraction(281, 471)),  # The first run is at its end.
            ("e", Fraction(19, 39)),  # Second: 1.81 and 2.71.
            ("f", Fraction(281, 471)),  # The second run is at its end.
            ("g", Fraction(1, 3)),  # Third: 0 and 1 before, now 1 and 1.9, mean 2/3.9.
            ("h", Fraction(20, 39)),
        ]
    )


def test_mm_ns_leaves_a_run_that_gets_worse_before_max_mean_does() -> None:
    # The first run gives two relevant documents and two that are not. Without forgetting its mean is 3/6, which ties
    # with 1/2 of the second run; with γ = .9 relevant is ((1 · .9 + 1) · .9) · .9 = 1.539 and returned 3.439, so that
    # it is 2.539/5.439 = .4668.
    pool = QueryPool(lettered("abcde", "fgh"))
    assert "".join(letter for letter, _ in steps(made(MaxMean, pool), "ab")) == "abcdefgh"
    forgetting = list(steps(made(MaxMeanNonStationary, pool), "ab"))
    # After f, which is not relevant, the second run has 1/3.
    assert "".join(letter for letter, _ in forgetting) == "abcdfegh"
    assert forgetting[4:6] == exactly([("f", HALF), ("e", Fraction(2539, 5439))])


def test_mm_ns_that_forgets_nothing_is_max_mean() -> None:
    pool = QueryPool(lettered("abcd", "beaf", "ghb"))
    one, other = made(MaxMean, pool), made(MaxMeanNonStationary, pool, forgetting=1.0)
    assert list(steps(one, "bef")) == list(steps(other, "bef"))


def test_judge_order_goes_by_grade_popularity_and_rank() -> None:
    # All of .5: b, c and d are ranked by two runs each, at best at 2, 1 and 1, and g by one. h has the lowest grade
    # and e none.
    expected = np.array([0.9, 0.5, 0.5, 0.5, np.nan, 0.1, 0.5, 0.0])
    method = made(JudgeOrder, QueryPool(lettered("abch", "cbd", "def", "g"), expected=expected))
    # The factor of the priority is (2 + relevant)/(2 + expected); both are multiplied by .9 before a grade.
    assert list(steps(method, "ab")) == exactly(
        [
            ("a", Fraction(9, 10)),  # Relevant: 1 and .9.
            ("c", HALF * 3 / Fraction("2.9")),  # Not relevant: .9 and .9 · .9 + .5 = 1.31.
            ("d", HALF * Fraction("2.9") / Fraction("3.31")),  # Not: .81 and 1.179 + .5 = 1.679.
            ("b", HALF * Fraction("2.81") / Fraction("3.679")),  # Relevant: 1.729 and 1.5111 + .5 = 2.0111.
            ("g", HALF * Fraction("3.729") / Fraction("4.0111")),  # Not: 1.5561 and 1.80999 + .5 = 2.30999.
            ("f", Fraction(1, 10) * Fraction("3.5561") / Fraction("4.30999")),
            ("h", 0),
            ("e", 0),
        ]
    )


def test_judge_order_without_forgetting_is_a_gamma_posterior() -> None:
    # Gamma(2, 2) has mean 1; after 3 relevant documents where .8 + .6 + .4 = 1.8 were expected, Gamma(5, 3.8).
    method = made(JudgeOrder, QueryPool(lettered("abcd"), expected=np.array([0.8, 0.6, 0.4, 0.2])), forgetting=1.0)
    assert list(steps(method, "abc"))[-1] == ("d", pytest.approx(0.2 * 5 / 3.8, rel=1e-14))


def test_judge_order_needs_the_grades() -> None:
    with pytest.raises(ValueError, match="the steering labeler's grades of the candidates are not known"):
        made(JudgeOrder, QueryPool(lettered("ab")))


def test_probabilities_by_grade_are_the_middles_of_equal_parts() -> None:
    found = probability_by_grade(np.array([3, 0, 1, 2]), np.arange(4))
    assert found.tolist() == [7 / 8, 1 / 8, 3 / 8, 5 / 8]
    # Grades are places on the scale, whatever their numbers.
    assert probability_by_grade(np.array([-1, 10]), np.array([-1, 10])).tolist() == [1 / 4, 3 / 4]


def drawing(monkeypatch: pytest.MonkeyPatch, units: Sequence[float], *runs: str, **parameters: float) -> ActiveSampling:
    """Active sampling whose draws are at ``units``."""
    monkeypatch.setattr(active_sampling, "_units", lambda pool: np.array(units))
    method = made(ActiveSampling, QueryPool(lettered(*runs), draws=len(units)), **parameters)
    assert isinstance(method, ActiveSampling)
    return method


def test_active_sampling_in_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    # Within the first run, of 2 documents: (1 + 1 + 1/2)/4 = 5/8 for a and (1 + 1/2)/4 = 3/8 for b. Within the second,
    # of 3: (1 + 1 + 1/2 + 1/3)/6 = 17/36 for b, (1 + 1/2 + 1/3)/6 = 11/36 for c, (1 + 1/3)/6 = 8/36 for d.
    method = drawing(monkeypatch, [0.5, 0.1, 0.5, 0.95, 0.0], "ab", "bcd", uniform=0.1, trust=5.0)

    # Both runs have the share 1/2, so that p = .9 · (within the first + within the second)/2 + .1/4:
    # a .28125 + .025 = .30625, b .38125 + .025 = .40625, c .1375 + .025 = .1625, d .1 + .025 = .125.
    # Their sums from a on are .30625, .7125, .875 and 1: .5 draws b.
    assert proposed(method) == "b"
    method.choose(1)
    assert method.draws == [(1, pytest.approx(0.40625, rel=1e-14))]
    assert method.used == 1

    # b is relevant: (3/8)/(13/32) = 12/13 for the first run and (17/36)/(13/32) = 136/117 for the second. The shares
    # are in proportion to 2.5 + 12/13 = 801/234 and 2.5 + 136/117 = 857/234.
    method.learn(1, relevant=True)
    first, second = Fraction(801, 1658), Fraction(857, 1658)
    part, uniform = Fraction(9, 10), Fraction(1, 40)
    a = part * first * Fraction(5, 8) + uniform  # .29675
    assert proposed(method) == "a"
    method.choose(0)
    assert method.draws[1:] == [(0, pytest.approx(float(a), rel=1e-14))]

    # a is not relevant, which leaves the shares as they are. The third draw, at .5, is b again, since a and b have
    # .29675 and .40773: it costs no label, and is another relevant draw. The fourth, at .95, is d.
    method.learn(0, relevant=False)
    b = part * (first * Fraction(3, 8) + second * Fraction(17, 36)) + uniform
    assert proposed(method) == "d"
    assert method.draws[2:] == [(1, pytest.approx(float(b), rel=1e-14))]
    assert method.used == 3
    found = Fraction(12, 13) + Fraction(3, 8) / b, Fraction(136, 117) + Fraction(17, 36) / b
    second = (found[1] + 5 * HALF) / (sum(found) + 5)
    method.choose(3)
    assert method.draws[3:] == [(3, pytest.approx(float(part * second * Fraction(8, 36) + uniform), rel=1e-14))]

    # The last draw, at 0, is a again, and no document is left to ask about.
    method.learn(3, relevant=False)
    assert method.propose() is None
    assert [candidate for candidate, _ in method.draws] == [1, 0, 1, 3, 0]
    assert method.used == 5
    assert np.flatnonzero(method.chosen).tolist() == [0, 1, 3]


def proposed(method: PoolMethod) -> str:
    proposal = method.propose()
    assert proposal is not None
    return "abcdefghij"[proposal.candidate]


def test_grades_that_come_late_count_for_all_draws_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    # b is drawn twice by the first mixture before it is graded, and then counts twice.
    method = drawing(monkeypatch, [0.5, 0.5, 0.95, 0.95], "ab", "bcd")
    method.choose(1)
    assert proposed(method) == "d"
    method.choose(3)
    method.learn(1, relevant=True)
    method.learn(3, relevant=False)
    assert method.propose() is None
    p = Fraction(13, 32)
    first, second = 5 * HALF + 2 * Fraction(3, 8) / p, 5 * HALF + 2 * Fraction(17, 36) / p
    d = Fraction(9, 10) * second / (first + second) * Fraction(8, 36) + Fraction(1, 40)
    assert method.draws == [
        (1, 0.40625),
        (1, 0.40625),
        (3, pytest.approx(0.125)),
        (3, pytest.approx(float(d), rel=1e-14)),
    ]


def test_hansen_hurwitz_is_the_mean_of_value_over_probability() -> None:
    # (2/.5 + 2/.25 + 0/.1)/3 = 4
    assert hansen_hurwitz([(1, 0.5), (1, 0.25), (0, 0.1)], np.array([0.0, 2.0])) == pytest.approx(4.0)
    with pytest.raises(ValueError, match="there is no draw"):
        hansen_hurwitz([], np.array([1.0]))


def test_draws_are_uniform_and_more_of_them_begin_with_the_same() -> None:
    units = active_sampling._units(QueryPool(lettered("a"), "1", draws=5000))
    assert kstest(units, "uniform").pvalue > 0.001
    assert (units[:7] == active_sampling._units(QueryPool(lettered("a"), "1", draws=7))).all()


def test_another_seed_or_query_draws_other_documents() -> None:
    ranked = lettered("abcdefghij", "jihgfedcba")

    def drawn(seed: int, query_id: str) -> list[int]:
        method = made(ActiveSampling, QueryPool(ranked, query_id, draws=40, seed=seed))
        list(steps(method, "ace"))
        assert isinstance(method, ActiveSampling)
        assert len(method.draws) == 40
        return [candidate for candidate, _ in method.draws]

    assert drawn(0, "1") == drawn(0, "1")
    assert len({tuple(drawn(seed, query_id)) for seed in range(3) for query_id in ("1", "2")}) == 6


@st.composite
def cases(draw: st.DrawFn) -> tuple[Runs, Grades, list[int]]:
    """Runs of the candidates 0, 1, 2 …, the grade of each, and some that are chosen at random before all others."""
    ranked = st.lists(st.integers(0, 9), unique=True, max_size=8)
    runs = draw(st.lists(ranked, min_size=1, max_size=4).filter(any))
    known = sorted({candidate for run in runs for candidate in run})
    numbered = [[known.index(candidate) for candidate in run] for run in runs]
    grades = draw(st.lists(st.sampled_from([True, False, None]), min_size=len(known), max_size=len(known)))
    drawn = draw(st.lists(st.sampled_from(range(len(known))), unique=True, max_size=3))
    return numbered, grades, drawn


def sequence(method: PoolMethod, grades: Grades, drawn: Sequence[int]) -> list[tuple[int, Any]]:
    """What a method proposes, with priorities, after it was given the grades of ``drawn``."""
    for candidate in drawn:
        method.choose(candidate)
    found = []
    waiting = list(drawn)
    while True:
        for candidate in waiting:
            if (grade := grades[candidate]) is not None:
                method.learn(candidate, relevant=grade)
        proposal = method.propose()
        if proposal is None:
            return found
        found.append((proposal.candidate, pytest.approx(proposal.priority, rel=1e-12)))
        method.choose(proposal.candidate)
        waiting = [proposal.candidate]


def bandit(runs: Runs, grades: Grades, drawn: Sequence[int], forgetting: Fraction) -> list[tuple[int, Fraction]]:
    """MaxMean and MM-NS with fractions, where all runs that rank a document learn."""
    relevant = {run: Fraction(0) for run in range(len(runs))}
    returned = {run: Fraction(0) for run in range(len(runs))}
    chosen: list[int] = []
    found = []
    todo = list(drawn)
    while True:
        for candidate in todo:
            chosen.append(candidate)
        for candidate in todo:
            for run, ranked in enumerate(runs):
                if candidate in ranked and grades[candidate] is not None:
                    relevant[run] = forgetting * relevant[run] + (1 if grades[candidate] else 0)
                    returned[run] = forgetting * returned[run] + 1
        left = {run: [c for c in ranked if c not in chosen] for run, ranked in enumerate(runs)}
        mean = {run: (1 + relevant[run]) / (2 + returned[run]) for run in left if left[run]}
        if not mean:
            return found
        best = min(run for run in mean if mean[run] == max(mean.values()))
        found.append((left[best][0], mean[best]))
        todo = [left[best][0]]


# Multiples of a power of ½ are exact as floats, and so are ties.
@given(cases(), st.sampled_from([Fraction(0), Fraction(1, 4), HALF, Fraction(1)]))
def test_bandits_equal_fractions(case: tuple[Runs, Grades, list[int]], forgetting: Fraction) -> None:
    runs, grades, drawn = case
    method = made(MaxMeanNonStationary, QueryPool(rankings(runs)), forgetting=float(forgetting))
    assert bandit(runs, grades, drawn, forgetting) == sequence(method, grades, drawn)


@given(cases())
def test_max_mean_equals_fractions(case: tuple[Runs, Grades, list[int]]) -> None:
    runs, grades, drawn = case
    assert bandit(runs, grades, drawn, Fraction(1)) == sequence(made(MaxMean, QueryPool(rankings(runs))), grades, drawn)


def moved_to_front(runs: Runs, grades: Grades, drawn: Sequence[int]) -> list[tuple[int, int]]:
    """Move-to-front as in the paper: a queue of runs, of which the front one is worked through for as long as
    its documents are relevant (or have no grade), and then goes back behind all runs of a higher priority."""
    left = {run: list(ranked) for run, ranked in enumerate(runs)}
    priority = dict.fromkeys(left, 0)
    chosen = set(drawn)
    found = []
    while any(set(ranked) - chosen for ranked in left.values()):
        front = sorted((-priority[run], run) for run in left if set(left[run]) - chosen)[0][1]
        while left[front]:
            candidate = left[front].pop(0)
            if candidate in chosen:
                continue
            chosen.add(candidate)
            found.append((candidate, priority[front]))
            if grades[candidate] is False:
                priority[front] -= 1
                break
    return found


@given(cases())
def test_move_to_front_equals_a_queue(case: tuple[Runs, Grades, list[int]]) -> None:
    runs, grades, drawn = case
    # What is drawn at random and happens to be next in the front run counts as taken from it, so nothing is learned.
    ungraded = [None if candidate in drawn else grade for candidate, grade in enumerate(grades)]
    method = made(MoveToFront, QueryPool(rankings(runs)))
    assert moved_to_front(runs, ungraded, drawn) == sequence(method, ungraded, drawn)


@given(cases(), st.integers(0, 12), st.integers(0, 1000), st.sampled_from([0.05, 0.3, 1.0]))
def test_active_sampling_equals_dictionaries(
    case: tuple[Runs, Grades, list[int]], draws: int, seed: int, uniform: float
) -> None:
    runs, grades, _ = case
    method = made(ActiveSampling, QueryPool(rankings(runs), "1", draws, seed), uniform=uniform)
    assert isinstance(method, ActiveSampling)
    chosen = [candidate for candidate, _ in sequence(method, grades, [])]

    within = {
        run: {
            candidate: (1 + sum(1 / k for k in range(rank, len(ranked) + 1))) / (2 * len(ranked))
            for rank, candidate in enumerate(ranked, 1)
        }
        for run, ranked in enumerate(runs)
        if ranked
    }
    for weights in within.values():
        assert sum(weights.values()) == pytest.approx(1.0, rel=1e-12)
    found = dict.fromkeys(within, 0.0)
    units = active_sampling._units(QueryPool(rankings(runs), "1", draws, seed)).tolist()
    assert len(method.draws) == draws
    for unit, (candidate, probability) in zip(units, method.draws, strict=True):
        share = {run: (2.5 + found[run]) / sum(2.5 + value for value in found.values()) for run in within}
        mixture = [
            (1 - uniform) * sum(share[run] * within[run].get(c, 0.0) for run in within) + uniform / len(grades)
            for c in range(len(grades))
        ]
        assert sum(mixture) == pytest.approx(1.0, rel=1e-12)
        assert probability == pytest.approx(mixture[candidate], rel=1e-12)
        assert sum(mixture[:candidate]) - 1e-12 <= unit <= sum(mixture[: candidate + 1]) + 1e-12
        if grades[candidate]:
            for run in within:
                found[run] += within[run].get(candidate, 0.0) / probability
    assert chosen == list(dict.fromkeys(candidate for candidate, _ in method.draws))


@pytest.mark.parametrize("name", POOL_METHODS.names())
@given(case=cases())
def test_every_method_takes_each_candidate_once(name: str, case: tuple[Runs, Grades, list[int]]) -> None:
    runs, grades, drawn = case
    cls = POOL_METHODS.get(name)
    expected = np.array([np.nan if grade is None else 0.25 + grade / 2 for grade in grades])
    pool = QueryPool(rankings(runs), "1", draws=5, seed=3, expected=expected)
    found = [candidate for candidate, _ in sequence(made(cls, pool), grades, drawn)]
    assert len({*found, *drawn}) == len(found) + len(drawn)
    if cls.random:
        assert len(found) <= 5
    else:
        assert {*found, *drawn} == set(range(len(grades)))
    # What does not learn gives the same whatever the grades.
    if not cls.learns:
        other = made(cls, pool)
        assert [candidate for candidate, _ in sequence(other, [None] * len(grades), drawn)] == found
