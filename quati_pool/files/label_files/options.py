"""The options common to all label file readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.files.label_files.grades import Grader


@dataclass(frozen=True)
class Options:
    """The options of a reader. ``columns`` maps fields to the file's column names; ``annotator`` is the annotator whose
    labels are read, None if not specified."""

    columns: Mapping[str, str]
    grader: Grader
    annotator: str | None = None

    def mapped(self, defaults: Mapping[str, str]) -> dict[str, str]:
        return {**defaults, **self.columns}

    def refuse_annotator(self, path: Path, label_format: str) -> None:
        if self.annotator is not None:
            message = f"is {label_format}, which names no annotators; leave #{self.annotator} off"
            raise InputError(path, None, message)


def chosen_annotator(path: Path, names: Mapping[str, str], wanted: str | None) -> str | None:
    """The annotator whose labels to read; None if the file names no annotators. ``names`` maps every name of an
    annotator to the preferred one.

    Raises InputError if the file has several annotators and ``wanted`` is None, or if it lacks the ``wanted`` one.
    """
    known = sorted(set(names.values()))
    if wanted is None and len(known) > 1:
        message = f"holds the labels of {', '.join(known)}; name one: --labels NAME=FILE#ANNOTATOR"
        raise InputError(path, None, message)
    if wanted is None:
        return known[0] if known else None
    if wanted not in names:
        there = f"those of {', '.join(known)}" if known else "labels without an annotator"
        raise InputError(path, None, f"holds no labels of {wanted!r}, only {there}; name one of them, or none")
    return names[wanted]
