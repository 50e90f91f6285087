"""``quati-pool build``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import ConsoleListener, Format, FormatOption, show

ConfigOption = Annotated[Path, typer.Option("--config", "-c", help="The collection's pool.yaml.")]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: quati-pool build -c pool.yaml --qrels gold.qrels --format markdown > diversity.md")(
        build
    )


def build(
    config: ConfigOption = Path("pool.yaml"),
    qrels: Annotated[
        Path | None, typer.Option(help="Grades (TREC qrels, or a TSV of labels): adds the table by relevance.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="SYSTEM", help="Make only this system's run (repeatable).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Make everything anew, or what --only names, though nothing changed.")
    ] = False,
    planned: Annotated[
        bool, typer.Option("--plan", help="Say what every system will need and what is there; run and write nothing.")
    ] = False,
    how: FormatOption = Format.table,
) -> None:
    """Run all systems, pool their results to the depth, and say how diverse the pool is.

    Writes runs/, pool.jsonl.gz and reports/ beside the pool.yaml. What is finished and unchanged is
    reused; a build that was killed is finished by running it again.
    """
    if planned:
        if qrels or force:
            raise typer.BadParameter(
                "runs nothing, so --qrels and --force mean nothing; drop them", param_hint="--plan"
            )
        _plan(config, only or (), how)
        return
    from quati_pool.steps import build as step
    from quati_pool.steps.diversity_report import as_data, tables

    with ConsoleListener() as listener:
        result = step.build(config, listener, qrels=qrels, force=force, only=only or ())
    if result is not None:
        show(tables(result), as_data(result), how)
    elif how is Format.json:
        show([], {"systems": [], "pool": None}, how)


def _plan(config: Path, only: Sequence[str], how: Format) -> None:
    from quati_pool.steps.plan import plan
    from quati_pool.steps.plan_report import as_data, tables

    found = plan(config, only=only)
    show(tables(found), as_data(found), how)
