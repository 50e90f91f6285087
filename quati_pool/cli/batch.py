"""``quati-pool batch``: judging through the provider's Batch API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quati_pool.cli.console import say_failures, show
from quati_pool.cli.options import ConfigOption, Format, FormatOption, FullOption, NameArgument, PoolOption
from quati_pool.cli.progress import ConsoleListener

if TYPE_CHECKING:
    from quati_pool.commands.batch.batch import BatchRow

batch = typer.Typer(help="Judge through the provider's Batch API.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    app.add_typer(batch, name="batch")


@batch.command(epilog="Example: quati-pool batch submit gpt-4o --limit 500")
def submit(
    name: NameArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    limit: Annotated[int | None, typer.Option(min=1, help="Submit at most this many pairs.")] = None,
    max_passage_tokens: Annotated[int | None, typer.Option(min=1, help="Cut longer passages.")] = None,
    pool: PoolOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Submit the pairs that have no grade by a judge and are in no open batch.

    Asks the same as judge does, after one small live call that finds out which output format the server
    accepts. If it was killed, run it again: it finishes what it began.
    """
    from quati_pool.commands.batch import batch as step
    from quati_pool.commands.judge.chosen_judge import JudgeOptions
    from quati_pool.reporting.answers.judge import batches_answer
    from quati_pool.reporting.tables.batch import row_table

    options = JudgeOptions(limit=limit, max_passage_tokens=max_passage_tokens, pool=pool)
    with ConsoleListener() as listener:
        made = [step.BatchRow(batch, None) for batch in step.submit(config, name, listener, options)]
    if not made:
        typer.echo("nothing to submit: every pair has a grade or is in an open batch", err=True)
    show(made, batches_answer, lambda rows: [row_table(rows)] if rows else [], _batches_as_data, output_format, full)


@batch.command(epilog="Example: quati-pool batch status gpt-4o --format json")
def status(
    name: NameArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """List the batches of a judge, and how far the provider is with the open ones."""
    from quati_pool.commands.batch import batch as step
    from quati_pool.reporting.answers.judge import batches_answer
    from quati_pool.reporting.tables.batch import row_table

    with ConsoleListener() as listener:
        rows = step.status(config, name, listener)
    show(rows, batches_answer, lambda rows: [row_table(rows)], _batches_as_data, output_format, full)


@batch.command(epilog="Example: quati-pool batch abandon gpt-4o 3f2a91c0")
def abandon(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A judge of pool.yaml.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="The batch, as status names it.")],
    config: ConfigOption = Path("pool.yaml"),
) -> None:
    """Abandon an open batch, so that its pairs may be asked again.

    This does not cancel it at the provider: do so there too, or its answers are charged but never read.
    """
    from quati_pool.commands.batch import batch as step

    with ConsoleListener() as listener:
        step.abandon(config, name, key, listener)


@batch.command(epilog="Example: quati-pool batch collect gpt-4o && quati-pool judge gpt-4o")
def collect(
    name: NameArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Store the verdicts of all finished batches, as the same labels that judge would write.

    Answers that could not be read stay pending: judge, or the next batch, asks again. Exit 0 once the answers
    of all batches are stored, 1 while one is still in progress.
    """
    from quati_pool.commands.batch import batch as step
    from quati_pool.reporting.answers.judge import collected_answer
    from quati_pool.reporting.json_data.judge import as_data
    from quati_pool.reporting.tables.batch import collected_tables, summary

    with ConsoleListener() as listener:
        made = step.collect(config, name, listener)
    say_failures(made.judge, summary(made), made.example)
    show(made, collected_answer, collected_tables, as_data, output_format, full)
    waiting = [row for row in made.rows if row.batch.status in ("prepared", "submitted")]
    if waiting:
        typer.echo(f"{len(waiting)} batches are still in progress; run the same command later", err=True)
        raise typer.Exit(1)


def _batches_as_data(rows: Sequence[BatchRow]) -> Any:
    from quati_pool.reporting.json_data.judge import as_data

    return as_data({"batches": list(rows)})
