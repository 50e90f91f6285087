"""The command ``quati-pool``: registers all commands, and turns errors into one line and exit 1."""

from __future__ import annotations

import contextlib
import errno
import io
import sys
from typing import Annotated

import typer

from quati_pool import __version__
from quati_pool.cli import (
    agree,
    annotate,
    assessors,
    assign,
    batch,
    bench,
    build,
    evaluate,
    export,
    import_labels,
    judge,
    labels,
    prepare,
    prompts,
    questions,
    report,
    retrievers,
    validate,
    workspaces,
)
from quati_pool.errors import FaultsError, QuatiPoolError

app = typer.Typer(
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
    workspaces, prepare, build, judge, batch, labels, assessors, assign, annotate, import_labels, questions, agree,
    evaluate, report, export, bench, prompts, validate, retrievers,
):  # fmt: skip
    group.register(app)


def main() -> None:
    """Runs the command line; exit 0 done, 1 refused or failed, 2 bad usage, 130 interrupted."""
    # A terminal's encoding may lack "≥" or "─"; a closed stream is None.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="replace")
    try:
        app(prog_name="quati-pool")
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


def _fail(*messages: str) -> None:
    for message in messages:
        print(f"quati-pool: {' '.join(message.splitlines())}", file=sys.stderr)
    sys.exit(1)
