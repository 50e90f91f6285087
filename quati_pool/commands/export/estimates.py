"""The estimates under people's grades that a release publishes."""

from __future__ import annotations

from collections.abc import Callable

from quati_pool.commands.estimates.drawn import estimate_drawn
from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import PoolConfig
from quati_pool.release.state import EstimatedSystem, ReleasedEstimates
from quati_pool.store.database import Store


def released_estimates(config: PoolConfig, store: Store, say: Callable[[str], None]) -> ReleasedEstimates | None:
    """The estimates of the collection's first measure; None if no random design drew pairs for people, or if nothing
    can be estimated, which is reported to ``say``."""
    try:
        report = estimate_drawn(config, store, EstimateSettings())
    except QuatiPoolError as error:
        say(f"no estimates under people's grades are exported: {error}")
        return None
    if report is None:
        return None
    [found] = report.estimates
    systems = [
        EstimatedSystem(one.run_tag, one.estimate, one.low, one.high, one.people_only.estimate, one.judge_only)
        for one in found.systems
    ]
    statement, doubt = report.statement(found), report.drawn.without_majority
    return ReleasedEstimates(found.measure, report.judge, statement, systems, doubt)
