"""Replays of pooling methods on a judged collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.adaptive import UNGRADED, AdaptivePool, Limits, rounded
from quati_pool.pooling.candidates import Candidates, candidates
from quati_pool.pooling.methods.base import PoolMethod
from quati_pool.pooling.methods.judge_order import probability_by_grade
from quati_pool.pooling.replay.collection import NO_GRADE, JudgedCollection, compared
from quati_pool.pooling.replay.results import Outcome, PoolReplay, Ranking, Steering
from quati_pool.records import Int, Run

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Hybrid = Callable[[Int], Values]
Method = tuple[str, type[PoolMethod], object]
"""A method's name, class and parameters."""


@dataclass(frozen=True, kw_only=True)
class PoolReplayPlan:
    """What is replayed: each of the ``methods`` with ``shares`` of the candidates as budget, which are the first
    ``depth`` documents of every run. ``relevant`` is people's lowest relevant grade, ``judge_relevant`` the judge's.
    ``seeds``: how often methods that draw at random are repeated. ``families``: the family of each run_tag."""

    methods: Sequence[Method]
    depth: int
    shares: Sequence[float]
    steered_by: Sequence[Steering]
    relevant: int
    judge_relevant: int
    families: Mapping[str, str]
    seed: int = 0
    seeds: int = 10


def replay(
    collection: JudgedCollection,
    plan: PoolReplayPlan,
    hybrid: Hybrid | None,
    done: Callable[[int, int], None] = lambda done, total: None,
) -> PoolReplay:
    """Replays every method with a budget that is fixed per query and, where the method says which query comes next,
    with one that moves between queries. ``done`` is called with the number of finished replays and of all."""
    whole = Part(collection, plan, collection.runs)
    families = sorted({plan.families[run.run_tag] for run in collection.runs})
    reduced = [_without(collection, plan, family) for family in families] if len(families) > 1 else []
    jobs = [
        (method, moves, steering)
        for method in plan.methods
        for moves in ([False, True] if method[1].moves and method[1].learns else [False])
        for steering in (plan.steered_by if method[1].learns else plan.steered_by[:1])
    ]
    outcomes: list[Outcome] = []
    for number, (method, moves, steering) in enumerate(jobs):
        done(number, len(jobs))
        outcomes += _outcomes(collection, plan, whole, reduced, hybrid, method, moves, steering)
    done(len(jobs), len(jobs))
    nothing = np.full(len(collection.query), False)
    judge_alone = None if hybrid is None else collection.rankings(nothing, hybrid)["hybrid"]
    return PoolReplay(
        tuple(outcomes),
        judge_alone,
        collection.ranked.shape[1],
        len(collection.runs),
        len(families),
        len(whole.frame),
        int(whole.relevant.sum()),
        int((whole.people == NO_GRADE).sum()),
        plan.depth,
        tuple(plan.shares),
        {run.run_tag: mean for run, mean in zip(collection.runs, collection.truth().tolist(), strict=True)},
    )


class Part:
    """The candidates that some of the runs give, with their grades."""

    def __init__(self, collection: JudgedCollection, plan: PoolReplayPlan, runs: Sequence[Run]) -> None:
        self._collection, self._plan = collection, plan
        self.frame: Candidates = candidates(runs, {run.run_tag: plan.depth for run in runs})
        self._numbers = collection.numbers(self.frame)
        self.people, self._judge = collection.people[self._numbers], collection.judge[self._numbers]
        self.relevant: Flags = self.people >= plan.relevant
        self._expected = self._expectations()

    def selections(self, method: Method, moves: bool, steering: Steering, seed: int) -> Iterator[Flags]:
        """The candidates that the method chooses with each share as budget, shape (candidates,)."""
        if moves:
            for share in self._plan.shares:
                yield self._chosen(method, Limits(budget=_total(self.frame, share)), steering, seed).round > 0
            return
        # The sequences of smaller shares are the beginnings of that of the largest.
        most = _per_query(self.frame, max(self._plan.shares))
        place = self._chosen(method, Limits(per_query=most), steering, seed).place
        for share in self._plan.shares:
            yield place < _per_query(self.frame, share)[self.frame.query]

    def pairs(self, chosen: Flags) -> Flags:
        """Which pairs of the collection were chosen, shape (pairs,)."""
        found = np.zeros(len(self._collection.query), dtype=bool)
        found[self._numbers[chosen]] = True
        return found

    def _chosen(self, method: Method, limits: Limits, steering: Steering, seed: int) -> AdaptivePool:
        _, cls, parameters = method
        by_people = steering == "people"
        grades = self.people if by_people else self._judge
        pool = AdaptivePool(
            self.frame,
            lambda query: cls(query, parameters),
            limits,
            relevant=self._plan.relevant if by_people else self._plan.judge_relevant,
            moves=cls.moves,
            seed=seed,
            grades=np.where(grades == NO_GRADE, UNGRADED, grades),
            expected=self._expected,
        )
        pool.advance()
        return pool

    def _expectations(self) -> Values | None:
        known = self._judge != NO_GRADE
        if not known.any():
            return None
        found = np.full(len(self._judge), np.nan)
        found[known] = probability_by_grade(self._judge[known], np.unique(self._judge[known]))
        return found


