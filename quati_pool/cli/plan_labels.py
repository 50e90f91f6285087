"""``quati-pool plan-labels``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.estimate import TargetName
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption, OutputOption
from quati_pool.cli.plan_estimate import MinutesOption, SecondsOption
from quati_pool.cli.progress import ConsoleListener

BudgetOption = Annotated[
    float, typer.Option("--budget", metavar="USD", help="All the money there is, for people and the judge.")
]
CostPersonOption = Annotated[
    str, typer.Option("--cost-person", metavar="USD/h|USD/label", help="What people cost, such as 20/h or 0.25/label.")
]
HoursOption = Annotated[
    float | None, typer.Option("--hours", metavar="H", help="People's hours there are; no limit by default.")
]
CostJudgeOption = Annotated[
    str | None,
    typer.Option(
        "--cost-judge",
        metavar="NAME|USD",
        help="A judge of pool.yaml, whose cost is that of judge --dry-run, or US dollars per pair; the only judge by "
        "default.",
    ),
]
MeasureOption = Annotated[
    str | None, typer.Option("--measure", help="What systems are ranked by; the first of pool.yaml by default.")
]
TargetOption = Annotated[
    TargetName,
    typer.Option("--target", help="Half-widths of the mean over the collection's queries, or over all like them."),
]
ReplayOption = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="FILE",
        help="A replay-pools.json of another collection, to read recall from; this one's grades by default.",
    ),
]


def register(app: typer.Typer) -> None:
    app.command(
        "plan-labels",
        epilog="Example: quati-pool plan-labels --budget 500 --cost-person 20/h --cost-judge gpt-4o",
    )(plan_labels)


def plan_labels(
    budget: BudgetOption,
    cost_person: CostPersonOption,
    hours: HoursOption = None,
    cost_judge: CostJudgeOption = None,
    seconds_per_label: SecondsOption = None,
    minutes_per_query: MinutesOption = None,
    measure: MeasureOption = None,
    target: TargetOption = TargetName.these,
    replay: ReplayOption = None,
    config: ConfigOption = Path("pool.yaml"),
    output: OutputOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Say what money and hours buy: labels, relevant documents found, and the width of intervals.

    Compares a depth pool, adaptive pools, a judge's order, and random queries or pairs after a judge has graded the
    pool. Recall is a replay on this collection's grades so far, people's if they graded the whole pool, else the
    judge's; or is read from --replay. Half-widths are tried out as by estimate --plan. Files (.md, .tex, .csv, .json)
    go to reports/, or to -o DIR.
    """
    from quati_pool.commands.plan_labels.plan_labels import PlanLabelsSettings
    from quati_pool.commands.plan_labels.plan_labels import plan_labels as step
    from quati_pool.reporting.answers.plan_labels import answer
    from quati_pool.reporting.figures.plan_labels import write
    from quati_pool.reporting.json_data.plan_labels import as_data
    from quati_pool.reporting.tables.plan_labels import tables

    settings = PlanLabelsSettings(
        budget=budget,
        cost_person=cost_person,
        hours=hours,
        cost_judge=cost_judge,
        seconds_per_label=seconds_per_label,
        minutes_per_query=minutes_per_query,
        measure=measure,
        target=target.value,
        replay=replay,
    )
    with ConsoleListener() as listener:
        report = step(config, settings, listener=listener)
        write(report, output, listener)
    for warning in dict.fromkeys(report.warnings):
        typer.echo(f"warning: {warning}", err=True)
    show(report, partial(answer, output=output), tables, as_data, output_format, full)
