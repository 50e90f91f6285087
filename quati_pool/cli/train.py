"""``quati-pool train``: models of one's own."""

from __future__ import annotations

import typer

from quati_pool.cli import train_judge, train_reader


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        no_args_is_help=True,
        help="Train models of your own: judges from a collection's grades, readers from a benchmark's files.",
    )
    for command in (train_judge, train_reader):
        command.register(group)
    app.add_typer(group, name="train")
