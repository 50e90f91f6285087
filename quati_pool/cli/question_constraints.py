"""``quati-pool questions constraints``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import Format, FormatOption, FullOption
from quati_pool.cli.progress import ConsoleListener


def _probability(value: float) -> float:
    if not 0 <= value < 1:
        raise typer.BadParameter(f"{value} is not a probability from 0 to below 1")
    return value


def constraints(
    triples: Annotated[
        list[Path],
        typer.Argument(metavar="TRIPLES...", help="TSV, CSV, JSONL or Parquet: subject, property, object; .gz too."),
    ],
    texts: Annotated[
        list[Path] | None,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="JSON lines (repeatable) of entities and properties: id, label, and if any description and aliases. "
            "Without it, people are shown ids.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder. A draw is never replaced by another.")
    ] = Path("authoring/clusters"),
    most: Annotated[
        int, typer.Option("--clusters", min=0, metavar="N", help="Most clusters; 0: all that there are.")
    ] = 1_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of everything that is drawn.")] = 0,
    min_shared: Annotated[
        int, typer.Option(min=1, metavar="N", help="Answers that all constraints of a cluster share.")
    ] = 2,
    min_constraints: Annotated[int, typer.Option(min=1, metavar="N", help="Fewest constraints of a cluster.")] = 3,
    max_constraints: Annotated[int, typer.Option(min=1, metavar="N", help="Most constraints of a cluster.")] = 10,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Logical queries drawn for each cluster.")] = 5,
    drop: Annotated[
        float, typer.Option(callback=_probability, metavar="P", help="Probability to leave out a constraint.")
    ] = 0.1,
    negate: Annotated[
        float, typer.Option(callback=_probability, metavar="P", help="Probability to negate one that is not left out.")
    ] = 0.1,
    max_kept: Annotated[int, typer.Option(min=1, metavar="N", help="Most constraints of a question.")] = 4,
    max_answers: Annotated[int, typer.Option(min=1, metavar="N", help="Most answers of a question.")] = 5_000,
    candidates: Annotated[
        int, typer.Option(min=1, metavar="N", help="Candidate answers of a question in the closed setting.")
    ] = 100,
    min_questions: Annotated[
        int, typer.Option(min=1, metavar="N", help="Skip clusters that give fewer different questions.")
    ] = 3,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Draw clusters of constraints that share answers from a knowledge graph, and logical queries of them, from which
    people write questions in the app as RoMQA's (design: romqa)."""
    from quati_pool.annotation.authoring.constraints import ClusterSettings
    from quati_pool.commands.annotate.authoring.constraints import draw_constraints
    from quati_pool.reporting.answers.constraints import answer
    from quati_pool.reporting.json_data.constraints import as_data
    from quati_pool.reporting.tables.constraints import tables

    if max_constraints < min_constraints:
        raise typer.BadParameter(f"is below --min-constraints {min_constraints}", param_hint="--max-constraints")
    settings = ClusterSettings(
        seed=seed,
        min_shared=min_shared,
        min_constraints=min_constraints,
        max_constraints=max_constraints,
        draws=draws,
        min_questions=min_questions,
        drop=drop,
        negate=negate,
        max_kept=max_kept,
        max_answers=max_answers,
        candidates=candidates,
    )
    with ConsoleListener() as listener:
        found = draw_constraints(triples, texts or (), output, settings, most or None, listener)
    show(found, answer, tables, as_data, output_format, full)
