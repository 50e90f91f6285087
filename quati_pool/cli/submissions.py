"""``quati-pool submissions``: the runs of a shared task's groups."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import (
    ConfigOption,
    DrawsOption,
    Format,
    FormatOption,
    FullOption,
    MeasuresOption,
    OutputOption,
)
from quati_pool.cli.progress import ConsoleListener

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with a folder for each group.")]
DepthOption = Annotated[int, typer.Option("--depth", min=1, help="The most documents that a run may have for a query.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Take in, report on and release the runs of a shared task.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command(epilog="Example: quati-pool submissions check incoming --depth 1000")(check)
    group.command(epilog="Example: quati-pool submissions add incoming")(add)
    group.command(epilog="Example: quati-pool submissions report")(report)
    group.command(epilog="Example: quati-pool submissions release --after 2027-03-01")(release)
    app.add_typer(group, name="submissions")


def check(
    folder: FolderArgument,
    config: ConfigOption = Path("pool.yaml"),
    depth: DepthOption = 1000,
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Check the runs in FOLDER/GROUP and find all their faults at once; exit 1 where a run has one.

    Format, ids, depth, cut-off files, one run per file, equal tags and rankings, also those of two groups; ties, ranks
    and missing queries are odd, not wrong. GROUP/group.yaml may have name, contact and priorities (the files, the most
    important first; by name without it). Writes a report and a mail for each group.
    """
    from quati_pool.commands.submissions.intake import check as step
    from quati_pool.reporting.answers.submissions import checked
    from quati_pool.reporting.json_data.submissions import checked_data
    from quati_pool.reporting.submission_files import save_intake
    from quati_pool.reporting.tables.submissions import intake_tables

    with ConsoleListener() as listener:
        found = step(config, folder, listener, depth=depth)
        written = save_intake(found, output, listener)
    show(found, partial(checked, folder=written), intake_tables, checked_data, output_format, full)
    if len(found.accepted) < len(found.submissions):
        raise typer.Exit(1)


def add(
    folder: FolderArgument,
    config: ConfigOption = Path("pool.yaml"),
    depth: DepthOption = 1000,
    replace: Annotated[bool, typer.Option("--replace", help="Replace runs whose files have changed.")] = False,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Add the runs in FOLDER that have no fault to pool.yaml, under anonymous names, by group and priority.

    The same command again, with corrected files, adds what was faulty before. Who is behind a name is in
    submissions/participants.json alone, which only you can read and nothing exports.
    """
    from quati_pool.commands.submissions.adding import add as step
    from quati_pool.reporting.answers.submissions import added
    from quati_pool.reporting.json_data.submissions import added_data
    from quati_pool.reporting.tables.submissions import added_tables

    with ConsoleListener() as listener:
        found = step(config, folder, listener, depth=depth, replacing=replace)
    show(found, added, added_tables, added_data, output_format, full)


def report(
    groups: Annotated[list[str] | None, typer.Argument(metavar="[GROUP]…", help="Groups; all by default.")] = None,
    config: ConfigOption = Path("pool.yaml"),
    labeler: Annotated[
        str | None, typer.Option("--labeler", help="Whose grades count; by default the main labeler's.")
    ] = None,
    measures: MeasuresOption = None,
    draws: DrawsOption = 2000,
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Write each group's results: its own runs by name, all other runs anonymous.

    GROUP/results.md has the leaderboard, GROUP/queries.csv each query with the lowest, median and highest of all runs.
    """
    from quati_pool.commands.evaluate import Settings
    from quati_pool.commands.submissions.group_results import group_results
    from quati_pool.reporting.answers.submissions import reported
    from quati_pool.reporting.json_data.submissions import results_data
    from quati_pool.reporting.submission_files import save_results
    from quati_pool.reporting.tables.submissions import results_tables

    settings = Settings(measures, draws=draws, labeler=labeler)
    with ConsoleListener() as listener:
        found = group_results(config, listener, groups=groups or (), settings=settings)
        written = save_results(found, output, listener)
    show(found, partial(reported, folder=written), results_tables, results_data, output_format, full)


def release(
    after: Annotated[
        datetime | None,
        typer.Option(
            "--after", formats=["%Y-%m-%d"], metavar="DATE", help="The day (UTC) from which qrels are public."
        ),
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
    labeler: Annotated[
        list[str] | None, typer.Option("--labeler", help="Whose qrels (repeatable); by default the main labeler's.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Promise other grades than the manifest did.")] = False,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Write the manifest of the shared task, and the qrels once their day has come.

    Before that day the manifest has the SHA-256 of qrels and runs alone, and exports with grades are refused; run the
    same command on or after it.
    """
    from quati_pool.commands.submissions.releasing import release as step
    from quati_pool.reporting.answers.submissions import released
    from quati_pool.reporting.json_data.submissions import released_data
    from quati_pool.reporting.tables.submissions import released_tables

    day = None if after is None else after.date()
    with ConsoleListener() as listener:
        found = step(config, listener, after=day, labelers=labeler or (), replacing=replace)
    show(found, released, released_tables, released_data, output_format, full)
