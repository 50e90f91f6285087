"""``quati-pool estimate``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.agree import RevealedOption
from quati_pool.cli.console import show
from quati_pool.cli.label_options import declared, label_files, named_file, names_file, say_left_out
from quati_pool.cli.options import (
    AlphaOption,
    BaselineOption,
    ColumnOption,
    ConfigOption,
    DatabaseOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    MeasuresOption,
    OutputOption,
    PoolOption,
    QueriesOption,
    RunsOption,
    ScaleOption,
    SeedOption,
)
from quati_pool.cli.plan_estimate import (
    CorrelationOption,
    DifferenceOption,
    HalfWidthOption,
    MinutesOption,
    PlanOption,
    PlanOptions,
    PowerOption,
    SecondsOption,
    plan,
)
from quati_pool.cli.progress import ConsoleListener

if TYPE_CHECKING:
    from quati_pool.commands.estimates.settings import EstimateSettings
    from quati_pool.labels.gathered import LabelFiles
    from quati_pool.project.config import PoolConfig

_SOURCES = "--people/--judge"


class TargetName(StrEnum):
    these = "these-queries"
    like_these = "queries-like-these"


class SampledUnit(StrEnum):
    queries = "queries"
    pairs = "pairs"


class Aggregation(StrEnum):
    majority = "majority"
    mean = "mean"


PeopleSourceOption = Annotated[
    str | None,
    typer.Option(
        "--people",
        metavar="[NAME=]FILE|NAME",
        help="Whose grades count: a file, or a labeler of the workspace; by default all who graded the design's pairs.",
    ),
]
JudgeSourceOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="[NAME=]FILE|NAME",
        help="The judge that graded all pairs: a file, or a labeler of the workspace; its language model by default.",
    ),
]
SampledOption = Annotated[
    SampledUnit | None,
    typer.Option("--sampled", help="What of the file of --people was drawn at random: whole queries, or single pairs."),
]
TargetsOption = Annotated[
    list[TargetName] | None,
    typer.Option(
        "--target",
        help="The mean over the collection's queries (the default), or over all queries like them (repeatable).",
    ),
]
DeltaOption = Annotated[
    float | None,
    typer.Option(
        "--delta",
        min=0,
        help="Systems that surely differ by less than this are a tie; 0.02 by default, for DCG 0.02 of its maximum.",
    ),
]
LooksOption = Annotated[
    int,
    typer.Option(
        "--looks", min=1, metavar="K", help="How often the estimates will be looked at, as planned in advance."
    ),
]
DesignOption = Annotated[
    int | None,
    typer.Option(
        "--design",
        metavar="ID",
        help="The design of assign that drew the labels; the latest random one that people have begun by default.",
    ),
]
AggregationOption = Annotated[
    Aggregation,
    typer.Option("--aggregate", help="The grade of a pair that several people graded; leads' decisions come first."),
]


def register(app: typer.Typer) -> None:
    app.command(
        epilog='Example: quati-pool estimate --run "runs/*" --people nist=sub.qrels --judge llm=llm.qrels '
        "--sampled queries"
    )(estimate)


def estimate(
    context: typer.Context,
    run: RunsOption = None,
    people: PeopleSourceOption = None,
    judge: JudgeSourceOption = None,
    sampled: SampledOption = None,
    measures: MeasuresOption = None,
    target: TargetsOption = None,
    baseline: BaselineOption = None,
    alpha: AlphaOption = 0.05,
    delta: DeltaOption = None,
    looks: LooksOption = 1,
    design: DesignOption = None,
    aggregate: AggregationOption = Aggregation.majority,
    revealed: RevealedOption = False,
    to_plan: PlanOption = False,
    half_width: HalfWidthOption = None,
    difference: DifferenceOption = None,
    power: PowerOption = None,
    correlation: CorrelationOption = None,
    seconds_per_label: SecondsOption = None,
    minutes_per_query: MinutesOption = None,
    queries: QueriesOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    scale: ScaleOption = None,
    seed: SeedOption = None,
    config: ConfigOption = Path("pool.yaml"),
    pool: PoolOption = None,
    database: DatabaseOption = None,
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Estimate what systems would score under people's grades, from few of theirs and all of a judge's.

    People grade queries or pairs that were drawn at random, by a design of assign; the judge's grades of all pairs
    narrow the intervals, and are never taken for people's. Each pair of systems, or each system and the baseline, gets
    a verdict: better, worse, a tie, or inconclusive, with how many further labels would find a difference of --delta.
    Tables (.md, .tex, .csv, .json) and figures go to reports/, or to -o DIR.

    With --plan: how many queries or pairs people have to grade, and how long that takes them, before or after the first
    labels.
    """
    from quati_pool.commands.estimates.settings import EstimateSettings

    options = PlanOptions(
        plan=to_plan, half_width=half_width, difference=difference, power=power, correlation=correlation,
        seconds_per_label=seconds_per_label, minutes_per_query=minutes_per_query,
    )  # fmt: skip
    options.check(output)
    home = declared(context, config)
    if home is not None:
        measures, seed = measures or home.measures[:1], home.seed if seed is None else seed
    people, judge, files = _sources(people, judge, column, grade, queries, scale, home)
    settings = EstimateSettings(
        measures=measures, targets=tuple(one.value for one in dict.fromkeys(target or [TargetName.these])),
        people=people, judge=judge, aggregate=aggregate.value, design=design,
        sampled=sampled.value if sampled else None, baseline=baseline, alpha=alpha, delta=delta, looks=looks,
        revealed=revealed, seed=seed,
    )  # fmt: skip
    if options.plan:
        plan(config, settings, options, files, run or (), pool, database, output_format, full)
    else:
        _estimate(config, settings, files, run or (), pool, database, output, output_format, full)


def _estimate(
    config: Path, settings: EstimateSettings, files: LabelFiles, runs: Sequence[str], pool: Path | None,
    database: str | None, output: Path | None, output_format: Format, full: bool,
) -> None:  # fmt: skip
    """Writes the files of the estimates, and prints them."""
    from quati_pool.commands.estimates.estimate import estimate as step
    from quati_pool.reporting.answers.estimate import answer
    from quati_pool.reporting.figures.estimate import write
    from quati_pool.reporting.json_data.estimate import as_data
    from quati_pool.reporting.tables.estimate import SHOWN_DIFFERENCES, tables

    with ConsoleListener() as listener:
        report = step(config, settings, files, runs, pool=pool, database=database, listener=listener)
    if report.gathered is not None:
        say_left_out(report.gathered)
    for warning in dict.fromkeys([*report.warnings, *(said for one in report.estimates for said in one.warnings)]):
        typer.echo(f"warning: {warning}", err=True)
    with ConsoleListener() as listener:
        write(report, output, listener)
    most = None if output_format is Format.csv else SHOWN_DIFFERENCES
    show(report, partial(answer, output=output), partial(tables, differences=most), as_data, output_format, full)


def _sources(
    people: str | None, judge: str | None, columns: list[str] | None, grades: list[str] | None, queries: Path | None,
    scale: str | None, home: PoolConfig | None,
) -> tuple[str | None, str | None, LabelFiles]:  # fmt: skip
    """The names of people and judge, and the files among them."""
    persons = [named_file(people, "--people")[0]] if people and names_file(people, "--people") else []
    judges = [named_file(judge, "--judge")[0]] if judge and names_file(judge, "--judge") else []
    options = [option for option, found in ((people, persons), (judge, judges)) if option and found]
    files = label_files(options, persons, columns, grades, queries, scale, home, hint=_SOURCES)
    return (persons[0] if persons else people), (judges[0] if judges else judge), files
