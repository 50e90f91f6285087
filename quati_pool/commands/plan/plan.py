"""``quati-pool build --plan``: what every system will need and what is here already; runs and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quati_pool.commands.plan.corpora import CorpusSize, PlanWorkspace, measure
from quati_pool.commands.plan.inventory import Inventory
from quati_pool.commands.plan.parts import PlannedStore, PlannedSystem, Total, total
from quati_pool.commands.plan.stores import planned_pool, planned_store
from quati_pool.commands.plan.systems import SystemPlanner, corpora_of
from quati_pool.commands.plan.times import TimeScaling, measured_stages
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import unfinished
from quati_pool.project.cache_keys import CacheKeys, used_corpora
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.inputs import Queries, load_queries
from quati_pool.project.run_builder import selected_systems
from quati_pool.records import Ids


@dataclass(frozen=True)
class Plan:
    """The estimated needs of a build, in ``total`` and as far as they are ``left`` to do.

    ``queries`` is the number of queries, None where unknown; ``queries_from`` says where it comes from, or why it is
    unknown. ``stores`` are those of ``corpora``, None for a corpus of unknown size; ``pool`` is None where its size is
    unknown or only some systems are planned. ``measured`` is the number of finished stages that times are scaled by.
    """

    config: PoolConfig
    queries: int | None
    queries_from: str
    corpora: tuple[CorpusSize, ...]
    stores: tuple[PlannedStore | None, ...]
    pool: PlannedStore | None
    systems: tuple[PlannedSystem, ...]
    measured: int
    total: Total
    left: Total


def plan(config_path: Path, *, only: Sequence[str] = ()) -> Plan:
    """Estimates, offline, what ``build`` would need; ``only`` selects systems as in ``build``.

    Missing inputs, models, extras and keys are reported in the plan. Raises InputError for an invalid ``pool.yaml``,
    and ConfigError for an unknown system in ``only``.
    """
    config = load_config(config_path)
    selected = selected_systems(config, only)
    workspace = PlanWorkspace(config.folder)
    queries, count, queries_from = _queries(config)
    corpora = {name: measure(config, name, workspace) for name in used_corpora(config)}
    fingerprints = {name: size.fingerprint for name, size in corpora.items() if size.fingerprint}
    keys = CacheKeys(config, workspace, queries or Queries([], Ids([]), ""), fingerprints)
    measured = measured_stages(workspace)
    inventory = Inventory(workspace, keys, queries_known=queries is not None)
    planner = SystemPlanner(config, keys, inventory, corpora, count, TimeScaling(measured))
    systems = planner.plan([tag for tag in config.systems if tag in selected])
    needed = {name for tag in selected for name in corpora_of(config, tag)}
    sizes = tuple(size for name, size in corpora.items() if name in needed)
    stores = tuple(map(planned_store, sizes))
    pool = planned_pool(config, sizes, count) if len(selected) == len(config.systems) else None
    if pool and all(system.left == 0 for system in systems) and unfinished(workspace.pool) is None:
        pool = replace(pool, there=True)
    counted = [store for store in (*stores, pool) if store]
    return Plan(
        config,
        count,
        queries_from,
        sizes,
        stores,
        pool,
        systems,
        len(measured),
        total(systems, counted),
        total(systems, counted, left=True),
    )


def _queries(config: PoolConfig) -> tuple[Queries | None, int | None, str]:
    """The queries if they can be read, their number if it is known, and the source of that number."""
    settings = config.queries
    try:
        queries = load_queries(config)
        return queries, len(queries.queries), settings.source
    except QuatiPoolError as error:
        reason = " ".join(str(error).split())
    if config.plan.queries is not None:
        return None, config.plan.queries, "plan: in pool.yaml"
    asked = len(set(settings.ids)) if settings.ids else settings.sample
    if asked is not None:
        return None, asked, "queries: in pool.yaml"
    return None, None, f"{reason}; or give their number as  plan: {{queries: 50}}"
