"""The command ``quati-pool``: registers all commands, and turns errors and Ctrl-C into one line and exit 1 or 130."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from quati_pool import __version__, component_files
from quati_pool.cli import (
    agree,
    annotate,
    assessors,
    assign,
    audit,
    batch,
    bench,
    build,
    doctor,
    estimate,
    evaluate,
    export,
    import_labels,
    judge,
    labels,
    plan_labels,
    prepare,
    prompts,
    questions,
    replay,
    report,
    retrievers,
    status,
    submissions,
    train,
    validate,
    workspaces,
)
from quati_pool.cli.interruption import second_ends_at_once
from quati_pool.errors import FaultsError, QuatiPoolError
from quati_pool.text.pluralize import listed


class _StoppedError(Exception):
    """Ctrl-C; the arguments are what is kept. The CLI library would end at a KeyboardInterrupt without a word."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            raise _StoppedError(*getattr(stopped, "__notes__", ())) from None


app = typer.Typer(
    cls=_Commands,
    name="quati-pool",
    help="Build information-retrieval test collections: pool, judge, annotate, agree, evaluate, release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"quati-pool {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


for group in (
    workspaces, prepare, build, submissions, judge, batch, labels, assessors, assign, annotate, import_labels,
    questions, train, agree, evaluate, audit, estimate, plan_labels, replay, report, export, bench, prompts, validate,
    retrievers, status, doctor,
):  # fmt: skip
    group.register(app)


def main() -> None:
    """Runs the command line; exit 0 done, 1 refused or failed, 2 bad usage, 130 interrupted."""
    # A terminal's encoding may lack "≥" or "─"; a closed stream is None.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="replace")
    second_ends_at_once()
    # By default millions of living ids and rows are searched for cycles so often that it takes a tenth of the time.
    gc.set_threshold(50_000)
    try:
        app(prog_name="quati-pool")
    except (_StoppedError, KeyboardInterrupt) as stopped:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the end itself is interrupted without a traceback
        kept = f"stopped; kept: {listed(stopped.args)}" if stopped.args else "stopped; what is finished is kept"
        _fail(f"{kept}; run the same command again to go on", status=130)
    except FaultsError as several:
        _fail(*map(str, several.errors))
    except QuatiPoolError as error:
        _fail(str(error))
    except OSError as error:
        # When renaming fails, the second name is the one the user knows.
        name = error.filename2 or error.filename
        name = f"{name}: " if name else ""
        remedy = (
            "free some space and run the same command again: what is finished is kept"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "fix it and run the same command again"
        )
        _fail(f"{name}{error.strerror or error}; {remedy}")
    except MemoryError:
        _fail("there is not enough memory; use the retriever bm25, whose index is on disk")
    except (Exception, SystemExit) as error:
        place = component_files.place_of(error)
        if place is None:
            raise
        _fail(f"{place}: {type(error).__name__}: {error}; fix that file and run the same command again")


def _fail(*messages: str, status: int = 1) -> None:
    for message in messages:
        print(f"quati-pool: {' '.join(message.splitlines())}", file=sys.stderr)
    sys.exit(status)
