"""``quati-pool questions``: what people wrote for the collection, as a file of queries or as a data set."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli import question_drafts
from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, DatabaseOption, Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener
from quati_pool.cli.question_constraints import constraints

questions = typer.Typer(
    help="Questions that people write in the app: list, draft, export or release them; reports of their rounds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class ReleaseForm(StrEnum):
    pira = "pira"
    romqa = "romqa"
    jsonl = "jsonl"
    hf = "hf"


def register(app: typer.Typer) -> None:
    example = "Example: quati-pool questions constraints triples.tsv --texts texts.jsonl"
    questions.command(epilog=example)(constraints)
    app.add_typer(questions, name="questions")


@questions.command("list", epilog="Example: quati-pool questions list --format json")
def list_questions(
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """List all questions with their state, author and query_id, and count them by theme, scope and type. Where they are
    written in rounds (authoring: in pool.yaml), list the rounds with their open, held and done tasks."""
    from quati_pool.project.config import load_config

    if load_config(config, writing=True).authoring is not None:
        from quati_pool.commands.annotate.authoring.report import rounds_report
        from quati_pool.reporting.answers import authoring as answers
        from quati_pool.reporting.json_data.authoring import as_data as rounds_data
        from quati_pool.reporting.tables import authoring as rounds_tables

        rounds = rounds_report(config, database)
        show(rounds, answers.rounds, rounds_tables.progress, rounds_data, output_format, full)
        return
    from quati_pool.reporting.answers.annotation import written_questions
    from quati_pool.reporting.json_data.annotate import as_data
    from quati_pool.reporting.tables.questions import report, tables

    found = report(config, database)
    show(found, written_questions, tables, as_data, output_format, full)


question_drafts.register(questions)


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

    TSV has query_id <tab> query; JSONL also has the narrative, theme, scope, type, the doc_id of the passage that the
    question was written from (source_doc_id), and the model that drafted it, if one did (drafted_by). Refused if FILE
    holds other queries, unless --merge keeps them.
    """
    from quati_pool.commands.annotate.questions.export import export_questions

    with ConsoleListener() as listener:
        made = export_questions(config, output, merge=merge, database=database, listener=listener)
    lost = f"; {made.narratives:,} narratives are left out: .jsonl holds them" if made.narratives else ""
    if made.drafters:
        lost += f"; which program drafted {made.drafters:,} of them is left out: .jsonl holds it"
    typer.echo(f"wrote {made.path}: {made.queries:,} queries, {made.added:,} of them new{lost}", err=True)


@questions.command(epilog="Example: quati-pool questions derive --file paraphrases.jsonl")
def derive(
    config: ConfigOption = Path("pool.yaml"),
    file: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="JSON lines of paraphrases and translations, by whatever program (repeatable): question_id or "
            "source_id, field, text, drafted_by.",
        ),
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option(
            "--choices",
            metavar="LANGUAGE",
            help="The language of the sets of multiple choice (repeatable); en by default.",
        ),
    ] = None,
    release: Annotated[
        Path | None,
        typer.Option("--release", metavar="DIR", help="A release whose splits stay: sets are built split by split."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The judge (judge: llm) whose model writes two paraphrases of each question and of its answers, and "
            "translates texts that lack a language.",
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="USD", help="With --model: stop asking before this is spent.")
    ] = None,
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Add what programs derive from finished questions, for people to accept or refuse in the app: sets of multiple
    choice, built as bench pira mcqa builds them, and the paraphrases and translations of files or of a model. With the
    design romqa: pairs with questions of the set that compare: names, for people to rate how natural both are."""
    from quati_pool.commands.annotate.authoring.derive import Derived
    from quati_pool.commands.annotate.authoring.derive import derive as derive_texts
    from quati_pool.reporting.answers import authoring as answers
    from quati_pool.reporting.json_data.authoring import as_data
    from quati_pool.reporting.tables import authoring as tables

    if budget is not None and model is None:
        raise typer.BadParameter("goes with --model", param_hint="--budget")
    with ConsoleListener() as listener:
        found = derive_texts(
            config, file or (), languages=choices or (), release=release, model=model, budget=budget,
            database=database, listener=listener,
        )  # fmt: skip
    show(found, answers.derived, tables.derived, as_data, output_format, full)
    question_drafts.end(found.by_model if isinstance(found, Derived) else None)


@questions.command(epilog="Example: quati-pool questions report --full")
def report(
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Report on the rounds in which questions are written, with time and counts by person. Pirá's: evaluations and
    agreement on them, token F1 and exact match of people's answers. RoMQA's: verification, sizes, naturalness."""
    from quati_pool.commands.annotate.authoring.report import report as authoring_report
    from quati_pool.reporting.answers import authoring as answers
    from quati_pool.reporting.json_data.authoring import as_data
    from quati_pool.reporting.tables import authoring as tables

    found = authoring_report(config, database)
    show(found, answers.report, tables.tables, as_data, output_format, full)


@questions.command(epilog="Example: quati-pool questions release --as pira -o pira-data")
def release(
    form: Annotated[ReleaseForm, typer.Option("--as", help="Pirá's columns, RoMQA's files, JSON lines, or for HF.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder; its splits stay.")],
    config: ConfigOption = Path("pool.yaml"),
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Release what is there, though rounds are not over.")
    ] = False,
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Write the data set that people wrote in rounds, split as authoring: says, with a data card. People are in it by
    number, never by name."""
    from quati_pool.commands.annotate.authoring.release import release as release_questions
    from quati_pool.reporting.answers import authoring as answers
    from quati_pool.reporting.json_data.authoring import as_data
    from quati_pool.reporting.tables import authoring as tables

    with ConsoleListener() as listener:
        found = release_questions(
            config, form.value, output, allow_missing=allow_missing, database=database, listener=listener
        )
    show(found, answers.released, tables.released, as_data, output_format, full)
