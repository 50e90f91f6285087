"""How long this workspace's own stages took, and what that says of those that are planned.

The sidecar of an artefact says in how many seconds it was made. What a plan would have said of that stage, at the
size it had then, compares with it; times to come are scaled by what comes out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.commands.plan.parts import PlannedPart, Seconds, Stage
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.planning import Workload

# Of keys: what a stage was made of, as opposed to how.
_MADE_OF = ("corpus", "queries", "depth", "input", "input_depth", "files", "pairs", "ordinals")
# Artefacts of one system that are compared, the latest ones.
_MOST = 4
# A time says nothing of a stage that is this many times as long, where it is shorter than this many seconds.
_TIMES, _SHORT = 4, 1.0
# How far a time may be off by that of the same settings, and by that of a like stage of other settings.
_OWN, _LIKE = 1.5, 2.5


class Took(NamedTuple):
    """A stage that was carried out in one go: the artefact's engine and key, what it counts, and its seconds."""

    stage: Stage
    engine: str
    key: Mapping[str, Any]
    counts: Mapping[str, Any]
    seconds: float


def stages_of(workspace: Workspace) -> list[Took]:
    """What the workspace's sidecars say, the latest first; those that cannot be read or tell no time are left out."""
    cache = workspace.folder / "cache"
    places: list[tuple[Stage, Path]] = [
        ("encoding", cache / "encodings"),
        ("index", cache / "indexes"),
        ("run", cache / "candidates"),
        ("run", workspace.folder / "runs"),
    ]
    found = [
        (path.stat().st_mtime, took)
        for stage, folder in places
        for path in folder.glob("*.meta.json")
        if (took := _read(stage, path)) is not None
    ]
    return [took for _, took in sorted(found, key=lambda pair: -pair[0])]


def _read(stage: Stage, path: Path) -> Took | None:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        key, counts, seconds = meta["key"], meta["counts"], float(meta["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # The head of a deeper run was cut off in no time.
    if not isinstance(key, dict) or not isinstance(counts, dict) or "candidates" in key or seconds <= 0:
        return None
    return Took(stage, path.name.removesuffix(".meta.json").rpartition("-")[0], key, counts, seconds)


@dataclass(frozen=True)
class Wanted:
    """A stage of a system that is planned: how it would be made (a part of the artefact's key), at what size, and what
    kinds of stage are like it; ``predict`` gives the plan's seconds for another size."""

    stage: Stage
    engine: str
    key: Mapping[str, Any]
    kind: tuple[str, ...]
    work: Workload
    predict: Callable[[Workload], float | None]


class Times:
    """Times of planned stages, from those measured."""

    def __init__(self, took: list[Took]) -> None:
        self._took = took
        self._like: dict[tuple[str, ...], list[float]] = {}

    def learn(self, wanted: Wanted) -> list[float]:
        """By what factors stages of the same settings took longer than a plan said; remembered for those like it."""
        factors = list(self._factors(wanted))
        self._like.setdefault(wanted.kind, []).extend(factors)
        return factors

    def scaled(self, part: PlannedPart, kind: tuple[str, ...], own: list[float]) -> PlannedPart:
        """The part with its time as measured ones suggest, those of its own settings if there are any."""
        factors, spread = (own, _OWN) if own else (self._like.get(kind, []), _LIKE)
        if part.seconds is None or not factors:
            return part
        middle = math.exp(sum(map(math.log, factors)) / len(factors))
        said = part.seconds.middle
        return replace(part, seconds=Seconds(said * min(factors) / spread, said * middle, said * max(factors) * spread))

    def _factors(self, wanted: Wanted) -> Iterator[float]:
        now = wanted.predict(wanted.work)
        compared = [took for took in self._took if _same(wanted, took)][:_MOST]
        for took in compared:
            said = wanted.predict(_size(wanted.work, took))
            if said and now and (took.seconds >= _SHORT or now <= _TIMES * said):
                yield took.seconds / said


def _same(wanted: Wanted, took: Took) -> bool:
    """Whether the stage was carried out by the settings wanted, on whatever corpus and queries."""
    if wanted.stage != took.stage or (wanted.stage != "run" and wanted.engine != took.engine):
        return False
    settings = json.loads(json.dumps(dict(wanted.key)))
    return all(took.key.get(name, ...) == value for name, value in settings.items() if name not in _MADE_OF)


def _size(work: Workload, took: Took) -> Workload:
    """The work of the stage that was carried out; what its counts do not tell is as now."""
    counts = took.counts
    return replace(
        work,
        passages=counts.get("passages", work.passages),
        queries=counts.get("queries", work.queries),
        depth=took.key.get("depth", work.depth),
        pairs=counts.get("pairs", work.pairs),
    )
