"""``quati-pool replay pools``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.label_options import declared
from quati_pool.cli.options import (
    ColumnOption,
    ConfigOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    OutputOption,
    PoolOption,
    RunsOption,
    ScaleOption,
)
from quati_pool.cli.progress import ConsoleListener
from quati_pool.cli.replay_sources import people_and_judges

_LABELER = "[NAME=]FILE|NAME"


class SteeringName(StrEnum):
    people = "people"
    judge = "judge"


PeopleOption = Annotated[
    str, typer.Option("--people", metavar=_LABELER, help="Who graded the pool: a file, or a labeler of the workspace.")
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar=_LABELER,
        help="A judge: a file, or a labeler of the workspace. With one, its order is replayed, and its grades count "
        "where people's are not known.",
    ),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--method", metavar="NAME", help="A pooling method to compare with depth (repeatable); all by default."
    ),
]
ShareOption = Annotated[
    list[float] | None,
    typer.Option(
        "--share", metavar="PERCENT", help="How much of the pool is graded (repeatable); 5, 10, 20 and 40 by default."
    ),
]
DepthOption = Annotated[
    int, typer.Option("--depth", metavar="K", help="How many documents of every run may be pooled.")
]
SteeredByOption = Annotated[
    list[SteeringName] | None,
    typer.Option("--steered-by", help="Whose grades adaptive methods learn from (repeatable); people's by default."),
]
RelevantOption = Annotated[
    int | None,
    typer.Option(
        "--relevant",
        metavar="GRADE",
        help="The lowest relevant grade; by default the lowest of at least half the highest one.",
    ),
]
RandomShareOption = Annotated[
    float,
    typer.Option(
        "--random-share", metavar="PERCENT", help="How much of each budget is drawn at random, with any method."
    ),
]
FamiliesOption = Annotated[
    Path | None,
    typer.Option(
        "--families",
        metavar="FILE",
        help="run_tag <tab> family: which systems are left out together; those of the workspace, or each run its own, "
        "by default.",
    ),
]
LeaveOutOption = Annotated[
    bool,
    typer.Option("--leave-out/--no-leave-out", help="Score every system by pools without its family too."),
]
MeasureOption = Annotated[str | None, typer.Option("--measure", help="nDCG@K; nDCG@10 by default.")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, help="The first seed of methods that draw at random; pool.yaml's, or 0.")
]
SeedsOption = Annotated[int, typer.Option("--seeds", metavar="N", help="How often methods that draw are repeated.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; one per core by default. Results are the same.")
]


def pools(
    context: typer.Context,
    people: PeopleOption,
    judge: JudgeOption = None,
    run: RunsOption = None,
    method: MethodOption = None,
    share: ShareOption = None,
    depth: DepthOption = 10,
    steered_by: SteeredByOption = None,
    relevant: RelevantOption = None,
    random_share: RandomShareOption = 0,
    families: FamiliesOption = None,
    leave_out: LeaveOutOption = True,
    measure: MeasureOption = None,
    seed: SeedOption = None,
    seeds: SeedsOption = 10,
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
    """Try out pooling methods where people graded the pool, so that the truth is known.

    Chooses parts of the pool by each method, with a budget that is fixed per query or moves between queries, and
    reports how many relevant documents each finds compared with depth pooling, and how systems would rank: with
    unjudged documents as 0, taken out, or graded by the judge. Tables (.md, .tex, .csv, .json) and a figure go to
    reports/, or to -o DIR.
    """
    from quati_pool.commands.estimates.settings import DEFAULT_MEASURE
    from quati_pool.commands.replay.pools import SHARES, PoolReplaySettings, replay_pools
    from quati_pool.reporting.answers.replay_pools import answer
    from quati_pool.reporting.figures.replay_pools import write
    from quati_pool.reporting.json_data.replay_pools import as_data
    from quati_pool.reporting.tables.replay_pools import tables

    home = declared(context, config)
    people, judges, files = people_and_judges(people, [judge] if judge else [], column, grade, scale, home)
    settings = PoolReplaySettings(
        people=people,
        judge=judges[0] if judges else None,
        methods=method or (),
        shares=share or SHARES,
        depth=depth,
        steered_by=[one.value for one in steered_by or [SteeringName.people]],
        relevant=relevant,
        random_share=random_share,
        families=families,
        leave_out=leave_out,
        measure=measure or DEFAULT_MEASURE,
        seed=seed,
        seeds=seeds,
        workers=workers,
    )
    with ConsoleListener() as listener:
        report = replay_pools(config, settings, files, run or (), pool=pool, home=home, listener=listener)
    for warning in report.warnings:
        typer.echo(f"warning: {warning}", err=True)
    with ConsoleListener() as listener:
        write(report, output, listener)
    show(report, partial(answer, output=output), tables, as_data, output_format, full)
