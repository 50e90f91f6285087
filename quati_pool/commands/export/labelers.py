"""Chooses the labelers of an exported collection and collects their grades and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from quati_pool.files.artifacts import digest
from quati_pool.labels.base import Graded, Labeler
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.hybrid import Hybrid
from quati_pool.labels.labelers import Grading, nobody
from quati_pool.labels.main_labeler import MainLabeler, candidate, main_labeler, peers
from quati_pool.labels.qrels import as_qrels, grades_outside_pool, nothing_graded, refuse_missing
from quati_pool.release.state import Labelled
from quati_pool.store.drawn_labels import drawn_labels
from quati_pool.text.fencing import sendable


class ExportedLabeler(NamedTuple):
    """One labeler's part of the export, and how much of the pool it covers."""

    labelled: Labelled
    coverage: LabelCoverage

    def identity(self) -> dict[str, Any]:
        """The labeler's part of the export's key."""
        qrels = self.labelled.qrels
        rows = [qrels.queries.decode(qrels.query), qrels.docs.decode(qrels.doc), pa.array(qrels.relevance)]
        labels = self.labelled.labels.to_pydict() if self.labelled.labels is not None else None
        return {
            "labeler": self.labelled.labeler,
            "kind": self.labelled.kind,
            "version": self.labelled.version,
            "outside": self.labelled.outside,
            "rows": digest([column.to_pylist() for column in rows]),
            "labels": digest(labels),
            "left_out": dict(self.labelled.left_out),
        }


class ChosenLabelers(NamedTuple):
    """The labelers of an export, the main one first. ``main`` is set where no labeler was named; ``left_out`` then
    names those who have grades but are not exported."""

    labelers: list[ExportedLabeler]
    main: MainLabeler | None
    left_out: tuple[str, ...]

    @property
    def coverages(self) -> Mapping[str, LabelCoverage]:
        """How much of the pool each labeler covers, by name."""
        return {each.labelled.labeler: each.coverage for each in self.labelers}

    @property
    def outside(self) -> Mapping[str, int]:
        """The number of each labeler's grades for pairs outside the pool, by name."""
        return {each.labelled.labeler: each.labelled.outside for each in self.labelers}


@dataclass(frozen=True, eq=False)
class _Grades:
    """All grades of a labeler: ``pooled`` for the pool's pairs, in the pool's order, and those ``outside`` it."""

    labeler: Labeler
    coverage: LabelCoverage
    pooled: list[Graded]
    outside: Sequence[Graded]

    @property
    def count(self) -> int:
        return sum(self.coverage.grades.values()) + len(self.outside)


def choose_labelers(grading: Grading, names: Sequence[str], *, needed: bool, allow_missing: bool) -> ChosenLabelers:
    """The labelers called ``names``; if none are named, the main labeler and its peers or, where no grades are
    ``needed``, all labelers with grades.

    Raises QuatiPoolError for a named labeler without grades; where grades are needed and there are none, or several
    labelers could be the main one; and, unless ``allow_missing``, where a pair of the pool failed or was never asked.
    """
    read = _read_grades(grading, [grading.labeler(name) for name in names or grading.names])
    graded = [each for each in read if each.count]
    idle = next((each.labeler for each in read if names and not each.count), None)
    if idle is not None:
        raise nothing_graded(idle.name, idle.kind)
    if needed and not graded:
        raise nobody(grading.config)
    main = None
    exported = graded
    if needed and not names:
        main, exported = _main_and_peers(graded)
    if not allow_missing:
        for each in exported:
            refuse_missing(each.labeler, each.coverage)
    left_out = tuple(each.labeler.name for each in graded if each not in exported)
    return ChosenLabelers([_exported(grading, each) for each in exported], main, left_out)


def _main_and_peers(graded: Sequence[_Grades]) -> tuple[MainLabeler, list[_Grades]]:
    """The main labeler, and the grades of all exported labelers, the main one's first."""
    candidates = [candidate(each.labeler, each.count) for each in graded]
    main = main_labeler(candidates)
    by_name = {each.labeler.name: each for each in graded}
    return main, [by_name[name] for name in peers(candidates, main.required())]


def _read_grades(grading: Grading, labelers: Sequence[Labeler]) -> list[_Grades]:
    """The grades of all labelers, in one pass over the pool."""
    coverages = [LabelCoverage() for _ in labelers]
    pooled: list[list[Graded]] = [[] for _ in labelers]
    for chunk in grading.pairs():
        for labeler, coverage, column in zip(labelers, coverages, pooled, strict=True):
            for graded in labeler.graded(chunk):
                coverage.add(graded)
                column.append(graded)
    return [
        _Grades(labeler, coverage, column, grades_outside_pool(labeler, column))
        for labeler, coverage, column in zip(labelers, coverages, pooled, strict=True)
    ]


def _exported(grading: Grading, grades: _Grades) -> ExportedLabeler:
    labeler, coverage = grades.labeler, grades.coverage
    version = labeler.version if labeler.stored else None
    labelled = Labelled(
        labeler=labeler.name,
        kind=labeler.kind,
        qrels=as_qrels([*grades.pooled, *grades.outside]),
        outside=len(grades.outside),
        version=labeler.version,
        left_out=coverage.lacks,
        definition=grading.store.definition(version) if version else _parts(labeler),
        labels=_labels(grading, labeler, version) if version else None,
    )
    return ExportedLabeler(labelled, coverage)


def _parts(labeler: Labeler) -> dict[str, Any] | None:
    """Where a hybrid's grades come from; None for other labelers."""
    return {"hybrid": labeler.parts.as_json()} if isinstance(labeler, Hybrid) else None


def _labels(grading: Grading, labeler: Labeler, version: str) -> pa.Table:
    """All labels that count of a labeler's version, in the pool and outside it, with their rationales, and for people
    with how the pairs were drawn."""
    store, collection = grading.store, grading.config.name
    table = store.table(collection, labeler.name, version)
    seqs = table["seq"].to_pylist()
    reasons = {seq: sendable(text) for seq, text in store.rationales(collection, labeler.name, version).items()}
    table = table.append_column("rationale", pa.array([reasons.get(seq) for seq in seqs], pa.string()))
    if labeler.kind != "assessor":
        return table
    drawn = drawn_labels(store, collection, [labeler.name])
    for name, of_type in (("design", pa.string()), ("stratum", pa.string()), ("inclusion", pa.float64())):
        table = table.append_column(name, pa.array([getattr(drawn.get(seq), name, None) for seq in seqs], of_type))
    return table
