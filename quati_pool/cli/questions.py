"""``quati-pool questions``: what people wrote for the collection, and the accepted ones as a file of queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, DatabaseOption, Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener

questions = typer.Typer(
    help="Questions that people write in the app: list them, export the accepted ones.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    app.add_typer(questions, name="questions")


@questions.command("list", epilog="Example: quati-pool questions list --format json")
def list_questions(
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """List all questions with their state, author and query_id, and count them by theme, scope and type."""
    from quati_pool.reporting.answers.annotation import written_questions
    from quati_pool.reporting.json_data.annotate import as_data
    from quati_pool.reporting.tables.questions import report, tables

    found = report(config, database)
    show(found, written_questions, tables, as_data, output_format, full)


@questions.command(epilog="Example: quati-pool questions export -o queries.tsv --merge")
def export(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file: .tsv or .jsonl, .gz too.")],
    config: ConfigOption = Path("pool.yaml"),
    merge: Annotated[
        bool, typer.Option("--merge", help="Keep what FILE holds and append the questions that it lacks.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Write the accepted questions with their query_ids as a file of queries.

    TSV has query_id <tab> query; JSONL also has the narrative, theme, scope, type and the doc_id of the
    passage that the question was written from (source_doc_id). Refused if FILE holds other queries, unless --merge
    keeps them.
    """
    from quati_pool.commands.annotate.questions.export import export_questions

    with ConsoleListener() as listener:
        made = export_questions(config, output, merge=merge, database=database, listener=listener)
    lost = f"; {made.narratives:,} narratives are left out: .jsonl holds them" if made.narratives else ""
    typer.echo(f"wrote {made.path}: {made.queries:,} queries, {made.added:,} of them new{lost}", err=True)
