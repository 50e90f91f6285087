"""``quati-pool retrievers``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format, FormatOption, FullOption


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool retrievers dense")(retrievers)


def retrievers(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one, with its parameters and an example to copy.")
    ] = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """List the retrievers, rerankers, fusions, pool methods, judges and authoring designs, with their parameters."""
    from quati_pool.commands.components import components, named
    from quati_pool.reporting.answers.components import listing, one_component
    from quati_pool.reporting.json_data.serializer import serialize
    from quati_pool.reporting.tables.components import systems

    found = components()
    rest = "One with its parameters and an example: quati-pool retrievers NAME. All parameters: --full."
    answer = partial(listing, rest=rest) if name is None else one_component
    chosen = found if name is None else named(found, name)
    show(chosen, answer, systems, lambda found: serialize({"components": found}), output_format, full)
