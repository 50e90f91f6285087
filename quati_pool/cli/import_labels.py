"""``quati-pool import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.label_options import label_files, unmatched_lines
from quati_pool.cli.options import (
    ColumnOption,
    ConfigOption,
    DatabaseOption,
    Format,
    FormatOption,
    FullOption,
    GradeOption,
    QueriesOption,
)
from quati_pool.cli.progress import ConsoleListener


def register(app: typer.Typer) -> None:
    app.command("import", epilog="Example: quati-pool import ana=annotator_01.tsv bia=annotator_02.tsv")(import_labels)


def import_labels(
    files: Annotated[
        list[str],
        typer.Argument(metavar="NAME=FILE…", help="A person's labels; FILE#ANNOTATOR where it holds several people's."),
    ],
    queries: QueriesOption = None,
    column: ColumnOption = None,
    grade: GradeOption = None,
    skip_unknown: Annotated[
        bool,
        typer.Option(
            "--skip-unknown",
            help="Leave out graded pairs outside the pool and texts that match no pair; else these are refused.",
        ),
    ] = False,
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """Store labels that people gave elsewhere as theirs: TREC qrels, TSV, CSV, JSONL, Doccano, Label Studio.

    Pairs are matched by ids, or else by the texts of the pool's pairs. Assigned pairs that get a label are done. The
    people need no access code. Run again, even after a kill, it writes nothing twice; a grade that differs from one
    the person gave before is refused.
    """
    from quati_pool.commands.annotate.assigning.import_labels import import_labels as step
    from quati_pool.project.config import load_config
    from quati_pool.reporting.answers.annotation import imported
    from quati_pool.reporting.json_data.annotate import imported_as_data
    from quati_pool.reporting.tables.import_labels import table

    given = label_files(files, None, column, grade, queries, None, load_config(config), hint="NAME=FILE")
    with ConsoleListener() as listener:
        made = step(config, given, skip_unknown=skip_unknown, database=database, listener=listener)
    for one in made:
        if one.new:
            typer.echo(
                f"{one.name} is new here and has no access code; to let them sign in, run: quati-pool assessors add "
                f"{one.name}",
                err=True,
            )
        for line in unmatched_lines(one.unmatched):
            typer.echo(line, err=True)
        if one.differing:
            typer.echo(
                f"{one.name}: {one.differing:,} passages have another text in {one.path.name} than in the pool; "
                "their labels say so",
                err=True,
            )
    show(made, imported, lambda made: [table(made)], imported_as_data, output_format, full)
