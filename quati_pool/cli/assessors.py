"""``quati-pool assessors``: access codes for people."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quati_pool.cli.console import show
from quati_pool.cli.options import ConfigOption, DatabaseOption, Format, FormatOption, FullOption

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The person; also the name of their grades.")]

assessors = typer.Typer(help="Give people access codes, list them, revoke codes.", no_args_is_help=True,
                        rich_markup_mode=None)  # fmt: skip


class PersonRole(StrEnum):
    assessor = "assessor"
    lead = "lead"


def register(app: typer.Typer) -> None:
    app.add_typer(assessors, name="assessors")


@assessors.command(epilog="Example: quati-pool assessors add ana --role lead")
def add(
    name: NameArgument,
    role: Annotated[
        PersonRole, typer.Option(help="A lead also sees progress, agreement and disagreements, and decides these.")
    ] = PersonRole.assessor,
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
) -> None:
    """Give somebody an access code, which is printed this once and kept only as a hash.

    Somebody whose code was revoked gets a new one and continues under the same name.
    """
    from quati_pool.commands.annotate.assessors import add as step

    code = step(config, name, role.value, database)
    typer.echo(code)
    typer.echo(f"the code of {name} ({role.value}) is not shown again; pass it on, then run: quati-pool annotate",
               err=True)  # fmt: skip


@assessors.command("list", epilog="Example: quati-pool assessors list --format json")
def list_people(
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    full: FullOption = False,
    output_format: FormatOption = Format.table,
) -> None:
    """List people: when they were last active, how many pairs they have labelled, and whose code is revoked.

    Times are in UTC.
    """
    from quati_pool.commands.annotate.assessors import listed
    from quati_pool.reporting.answers.annotation import people as answer
    from quati_pool.reporting.json_data.annotate import people_as_data
    from quati_pool.reporting.tables.assessors import table

    people = listed(config, database)
    show(people, answer, lambda found: [table(found)], people_as_data, output_format, full)


@assessors.command(epilog="Example: quati-pool assessors revoke ana")
def revoke(
    name: NameArgument,
    config: ConfigOption = Path("pool.yaml"),
    database: DatabaseOption = None,
    release: Annotated[
        bool, typer.Option("--release", help="Open the pairs that were theirs alone (assign --to) to everyone.")
    ] = False,
) -> None:
    """Revoke somebody's code: their sessions end at once, their labels stay."""
    from quati_pool.commands.annotate.assessors import revoke as step

    released = step(config, name, database, release=release)
    given = f"; {released:,} of their pairs are now open to everyone" if release else ""
    typer.echo(f"the code of {name} no longer works; their labels stay{given}", err=True)
