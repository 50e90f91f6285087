"""Prints a command's lines and progress to stderr, and its tables to stdout."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from quati_pool.cli.options import Format
from quati_pool.files.readable_json import readable_json
from quati_pool.reporting.formats.tables import FORMATS, Table, csv_file, latex_file
from quati_pool.reporting.reporter import Reporter

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from quati_pool.store.failed_answers import FailedAnswer


def show(tables: Sequence[Table], data: Any, output_format: Format) -> None:
    """Prints tables, or their data as JSON, to stdout, where it is open."""
    if sys.stdout is None:
        return
    if output_format is Format.json:
        sys.stdout.write(readable_json(data))
    elif output_format is Format.latex:
        sys.stdout.write(latex_file(tables))
    elif output_format is Format.csv:
        sys.stdout.write(csv_file(tables))
    else:
        sys.stdout.write("\n".join(map(FORMATS[output_format.value], tables)))
    sys.stdout.flush()


class ConsoleListener(Reporter):
    """Lines to stderr; progress bars with the time left if stderr is a terminal. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def say(self, line: str) -> None:
        with self._lock:
            self._close()
            print(line, file=sys.stderr, flush=True)

    def progress(self, label: str, done: int, total: int, detail: str = "") -> None:
        if not sys.stderr.isatty():
            return
        with self._lock:
            if self._bars is None:
                self._open()
            assert self._bars is not None
            if label not in self._tasks:
                self._tasks[label] = self._bars.add_task(label, total=total or None, detail=detail)
            self._bars.update(self._tasks[label], completed=done, total=total or None, detail=detail)

    def __enter__(self) -> ConsoleListener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _open(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TimeRemainingColumn
        from rich.text import Text

        class Label(ProgressColumn):
            # A plain text column would read "[…]" in a label as markup.
            def render(self, task: Any) -> Text:
                return Text.from_markup(escape(task.description))

        class Detail(ProgressColumn):
            def render(self, task: Any) -> Text:
                speed = f"{task.speed:,.1f}/s" if task.speed else ""
                return Text("  ".join(filter(None, (speed, task.fields["detail"]))))

        columns = (Label(), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), Detail())
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bars.start()

    def _close(self) -> None:
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._tasks = None, {}


def say_failures(judge: str, summary: str | None, example: FailedAnswer | None, written: Path | None = None) -> None:
    """Prints to stderr, before the tables, how many answers are no grade, and one of them; nothing if all are."""
    from quati_pool.labels import failures

    if summary is not None:
        typer.echo(summary, err=True)
        if example is not None:
            typer.echo(failures.example(judge, example, written), err=True)
