"""``quati-pool evaluate``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.build import ConfigOption
from quati_pool.cli.console import ConsoleListener, Format, FormatOption, show
from quati_pool.cli.judge import PoolOption
from quati_pool.cli.label_options import (
    ColumnOption,
    DrawsOption,
    GradeOption,
    OutputOption,
    QueriesOption,
    ScaleOption,
    SeedOption,
    declared,
    label_files,
    say_left_out,
)

RunsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="[SET=]FILE",
        help="A TREC run, a folder of them, or a pattern in quotes (repeatable); the workspace's runs by default.",
    ),
]
QrelsOption = Annotated[
    list[str] | None,
    typer.Option("--qrels", metavar="NAME=FILE", help="Qrels, or any file of labels (repeatable)."),
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option("--measures", help='ir_measures names, such as "nDCG@10, R@100"; the first ranks the systems.'),
]


class PairedTest(StrEnum):
    t = "t"
    wilcoxon = "wilcoxon"
    randomisation = "randomisation"


BaselineOption = Annotated[
    str | None, typer.Option("--baseline", metavar="SYSTEM", help="Test all others against this run.")
]
TestOption = Annotated[PairedTest, typer.Option("--test", help="The paired test over queries.")]
AlphaOption = Annotated[float, typer.Option("--alpha", help="The level of significance.")]


def register(app: typer.Typer) -> None:
    app.command(epilog='Example: quati-pool evaluate --run "runs/*.trec.gz" --qrels human=qrels.txt --baseline bm25')(
        evaluate
    )


def evaluate(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]…", help="Labelers of the workspace; all of them if no --qrels is given."),
    ] = None,
    run: RunsOption = None,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    baseline: BaselineOption = None,
    test: TestOption = PairedTest.t,
    alpha: AlphaOption = 0.05,
    pool_depth: Annotated[
        int | None,
        typer.Option("--pool-depth", min=1, help="How deep the --run files were pooled: adds leaving each out."),
    ] = None,
    robust: Annotated[
        bool,
        typer.Option("--robust", help="Add the worst query of each cluster: cluster_id of the queries' file."),
    ] = False,
    queries: QueriesOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    scale: ScaleOption = None,
    config: ConfigOption = Path("pool.yaml"),
    pool: PoolOption = None,
    draws: DrawsOption = 2000,
    seed: SeedOption = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Put every query's values into the JSON.")] = False,
    output: OutputOption = None,
    how: FormatOption = Format.table,
) -> None:
    """Rank systems under one or several qrels: leaderboard, tests, how far qrels and pool can be trusted.

    Measures the workspace's runs under its labelers' grades, or files. Tables (.md, .tex, .csv, .json),
    the values of every query and figures go to reports/, or to -o DIR. Sets of runs (--run 1M=… --run 10M=…)
    stand side by side; named like the qrels, each goes under its own.
    """
    from quati_pool.steps.evaluate import Settings
    from quati_pool.steps.evaluate import evaluate as step
    from quati_pool.steps.evaluate_files import write
    from quati_pool.steps.evaluate_report import SHOWN_COMPARISONS, as_data, tables

    named = declared(context, config)
    given = label_files(qrels, None, column, grade, queries, scale, named, hint="--qrels")
    if named is not None:
        measures, seed = measures or named.measures, named.seed if seed is None else seed
    settings = Settings(measures, baseline, test.value, alpha, draws, seed, pool_depth, robust)
    found = step(config, names or (), given, run or (), settings, pool, named)
    say_left_out(found.gathered)
    with ConsoleListener() as listener:
        write(found, output, listener)
    if how is Format.json:
        show((), as_data(found, per_query), how)
    else:
        show(tables(found, None if how is Format.csv else SHOWN_COMPARISONS), None, how)
