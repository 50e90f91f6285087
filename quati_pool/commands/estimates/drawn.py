"""Estimates where a collection's results are shown: those of its first measure, if a random design drew pairs for
people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quati_pool.commands.estimates.designs import drawn_designs
from quati_pool.project.config import PoolConfig
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs

if TYPE_CHECKING:
    from quati_pool.commands.estimates.estimate import EstimateReport
    from quati_pool.commands.estimates.settings import EstimateSettings


def estimate_drawn(config: PoolConfig, store: Store, settings: EstimateSettings) -> EstimateReport | None:
    """The estimates, None if no design drew a part of the pool.

    Raises QuatiPoolError if nothing can be estimated yet.
    """
    if not drawn_designs(Designs(store, config.name)):
        return None
    # Evaluation takes a second to load, and few collections need it here.
    from quati_pool.commands.estimates.estimate import estimate

    return estimate(config.path, settings, store=store)
