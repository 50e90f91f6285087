"""``quati-pool init`` and ``quati-pool demo``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format, FormatOption, FullOption
from quati_pool.cli.progress import QuietListener


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool demo")(demo)
    app.command(epilog="Example: quati-pool init my-collection")(init)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put it.")],
    paper: Annotated[
        bool, typer.Option("--paper", help="With all systems of the Quati paper, on its 1M and 10M passages.")
    ] = False,
    pages: Annotated[
        bool, typer.Option("--pages", help="A prepare.yaml instead, with sample pages to make a corpus of.")
    ] = False,
) -> None:
    """Make a workspace: a folder with a commented pool.yaml, or prepare.yaml."""
    if paper and pages:
        raise typer.BadParameter("--paper has a prepare.yaml of its own; drop one of them", param_hint="--pages")
    from quati_pool.commands import init as step

    path = (step.init_pages(folder) if pages else step.init(folder, paper=paper))[-1]
    if pages:
        typer.echo(f"wrote {path} and some pages\nnext: quati-pool prepare -c {path}\nthen put your own pages there")
    elif paper:
        typer.echo(
            f"wrote {path}, and prepare.yaml for its corpora: the top of each says what it needs\n"
            f"to see what it takes: quati-pool build --plan -c {path}"
        )
    else:
        typer.echo(f"wrote {path}: name your corpus and queries in it\nnext: quati-pool build -c {path}")


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to build it.")] = Path("quati-pool-demo"),
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Build the bundled sample collection, offline: systems, pool, a judge's grades, agreement, leaderboard."""
    from quati_pool.commands.demo import demo as step
    from quati_pool.reporting.answers.demo import answer
    from quati_pool.reporting.json_data.demo import as_data
    from quati_pool.reporting.tables.demo import tables

    with QuietListener() as listener:
        made = step(folder, listener)
    show(made, partial(answer, folder=folder), tables, as_data, output_format, full)
