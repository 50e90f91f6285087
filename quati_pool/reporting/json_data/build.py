"""The JSON of ``build``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from quati_pool.commands.build import BuildResult
from quati_pool.pooling.diversity import RBO_P, Share
from quati_pool.reporting.json_data.serializer import Views, fields, pick, serialize
from quati_pool.reporting.tables.build import growth_steps


def as_data(result: BuildResult) -> Any:
    """The JSON object of ``build``; undefined values are null, with the reason under ``undefined``."""
    diversity, grades = result.diversity, result.grades
    names = [share.name for share in diversity.systems]
    undefined = {
        f"systems.{share.name}.unique_share": "the system returned nothing"
        for share in diversity.systems
        if share.unique_share is None
    }
    if diversity.union.unique_share is None:
        undefined |= dict.fromkeys(("pool.unique_share", "pool.mean_unique_share"), "no system returned anything")
    data: dict[str, Any] = {
        "collection": result.config.name,
        "systems": [_system(result, share) for share in diversity.systems],
        "pool": {
            **pool_members(result),
            "queries": diversity.queries,
            **pick(result, "queries_without_pairs without_text"),
            **pick(diversity, "returned_pairs=union.pairs extra_pairs=extra unique_pairs=union.unique"),
            **pick(diversity, "unique_share=union.unique_share mean_unique_share"),
        },
        "growth": [
            {"depth": depth, "pairs": pairs, "new": new} for depth, pairs, new in growth_steps(result.pool_growth)
        ],
        "overlap": {"systems": names, "values": diversity.overlap},
        "rbo": {"p": RBO_P, "systems": names, "values": diversity.rbo},
        "undefined": undefined,
    }
    if grades:
        data |= {"grades": [*grades.grades, grades.relevant], "ungraded": grades.ungraded}
    return serialize(data, VIEWS)


def pool_members(result: BuildResult) -> dict[str, Any]:
    """The number of pairs in a pool, and of one that holds a part of the candidates also by reason, the number of
    rounds, and how many pairs may follow at most."""
    pairs: dict[str, Any] = {"pairs": len(result.pool)}
    if result.chosen is None:
        return pairs
    reasons = dict(sorted(Counter(result.pool.reason.tolist()).items()))
    return pairs | {"reasons": reasons, "candidates": len(result.chosen.frame), **pick(result.chosen, "rounds further")}


def _system(result: BuildResult, share: Share) -> dict[str, Any]:
    name, config = share.name, result.config
    system = {"run_tag": name, "family": config.family(name), "pool_depth": config.pool_depth(name)}
    return {**system, **pick(share, "returned=pairs unique unique_share")}


VIEWS: Views = {Share: fields("grade=name pairs unique unique_share")}
