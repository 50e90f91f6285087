"""The labelers of a replay, as its options name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quati_pool.cli.label_options import label_files, named_file, names_file

if TYPE_CHECKING:
    from quati_pool.labels.gathered import LabelFiles
    from quati_pool.project.config import PoolConfig


def people_and_judges(
    people: str, judges: Sequence[str], columns: list[str] | None, grades: list[str] | None, scale: str | None,
    home: PoolConfig | None,
) -> tuple[str, list[str], LabelFiles]:  # fmt: skip
    """The names of people and judges, which are labelers or files, and the files among them."""
    names, files, persons = [], [], []
    for option, value in (("--people", people), *(("--judge", judge) for judge in judges)):
        filed = names_file(value, option)
        names.append(named_file(value, option)[0] if filed else value)
        files += [value] if filed else []
        persons += names[:1] if filed and option == "--people" else []
    read = label_files(files, persons, columns, grades, None, scale, home, hint="--people/--judge")
    return names[0], names[1:], read
