"""``quati-pool estimate --plan``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format
from quati_pool.cli.progress import ConsoleListener

if TYPE_CHECKING:
    from quati_pool.commands.estimates.settings import EstimateSettings
    from quati_pool.labels.gathered import LabelFiles

PlanOption = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Say how much people have to grade for a --half-width or to find a --difference; labels are optional.",
    ),
]
HalfWidthOption = Annotated[
    float | None,
    typer.Option("--half-width", metavar="W", help="Plan for intervals that reach W to either side."),
]
DifferenceOption = Annotated[
    float | None,
    typer.Option("--difference", metavar="D", help="Plan to find systems that differ by D."),
]
PowerOption = Annotated[
    float | None,
    typer.Option("--power", help="The probability of finding the --difference; 0.8 by default."),
]
CorrelationOption = Annotated[
    float | None,
    typer.Option(
        "--correlation",
        metavar="R",
        help="Plan for this correlation of people's and the judge's grades, not from labels; 0.6 where there are none.",
    ),
]
SecondsOption = Annotated[
    float | None,
    typer.Option(
        "--seconds-per-label",
        metavar="S",
        help="What a label takes; the median in the workspace by default, or else 30.",
    ),
]
MinutesOption = Annotated[
    float | None,
    typer.Option("--minutes-per-query", metavar="M", help="What reading into a query takes; 2 by default."),
]


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of ``--plan`` as given."""

    plan: bool
    half_width: float | None
    difference: float | None
    power: float | None
    correlation: float | None
    seconds_per_label: float | None
    minutes_per_query: float | None

    def check(self, output: Path | None) -> None:
        """Raises BadParameter where options do not belong together."""
        given = {
            "--half-width": self.half_width,
            "--difference": self.difference,
            "--power": self.power,
            "--correlation": self.correlation,
            "--seconds-per-label": self.seconds_per_label,
            "--minutes-per-query": self.minutes_per_query,
        }
        for name, value in given.items():
            if value is not None and not self.plan:
                raise typer.BadParameter("the option is for plans only; add --plan, or leave it out", param_hint=name)
        if self.plan and output is not None:
            raise typer.BadParameter("a plan is only printed; leave -o out, or use --format and >", param_hint="-o")


def plan(
    config: Path,
    settings: EstimateSettings,
    options: PlanOptions,
    files: LabelFiles,
    runs: Sequence[str],
    pool: Path | None,
    database: str | None,
    output_format: Format,
    full: bool,
) -> None:
    """Prints the plan."""
    from quati_pool.commands.estimates.plan import plan_estimate
    from quati_pool.commands.estimates.plan_settings import PlanSettings
    from quati_pool.reporting.answers.plan_estimate import answer
    from quati_pool.reporting.json_data.plan_estimate import as_data
    from quati_pool.reporting.tables.plan_estimate import tables

    wanted = PlanSettings(
        estimate=settings,
        half_width=options.half_width,
        difference=options.difference,
        power=options.power,
        correlation=options.correlation,
        seconds_per_label=options.seconds_per_label,
        minutes_per_query=options.minutes_per_query,
    )
    with ConsoleListener() as listener:
        report = plan_estimate(config, wanted, files, runs, pool=pool, database=database, listener=listener)
    for warning in dict.fromkeys(report.warnings):
        typer.echo(f"warning: {warning}", err=True)
    show(report, answer, tables, as_data, output_format, full)
