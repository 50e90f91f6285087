"""``quati-pool validate``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quati_pool.cli.console import show
from quati_pool.cli.label_options import grades_of
from quati_pool.cli.options import Format, FormatOption, GradeOption
from quati_pool.reporting.formats.tables import Column, Table

if TYPE_CHECKING:
    from quati_pool.files.validation import ValidationReport


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
    output_format: FormatOption = Format.table,
) -> None:
    """Check runs, qrels, label files, queries, corpora, pool.yaml and prepare.yaml; exit 1 where one has an error.

    Every error is one line, path:line: what is wrong; what was expected. Errors of one kind in a corpus share a line
    with their count and first places. For a pool.yaml everything is listed that would stop build or judge: files,
    fields, query ids, rows of runs, models, devices, packages, prompts; of corpora only the first passage is read, and
    nothing is built, downloaded or written. Warnings do not fail a file.
    """
    from quati_pool.commands.validate.validate import validate as step
    from quati_pool.reporting.json_data.validate import as_data

    options: dict[str, Any] = {
        "limit": limit,
        "doc_id": doc_id,
        "text": _one_or_many(text) or "text",
        "query_id": query_id,
        "query": _one_or_many(query),
        "grades": grades_of(grade),
    }
    reports = [step(path, kind.value if kind else None, **options) for path in files]
    for report in reports:
        for error in report.errors:
            print(error, file=sys.stderr)
        if report.more_errors:
            print(f"{report.path}: {report.more_errors:,} more errors; raise --limit to see them", file=sys.stderr)
        for warning in report.warnings:
            print(f"{report.path}: warning: {warning}", file=sys.stderr)
    show([_table(reports)], as_data(reports), output_format)
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def _one_or_many(fields: list[str] | None) -> str | list[str] | None:
    return fields[0] if fields and len(fields) == 1 else fields


def _table(reports: list[ValidationReport]) -> Table:
    rows = [[str(report.path), report.kind or "?", _verdict(report), _summary(report.summary)] for report in reports]
    return Table("Files", [Column("File"), Column("Kind"), Column("Verdict"), Column("Holds")], rows)


def _verdict(report: ValidationReport) -> str:
    if report.faults:
        return f"{report.faults:,} error{'s' if report.faults > 1 else ''}"
    return "ok, with warnings" if report.warnings else "ok"


def _summary(summary: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in summary.items())


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key}: {inner:,}" for key, inner in value.items()) + ")"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
