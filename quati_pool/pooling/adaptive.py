"""Adaptive pools: rounds of pairs, each chosen by the grades of the rounds before it.

The sequence follows from the runs, the settings and the grades alone, whenever they become known: a pool that is
computed again from stored grades is the same, so that nothing but grades has to survive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError
from quati_pool.pooling.candidates import Candidates
from quati_pool.pooling.methods.base import PoolMethod, Proposal, QueryPool
from quati_pool.records import Int
from quati_pool.stats.hashing import hashes, places

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SPREAD = 0.25
"""The share of a moving budget that is spread evenly by default: on TREC DL 2021, as much as the ranking of systems
needs, while nearly as many relevant documents are found as without it."""
UNASKED = np.iinfo(np.int64).min
"""In arrays of grades: the pair was not asked about yet."""
UNGRADED = UNASKED + 1
"""In arrays of grades: the pair was asked about, and has no grade."""

# More than the rounding error of a sum of shares.
_EXACT = 1e-9
_PART_OF_QUERIES = 5
"""Where the budget moves, one in so many queries gets labels in a round."""


@dataclass(frozen=True)
class Limits:
    """How many pairs are pooled: at most ``budget`` in all and ``per_query`` of each query (a number, or one per query;
    None: no limit), of which the share ``random`` is drawn at random; ``per_round`` of a query in one round. Where the
    budget moves between queries, the share ``spread`` of it is spread evenly before."""

    budget: int | None = None
    per_query: int | Int | None = None
    per_round: int = 1
    random: float = 0.0
    spread: float = SPREAD


class AdaptivePool:
    """Chooses pairs in rounds.

    Where every query has its own number of pairs, each goes through its rounds by itself; a query's next round begins
    once all pairs of the last one were answered. Where a budget moves between queries, a round takes a fifth of the
    queries, those in which the next pair has the highest priority, after those that have not had their part of what is
    spread evenly; all of its pairs are answered before the next round.

    ``round``, shape (pairs,), is the round in which each candidate entered the pool, 0 if it did not. ``place``, same
    shape, is the part of the budget that was used before, of the query, or of all queries where the budget moves.
    ``drawn``, same shape, marks the random share, and ``inclusion`` is each candidate's probability of being in it.
    """

    def __init__(
        self,
        candidates: Candidates,
        method: Callable[[QueryPool], PoolMethod],
        limits: Limits,
        *,
        relevant: int,
        moves: bool = True,
        seed: int = 0,
        grades: Int | None = None,
        kept: Int | None = None,
        outside: Int | None = None,
        expected: Values | None = None,
    ) -> None:
        """``relevant`` is the lowest relevant grade. ``grades``, shape (pairs,), are those known so far, UNASKED and
        UNGRADED where there is none. The pairs ``kept`` stay in the pool whether they are chosen or not, and count; so
        do those ``outside``, shape (queries,), which are no candidates.
        ``expected``, shape (pairs,): see ``QueryPool``."""
        self.candidates = candidates
        self._relevant = relevant
        self._limits = limits
        sizes = candidates.sizes
        self.grades = np.full(len(candidates), UNASKED, dtype=np.int64) if grades is None else grades.copy()
        self.round = np.zeros(len(candidates), dtype=np.int32)
        self.place = np.full(len(candidates), np.iinfo(np.int64).max)
        self._most = _most(sizes, limits, moves)
        self._left = int(self._most.sum()) if limits.budget is None else limits.budget
        self._moving = moves and self._left < int(self._most.sum())
        self._even = limits.spread * self._left / max(len(sizes), 1)
        self.drawn, self.inclusion = _random_share(candidates, limits.random, self._most, self._left, seed)
        draws = self._most - np.bincount(candidates.query[self.drawn], minlength=len(sizes))
        self._reserved = self.drawn.copy()
        self._reserved[[] if kept is None else kept] = True
        staying = np.bincount(candidates.query[self._reserved], minlength=len(sizes))
        staying += 0 if outside is None else outside
        self._left = max(0, self._left - int(staying.sum()))
        self._most -= staying
        further = np.maximum(self._most, 0)
        if limits.budget is None:
            self._left = int(further.sum())
        elif not self._moving and further.sum() > self._left:
            # What was kept beyond the part of its query is taken from all other queries.
            self._most = rounded(further * (self._left / further.sum()), self._left)
        self._methods: list[PoolMethod] = []
        for query in range(len(sizes)):
            part = slice(candidates.starts[query], candidates.starts[query + 1])
            self._methods.append(
                method(
                    QueryPool(
                        candidates.rankings(query),
                        candidates.queries.decode(np.array([query])).to_pylist()[0],
                        int(draws[query]),
                        seed,
                        None if expected is None else expected[part],
                    )
                )
            )
        self._rounds = np.zeros(len(sizes), dtype=np.int32)
        self._open: list[list[int]] = [[] for _ in range(len(sizes))]
        self._finished = np.zeros(len(sizes), dtype=bool)
        self._priorities = np.full(len(sizes), np.nan)
        self._started = False
        self._chosen = 0

    def answer(self, pair: int, grade: int) -> None:
        """Takes a pair's grade, or UNGRADED where it has none."""
        self.grades[pair] = grade

    def advance(self) -> Int:
        """Begins all rounds that can begin, and returns the pairs that are to be asked about for them: shape (n,). None
        are returned while pairs of the last round are open, and once the pool is complete."""
        asked: list[int] = []
        if not self._started:
            self._started = True
            self._begin(asked)
        while self._move(asked) if self._moving else self._step(asked):
            pass
        return np.array(asked, dtype=np.int64)

    @property
    def chosen(self) -> Flags:
        """Whether each candidate is in the pool, as it was chosen or kept: shape (pairs,)."""
        found: Flags = (self.round > 0) | self._reserved
        return found

    @property
    def most(self) -> int:
        """How many pairs the pool may come to have at most."""
        further = min(max(self._left, 0), int(np.maximum(self._most, 0).sum()))
        return int(self.chosen.sum()) + further

    @property
    def open(self) -> Int:
        """The pairs in the pool that were not answered: shape (n,), ascending."""
        return np.flatnonzero(self.chosen & (self.grades == UNASKED))

    @property
    def complete(self) -> bool:
        """Whether every round is answered and no further pair would be chosen."""
        return self._started and bool(self._finished.all()) and not len(self.open)

    def draws(self, query: int) -> list[tuple[int, float]]:
        """The draws of a method that draws with replacement: pairs with the probability that each draw had."""
        start = int(self.candidates.starts[query])
        return [(start + candidate, p) for candidate, p in getattr(self._methods[query], "draws", [])]

    def _begin(self, asked: list[int]) -> None:
        """Puts the random share into round 1."""
        for pair in np.flatnonzero(self.drawn).tolist():
            self._choose(int(self.candidates.query[pair]), pair, 1, asked)

    def _step(self, asked: list[int]) -> bool:
        """Takes every query as far as its grades are known."""
        for query in range(len(self._methods)):
            while not self._finished[query] and (not self._rounds[query] or self._answered(query)):
                self._rounds[query] += 1
                self._propose(query, int(self._rounds[query]), asked)
        return False

    def _move(self, asked: list[int]) -> bool:
        """Begins one round over all queries; whether the next one may begin."""
        begun = bool(self._rounds.any())
        if begun and not all(self._answered(query) for query in range(len(self._methods)) if self._open[query]):
            return False
        stale = np.flatnonzero(np.isnan(self._priorities) & ~self._finished)
        for query in stale.tolist():
            proposal = self._next(query)
            self._priorities[query] = np.nan if proposal is None else proposal.priority
        waiting = np.flatnonzero(~self._finished)
        if not len(waiting):
            return False
        self._rounds += 1
        used = np.array([self._methods[query].used for query in waiting.tolist()])
        order = np.lexsort((waiting, used, -self._priorities[waiting], np.minimum(used, self._even)))
        number = max(1, len(self._methods) // _PART_OF_QUERIES)
        for query in waiting[order[:number]].tolist():
            self._propose(query, int(self._rounds[query]), asked)
        return True

    def _propose(self, query: int, number: int, asked: list[int]) -> None:
        """One round of one query."""
        pairs = self._limits.per_round
        if self._moving and (used := self._methods[query].used) < self._even:
            pairs = min(pairs, max(1, int(self._even) - used))
        for _ in range(pairs):
            proposal = self._next(query)
            if proposal is None:
                return
            self._choose(query, int(self.candidates.starts[query]) + proposal.candidate, number, asked)

    def _next(self, query: int) -> Proposal | None:
        """What the query's method proposes; None once there is nothing left, or no budget for it."""
        proposal = self._methods[query].propose()
        if proposal is not None:
            pair = self._proposed(query, proposal)
            if not (self._left > 0 and self._most[query] > 0) and not self._reserved[pair]:
                proposal = None
        self._finished[query] = proposal is None
        return proposal

    def _proposed(self, query: int, proposal: Proposal) -> int:
        """The pair that is proposed. Raises ConfigError, with the method's name, for one that cannot be chosen."""
        start, end = self.candidates.starts[query : query + 2].tolist()
        candidate = getattr(proposal, "candidate", -1)
        if not 0 <= candidate < end - start or self.round[start + candidate]:
            name = type(self._methods[query]).__name__
            raise ConfigError(
                f"the pool method {name} proposes {proposal!r} in a query of {end - start:,} candidates; expected a "
                "Proposal of one that is not chosen yet"
            )
        return int(start + candidate)

    def _choose(self, query: int, pair: int, number: int, asked: list[int]) -> None:
        if self._reserved[pair]:
            self._reserved[pair] = False
        else:
            self._left -= 1
            self._most[query] -= 1
        self.round[pair] = number
        method = self._methods[query]
        method.choose(pair - int(self.candidates.starts[query]))
        self.place[pair] = self._chosen if self._moving else method.used - 1
        self._chosen += 1
        self._open[query].append(pair)
        if self.grades[pair] == UNASKED:
            asked.append(pair)

    def _answered(self, query: int) -> bool:
        """Whether all pairs of the query's last round were answered; their grades are learned then."""
        opened, start = self._open[query], int(self.candidates.starts[query])
        if any(self.grades[pair] == UNASKED for pair in opened):
            return False
        for pair in opened:
            if self.grades[pair] != UNGRADED:
                self._methods[query].learn(pair - start, relevant=bool(self.grades[pair] >= self._relevant))
        if opened:
            self._priorities[query] = np.nan
        opened.clear()
        return True


class AllCandidates:
    """Asks about all candidates, of which none is in a pool before all were answered; ``grades`` are those known."""

    def __init__(self, grades: Int) -> None:
        self.grades = grades.copy()

    @property
    def most(self) -> int:
        return len(self.grades)

    @property
    def chosen(self) -> Flags:
        return np.ones(len(self.grades), dtype=bool)

    @property
    def open(self) -> Int:
        return np.flatnonzero(self.grades == UNASKED)

    @property
    def complete(self) -> bool:
        return not len(self.open)

    def answer(self, pair: int, grade: int) -> None:
        self.grades[pair] = grade

    def advance(self) -> Int:
        return np.empty(0, dtype=np.int64)


def _most(sizes: Int, limits: Limits, moves: bool) -> Int:
    """The most pairs of each query, shape (queries,)."""
    most: Int = sizes.copy() if limits.per_query is None else np.minimum(sizes, limits.per_query)
    if limits.budget is not None and not moves:
        each, rest = divmod(limits.budget, max(len(sizes), 1))
        most = np.minimum(most, each + (np.arange(len(sizes)) < rest))
    return most


def _random_share(candidates: Candidates, share: float, most: Int, budget: int, seed: int) -> tuple[Flags, Values]:
    """A simple random sample of each query's candidates, in proportion to how many of its pairs may be pooled."""
    sizes = candidates.sizes
    wanted = share * min(budget, int(most.sum())) * most / max(int(most.sum()), 1)
    counts = rounded(wanted, int(np.floor(wanted.sum() + _EXACT)))
    drawn = np.zeros(len(candidates), dtype=bool)
    inclusion = np.divide(counts, sizes, out=np.zeros(len(sizes)), where=sizes > 0)[candidates.query]
    for query in np.flatnonzero(counts).tolist():
        part = slice(int(candidates.starts[query]), int(candidates.starts[query + 1]))
        (query_id,) = candidates.queries.decode(np.array([query])).to_pylist()
        doc_ids = candidates.docs.decode(candidates.doc[part]).to_pylist()
        columns = ([query_id] * len(doc_ids), doc_ids)
        chosen = places(hashes("random-share", seed, *columns), *columns)[: counts[query]]
        drawn[part.start + chosen] = True
    return drawn, inclusion


def rounded(wanted: Values, total: int) -> Int:
    """Whole numbers near ``wanted``, shape (n,), with the sum ``total``, which is less than n above that of ``wanted``
    rounded down: the largest remainders are rounded up."""
    counts = np.floor(wanted + _EXACT).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: total - int(counts.sum())]] += 1
    return counts
