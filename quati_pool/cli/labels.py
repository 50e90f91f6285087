"""``quati-pool labels`` and ``quati-pool export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.build import ConfigOption
from quati_pool.cli.console import Format, FormatOption, show
from quati_pool.cli.judge import PoolOption

export = typer.Typer(help="Write grades in other tools' formats.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool labels gpt-4o --missing")(labels)
    export.command("qrels", epilog="Example: quati-pool export qrels --labeler gpt-4o -o gpt-4o.qrels")(export_qrels)
    app.add_typer(export, name="export")


def labels(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Labelers; all by default.")] = None,
    config: ConfigOption = Path("pool.yaml"),
    missing: Annotated[bool, typer.Option("--missing", help="List the pairs that have no grade, with why.")] = False,
    pool: PoolOption = None,
    how: FormatOption = Format.table,
) -> None:
    """Say who graded how much of the pool: pairs by grade and by state, calls, tokens, cost, latency.

    A judge counts under the model, prompt and parameters that pool.yaml gives it now; what it said
    under others is kept and listed as earlier versions.
    """
    from quati_pool.steps.labels import as_data, tables
    from quati_pool.steps.labels import labels as step

    report = step(config, names, pool, missing=missing)
    for name, problem in report.problems.items():
        typer.echo(f"{name} is left out: {problem}", err=True)
    show(tables(report, missing), as_data(report, missing), how)


def export_qrels(
    labeler: Annotated[str, typer.Option("--labeler", help="A judge, a person or a consensus.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; qrels/LABELER.qrels by default.")
    ] = None,
    config: ConfigOption = Path("pool.yaml"),
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Leave pairs without a grade out, as unjudged.")
    ] = False,
    pool: PoolOption = None,
) -> None:
    """Write one labeler's grades as TREC qrels.

    Refused while a pair has failed or was never asked: a missing grade would read as not relevant.
    """
    from quati_pool.steps.export import export_qrels as step

    made = step(config, labeler, output, allow_missing=allow_missing, pool=pool)
    standing = made.standing
    written = sum(standing.grades.values())
    left = f"; {standing.pairs - written:,} pairs without a grade are left out" if standing.pairs > written else ""
    cut = f"; {standing.cut:,} passages were cut before they were graded" if standing.cut else ""
    typer.echo(f"wrote {made.path}: {written:,} pairs{left}{cut}", err=True)
