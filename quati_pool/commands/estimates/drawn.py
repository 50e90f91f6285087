"""Estimates where a collection's results are shown: those of its first measure, if a random design drew pairs for
people."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from quati_pool.project.config import PoolConfig
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.records import Design

if TYPE_CHECKING:
    from quati_pool.commands.estimates.estimate import EstimateReport
    from quati_pool.commands.estimates.settings import EstimateSettings


def drawn_designs(designs: Designs) -> list[Design]:
    """The designs that drew a part of the pool at random, in the order of their numbers. Where all pairs were chosen,
    people's own figures say all there is to say."""
    return [one for one in designs.all() if one.is_random and one.method != "all"]


def begun_design(
    latest: Sequence[Design], designs: Designs, answered: Container[int | None], graded: Container[tuple[str, str]]
) -> Design:
    """Of random designs, the latest first, the first in whose slots people ``answered``; else the first that selected a
    pair they ``graded``, or the first. A new design also selects pairs that were graded before it was drawn."""
    for one in latest:
        if one.design_id in answered:
            return one
    for one in latest:
        if any((pair.query_id, pair.doc_id) in graded for pair in designs.selections(one.design_id or 0)):
            return one
    return latest[0]


def estimate_drawn(config: PoolConfig, store: Store, settings: EstimateSettings) -> EstimateReport | None:
    """The estimates, None if no design drew a part of the pool.

    Raises QuatiPoolError if nothing can be estimated yet.
    """
    if not drawn_designs(Designs(store, config.name)):
        return None
    # Evaluation takes a second to load, and few collections need it here.
    from quati_pool.commands.estimates.estimate import estimate

    return estimate(config.path, settings, store=store)
