"""``quati-pool questions draft``: questions that a model drafts and people decide on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, DatabaseOption, Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener

if TYPE_CHECKING:
    from quati_pool.commands.annotate.drafts.deriving import DerivedByModel
    from quati_pool.commands.annotate.drafts.report import DraftReport


class Origin(StrEnum):
    passages = "passages"
    taxonomy = "taxonomy"
    clusters = "clusters"


def register(questions: typer.Typer) -> None:
    questions.command(epilog="Example: quati-pool questions draft --from passages --model gpt-4o --n 200 --budget 5")(
        draft
    )


def draft(
    origin: Annotated[
        Origin,
        typer.Option(
            "--from",
            help="passages of the corpus (or the texts of rounds), the combinations of the taxonomy with the fewest "
            "questions, or the queries of clusters that nobody has begun.",
        ),
    ],
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="The judge (judge: llm) whose model writes.")],
    count: Annotated[
        int,
        typer.Option(
            "--n", min=1, help="From how many sources, the first of a fixed order: 300 after 200 asks about 100 more."
        ),
    ],
    config: ConfigOption = Path("pool.yaml"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be asked, its tokens and cost; ask nothing.")
    ] = False,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="USD", help="Stop asking before this is spent.")
    ] = None,
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Have a model draft questions, which people accept, edit or refuse in the app without learning its name.

    Drafts that repeat a question, copy their passage or cannot be understood without it are held back. Whatever the
    model wrote is kept and never paid for twice: after Ctrl-C, a kill or a spent budget, run the same command again.
    drafts/MODEL-FROM.jsonl lists what became of each draft.
    """
    from quati_pool.commands.annotate.drafts.drafting import DraftOptions
    from quati_pool.reporting.answers import drafts as answers
    from quati_pool.reporting.json_data.drafts import as_data
    from quati_pool.reporting.tables import drafts as tables

    options = DraftOptions(origin.value, model, count, budget)
    if dry_run:
        from quati_pool.commands.annotate.drafts.estimate import plan_drafts

        with ConsoleListener() as listener:
            plan = plan_drafts(config, options, listener, database)
        show(plan, answers.plan, lambda plan: [tables.plan(plan)], as_data, output_format, full)
        return
    from quati_pool.commands.annotate.drafts.drafting import draft as step

    with ConsoleListener() as listener:
        report = step(config, options, listener, database=database)
    show(report, answers.drafts, tables.tables, as_data, output_format, full)
    end(report)


def end(run: DraftReport | DerivedByModel | None) -> None:
    """Ends the command as its run ended: with exit code 130 after Ctrl-C, and with the error of one that was cut
    short."""
    if run is None or run.error is None:
        return
    if run.ended == "interrupted":
        typer.echo(f"quati-pool: {run.error}", err=True)
        raise typer.Exit(130)
    raise run.error
