"""``quati-pool replay``, with ``estimate`` and ``pools``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.estimate import DeltaOption, TargetName
from quati_pool.cli.label_options import declared
from quati_pool.cli.options import (
    AlphaOption,
    ColumnOption,
    ConfigOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    OutputOption,
    PairsBy,
    PoolOption,
    RunsOption,
    ScaleOption,
    SeedOption,
)
from quati_pool.cli.progress import ConsoleListener
from quati_pool.cli.replay_pools import pools
from quati_pool.cli.replay_sources import people_and_judges

_LABELER = "[NAME=]FILE|NAME"

PeopleOption = Annotated[
    str, typer.Option("--people", metavar=_LABELER, help="Who graded all pairs: a file, or a labeler of the workspace.")
]
JudgesOption = Annotated[
    list[str],
    typer.Option(
        "--judge",
        metavar=_LABELER,
        help="The judge: a file, or a labeler of the workspace. Named again: whom it may disagree with (--by).",
    ),
]
MeasureOption = Annotated[
    str | None, typer.Option("--measure", help="The ir_measures name of what is estimated; nDCG@10 by default.")
]
DrawnQueriesOption = Annotated[
    int, typer.Option("--queries", min=1, metavar="N", help="How many queries are drawn whole.")
]
DrawnPairsOption = Annotated[
    int | None,
    typer.Option(
        "--pairs",
        min=1,
        metavar="M",
        help="How many pairs are expected to be drawn; as many as the drawn queries have on average by default.",
    ),
]
DrawnByOption = Annotated[
    list[PairsBy] | None,
    typer.Option(
        "--by",
        help="Draw pairs also by what they weigh times the judge's uncertainty, or times the disagreement of judges "
        "(repeatable).",
    ),
]
PilotOption = Annotated[
    int,
    typer.Option(
        "--pilot",
        min=0,
        metavar="N",
        help="With --by uncertainty: people's grades of N other random pairs say how large it is; "
        "without them it is assumed.",
    ),
]
ReplayDrawsOption = Annotated[int, typer.Option("--draws", min=1, help="How many samples are drawn by each method.")]
ReplayTargetsOption = Annotated[
    list[TargetName] | None,
    typer.Option(
        "--target", help="The mean over the collection's queries, or over all queries like them; both by default."
    ),
]
SystemsOption = Annotated[
    list[str] | None,
    typer.Option("--system", metavar="SYSTEM", help="A run to estimate (repeatable); all of them by default."),
]
ComparedOption = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="SYSTEM",
        help="Report differences to this run instead of those of all pairs; verdicts are about all pairs anyway.",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; one per core by default. Results are the same.")
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Try out, where people graded everything, what would have come of fewer grades.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )
    group.callback()(_replay)
    group.command(
        "estimate",
        epilog='Example: quati-pool replay estimate --run "runs/*" --people nist=nist.qrels --judge llm=llm.qrels '
        "--baseline bm25 --by uncertainty --pilot 300",
    )(estimate)
    group.command(
        "pools",
        epilog='Example: quati-pool replay pools --run "runs/*" --people nist=nist.qrels --judge llm=llm.qrels',
    )(pools)
    app.add_typer(group, name="replay")


def _replay() -> None:
    pass


def estimate(
    context: typer.Context,
    people: PeopleOption,
    judge: JudgesOption,
    run: RunsOption = None,
    measure: MeasureOption = None,
    queries: DrawnQueriesOption = 15,
    pairs: DrawnPairsOption = None,
    by: DrawnByOption = None,
    pilot: PilotOption = 0,
    draws: ReplayDrawsOption = 1000,
    target: ReplayTargetsOption = None,
    system: SystemsOption = None,
    baseline: ComparedOption = None,
    alpha: AlphaOption = 0.05,
    delta: DeltaOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    scale: ScaleOption = None,
    config: ConfigOption = Path("pool.yaml"),
    pool: PoolOption = None,
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Try out designs and estimates where people graded all pairs, so that the truth is known.

    Draws many samples (whole queries; pairs with probabilities for the measure, also --by uncertainty or disagreement;
    pairs with equal ones), estimates from each as estimate would, and reports in how many draws it would refuse, how
    often the intervals contain the truth, how wide they are, how many pairs of systems they decide, and how often
    wrongly. Tables (.md, .tex, .csv, .json) and a figure go to reports/, or to -o DIR.
    """
    from quati_pool.commands.estimates.settings import DEFAULT_MEASURE
    from quati_pool.commands.replay.estimate import ReplaySettings, replay_estimate
    from quati_pool.reporting.answers.replay import answer
    from quati_pool.reporting.figures.replay import write
    from quati_pool.reporting.json_data.replay import as_data
    from quati_pool.reporting.tables.replay import tables

    home = declared(context, config)
    people, judges, files = people_and_judges(people, judge, column, grade, scale, home)
    chosen = list(dict.fromkeys(target)) if target else list(TargetName)
    settings = ReplaySettings(
        people=people,
        judge=judges[0],
        further_judges=judges[1:],
        by=[one.value for one in dict.fromkeys(by or ())],
        pilot=pilot,
        measure=measure or DEFAULT_MEASURE,
        queries=queries,
        pairs=pairs,
        draws=draws,
        targets=[one.value for one in chosen],
        systems=system or (),
        baseline=baseline,
        alpha=alpha,
        delta=delta,
        seed=seed,
        workers=workers,
    )
    with ConsoleListener() as listener:
        report = replay_estimate(config, settings, files, run or (), pool=pool, home=home, listener=listener)
    for warning in report.warnings:
        typer.echo(f"warning: {warning}", err=True)
    with ConsoleListener() as listener:
        write(report, output, listener)
    show(report, partial(answer, output=output), tables, as_data, output_format, full)
