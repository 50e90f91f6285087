"""``quati-pool build``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quati_pool.cli.console import print_json, show
from quati_pool.cli.options import (
    AddressOption,
    ConfigOption,
    EngineName,
    Format,
    FormatOption,
    FullOption,
    check_address,
)
from quati_pool.cli.progress import ConsoleListener
from quati_pool.errors import MissingExtraError

if TYPE_CHECKING:
    from quati_pool.processes.base import Engine


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
        bool, typer.Option("--force", help="Build everything again, or what --only names, even if nothing changed.")
    ] = False,
    engine: Annotated[
        EngineName | None,
        typer.Option(help="Encode dense, splade and colbert by workers: processes, or a Ray cluster (extra: ray)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Workers of the engine, each with the model; by default one per core.")
    ] = None,
    address: AddressOption = None,
    planned: Annotated[
        bool, typer.Option("--plan", help="Show what every system will need and what is there; run and write nothing.")
    ] = False,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Run all systems, pool their results to the depth, and report how diverse the pool is.

    Writes runs/, pool.jsonl.gz and reports/ next to the pool.yaml. What is finished and unchanged is
    reused; if a build was killed, run it again, with or without an engine, and it is finished.
    """
    if workers is not None and engine is None:
        raise typer.BadParameter("is the number of an engine's workers; add --engine local", param_hint="--workers")
    check_address(engine, address)
    if planned:
        if qrels or force or engine:
            raise typer.BadParameter(
                "runs nothing, so --qrels, --force and --engine have no effect; drop them", param_hint="--plan"
            )
        _plan(config, only or (), output_format, full)
        return
    from quati_pool.commands import build as step
    from quati_pool.reporting.answers.build import answer
    from quati_pool.reporting.json_data.build import as_data
    from quati_pool.reporting.tables.build import tables

    opener = _opener(engine, workers, address)
    with ConsoleListener() as listener:
        result = step.build(config, listener, qrels=qrels, force=force, only=only or (), workers=opener)
    if result is not None:
        show(result, answer, tables, as_data, output_format, full)
    elif output_format is Format.json:
        print_json({"systems": [], "pool": None})


def _opener(engine: EngineName | None, workers: int | None, address: str | None) -> Callable[[], Engine] | None:
    """A function that opens the engine, called only if there is work for it; None for no engine.

    Raises MissingExtraError at once where the engine's extra is missing.
    """
    if engine is None:
        return None
    from quati_pool.processes.opening import open_engine

    if engine is EngineName.ray and find_spec("ray") is None:
        raise MissingExtraError("the engine ray", "ray", "ray")
    return partial(open_engine, engine.value, workers, address)


def _plan(config: Path, only: Sequence[str], output_format: Format, full: bool) -> None:
    from quati_pool.commands.plan.plan import plan
    from quati_pool.reporting.answers.listings import planned
    from quati_pool.reporting.json_data.plan import as_data
    from quati_pool.reporting.tables.plan import tables

    found = plan(config, only=only)
    show(found, planned, tables, as_data, output_format, full)
