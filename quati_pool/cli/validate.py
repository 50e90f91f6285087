"""``quati-pool validate``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from quati_pool.cli.console import show
from quati_pool.cli.label_options import grades_of
from quati_pool.cli.options import Format, FormatOption, FullOption, GradeOption
from quati_pool.cli.progress import ConsoleListener


class FileKind(StrEnum):
    run = "run"
    qrels = "qrels"
    labels = "labels"
    queries = "queries"
    corpus = "corpus"
    config = "config"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool validate pool.yaml runs/*.trec.gz gold.qrels corpus.jsonl queries.tsv")(
        validate
    )


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files to check, plain or .gz.")],
    kind: Annotated[FileKind | None, typer.Option(help="What the files are; recognised by default.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Errors shown of each file; of a corpus, kinds of errors.")] = 20,
    doc_id: Annotated[str, typer.Option(help="A corpus's field of ids.")] = "doc_id",
    text: Annotated[list[str] | None, typer.Option(help="A corpus's field of texts (repeatable).")] = None,
    query_id: Annotated[str, typer.Option(help="A query file's field of ids.")] = "query_id",
    query: Annotated[
        list[str] | None, typer.Option(help="A query file's field of queries (repeatable for TREC topics).")
    ] = None,
    grade: GradeOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Check runs, qrels, label files, queries, corpora, pool.yaml and prepare.yaml; exit 1 where one has an error.

    Every error is one line, path:line: what is wrong; what was expected. Errors of one kind in a corpus share a line
    with their count and first places. For a pool.yaml everything is listed that would stop build or judge: files,
    fields, query ids, rows of runs, models, devices, packages, prompts; of corpora only the first passage is read, and
    nothing is built, downloaded or written. Warnings do not fail a file.
    """
    from quati_pool.commands.validate.validate import validate as step
    from quati_pool.reporting.answers.listings import validated
    from quati_pool.reporting.json_data.validate import as_data
    from quati_pool.reporting.tables.validate import table

    options: dict[str, Any] = {
        "limit": limit,
        "doc_id": doc_id,
        "text": _one_or_many(text) or "text",
        "query_id": query_id,
        "query": _one_or_many(query),
        "grades": grades_of(grade),
    }
    reports = []
    with ConsoleListener() as listener:
        for path in files:
            with listener.stage(f"validate {path}"):
                reports.append(step(path, kind.value if kind else None, **options))
    for report in reports:
        for error in report.errors:
            print(error, file=sys.stderr)
        if report.more_errors:
            print(f"{report.path}: {report.more_errors:,} more errors; raise --limit to see them", file=sys.stderr)
        for warning in report.warnings:
            print(f"{report.path}: warning: {warning}", file=sys.stderr)
    show(reports, validated, lambda found: [table(found)], as_data, output_format, full)
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def _one_or_many(fields: list[str] | None) -> str | list[str] | None:
    return fields[0] if fields and len(fields) == 1 else fields
