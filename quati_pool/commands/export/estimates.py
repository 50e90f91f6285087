"""The estimates under people's grades that a release publishes."""

from __future__ import annotations

from quati_pool.commands.estimates.drawn import estimate_drawn
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import PoolConfig
from quati_pool.release.state import EstimatedSystem, ReleasedEstimates
from quati_pool.store.database import Store


def released_estimates(config: PoolConfig, store: Store) -> ReleasedEstimates | None:
    """The estimates of the collection's first measure; None if no random design drew pairs for people, or nothing can
    be estimated."""
    try:
        report = estimate_drawn(config, store, EstimateSettings())
    except QuatiPoolError:
        return None
    if report is None:
        return None
    [found] = report.estimates
    systems = [
        EstimatedSystem(one.run_tag, one.estimate, one.low, one.high, one.people_only.estimate, one.judge_only)
        for one in found.systems
    ]
    return ReleasedEstimates(found.measure, report.judge, report.statement(found), systems)
