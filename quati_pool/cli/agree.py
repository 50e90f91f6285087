"""``quati-pool agree``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.label_options import declared, label_files, say_left_out
from quati_pool.cli.options import (
    ColumnOption,
    ConfigOption,
    DrawsOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    LabelsOption,
    NamesArgument,
    OutputOption,
    PeopleOption,
    PoolOption,
    QueriesOption,
    ScaleOption,
    SeedOption,
)
from quati_pool.cli.progress import ConsoleListener

RevealedOption = Annotated[
    bool,
    typer.Option(
        "--revealed", help="Count people's second labels, given after seeing a judge's grade, where there are any."
    ),
]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool agree --labels HA1=ana.tsv --labels HA2=bruno.tsv --format latex")(agree)


def agree(
    context: typer.Context,
    names: NamesArgument = None,
    labels: LabelsOption = None,
    person: PeopleOption = None,
    queries: QueriesOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    scale: ScaleOption = None,
    config: ConfigOption = Path("pool.yaml"),
    pool: PoolOption = None,
    draws: DrawsOption = 2000,
    seed: SeedOption = None,
    revealed: RevealedOption = False,
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Measure how far labelers agree: coefficients with intervals, confusion matrices, values per query.

    Compares the workspace's labelers, or only the files of --labels, or both if labelers are named too.
    A file of texts without ids is joined to the pool's pairs (that of -c, --pool, or the current folder); rows that
    match no pair are listed. Where a design drew pairs with unequal probabilities π, κ is weighted by 1/π.
    Tables (.md, .tex, .csv, .json) and figures go to reports/, or to -o DIR.
    """
    from quati_pool.commands.agree import agree as step
    from quati_pool.reporting.answers.agree import answer
    from quati_pool.reporting.figures.agree import write
    from quati_pool.reporting.json_data.agree import as_data
    from quati_pool.reporting.tables.agree import tables

    home = declared(context, config)
    files = label_files(labels, person, column, grade, queries, scale, home)
    seed = home.seed if seed is None and home else seed
    with ConsoleListener() as listener:
        report = step(
            config, names or (), files, person or (), draws=draws, seed=seed, pool=pool, revealed=revealed, home=home,
            listener=listener,
        )  # fmt: skip
    say_left_out(report.gathered)
    with ConsoleListener() as listener:
        write(report, output, listener)
    # A CSV has no note that would say what is left out.
    all_tables = partial(tables, whole=output_format is Format.csv)
    show(report, partial(answer, output=output), all_tables, as_data, output_format, full)
