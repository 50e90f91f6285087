"""Scales planned times by what finished stages of this workspace took.

The sidecar of an artifact records the seconds that it took to build. Planned times are multiplied by the ratio of these
seconds to what a plan would have predicted for that stage at the size it had then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from quati_pool.commands.plan.parts import PlannedPart, Seconds, Stage
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.planning import Workload

# The parts of keys that say what a stage worked on, as opposed to how.
_INPUTS = ("corpus", "queries", "depth", "input", "input_depth", "files", "pairs", "ordinals")
# At most this many artifacts of one stage are compared, the latest ones.
_MOST = 4
# A time below _SHORT seconds says nothing about a stage that takes more than _TIMES times as long.
_TIMES, _SHORT = 4, 1.0
# The factor by which a time may be wrong if it was scaled by stages with the same settings, or by similar stages.
_SAME, _SIMILAR = 1.5, 2.5


class MeasuredStage(NamedTuple):
    """A stage that was finished without interruption: the artifact's engine, key and counts, and its seconds."""

    stage: Stage
    engine: str
    key: Mapping[str, Any]
    counts: Mapping[str, Any]
    seconds: float


def measured_stages(workspace: Workspace) -> list[MeasuredStage]:
    """The stages in the workspace's sidecars, the latest first, without those that are unreadable or have no time."""
    cache = workspace.folder / "cache"
    places: list[tuple[Stage, Path]] = [
        ("encoding", cache / "encodings"),
        ("index", cache / "indexes"),
        ("run", cache / "candidates"),
        ("run", workspace.folder / "runs"),
    ]
    found = [
        (path.stat().st_mtime, measured)
        for stage, folder in places
        for path in folder.glob("*.meta.json")
        if (measured := _read(stage, path)) is not None
    ]
    return [measured for _, measured in sorted(found, key=lambda pair: -pair[0])]


def _read(stage: Stage, path: Path) -> MeasuredStage | None:
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        key, counts, seconds = meta["key"], meta["counts"], float(meta["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # A run that is cut from a deeper one takes next to no time.
    if not isinstance(key, dict) or not isinstance(counts, dict) or "candidates" in key or seconds <= 0:
        return None
    return MeasuredStage(stage, path.name.removesuffix(".meta.json").rpartition("-")[0], key, counts, seconds)


@dataclass(frozen=True)
class PlannedStage:
    """A stage of a planned system: ``key`` is the part of the artifact's key that says how it is built; stages of one
    ``kind`` are similar; ``predict`` returns the plan's seconds for any size of the work."""

    stage: Stage
    engine: str
    key: Mapping[str, Any]
    kind: tuple[str, ...]
    work: Workload
    predict: Callable[[Workload], float | None]


class TimeScaling:
    """Scales times of planned stages by what measured ones took."""

    def __init__(self, measured: Sequence[MeasuredStage]) -> None:
        self._measured = measured
        self._by_kind: dict[tuple[str, ...], list[float]] = {}

    def learn(self, stage: PlannedStage) -> list[float]:
        """The factors by which stages with the same settings took longer than planned; kept for similar stages too."""
        factors = list(self._factors(stage))
        self._by_kind.setdefault(stage.kind, []).extend(factors)
        return factors

    def scaled(self, part: PlannedPart, kind: tuple[str, ...], learnt: list[float]) -> PlannedPart:
        """The part with its time multiplied by the factors ``learnt`` for its settings, else by those of its kind."""
        factors, spread = (learnt, _SAME) if learnt else (self._by_kind.get(kind, []), _SIMILAR)
        if part.seconds is None or not factors:
            return part
        middle = math.exp(sum(map(math.log, factors)) / len(factors))
        planned = part.seconds.middle
        scaled = Seconds(planned * min(factors) / spread, planned * middle, planned * max(factors) * spread)
        return replace(part, seconds=scaled)

    def _factors(self, stage: PlannedStage) -> Iterator[float]:
        now = stage.predict(stage.work)
        for measured in [each for each in self._measured if _same_settings(stage, each)][:_MOST]:
            predicted = stage.predict(_work_of(measured, stage.work))
            if predicted and now and (measured.seconds >= _SHORT or now <= _TIMES * predicted):
                yield measured.seconds / predicted


def _same_settings(stage: PlannedStage, measured: MeasuredStage) -> bool:
    """Whether both have the same settings, regardless of corpus and queries."""
    if stage.stage != measured.stage or (stage.stage != "run" and stage.engine != measured.engine):
        return False
    settings = json.loads(json.dumps(dict(stage.key)))
    return all(measured.key.get(name, ...) == value for name, value in settings.items() if name not in _INPUTS)


def _work_of(measured: MeasuredStage, work: Workload) -> Workload:
    """The size of a measured stage's work; sizes that were not recorded are taken from ``work``."""
    counts = measured.counts
    return replace(
        work,
        passages=counts.get("passages", work.passages),
        queries=counts.get("queries", work.queries),
        depth=measured.key.get("depth", work.depth),
        pairs=counts.get("pairs", work.pairs),
    )
