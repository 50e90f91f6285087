"""``quati-pool labels``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption, PoolOption


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool labels gpt-4o --missing")(labels)


def labels(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Labelers; all by default.")] = None,
    config: ConfigOption = Path("pool.yaml"),
    missing: Annotated[
        bool, typer.Option("--missing", help="List the pairs that have no grade, with why and the answer.")
    ] = False,
    pool: PoolOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Show who graded how much of the pool: pairs by grade and by state, aspects, calls, tokens, cost, latency.

    A judge's labels count under the model, prompt and parameters that pool.yaml has now; those given under
    others are kept, and listed as earlier versions.
    """
    from quati_pool.commands.labels import labels as step
    from quati_pool.reporting.answers.labels import answer
    from quati_pool.reporting.json_data.labels import as_data
    from quati_pool.reporting.tables.labels import tables

    report = step(config, names, pool, missing=missing)
    for name, problem in report.problems.items():
        typer.echo(f"{name} is left out: {problem}", err=True)
    show(
        report,
        partial(answer, missing=missing),
        partial(tables, missing=missing),
        partial(as_data, missing=missing),
        output_format,
        full,
    )
