"""``quati-pool evaluate``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.label_options import declared, label_files, say_left_out
from quati_pool.cli.options import (
    AlphaOption,
    Averaged,
    BaselineOption,
    ColumnOption,
    ConfigOption,
    DrawsOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    MainLabelerOption,
    MeasuresOption,
    OutputOption,
    PairedTest,
    PoolOption,
    RunsOption,
    ScaleOption,
    SeedOption,
    TestOption,
)
from quati_pool.cli.progress import ConsoleListener
from quati_pool.registry import nearest

QrelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--qrels",
        metavar="[NAME=]FILE",
        help="Qrels, or any file of labels (repeatable), named by the file where no NAME is given.",
    ),
]
LabelersArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]…", help="Labelers of the workspace; all of them if no --qrels is given."),
]
PoolDepthOption = Annotated[
    int | None,
    typer.Option("--pool-depth", min=1, help="How deep the --run files were pooled; adds results without each run."),
]
RobustOption = Annotated[
    bool,
    typer.Option("--robust", help="Add the worst query of each cluster: cluster_id of the queries' file."),
]
AveragedOrFileOption = Annotated[
    list[str] | None,
    typer.Option(
        "--queries",
        metavar="judged|common|returned|FILE",
        help="Queries to average over: all judged ones (trec_eval -c), those that all runs return, or those that "
        "each run returns itself. Or a file, query_id <tab> query: ids for label files that hold only texts.",
    ),
]
PerQueryOption = Annotated[bool, typer.Option("--per-query", help="Put every query's values into the JSON.")]


def register(app: typer.Typer) -> None:
    app.command(epilog='Example: quati-pool evaluate --run "runs/*.trec.gz" --qrels human=qrels.txt --baseline bm25')(
        evaluate
    )


def evaluate(
    context: typer.Context,
    names: LabelersArgument = None,
    run: RunsOption = None,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    baseline: BaselineOption = None,
    test: TestOption = PairedTest.t,
    alpha: AlphaOption = 0.05,
    pool_depth: PoolDepthOption = None,
    robust: RobustOption = False,
    labeler: MainLabelerOption = None,
    queries: AveragedOrFileOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    scale: ScaleOption = None,
    config: ConfigOption = Path("pool.yaml"),
    pool: PoolOption = None,
    draws: DrawsOption = 2000,
    seed: SeedOption = None,
    per_query: PerQueryOption = False,
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Rank systems under one or several qrels: leaderboard, tests, how far qrels and pool can be trusted.

    Measures the workspace's runs under its labelers' grades, or files. Tables (.md, .tex, .csv, .json),
    values per query and figures go to reports/, or to -o DIR. Sets of runs (--run 1M=… --run 10M=…) are shown
    side by side; if their names are those of the qrels, each is measured under its own only.
    """
    from quati_pool.commands.evaluate import Settings
    from quati_pool.commands.evaluate import evaluate as step
    from quati_pool.reporting.answers.evaluate import answer
    from quati_pool.reporting.figures.evaluate import write
    from quati_pool.reporting.json_data.evaluate import as_data
    from quati_pool.reporting.tables.evaluate import SHOWN_COMPARISONS, tables

    home = declared(context, config)
    averaged, texts = _queries(queries or ())
    files = label_files(qrels, None, column, grade, texts, scale, home, hint="--qrels")
    if home is not None:
        measures, seed = measures or home.measures, home.seed if seed is None else seed
    settings = Settings(measures, baseline, test.value, alpha, draws, seed, pool_depth, robust, labeler, averaged.value)
    with ConsoleListener() as listener:
        found = step(config, names or (), files, run or (), settings, pool, home, listener)
    say_left_out(found.gathered)
    if found.main is not None:
        typer.echo(found.main.said, err=True)
    for warning in found.warnings:
        typer.echo(f"warning: {warning}", err=True)
    with ConsoleListener() as listener:
        write(found, output, listener)
    comparisons = None if output_format is Format.csv else SHOWN_COMPARISONS
    show(
        found,
        partial(answer, output=output),
        partial(tables, comparisons=comparisons),
        partial(as_data, per_query=per_query),
        output_format,
        full,
    )


def _queries(options: Sequence[str]) -> tuple[Averaged, Path | None]:
    """The queries to average over, and the file of queries: --queries names either."""
    words = [option for option in options if option in list(Averaged)]
    files = [option for option in options if option not in words]
    if len(words) > 1 or len(files) > 1:
        raise typer.BadParameter(f"{', '.join(options)}: give one of each", param_hint="--queries")
    for name in files:
        if not os.path.exists(name) and not Path(name).suffix:
            hint = nearest(name, [one.value for one in Averaged])
            raise typer.BadParameter(f"{name!r} is neither a file nor a choice; {hint}", param_hint="--queries")
    return Averaged(words[0]) if words else Averaged.judged, Path(files[0]) if files else None
