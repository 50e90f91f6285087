"""The options by which commands name label files, and how they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quati_pool.registry import nearest
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.agreement.pool_join import UnmatchedRow
    from quati_pool.labels.gathered import Gathered, LabelFiles
    from quati_pool.project.config import PoolConfig


_FIELDS = ("query_id", "doc_id", "query", "text", "relevance")
_EXAMPLES = 3
_NAME = re.compile(r"[^\s=/#]+\Z")


def label_files(
    labels: Sequence[str] | None,
    people: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    grades: Sequence[str] | None = None,
    queries: Path | None = None,
    scale: str | None = None,
    settings: PoolConfig | None = None,
    hint: str = "--labels",
) -> LabelFiles:
    """The label files that the options name, with the grades of ``settings`` if they name none. ``hint`` is the
    argument or option that names the files; in an option, a file needs no name.

    Raises BadParameter for an option that cannot be read.
    """
    from quati_pool.labels.gathered import LabelFiles
    from quati_pool.project.config import LabelFileConfig

    named: dict[str, tuple[str, str | None]] = {}
    for option in labels or ():
        name, file = named_file(option, hint)
        if name in named:
            both = f"{named[name][0]} and {file[0]}"
            raise typer.BadParameter(f"{both} are both named {name}; give each its own: NAME=FILE", param_hint=hint)
        named[name] = file
    for option, given in (("--column", columns), ("--grade", grades)):
        if given and not named:
            raise typer.BadParameter(
                f"says how to read files, and none is named; add {hint} NAME=FILE", param_hint=option
            )
    names = grades_of(grades)
    mapped = {name: _columns(name, named, columns or ()) for name in named}
    return LabelFiles(
        {
            name: LabelFileConfig(
                path=path, annotator=annotator, columns=mapped[name], grades=names, person=name in (people or ())
            )
            for name, (path, annotator) in named.items()
        },
        queries,
        _scale(scale) if scale is not None else settings.grades if settings else None,
    )


def names_file(option: str, hint: str) -> bool:
    """Whether an option that takes a file or a labeler's name holds a file: NAME=FILE, or a file that is there, also
    with #ANNOTATOR.

    Raises BadParameter for what cannot be either.
    """
    if "=" in option or os.path.isfile(option) or os.path.isfile(option.rpartition("#")[0]):
        return True
    if not _NAME.match(option):
        raise typer.BadParameter(f"{option!r} is neither a file nor the name of a labeler", param_hint=hint)
    return False


def named_file(option: str, hint: str) -> tuple[str, tuple[str, str | None]]:
    """The name, and the file and annotator, of NAME=FILE or NAME=FILE#ANNOTATOR. An option may lack NAME=: the name is
    then the annotator, or else the file's stem."""
    bare = hint.startswith("--") and ("=" not in option or os.path.exists(option))
    name, path = ("", option.strip()) if bare else _split(option, hint)
    file, mark, annotator = path.rpartition("#")
    source = (file, annotator) if mark and not Path(path).exists() else (path, None)
    if bare:
        name = source[1] or Path(source[0].removesuffix(".gz")).stem
        if not _NAME.match(name):
            raise typer.BadParameter(f"{option!r} cannot be a name; give one: NAME=FILE", param_hint=hint)
    if not _NAME.match(name) or not path:
        raise typer.BadParameter(f"{option!r} is not NAME=FILE", param_hint=hint)
    return name, source


def say_left_out(gathered: Gathered) -> None:
    """Prints to stderr which labelers are left out, and which rows match no pair."""
    for name, problem in gathered.problems.items():
        typer.echo(f"{name} is left out: {problem}", err=True)
    for line in unmatched_lines(gathered.unmatched):
        typer.echo(line, err=True)


def unmatched_lines(rows: Sequence[UnmatchedRow]) -> list[str]:
    """Lines on how many rows of each labeler match no pair, and the first three of them with their place."""
    lines = []
    for name in dict.fromkeys(row.labeler for row in rows):
        theirs = [row for row in rows if row.labeler == name]
        count = counted(len(theirs), "row is", "rows are")
        lines.append(f"{name}: {count} left out, as the texts match no pair, or several; --format json lists all:")
        lines += [f"  {row.path}:{row.line}: {row.reason}" for row in theirs[:_EXAMPLES]]
    return lines


def declared(context: typer.Context, config: Path) -> PoolConfig | None:
    """The pool.yaml that -c names, whose grades, seed and measures count for files too; None without -c."""
    from quati_pool.project.config import load_config

    source = context.get_parameter_source("config")
    return load_config(config) if source is not None and source.name == "COMMANDLINE" else None


def grades_of(options: Sequence[str] | None) -> dict[str, int | None]:
    """The grade of each label's text, from TEXT=GRADE options; None for TEXT=none."""
    from quati_pool.project.config import NO_GRADE

    return {
        text: None if grade == NO_GRADE else _grade(grade, "--grade")
        for text, grade in (_split(option, "--grade") for option in options or ())
    }


def _split(option: str, hint: str) -> tuple[str, str]:
    name, sign, value = option.partition("=") if hint != "--grade" else option.rpartition("=")
    if not sign:
        raise typer.BadParameter(f"{option!r} holds no '='", param_hint=hint)
    return name.strip(), value.strip()


def _columns(name: str, named: Collection[str], options: Sequence[str]) -> dict[str, str]:
    found = {}
    for option in options:
        place, column = _split(option, "--column")
        owner, dot, field = place.rpartition(".")
        if field not in _FIELDS:
            raise typer.BadParameter(f"there is no field {field!r}; {nearest(field, _FIELDS)}", param_hint="--column")
        if dot and owner not in named:
            raise typer.BadParameter(f"there is no --labels {owner!r}; {nearest(owner, named)}", param_hint="--column")
        if not dot or owner == name:
            found[field] = column
    return found


def _scale(text: str) -> dict[int, str]:
    from quati_pool.project.config import scale_of

    grades = [_grade(part.strip(), "--scale") for part in text.split(",")]
    if len(set(grades)) < 2:
        raise typer.BadParameter("expected at least two grades, such as 0,1", param_hint="--scale")
    return scale_of(set(grades))


def _grade(text: str, hint: str) -> int:
    from quati_pool.files.columns import required_grade
    from quati_pool.files.problems import RowError

    try:
        return required_grade(text)
    except RowError as fault:
        raise typer.BadParameter(str(fault).removeprefix("relevance "), param_hint=hint) from None
