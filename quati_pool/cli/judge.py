"""``quati-pool judge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.build import ConfigOption
from quati_pool.cli.console import ConsoleListener, Format, FormatOption, show
from quati_pool.errors import QuatiPoolError

if TYPE_CHECKING:
    from quati_pool.store.failed_answers import FailedAnswer

PoolOption = Annotated[
    Path | None, typer.Option("--pool", help="Another pool than the workspace's: JSON lines, plain or .gz.")
]
NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A judge of pool.yaml; may be left out if it has one.")
]


def say_failures(judge: str, summary: str | None, example: FailedAnswer | None) -> None:
    """Says on stderr, before the tables, how many answers are no grade, with one of them; nothing where all are."""
    from quati_pool.steps import failures

    if summary is not None:
        typer.echo(summary, err=True)
        if example is not None:
            typer.echo(failures.example(judge, example), err=True)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool judge gpt-4o --dry-run && quati-pool judge gpt-4o --budget 20")(judge)


def judge(
    name: NameArgument = None,
    config: ConfigOption = Path("pool.yaml"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked, its tokens, cost and time; ask nothing.")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Spend no more in this run; calls in flight included.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about so many pairs and stop (exit 0).")] = None,
    reask: Annotated[int, typer.Option(min=0, help="Ask again so often for an answer that cannot be read.")] = 2,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Calls in flight at most.")] = None,
    rpm: Annotated[int | None, typer.Option(min=1, help="Requests a minute at most.")] = None,
    tpm: Annotated[int | None, typer.Option(min=1, help="Tokens a minute at most.")] = None,
    max_passage_tokens: Annotated[
        int | None, typer.Option(min=1, help="Cut longer passages; each label records that its passage was cut.")
    ] = None,
    pool: PoolOption = None,
    how: FormatOption = Format.table,
) -> None:
    """Grade the pool's pairs that a judge has not graded yet.

    Every verdict is committed as it lands; an answer that cannot be read, a refusal or a failed call is
    no grade: how many there are comes first, with one of them. Stop it with Ctrl-C or kill it, and run it
    again: it asks only what has no grade yet. Exit 0 once all pairs were asked. A model behind another
    server: set OPENAI_BASE_URL and OPENAI_API_KEY, or base_url: and api_key_env: in pool.yaml.
    """
    from quati_pool.steps import judge as step

    options = step.JudgeOptions(limit, budget, reask, concurrency, rpm, tpm, max_passage_tokens, pool)
    if dry_run:
        from quati_pool.steps import judge_plan

        with ConsoleListener() as listener:
            made = judge_plan.plan(config, name, listener, options)
        show([judge_plan.table(made)], judge_plan.as_data(made), how)
        return
    from quati_pool.steps.judge_report import as_data, summary, tables

    with ConsoleListener() as listener:
        report = step.judge(config, name, listener, options)
    if report.error is not None and not report.pending.asked:
        raise report.error
    say_failures(report.judge, summary(report), report.example)
    show(tables(report), as_data(report), how)
    again = f"{report.pending.left:,} pairs are still to be asked; run the same command again"
    if report.error is not None:
        raise report.error
    if report.ended == "budget":
        raise QuatiPoolError(f"the budget of US$ {budget} is spent: {again}")
    if report.ended == "interrupted":
        typer.echo(f"quati-pool: stopped: {again}", err=True)
        raise typer.Exit(130)
    if report.ended == "limit":
        typer.echo(again, err=True)
    if report.pending.in_batches:
        waiting = f"{report.pending.in_batches:,} pairs wait in a batch"
        raise QuatiPoolError(f"{waiting}; run: quati-pool batch collect {report.judge}")
