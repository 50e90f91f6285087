"""``quati-pool init`` and ``quati-pool demo``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import ConsoleListener, show
from quati_pool.cli.options import Format, FormatOption


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
        typer.echo(f"wrote {path} and some pages; run: quati-pool prepare -c {path}; then put your own pages there")
    elif paper:
        typer.echo(
            f"wrote {path}, and prepare.yaml for its corpora: the top of each says what it needs; "
            f"to see what it takes: quati-pool build --plan -c {path}"
        )
    else:
        typer.echo(f"wrote {path}: name your corpus and queries in it, then run: quati-pool build -c {path}")


def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to build it.")] = Path("quati-pool-demo"),
    output_format: FormatOption = Format.table,
) -> None:
    """Build the bundled sample collection, offline: systems, pool, a judge's grades, agreement, leaderboard."""
    from quati_pool.commands.demo import demo as step
    from quati_pool.reporting.json_data.demo import as_data
    from quati_pool.reporting.tables.demo import tables

    with ConsoleListener() as listener:
        made = step(folder, listener)
    if made.evaluated.main is not None:
        print(made.evaluated.main.said, file=sys.stderr)
    show(tables(made), as_data(made), output_format)
    sys.stdout.flush()
    commands = {
        f"cd {shlex.quote(str(folder))}": "",
        "zcat pool.jsonl.gz | head -1": "a pair to judge, with every system's rank",
        "less reports/agreement.md": "all tables of agreement; .tex, .csv and figures next to it",
        "quati-pool report": "everything on one page: reports/report.html",
        "quati-pool export bundle": "the collection as it would be published",
        "quati-pool prompts": "prompts for LLM judges, in several languages",
        "quati-pool build --qrels labels.tsv": "build again, for instance after a change to pool.yaml",
        "quati-pool init ../my-collection": "a workspace for your own corpus and queries",
        "quati-pool retrievers": "what systems there are, with parameters",
    }
    width = max(map(len, commands))
    lines = ["", "Next:", *(f"  {command:{width}}  {what}".rstrip() for command, what in commands.items())]
    print("\n".join(lines), file=sys.stderr)
