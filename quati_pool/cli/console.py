"""Prints a command's results to stdout, and failed answers to stderr."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from quati_pool.cli.options import Format
from quati_pool.files.readable_json import readable_json
from quati_pool.reporting.formats.answers import PIPE, TERMINAL, Answer, answer_text
from quati_pool.reporting.formats.tables import FORMATS, Table, csv_file, latex_file

if TYPE_CHECKING:
    from quati_pool.store.failed_answers import FailedAnswer


Result = TypeVar("Result")


def show(
    result: Result,
    answer: Callable[[Result], Answer],
    tables: Callable[[Result], Sequence[Table]],
    data: Callable[[Result], Any],
    output_format: Format,
    full: bool = False,
) -> None:
    """Prints a result to stdout, where it is open: its answer, or all its tables if ``full`` or in a format for files,
    or its data as JSON. Only what is printed is computed."""
    if sys.stdout is None:
        return
    if output_format is Format.json:
        print_json(data(result))
        return
    if output_format is Format.latex:
        text = latex_file(tables(result))
    elif output_format is Format.csv:
        text = csv_file(tables(result))
    elif output_format is Format.markdown or full:
        text = "\n".join(map(FORMATS[output_format.value], tables(result)))
    else:
        text = answer_text(answer(result), _width())
    sys.stdout.write(text)
    sys.stdout.flush()


def print_json(data: Any) -> None:
    """Prints data to stdout, where it is open, as one JSON object."""
    if sys.stdout is not None:
        sys.stdout.write(readable_json(data))
        sys.stdout.flush()


def _width() -> int:
    return min(TERMINAL, shutil.get_terminal_size().columns) if sys.stdout.isatty() else PIPE


def say_failures(judge: str, summary: str | None, example: FailedAnswer | None, written: Path | None = None) -> None:
    """Prints to stderr, before the tables, how many answers are no grade, and one of them; nothing if all are."""
    from quati_pool.labels import failures

    if summary is not None:
        typer.echo(summary, err=True)
        if example is not None:
            typer.echo(failures.example(judge, example, written), err=True)
