"""``quati-pool status``."""

from __future__ import annotations

from pathlib import Path

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool status --full")(status)


def status(
    config: ConfigOption = Path("pool.yaml"), output_format: FormatOption = Format.table, full: FullOption = False
) -> None:
    """Show where the collection stands, what is in doubt, and the next command.

    Systems and pool, who graded how much, which reports and exports are older than the labels. Only reads: it writes
    nothing, waits for no lock, and works while other commands run.
    """
    from quati_pool.commands.status.status import status as step
    from quati_pool.reporting.answers.status import answer
    from quati_pool.reporting.json_data.status import as_data
    from quati_pool.reporting.tables.status import tables

    show(step(config), answer, tables, as_data, output_format, full)
