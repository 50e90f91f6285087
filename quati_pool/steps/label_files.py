"""Label files as commands read them: on the scale in use, and whether people gave them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
    if scale is None:
        return read
    off = set(read.relevance) - {None, *scale}
    for line, relevance in zip(read.lines, read.relevance, strict=True) if off else ():
        if relevance in off:
            grades = ", ".join(map(str, sorted(scale)))
            problem = f"{name}: the grade {relevance} is not of the scale {grades}"
            raise InputError(read.path, line, f"{problem}; mend it, or name the whole scale with --scale or grades:")
    return read


def kind_of(settings: LabelFileConfig, read: LabelFile) -> str:
    """``assessor`` for labels that people gave: said so, or in the format of an annotation tool; else ``file``,
    for nothing says who or what gave them."""
    return "assessor" if settings.person or read.by_people else "file"
