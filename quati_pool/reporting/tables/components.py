"""The tables of ``retrievers`` and ``prepare --steps``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.components import ComponentListing
from quati_pool.reporting.formats.tables import Column, Table


def systems(found: Sequence[ComponentListing]) -> list[Table]:
    """Retrievers, rerankers, fusions, pool methods, judges and authoring designs, and their parameters."""
    return [
        Table(
            "Components",
            [Column("Kind"), Column("Name"), Column("What it is"), Column("Here")],
            [[item.kind, item.name, item.summary, item.problem or "ready"] for item in found],
        ),
        Table(
            "Parameters",
            [Column("Kind"), Column("Name"), Column("Parameter"), Column("Default"), Column("Meaning")],
            [[item.kind, item.name, p.name, p.default, p.description] for item in found for p in item.parameters],
            "Every system also takes family, pool (true or false) and pool_depth; a retriever takes corpus, "
            "a fusion fuse, method and depth, a two-stage system first and rerank: {with, depth, …}; a judge takes "
            "samples and aggregate.",
        ),
    ]


def steps(found: Sequence[ComponentListing]) -> list[Table]:
    """The steps of a preparation, and their parameters."""
    return [
        Table(
            "Steps",
            [Column("Name"), Column("What it does"), Column("Here")],
            [[item.name, item.summary, item.problem or "ready"] for item in found],
        ),
        Table(
            "Parameters",
            [Column("Step"), Column("Parameter"), Column("Default"), Column("Meaning")],
            [[item.name, p.name, p.default, p.description] for item in found for p in item.parameters],
        ),
    ]
