"""States of small collections, made in memory from runs and grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from quati_pool.commands.agree import compare
from quati_pool.commands.build import BuildResult
from quati_pool.commands.evaluate import Settings, measure
from quati_pool.commands.labels import LabelsReport
from quati_pool.commands.report import State
from quati_pool.errors import QuatiPoolError
from quati_pool.evaluation.measures import parse_measures
from quati_pool.labels.base import Grader
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.gathered import Gathered, LabelSource
from quati_pool.pooling.diversity import diversity
from quati_pool.pooling.pool import depth_pool, growth
from quati_pool.project.config import FusionSystem, PoolConfig
from quati_pool.project.config.labelers import LabelsConfig
from quati_pool.project.runs import RunSet
from quati_pool.records import LabelerKind, Run
from tests.evaluation.small_qrels import Grades, qrels_of

if TYPE_CHECKING:
    from quati_pool.labels.labelers import Grading

KINDS: Mapping[Grader, LabelerKind] = {"people": "assessor", "llm": "judge", "file": "file", "program": "judge"}


@dataclass(frozen=True)
class Made:
    """A labeler of a made collection."""

    grades: Grades
    grader: Grader = "people"
    lacking: Mapping[str, int] = field(default_factory=dict)
    members: frozenset[str] = frozenset()
    revealed: int = 0


def state(
    runs: Sequence[Run],
    labelers: Mapping[str, Made],
    *,
    depth: int = 10,
    depths: Mapping[str, int] | None = None,
    absent: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    without_pairs: Sequence[str] = (),
    without_text: int = 0,
) -> State:
    """The state of a collection whose systems are the ``runs``, pooled to ``depth`` or to ``depths`` by run_tag."""
    settings = settings or Settings(["nDCG@10"], draws=40)
    depths = {run.run_tag: depth for run in runs} | dict(depths or {})
    systems = {tag: FusionSystem.model_construct(fuse=[], pool=fed > 0, pool_depth=fed) for tag, fed in depths.items()}
    config = PoolConfig.model_construct(
        name="made", path=Path("pool.yaml"), seed=0, labels=LabelsConfig(), systems=systems
    )
    pool = depth_pool(runs, depths)
    sources = [
        LabelSource(
            name,
            KINDS[one.grader],
            qrels_of(one.grades),
            None,
            None,
            one.lacking,
            one.revealed,
            one.members,
            one.grader,
        )
        for name, one in labelers.items()
    ]
    gathered = Gathered(config, {grade: str(grade) for grade in range(4)}, True, sources, [], {}, "", {})
    sizes = growth([run for run in runs if depths[run.run_tag]])
    built = BuildResult(config, pool, diversity(pool), sizes, None, tuple(without_pairs), without_text)
    run_set = RunSet("", list(runs), depths, {tag: tag for tag in depths}, absent=absent or {}, of_workspace=True)
    missing: dict[str, str] = {}
    agreement = evaluation = None
    try:
        agreement = compare(gathered, draws=settings.draws)
    except QuatiPoolError as error:
        missing["agreement"] = str(error)
    try:
        evaluation = measure(config, gathered, [run_set], parse_measures(settings.measures or ()), settings)
    except QuatiPoolError as error:
        missing["evaluation"] = str(error)
    ledger = LabelsReport(config, [], _coverages(sources), {}, [], {}, {}, {}, {})
    # No single label is read from a state in memory.
    grading = cast("Grading", None)
    return State(config, 0, built, ledger, gathered, run_set, agreement, evaluation, missing, settings, 0, grading)


def _coverages(sources: Sequence[LabelSource]) -> dict[str, LabelCoverage]:
    found = {}
    for source in sources:
        found[source.name] = LabelCoverage(0)
        found[source.name].add_ok(np.asarray(source.qrels.relevance))
        found[source.name].pairs += source.ungraded
    return found
