"""``quati-pool prepare``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import AddressOption, EngineName, Format, FormatOption, FullOption, check_address
from quati_pool.cli.progress import ConsoleListener


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool prepare -c prepare.yaml --workers 8")(prepare)


def prepare(
    config: Annotated[Path, typer.Option("--config", "-c", help="The list of steps.")] = Path("prepare.yaml"),
    engine: Annotated[
        EngineName, typer.Option("--engine", help="Processes of this machine, or Ray (extra [ray]).")
    ] = EngineName.local,
    address: AddressOption = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Tasks at a time; one per core by default.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="RULE", help="Show what a rule dropped last time, and run nothing."),
    ] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="List the steps and their parameters, and run nothing.")
    ] = False,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Make a corpus from pages: read, filter, cut into passages, drop duplicates, sample, write.

    Writes the corpora that the steps name, and reports/prepare-NAME.*: how many pages and passages each step
    dropped and for which reasons, with examples. Finished shards are kept under cache/preparation: run again after a
    kill, it continues where it was.
    """
    if steps:
        _list(output_format, full)
        return
    if explain is not None:
        from quati_pool.reporting.answers.prepare import explained as explained_answer
        from quati_pool.reporting.tables.prepare import explained

        tables_found, examples = explained(config, explain)
        show(tables_found, explained_answer, lambda tables: tables, lambda _: examples, output_format, full)
        return
    from quati_pool.commands.prepare.prepare import prepare as step
    from quati_pool.processes.opening import open_engine
    from quati_pool.reporting.answers.prepare import answer
    from quati_pool.reporting.figures.prepare import write
    from quati_pool.reporting.json_data.prepare import as_data
    from quati_pool.reporting.tables.prepare import tables

    check_address(engine, address)
    with ConsoleListener() as listener:
        result = step(config, lambda: open_engine(engine.value, workers, address), listener)
        write(result, listener)
    show(result, answer, tables, as_data, output_format, full)


def _list(output_format: Format, full: bool) -> None:
    from quati_pool.commands.components import preparation_steps
    from quati_pool.reporting.answers.components import listing
    from quati_pool.reporting.json_data.serializer import serialize
    from quati_pool.reporting.tables.components import steps

    answer = partial(listing, rest="Their parameters: quati-pool prepare --steps --full.")
    show(preparation_steps(), answer, steps, lambda found: serialize({"steps": found}), output_format, full)
