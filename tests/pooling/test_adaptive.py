"""Adaptive pools: limits, rounds, the random share, and that only the grades decide, not when they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from quati_pool.pooling.adaptive import UNASKED, UNGRADED, AdaptivePool, Limits, rounded
from quati_pool.pooling.candidates import Candidates, candidates
from quati_pool.pooling.methods.base import PoolMethod
from quati_pool.records import Ids, Int, Run
from quati_pool.registry import POOL_METHODS

DOCS = "abcdefghij"
RELEVANT = 1
GRADED = [0, 1, 2, UNGRADED]


def frame_of(*runs: Sequence[str]) -> Candidates:
    """Candidates of runs that rank, for each query, the documents of a word: 'ba' ranks b before a."""
    queries, docs = Ids([f"q{query}" for query in range(len(runs[0]))]), Ids(list(DOCS))
    made = []
    for number, words in enumerate(runs):
        rows = [
            (query, DOCS.index(letter), -float(rank))
            for query, word in enumerate(words)
            for rank, letter in enumerate(word)
        ]
        query, doc, score = np.array(rows).reshape(-1, 3).T
        made.append(Run.ranked(f"s{number}", queries, docs, query, doc, score))
    return candidates(made, {run.run_tag: 10 for run in made})


@dataclass(frozen=True)
class Case:
    frame: Candidates
    name: str
    limits: Limits
    moves: bool
    seed: int
    grades: Int
    """The grade of every pair, UNGRADED where there is none."""

    def pool(self, grades: Int | None = None, kept: Int | None = None) -> AdaptivePool:
        cls = POOL_METHODS.get(self.name)
        parameters = cls.Parameters()
        return AdaptivePool(
            self.frame,
            lambda query: cls(query, parameters),
            self.limits,
            relevant=RELEVANT,
            moves=self.moves,
            seed=self.seed,
            grades=grades,
            kept=kept,
            # What the steering labeler expects, without a pattern.
            expected=np.modf(np.arange(len(self.frame)) * 0.618)[0] if cls.expects else None,
        )

    def methods(self) -> list[PoolMethod]:
        """A method for each query that has not chosen yet."""
        return self.pool()._methods

    def finished(self, kept: Int | None = None) -> AdaptivePool:
        """The pool where all grades are known beforehand."""
        pool = self.pool(self.grades, kept)
        assert pool.advance().tolist() == []
        assert pool.complete
        return pool


@st.composite
def cases(draw: st.DrawFn, moving: bool = False) -> Case:
    """With ``moving`` only those where a budget moves between queries."""
    words = st.lists(st.sampled_from(DOCS), unique=True, max_size=6).map("".join)
    queries = draw(st.integers(1, 7))
    runs = draw(st.lists(st.lists(words, min_size=queries, max_size=queries), min_size=1, max_size=3))
    frame = frame_of(*runs)
    name = draw(st.sampled_from([name for name in POOL_METHODS.names() if POOL_METHODS.get(name).moves or not moving]))
    budgets = st.integers(0, max(len(frame) - 1, 0)) if moving else st.none() | st.integers(0, len(frame) + 2)
    most = st.integers(1, 6)
    limits = Limits(
        budget=draw(budgets),
        per_query=draw(st.none() | most | st.lists(most, min_size=queries, max_size=queries).map(np.array)),
        per_round=draw(st.integers(1, 3)),
        random=draw(st.sampled_from([0.0, 0.0, 0.2, 0.5, 1.0])),
        spread=draw(st.sampled_from([0.0, 0.25, 1.0])),
    )
    grades = draw(st.lists(st.sampled_from(GRADED), min_size=len(frame), max_size=len(frame)))
    moves = moving or (POOL_METHODS.get(name).moves and draw(st.booleans()))
    return Case(frame, name, limits, moves, draw(st.integers(0, 100)), np.array(grades, dtype=np.int64))


def some_of(data: st.DataObject, pairs: Int) -> Int:
    kept = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return pairs[np.array(kept, dtype=bool)]


def answer_in_any_order(data: st.DataObject, case: Case, pool: AdaptivePool, answers: int) -> list[int]:
    """Answers up to so many open pairs, and returns all that were asked."""
    asked = pool.advance().tolist()
    while len(pool.open) and answers:
        answers -= 1
        pair = data.draw(st.sampled_from(pool.open.tolist()))
        pool.answer(pair, int(case.grades[pair]))
        for _ in range(data.draw(st.integers(0, 2))):
            asked += pool.advance().tolist()
        if not len(pool.open):
            asked += pool.advance().tolist()
    return asked


def same(one: AdaptivePool, other: AdaptivePool) -> None:
    assert one.round.tolist() == other.round.tolist()
    assert one.drawn.tolist() == other.drawn.tolist()
    for query in range(len(one.candidates.sizes)):
        assert one.draws(query) == other.draws(query)


@given(cases())
def test_limits_are_kept_and_rounds_are_consecutive(case: Case) -> None:
    pool, limits, frame = case.finished(), case.limits, case.frame
    entered = pool.round > 0
    by_query = np.bincount(frame.query[entered], minlength=len(frame.sizes))
    if limits.budget is not None:
        assert entered.sum() <= limits.budget
    if limits.per_query is not None:
        assert (by_query <= limits.per_query).all()
    assert (pool.place < np.iinfo(np.int64).max).tolist() == entered.tolist()
    for of_round in [pool.round] if case.moves else [pool.round[frame.query == q] for q in range(len(frame.sizes))]:
        rounds = np.unique(of_round[of_round > 0])
        assert rounds.tolist() == list(range(1, len(rounds) + 1))
    assert entered[pool.drawn].all()
    # At most per_round of a query in a round, besides the random share.
    chosen = np.flatnonzero(entered & ~pool.drawn)
    _, together = np.unique(np.stack([frame.query[chosen], pool.round[chosen]]), axis=1, return_counts=True)
    assert together.max(initial=0) <= limits.per_round
    # What could be pooled is: a pair is left out because a limit is reached, or the number of draws.
    if not POOL_METHODS.get(case.name).random:
        most = frame.sizes if limits.per_query is None else np.minimum(frame.sizes, limits.per_query)
        total = min(int(most.sum()), len(frame) if limits.budget is None else limits.budget)
        if case.moves:
            assert entered.sum() == total
        elif limits.budget is None:
            assert by_query.tolist() == most.tolist()


@given(cases(), st.data())
def test_only_the_grades_decide_not_their_order(case: Case, data: st.DataObject) -> None:
    pool = case.pool()
    asked = answer_in_any_order(data, case, pool, len(case.frame))
    assert pool.complete
    same(pool, case.finished())
    # Each pair was asked about once.
    assert sorted(asked) == np.flatnonzero(pool.round > 0).tolist()


@given(cases(), st.data())
def test_a_pool_that_is_computed_again_ends_as_the_unbroken_one(case: Case, data: st.DataObject) -> None:
    broken = case.pool()
    answer_in_any_order(data, case, broken, data.draw(st.integers(0, len(case.frame))))
    known = np.flatnonzero(broken.grades != UNASKED)
    for kept in (None, known, np.flatnonzero(broken.round > 0), some_of(data, known)):
        pool = case.pool(broken.grades, kept)
        assert not set(pool.advance().tolist()) & set(known.tolist())
        answer_in_any_order(data, case, pool, len(case.frame))
        assert pool.complete
        same(pool, case.finished())


@given(cases(), st.data())
def test_kept_pairs_count(case: Case, data: st.DataObject) -> None:
    kept = some_of(data, np.arange(len(case.frame)))
    pool = case.finished(kept)
    entered = pool.round > 0
    entered[kept] = True
    must = pool.drawn.copy()
    must[kept] = True
    if case.limits.budget is not None:
        assert entered.sum() <= max(case.limits.budget, must.sum())
    if case.limits.per_query is not None:
        sizes = [np.bincount(case.frame.query[flags], minlength=len(case.frame.sizes)) for flags in (entered, must)]
        assert (sizes[0] <= np.maximum(case.limits.per_query, sizes[1])).all()


@given(cases(), st.data())
def test_kept_pairs_leave_the_order_of_answers_without_effect(case: Case, data: st.DataObject) -> None:
    kept = some_of(data, np.arange(len(case.frame)))
    pool = case.pool(kept=kept)
    answer_in_any_order(data, case, pool, len(case.frame))
    same(pool, case.finished(kept))


@given(cases(moving=True))
def test_every_query_gets_its_part_of_what_is_spread(case: Case) -> None:
    pool, frame, limits = case.finished(), case.frame, case.limits
    assert limits.budget is not None
    if limits.random + limits.spread > 1:
        return
    most = frame.sizes if limits.per_query is None else np.minimum(frame.sizes, limits.per_query)
    by_query = np.bincount(frame.query[pool.round > 0], minlength=len(frame.sizes))
    assert (by_query >= np.minimum(most, int(limits.spread * limits.budget / len(frame.sizes)))).all()


@given(cases(moving=True))
def test_each_round_takes_the_queries_of_the_highest_priority(case: Case) -> None:
    """The rounds of a moving budget again, from the methods' proposals alone."""
    frame, limits = case.frame, case.limits
    most = frame.sizes if limits.per_query is None else np.minimum(frame.sizes, limits.per_query)
    assert limits.budget is not None
    if limits.budget >= most.sum():
        return
    pool = case.finished()
    queries = range(len(most))
    even = limits.spread * limits.budget / len(most)
    methods = case.methods()
    for pair in np.flatnonzero(pool.drawn).tolist():
        methods[frame.query[pair]].choose(pair - int(frame.starts[frame.query[pair]]))
    opened = [np.flatnonzero(pool.drawn & (frame.query == query)).tolist() for query in queries]
    for number in range(1, int(pool.round.max(initial=0)) + 1):
        entered = np.flatnonzero((pool.round == number) & ~pool.drawn)
        taken = {int(query) for query in frame.query[entered]}
        if number > 1 or entered.size:
            assert 1 <= len(taken) <= max(1, len(most) // 5)
        order = {}
        for query in queries:
            proposal = methods[query].propose()
            if proposal is not None and methods[query].used < most[query]:
                used = methods[query].used
                order[query] = (min(used, even), -proposal.priority, used, query)
        assert taken <= order.keys()
        left_out = [order[query] for query in order.keys() - taken]
        assert not taken or not left_out or max(order[query] for query in taken) < min(left_out)
        for query in sorted(taken):
            for _ in range(int((frame.query[entered] == query).sum())):
                proposal = methods[query].propose()
                assert proposal is not None
                pair = int(frame.starts[query]) + proposal.candidate
                assert pair in entered
                methods[query].choose(proposal.candidate)
                opened[query].append(pair)
        for query in queries:
            for pair in opened[query]:
                if case.grades[pair] != UNGRADED:
                    methods[query].learn(pair - int(frame.starts[query]), relevant=bool(case.grades[pair] >= RELEVANT))
            opened[query].clear()


def moving(frame: Candidates, relevant: str, limits: Limits) -> list[list[str]]:
    """The documents of each round of max-mean where the budget moves; those in ``relevant`` are."""
    grades = np.array([int(doc_id in relevant) for doc_id in frame.docs.decode(frame.doc).to_pylist()])
    pool = Case(frame, "max-mean", limits, True, 0, grades).finished()
    order = np.argsort(pool.place, kind="stable")[: (pool.round > 0).sum()]
    rounds: list[list[str]] = [[] for _ in range(pool.round.max(initial=0))]
    for pair in order.tolist():
        rounds[pool.round[pair] - 1].append(DOCS[frame.doc[pair]])
    return rounds


THREE = frame_of(["abcd", "efg", "hi"])


def test_a_budget_of_six_moves_to_where_the_mean_is_highest() -> None:
    # One run, whose mean in each of three queries is (1 + relevant)/(2 + returned); one query in a round (3 // 5 is 0).
    assert moving(THREE, "efh", Limits(budget=6, spread=0.0)) == [
        ["a"],  # 1/2 everywhere: the first query. Not relevant: 1/3.
        ["e"],  # 1/2 in the second and third. Relevant: 2/3.
        ["f"],  # Relevant: 3/4.
        ["g"],  # Not relevant: 3/5, but the second query has no further document.
        ["h"],  # 1/2 is more than 1/3. Relevant: 2/3.
        ["i"],
    ]


def test_a_part_of_the_budget_is_spread_first() -> None:
    # Without it, the third query gets nothing from a budget of 4. Of 4, three quarters are one for each query.
    assert moving(THREE, "efh", Limits(budget=4, spread=0.0)) == [["a"], ["e"], ["f"], ["g"]]
    # After one in each the means are 1/3, 2/3 and 2/3.
    assert moving(THREE, "efh", Limits(budget=4, spread=0.75)) == [["a"], ["e"], ["h"], ["f"]]
    # Of 4, four thirds for each query: one in each before any gets a second one.
    assert moving(THREE, "efh", Limits(budget=4, spread=1.0)) == [["a"], ["e"], ["h"], ["f"]]
    # Rounds of two pairs do not take another query's part either.
    assert moving(THREE, "efh", Limits(budget=4, spread=1.0, per_round=2)) == [["a"], ["e"], ["h"], ["f"]]


def test_a_fifth_of_the_queries_is_in_a_round() -> None:
    # Ten queries of two documents: two queries in a round. d is relevant; its query comes again before the others have
    # had their first, with 2/3 to 1/2.
    frame = frame_of(["ab", "cd", "ef", "gh", "ij", *[""] * 5])
    assert moving(frame, "c", Limits(budget=5, spread=0.0)) == [["a", "c"], ["d", "e"], ["g"]]


def test_a_random_share_teaches_before_the_second_round() -> None:
    # Two queries and two pairs at random, one in each. What they teach decides about round 2 for both queries, though
    # only one of them had another pair in round 1.
    frame = frame_of(["abcde", "fghij"])
    for seed in range(20):
        case = Case(frame, "max-mean", Limits(budget=4, random=0.5, spread=0.0), True, seed, np.repeat([0, 2], 5))
        pool = case.finished()
        # Round 1: one in each at random, and the first one of the first query, both with the mean 1/2. Neither of the
        # first query is relevant, but that of the second is.
        assert np.bincount(frame.query[pool.round == 1]).tolist() == [2, 1]
        assert frame.query[pool.round == 2].tolist() == [1]


def test_a_budget_that_does_not_move_is_split_evenly() -> None:
    # 8 over three queries: 3, 3 and 2, of which the second has but two candidates.
    frame = frame_of(["abcd", "ef", "ghij"])
    case = Case(frame, "depth", Limits(budget=8), False, 0, np.zeros(10, dtype=np.int64))
    pool = case.finished()
    assert [DOCS[doc] for doc in frame.doc[pool.round > 0]] == list("abcefgh")
    # Each query goes through its rounds by itself.
    assert pool.round[pool.round > 0].tolist() == [1, 2, 3, 1, 2, 1, 2]


def test_kept_pairs_take_the_budget_of_others_where_a_query_has_more_than_its_part() -> None:
    # 2 for each of three queries. Three kept ones of the first leave 3 for the other two, half of 4 rounded up or down.
    frame = frame_of(["abcd", "efgh", "ij"])
    case = Case(frame, "depth", Limits(budget=6), False, 0, np.zeros(10, dtype=np.int64))
    pool = case.finished(kept=np.array([1, 2, 3]))
    # The first query has its budget used up by b, c and d, and a, which is before them, is not one of those.
    assert [DOCS[doc] for doc in frame.doc[pool.round > 0]] == list("efi")
    # Where each query has its own number of pairs, the others lose nothing.
    case = Case(frame, "depth", Limits(per_query=2), False, 0, np.zeros(10, dtype=np.int64))
    assert [DOCS[doc] for doc in frame.doc[case.finished(kept=np.array([1, 2, 3])).round > 0]] == list("efij")


def test_what_is_left_is_parted_before_any_answer() -> None:
    # As above; the third query is answered first, and gets no second pair for that.
    frame = frame_of(["abcd", "efgh", "ij"])
    case = Case(frame, "depth", Limits(budget=6), False, 0, np.zeros(10, dtype=np.int64))
    pool = case.pool(kept=np.array([1, 2, 3]))
    asked = pool.advance().tolist()
    assert [DOCS[frame.doc[pair]] for pair in asked] == ["e", "i"]
    pool.answer(asked[1], 0)
    assert pool.advance().tolist() == []
    pool.answer(asked[0], 0)
    assert [DOCS[frame.doc[pair]] for pair in pool.advance()] == ["f"]


def test_a_random_share_beyond_what_is_kept_takes_nothing_from_other_queries() -> None:
    # Two for each query, one of them at random. The first has three with its kept ones.
    frame = frame_of(["abc", "def", "ghi"])
    case = Case(frame, "depth", Limits(per_query=2, random=0.5), False, 0, np.zeros(9, dtype=np.int64))
    kept = np.flatnonzero(~case.pool().drawn[:3])
    pool = case.finished(kept)
    assert np.bincount(frame.query[pool.round > 0]).tolist()[1:] == [2, 2]


def test_answers_without_a_grade_block_nothing_and_teach_nothing() -> None:
    # Nothing is learned of the first run from a and b, so that its mean stays at 1/2 and it stays the first.
    frame = frame_of(["abc"], ["def"])
    case = Case(frame, "max-mean", Limits(), False, 0, np.full(6, UNGRADED))
    assert [DOCS[doc] for doc in frame.doc[np.argsort(case.finished().place)]] == list("abcdef")
    # With grades, a is not relevant and the second run is next.
    case = Case(frame, "max-mean", Limits(), False, 0, np.zeros(6, dtype=np.int64))
    assert [DOCS[doc] for doc in frame.doc[np.argsort(case.finished().place)]] == list("adbecf")


def test_nothing_is_asked_while_a_round_is_open() -> None:
    frame = frame_of(["abcd"])
    pool = Case(frame, "depth", Limits(per_round=2), False, 0, np.zeros(4, dtype=np.int64)).pool()
    assert pool.advance().tolist() == [0, 1]
    pool.answer(1, 0)
    assert pool.advance().tolist() == []
    assert pool.open.tolist() == [0]
    pool.answer(0, UNGRADED)
    assert pool.advance().tolist() == [2, 3]
    assert not pool.complete


SHARED = frame_of(["abcdef", "ghij"])


def random_share(seed: int, grades: Int | None = None) -> AdaptivePool:
    # Two fifths of 5 are 2: six and four tenths of it are 1.2 and .8, of which the latter is rounded up.
    case = Case(SHARED, "max-mean", Limits(budget=5, random=0.4), True, seed, np.zeros(10, dtype=np.int64))
    return case.pool(grades)


def test_the_random_share_is_an_even_sample_of_each_query() -> None:
    seeds = range(3000)
    counts = np.zeros(10)
    for seed in seeds:
        pool = random_share(seed)
        assert np.bincount(SHARED.query[pool.drawn]).tolist() == [1, 1]
        counts += pool.drawn
    assert random_share(0).inclusion.tolist() == pytest.approx([1 / 6] * 6 + [1 / 4] * 4)
    assert chisquare(counts[:6]).pvalue > 0.001
    assert chisquare(counts[6:]).pvalue > 0.001
    assert counts[:6].sum() == counts[6:].sum() == len(seeds)


def test_all_pairs_of_pairs_are_drawn_equally_often() -> None:
    # Two of four: six samples.
    frame = frame_of(["abcd"])
    samples = dict.fromkeys(combinations(range(4), 2), 0)
    for seed in range(3000):
        case = Case(frame, "depth", Limits(per_query=4, random=0.5), False, seed, np.zeros(4, dtype=np.int64))
        samples[tuple(np.flatnonzero(case.pool().drawn).tolist())] += 1
    assert len(samples) == 6
    assert chisquare(list(samples.values())).pvalue > 0.001


@given(cases(), st.data())
def test_the_random_share_has_its_size_whatever_the_grades(case: Case, data: st.DataObject) -> None:
    pool, limits, frame = case.finished(), case.limits, case.frame
    most = frame.sizes if limits.per_query is None else np.minimum(frame.sizes, limits.per_query)
    if limits.budget is not None and not case.moves:
        each, rest = divmod(limits.budget, len(most))
        most = np.minimum(most, [each + (query < rest) for query in range(len(most))])
    total = int(most.sum()) if limits.budget is None else min(limits.budget, int(most.sum()))
    # Percentages of whole numbers, in tenths: no rounding.
    assert pool.drawn.sum() == round(10 * limits.random) * total // 10
    drawn = np.bincount(frame.query[pool.drawn], minlength=len(most))
    assert (np.abs(drawn - limits.random * total * most / max(most.sum(), 1)) < 1).all()
    assert pool.inclusion.tolist() == pytest.approx((drawn / np.maximum(frame.sizes, 1))[frame.query].tolist())
    # The number of draws with replacement is fixed beforehand, which totals by Hansen and Hurwitz need.
    if POOL_METHODS.get(case.name).random:
        assert [len(pool.draws(query)) for query in range(len(most))] == (most - drawn).tolist()
    other = case.pool(np.array(data.draw(st.permutations(case.grades.tolist())), dtype=np.int64))
    assert other.drawn.tolist() == pool.drawn.tolist()


@given(st.lists(st.floats(0, 20), min_size=1, max_size=8))
def test_rounding_changes_each_number_by_less_than_one(wanted: list[float]) -> None:
    total = int(np.floor(sum(wanted) + 1e-9))
    found = rounded(np.array(wanted), total)
    assert found.sum() == total
    assert (np.abs(found - wanted) < 1 + 1e-8).all()


def test_the_largest_remainders_are_rounded_up() -> None:
    # 5.5 in all: 5 of them, 4 of which are whole; .8 is the largest remainder.
    assert rounded(np.array([1.4, 2.8, 1.3, 0.0]), 5).tolist() == [1, 3, 1, 0]
