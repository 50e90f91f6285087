"""``quati-pool train``."""

from __future__ import annotations

import typer

from quati_pool.cli import train_reader

group = typer.Typer(help="Train a reader of one's own.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    train_reader.register(group)
    app.add_typer(group, name="train")
