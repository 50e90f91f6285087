"""Label files as commands read them: on the scale in use, and whether people gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from quati_pool.config import GRADES, LabelFileConfig
from quati_pool.errors import InputError
from quati_pool.files.label_files import LabelFile, read_label_file


def read_label_source(name: str, folder: Path, settings: LabelFileConfig, scale: Mapping[int, str] | None) -> LabelFile:
    """Reads the file of the labeler ``name``; its path is relative to ``folder``.

    Raises InputError where it cannot be read, or holds a grade that is not of ``scale``; None allows any.
    """
    read = read_label_file(
        folder / settings.path,
        settings.format,
        columns=settings.columns,
        grades=scale or GRADES,
        names=settings.grades,
        annotator=settings.annotator,
    )
    found = None if scale is None else off_scale(read, scale)
    if found is not None:
        raise InputError(read.path, found.line, f"{name}: {found.problem}; {found.remedy}")
    return read


class OffScale(NamedTuple):
    """What is not of a scale: the first line with such a grade, what to say, and what to do."""

    line: int
    problem: str
    remedy: str


def off_scale(read: LabelFile, scale: Collection[int]) -> OffScale | None:
    """The grades of a file that are not of ``scale``; None where all are."""
    counts = Counter(read.relevance)
    off = sorted(grade for grade in counts if grade is not None and grade not in scale)
    if not off:
        return None
    place = next(place for place, grade in enumerate(read.relevance) if grade in off)
    labels = sum(counts[grade] for grade in off)
    return OffScale(
        read.lines[place],
        f"the grade {read.relevance[place]} is not of the scale {', '.join(map(str, sorted(scale)))} "
        f"(off it: {', '.join(map(str, off))}, in {labels:,} of {len(read):,} labels)",
        f"name the whole scale with --scale (grades: in pool.yaml), or say what is no grade: --grade {off[-1]}=none",
    )


def kind_of(settings: LabelFileConfig, read: LabelFile) -> str:
    """``assessor`` for labels that people gave: said so, or in the format of an annotation tool; else ``file``,
    for nothing says who or what gave them."""
    return "assessor" if settings.person or read.by_people else "file"
