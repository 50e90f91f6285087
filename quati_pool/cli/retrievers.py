"""``quati-pool retrievers``."""

from __future__ import annotations

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format, FormatOption


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool retrievers --format json")(retrievers)


def retrievers(output_format: FormatOption = Format.table) -> None:
    """List the retrievers, rerankers, fusions and judges, with their parameters."""
    from quati_pool.commands.components import components
    from quati_pool.reporting.formats.tables import Column, Table
    from quati_pool.reporting.json_data.serializer import serialize

    found = components()
    systems = Table(
        "Components",
        [Column("Kind"), Column("Name"), Column("What it is"), Column("Here")],
        [[item.kind, item.name, item.summary, item.problem or "ready"] for item in found],
    )
    parameters = Table(
        "Parameters",
        [Column("Kind"), Column("Name"), Column("Parameter"), Column("Default"), Column("Meaning")],
        [[item.kind, item.name, p.name, p.default, p.description] for item in found for p in item.parameters],
        "Every system also takes family, pool (true or false) and pool_depth; a retriever takes corpus, "
        "a fusion fuse, method and depth, a two-stage system first and rerank: {with, depth, …}; a judge takes "
        "samples and aggregate.",
    )
    show([systems, parameters], serialize({"components": found}), output_format)
