"""``quati-pool assign``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, DatabaseOption, Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener


class QueueName(StrEnum):
    """Pairs to find errors in."""

    sure_relevant = "sure-relevant"
    contradictions = "contradictions"
    near_duplicates = "near-duplicates"


AllOption = Annotated[bool, typer.Option("--all", help="All pairs of the pool.")]
RandomOption = Annotated[
    str | None, typer.Option(metavar="N|RATE", help="This many pairs at random, or a share such as 0.1 or 10%.")
]
StratifiedOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="This many pairs, some of every stratum (--by).")
]
RandomQueriesOption = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="All pairs of this many queries at random, given out in a random order."),
]
PairsForOption = Annotated[
    str | None,
    typer.Option(metavar="MEASURE", help="Pairs at random that matter for nDCG@10, DCG@10, P@10 or the like."),
]
PairsOfQueriesOption = Annotated[
    str | None, typer.Option(metavar="FILE|Q1,Q2", help="All pairs of these queries, or the first of --system's run.")
]
TrainingOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Pairs to practise on: query_id, doc_id, relevance, explanation."),
]
GoldOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Pairs with a known grade to mix in unannounced: query_id, doc_id, relevance."),
]
QueueOption = Annotated[
    QueueName | None,
    typer.Option(help="Pairs to find errors in, --expect of them at most; no sample, so never for estimates."),
]
JudgesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="With --stratified, --pairs-for or --queue: the judge whose grades form strata, weigh or choose pairs. "
        "Named again, with --by disagreement or --queue contradictions: those that are compared; by default all "
        "language models.",
    ),
]
StrataOption = Annotated[
    str | None,
    typer.Option(
        metavar="query,grade,systems|WEIGHT",
        help="With --stratified: what forms strata; with --judge all three by default. With --pairs-for: what pairs "
        "are drawn by: discount (the default: what they weigh in the measure), or that times the judge's uncertainty, "
        "or times the disagreement of judges.",
    ),
]
MinimumOption = Annotated[
    int,
    typer.Option(
        min=0, help="With --stratified: fewest pairs of each stratum; 0 where there are more strata than pairs."
    ),
]
QueryStrataOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="With --random-queries: the column of the queries' file that forms strata."),
]
RateOption = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="With --pairs-for: the share of the pool to expect, such as 0.1 or 10%."),
]
ExpectOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="With --pairs-for: the number of pairs to expect; with --queue: the most to choose."
    ),
]
ImportantOption = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="BM25,E5", help="With --pairs-for: the systems to estimate best; by default all of them."
    ),
]
UniformOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="With --pairs-for: how much of it to spread evenly over the pool; 0.2 by default."
    ),
]
SystemOption = Annotated[
    str | None, typer.Option(metavar="RUN_TAG", help="With --queries: whose first passages to take.")
]
DepthOption = Annotated[int | None, typer.Option(min=1, help="With --system: how many of them; 10 by default.")]
OverlapOption = Annotated[int, typer.Option(min=1, help="How many people grade each pair.")]
LoadOption = Annotated[int | None, typer.Option(min=1, help="Most pairs that one person gets.")]
OnlyPeopleOption = Annotated[
    str | None, typer.Option(metavar="ANA,BIA", help="Only these people; by default everyone.")
]
SampleSeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of the choice; pool.yaml's by default.")]
WithdrawOption = Annotated[
    int | None, typer.Option(min=1, metavar="DESIGN", help="Take back what of this design is not done yet.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be chosen or taken back; write nothing.")
]


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Example: quati-pool assign --stratified 300 --judge gpt-4o --overlap 2 --dry-run; quati-pool assign "
        "--pairs-for nDCG@10 --expect 1500 --by uncertainty; quati-pool assign --queue contradictions --expect 50"
    )(assign)


def assign(
    everything: AllOption = False,
    random: RandomOption = None,
    stratified: StratifiedOption = None,
    random_queries: RandomQueriesOption = None,
    pairs_for: PairsForOption = None,
    queue: QueueOption = None,
    queries: PairsOfQueriesOption = None,
    training: TrainingOption = None,
    gold: GoldOption = None,
    withdraw: WithdrawOption = None,
    judge: JudgesOption = None,
    by: StrataOption = None,
    minimum: MinimumOption = 1,
    strata: QueryStrataOption = None,
    rate: RateOption = None,
    expect: ExpectOption = None,
    important: ImportantOption = None,
    uniform: UniformOption = None,
    system: SystemOption = None,
    depth: DepthOption = None,
    overlap: OverlapOption = 1,
    load: LoadOption = None,
    to: OnlyPeopleOption = None,
    seed: SampleSeedOption = None,
    dry_run: DryRunOption = False,
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Choose the pairs that people grade, in exactly one way, and assign them.

    Stores how pairs were chosen and with what probability. The same command again adds nothing; a larger
    sample with the same seed adds only the further pairs. Pairs stay with the people who have them.
    To estimate what systems would score, draw --random-queries or --pairs-for. To find errors, take a --queue:
    what a judge is sure to be relevant, what judges contradict each other on, near-duplicates graded apart.
    """
    known = training or gold
    if known is not None or withdraw is not None:
        choices = (
            everything, random, stratified, random_queries, pairs_for, queue, queries, judge, by, strata, rate, expect,
            important, uniform is not None, system, depth, load, to,
        )  # fmt: skip
        several = sum(one is not None for one in (training, gold, withdraw)) > 1
        if any(choices) or several or overlap != 1 or minimum != 1 or seed is not None:
            hint, why = (
                ("--training", "everybody does all of the training") if training
                else ("--gold", "everybody may get each of the gold pairs") if gold
                else ("--withdraw", "the design says which pairs it chose")
            )  # fmt: skip
            raise typer.BadParameter(f"cannot be combined with the other choices, as {why}", param_hint=hint)
    if withdraw is not None:
        _withdraw(config, withdraw, dry_run, database, output_format, full)
        return
    if known is not None:
        _train(config, known, gold is not None, dry_run, database, output_format, full)
        return
    if depth is not None and system is None:
        raise typer.BadParameter("says how deep a system's run is taken; add --system", param_hint="--depth")
    from quati_pool.commands.annotate.assigning.assign import assign as step
    from quati_pool.commands.annotate.assigning.options import AssignOptions
    from quati_pool.commands.annotate.assigning.pair_sampling import query_list
    from quati_pool.reporting.answers.annotation import assigned
    from quati_pool.reporting.json_data.annotate import as_data
    from quati_pool.reporting.tables.assign import tables

    options = AssignOptions(
        everything=everything, random=random, stratified=stratified,
        queries=None if queries is None else query_list(queries), random_queries=random_queries, pairs_for=pairs_for,
        queue=None if queue is None else queue.value, by=_parts(by), judge=judge[0] if judge else None,
        further_judges=judge[1:] if judge else (), minimum=minimum, system=system, depth=depth or 10, strata=strata,
        rate=rate, expect=expect, important=_parts(important) or (), uniform=uniform, overlap=overlap, load=load,
        to=_parts(to) or (), seed=seed, dry_run=dry_run,
    )  # fmt: skip
    with ConsoleListener() as listener:
        report = step(config, options, database, listener)
    for note in report.notes:
        typer.echo(note, err=True)
    show(report, assigned, partial(tables, whole=output_format is Format.csv), as_data, output_format, full)