def _total(frame: Candidates, share: float) -> int:
    return round(share * len(frame))


def _per_query(frame: Candidates, share: float) -> Int:
    """The same share of each query's candidates, shape (queries,), as many in all as ``_total``."""
    return rounded(share * frame.sizes.astype(np.float64), _total(frame, share))


def _without(collection: JudgedCollection, plan: PoolReplayPlan, family: str) -> tuple[Part, list[int]]:
    """The candidates of all runs but those of a family, and the positions of these."""
    left_out = [at for at, run in enumerate(collection.runs) if plan.families[run.run_tag] == family]
    others = [run for at, run in enumerate(collection.runs) if at not in left_out]
    return Part(collection, plan, others), left_out


def _outcomes(
    collection: JudgedCollection,
    plan: PoolReplayPlan,
    whole: Part,
    reduced: Sequence[tuple[Part, list[int]]],
    hybrid: Hybrid | None,
    method: Method,
    moves: bool,
    steering: Steering,
) -> list[Outcome]:
    """One outcome for each share."""
    seeds = range(plan.seed, plan.seed + (plan.seeds if method[1].random else 1))
    found = [_of_seed(collection, plan, whole, reduced, hybrid, method, moves, steering, seed) for seed in seeds]
    return [_mean(of_share) for of_share in zip(*found, strict=True)]


def _of_seed(
    collection: JudgedCollection,
    plan: PoolReplayPlan,
    whole: Part,
    reduced: Sequence[tuple[Part, list[int]]],
    hybrid: Hybrid | None,
    method: Method,
    moves: bool,
    steering: Steering,
    seed: int,
) -> list[Outcome]:
    chosen = list(whole.selections(method, moves, steering, seed))
    left_out = [np.empty(len(collection.runs)) for _ in chosen]
    for part, systems in reduced:
        for scores, of_part in zip(left_out, part.selections(method, moves, steering, seed), strict=True):
            scores[systems] = collection.by_pool(part.pairs(of_part), systems)
    outcomes = []
    for share, of_share, scores in zip(plan.shares, chosen, left_out, strict=True):
        found = int((of_share & whole.relevant).sum())
        outcomes.append(
            Outcome(
                method=method[0],
                moves=moves,
                steered_by=steering,
                share=share,
                labels=int(of_share.sum()),
                found=found,
                recall=found / max(int(whole.relevant.sum()), 1),
                rankings=collection.rankings(whole.pairs(of_share), hybrid),
                left_out=compared(scores, collection.truth()) if reduced else None,
            )
        )
    return outcomes


def _mean(outcomes: Sequence[Outcome]) -> Outcome:
    """The mean over seeds; a correlation that is undefined for one of them is undefined."""
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    return replace(
        first,
        labels=_average([one.labels for one in outcomes]),
        found=_average([one.found for one in outcomes]),
        recall=_average([one.recall for one in outcomes]),
        rankings={scoring: _mean_ranking([one.rankings[scoring] for one in outcomes]) for scoring in first.rankings},
        left_out=None if first.left_out is None else _mean_ranking([one.left_out for one in outcomes if one.left_out]),
        seeds=len(outcomes),
    )


def _mean_ranking(rankings: Sequence[Ranking]) -> Ranking:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return _average(known) if len(known) == len(values) else None

    return Ranking(
        mean([one.tau for one in rankings]),
        mean([one.tau_ap for one in rankings]),
        mean([one.top_tau for one in rankings]),
        _average([one.bias for one in rankings]),
        _average([one.error for one in rankings]),
    )


def _average(values: Sequence[float]) -> float:
    return float(np.mean(values))
