"""``quati-pool annotate``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.options import ConfigOption, DatabaseOption


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool annotate --lead ana")(annotate)


def annotate(
    config: ConfigOption = Path("pool.yaml"),
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0: all addresses of this machine.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")] = 8501,
    lead: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Make this person a lead, and print their access code once."),
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Serve the annotator app: people sign in with their access code and grade what was assigned.

    Ctrl-C stops it (exit 0); everything that a page called stored is stored. Other addresses than this
    machine's own are refused while nobody has a code; put a proxy with HTTPS in front there.
    """
    from quati_pool.commands.annotate.preflight import check

    if lead is not None:
        _welcome(config, lead, database)
    for line in check(config, host, database):
        typer.echo(line, err=True)
    from annotator_app.server import serve

    with contextlib.suppress(KeyboardInterrupt):
        serve(config, host, port, database, lambda address: typer.echo(f"{address} (Ctrl-C stops it)", err=True))
    typer.echo("stopped", err=True)


def _welcome(config: Path, lead: str, database: str | None) -> None:
    from quati_pool.commands.annotate.assessors import ensure_lead

    code = ensure_lead(config, lead, database)
    if code is None:
        typer.echo(f"{lead} is a lead already, and has a code", err=True)
    else:
        typer.echo(code)
        typer.echo(f"the code of {lead} (lead) is not shown again; sign in with it", err=True)