def _train(
    config: Path, path: Path, gold: bool, dry_run: bool, database: str | None, output_format: Format, full: bool
) -> None:
    from quati_pool.commands.annotate.assigning.training_file import add_training
    from quati_pool.reporting.answers.annotation import training
    from quati_pool.reporting.json_data.annotate import training_as_data
    from quati_pool.reporting.tables.assign import training_table

    with ConsoleListener() as listener:
        made = add_training(config, path, gold=gold, dry_run=dry_run, database=database, listener=listener)
    if made.assigned:
        what = (
            "who has one of these to grade does not get it as gold"
            if gold
            else ("people see the known grade before they grade")
        )
        typer.echo(f"{made.assigned:,} of them are assigned too: {what}", err=True)
    show(
        made,
        partial(training, dry_run=dry_run),
        lambda report: [training_table(report, dry_run)],
        partial(training_as_data, dry_run=dry_run),
        output_format,
        full,
    )


def _withdraw(
    config: Path, design_id: int, dry_run: bool, database: str | None, output_format: Format, full: bool
) -> None:
    from quati_pool.commands.annotate.assigning.withdraw import withdraw as step
    from quati_pool.reporting.answers.annotation import withdrawn
    from quati_pool.reporting.json_data.annotate import withdrawn_as_data
    from quati_pool.reporting.tables.assign import withdrawn_table

    with ConsoleListener() as listener:
        made = step(config, design_id, dry_run=dry_run, database=database, listener=listener)
    show(made, withdrawn, lambda report: [withdrawn_table(report)], withdrawn_as_data, output_format, full)


def _parts(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
