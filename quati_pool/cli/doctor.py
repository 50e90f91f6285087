"""``quati-pool doctor``."""

from __future__ import annotations

from pathlib import Path

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool doctor -c pool.yaml --format json")(doctor)


def doctor(
    context: typer.Context,
    config: ConfigOption = Path("pool.yaml"),
    output_format: FormatOption = Format.table,
    full: FullOption = False,
) -> None:
    """Show what this machine has and lacks; exit 1 where what pool.yaml asks for cannot run on it.

    Versions, memory, disk, GPU, Java, extras, which keys are set (never their values), models, the label database.
    Works without a pool.yaml too. Nothing is sent anywhere: only a label database that pool.yaml names is asked.
    """
    from quati_pool.commands.doctor.doctor import doctor as step
    from quati_pool.reporting.answers.doctor import answer
    from quati_pool.reporting.json_data.doctor import as_data
    from quati_pool.reporting.tables.doctor import tables

    source = context.get_parameter_source("config")
    named = source is not None and source.name == "COMMANDLINE"
    found = step(config if named or config.exists() else None)
    show(found, answer, tables, as_data, output_format, full)
    if found.problems:
        raise typer.Exit(1)
