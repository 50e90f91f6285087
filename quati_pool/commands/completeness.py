"""What the pool of a workspace lacks under the grades that matter most, for ``status`` and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.labels.main_labeler import Candidate, main_labeler
from quati_pool.pooling.completeness import LEAST_GRADED, PoolCompleteness, enough_graded, pool_completeness
from quati_pool.pooling.pool import Pool
from quati_pool.project.config import FusionSystem, PoolConfig
from quati_pool.records import Int

NOT_ENOUGH = f"no labeler has graded {LEAST_GRADED:.0%} of the pairs of any query".replace("%", " %")


@dataclass(frozen=True, eq=False)
class PoolGrades:
    """A labeler's grades of a pool's pairs: ``relevance``, shape (pairs,), where ``graded``, same shape, is true."""

    labeler: Candidate
    relevance: Int
    graded: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabeledCompleteness:
    """What the pool lacks under the grades of ``labeler``; if nothing can be estimated, these are None, and
    ``undefined`` says why."""

    labeler: str | None = None
    found: PoolCompleteness | None = None
    undefined: str | None = None


def labeled_completeness(config: PoolConfig, pool: Pool, grades: Sequence[PoolGrades]) -> LabeledCompleteness | None:
    """What the pool lacks under the grades of the main labeler among those that have graded at least one query; None if
    nobody has graded anything."""
    if not any(one.graded.any() for one in grades):
        return None
    able = {one.labeler.name: one for one in grades if enough_graded(pool, one.graded).any()}
    if not able:
        return LabeledCompleteness(undefined=NOT_ENOUGH)
    main = main_labeler([one.labeler for one in able.values()])
    if main.name is None:
        return LabeledCompleteness(undefined=main.said)
    chosen = able[main.name]
    families = independent_families(config, pool)
    return LabeledCompleteness(main.name, pool_completeness(pool, chosen.relevance, chosen.graded, families))


def independent_families(config: PoolConfig, pool: Pool) -> list[str | None]:
    """The family of each of a pool's systems, None for a fusion of systems that feed the pool themselves: it finds
    nothing that is independent of them."""
    feeding = {run_tag for run_tag, depth in zip(pool.run_tags, pool.depths.tolist(), strict=True) if depth}
    found: list[str | None] = []
    for run_tag in pool.run_tags:
        system = config.systems.get(run_tag)
        derived = isinstance(system, FusionSystem) and not feeding.isdisjoint(system.fuse)
        found.append(None if derived else run_tag if system is None else config.family(run_tag))
    return found
