"""How many of the relevant documents pooling methods find, from a replay on grades that there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.labels.gathered import LabelSource
from quati_pool.pooling.candidates import Candidates
from quati_pool.pooling.replay.collection import judged_collection
from quati_pool.pooling.replay.results import Budget, Steering
from quati_pool.pooling.replay.running import JudgedCandidates, Method, PoolReplayPlan
from quati_pool.project.config.pooling import DEPTH, lowest_relevant
from quati_pool.records import Run
from quati_pool.registry import POOL_METHODS

WHOLE = 0.95
"""The share of the candidates from which on a labeler's grades count as those of all."""
JUDGE_ORDER = "judge-order"
_CUTOFF = 10
_NO_REPLAY = "is no result of quati-pool replay pools; name its replay-pools.json with --replay"


@dataclass(frozen=True)
class Curve:
    """The ``recalls`` of a method with each of the ``shares`` of the candidates as budget, ascending. ``steered_by`` is
    None where no grade changes what is chosen."""

    method: str
    budget: Budget
    steered_by: Steering | None
    shares: Sequence[float]
    recalls: Sequence[float]

    def at(self, share: float) -> float | None:
        """The recall with a share, linear between those replayed and nothing; all is found in all. None beyond the
        largest."""
        if share >= 1:
            return 1.0
        if share > self.shares[-1]:
            return None
        return float(np.interp(share, [0.0, *self.shares], [0.0, *self.recalls]))


@dataclass(frozen=True)
class Recalls:
    """The curves of a replay. ``truth`` gave the grades that say what is relevant, ``by_people`` whether people did;
    ``replay`` is the file of a replay elsewhere, None for this collection's own grades."""

    curves: Sequence[Curve]
    truth: str
    by_people: bool
    replay: Path | None = None

    def of(self, method: str, budget: Budget, steered_by: Steering) -> Curve | None:
        """The curve of a method, steered by people or the judge or by nobody."""
        wanted = (steered_by, None)
        found = (one for one in self.curves if (one.method, one.budget) == (method, budget))
        return next((one for one in found if one.steered_by in wanted), None)

    def best_adaptive(self, budget: Budget, share: float) -> Curve | None:
        """Of the methods that learn from people's grades, the one that finds most with a share."""
        found = [one for name in adaptive_methods() if (one := self.of(name, budget, "people")) is not None]
        return max(found, key=lambda one: one.at(min(share, one.shares[-1])) or 0.0, default=None)


def adaptive_methods() -> list[str]:
    """The methods that learn from grades, need none of a judge, and do not draw at random."""
    names = POOL_METHODS.names()
    return [name for name in names if (cls := POOL_METHODS.get(name)).learns and not (cls.expects or cls.random)]


def own_recalls(
    runs: Sequence[Run],
    frame: Candidates,
    truth: LabelSource,
    judge: LabelSource | None,
    scale: Iterable[int],
    relevant: int,
    shares: Iterable[float],
) -> Recalls | None:
    """A replay on the grades of ``truth``, with the given ``shares`` of the candidates as budgets; None if it has
    graded too few of them. ``runs`` are those that feed the pool, down to their pool depths, and give the candidates of
    ``frame``. ``relevant`` is the lowest relevant grade of ``scale``. ``judge`` graded all candidates, None if none
    other than ``truth`` did.

    Raises QuatiPoolError if nothing is relevant.
    """
    if len(truth.qrels) < WHOLE * len(frame):
        return None
    collection = judged_collection(runs, truth.qrels, None if judge is None else judge.qrels, _CUTOFF)
    depth = collection.ranked.shape[2]
    if collection.graded[collection.within(depth)].sum() < WHOLE * len(frame):
        return None
    names = [DEPTH, *adaptive_methods(), *([] if judge is None else [JUDGE_ORDER])]
    components = [(name, POOL_METHODS.get(name)) for name in names]
    judge_scale = set() if judge is None else set(judge.qrels.relevance.tolist())
    plan = PoolReplayPlan(
        methods=[Method(name, cls, cls.Parameters()) for name, cls in components],
        depth=depth,
        shares=sorted({share for share in shares if 0 < share < 1}) or (1.0,),
        steered_by=("people",) if judge is None else ("people", "judge"),
        relevant=relevant,
        judge_relevant=relevant if judge_scale <= set(scale) else lowest_relevant(judge_scale),
        families=None,
    )
    replayed = JudgedCandidates(collection, plan, collection.runs)
    total = int(replayed.relevant.sum())
    if not total:
        raise QuatiPoolError(
            f"{truth.name} gave none of the {len(frame):,} candidates a grade of {relevant} or more, so that there is "
            "nothing to find; name a replay of another collection with --replay FILE"
        )
    curves = []
    for job in plan.jobs:
        found = [int((chosen & replayed.relevant).sum()) for chosen in replayed.selections(job, plan.seed)]
        recalls = [count / total for count in found]
        curves.append(Curve(job.method.name, job.budget, job.steering, tuple(plan.shares), recalls))
    return Recalls(curves, truth.name, truth.grader == "people")


class _Outcome(BaseModel):
    method: str
    budget: Budget
    steered_by: Steering | None
    share: Annotated[float, Field(gt=0, le=1)]
    recall: Annotated[float, Field(ge=0, le=1)]


class _Replay(BaseModel):
    people: str
    methods: Annotated[list[_Outcome], Field(min_length=1)]


def read_recalls(path: Path) -> Recalls:
    """The replay that a ``replay-pools.json`` holds. Raises InputError if the file is something else."""
    try:
        found = _Replay.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        problem = f"{error.strerror}; name a replay-pools.json" if isinstance(error, OSError) else _NO_REPLAY
        raise InputError(path, None, problem) from None
    rows = sorted(found.methods, key=_sequence)
    curves = []
    for (method, budget, _), group in groupby(rows, key=lambda one: _sequence(one)[:3]):
        some = list(group)
        curves.append(
            Curve(method, budget, some[0].steered_by, [one.share for one in some], [one.recall for one in some])
        )
    return Recalls(curves, found.people, True, path)


def _sequence(one: _Outcome) -> tuple[str, Budget, Literal["people", "judge", ""], float]:
    return one.method, one.budget, one.steered_by or "", one.share
