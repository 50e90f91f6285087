"""Reads Label Studio's exports: JSON, whose tasks contain all annotations, and JSON-MIN, with one flat object per
annotation.

A task's ``data`` contains its imported fields; an annotation has ``completed_by``, ``result`` (a list of the values of
each control) and ``was_cancelled``. JSON-MIN has data and controls in one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from quati_pool.errors import InputError
from quati_pool.files.label_files.doccano import NAMES
from quati_pool.files.label_files.grades import KINDS, one_label
from quati_pool.files.label_files.label_file import LabelFile, Rows
from quati_pool.files.label_files.options import Options, chosen_annotator
from quati_pool.files.label_files.records import PairKeys, Record, read_records
from quati_pool.files.problems import Collected, Problems, RowError

# JSON-MIN does not distinguish controls from data: a control is one of these, unless the caller names it.
_CONTROLS = ("relevance", "grade", "label", "rating", "choice")
# The second name is from versions before 1.0.
_ANNOTATIONS = ("annotations", "completions")
_CANCELLED = ("was_cancelled", "skipped")
_NOBODY = "nobody"


@dataclass(frozen=True)
class _Annotation:
    """One annotator's values by control; ``names`` are all names of the annotator, the preferred one first."""

    names: tuple[str, ...]
    values: Mapping[str, object]


@dataclass(frozen=True)
class _Task:
    """A task with its annotations. ``layers`` are the objects that may identify the pair; a cancelled annotation has no
    values."""

    line: int
    layers: list[Mapping[str, object]]
    annotations: list[_Annotation] = field(default_factory=list)


def looks_like(record: Record) -> bool:
    return _has_annotations(record) or {"annotation_id", "annotator"} <= record.keys()


def annotators(path: Path) -> list[str]:
    """The names of the annotators in the file, sorted; faults of the file are left for ``read`` to report."""
    return sorted(set(_names(_tasks(path, {}, Collected(0))).values()))


def read(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels of one annotator. A task has one row per label, or a row without a grade if the annotator gave none or
    cancelled.

    Raises InputError if there are several annotators, or several controls, and none is named.
    """
    tasks = _tasks(path, options.columns, problems)
    names = _names(tasks)
    chosen = chosen_annotator(path, names, options.annotator)
    control = _control(path, tasks, options.columns.get("relevance"))
    keys = PairKeys(NAMES, options.columns)
    rows = Rows(path)
    for task in tasks:
        try:
            pair_keys = keys.read(*task.layers)
            values = [
                one_label(annotation.values[control])
                for annotation in task.annotations
                if names[annotation.names[0]] == chosen and control in annotation.values
            ]
            labels = [label for label in values if label is not None]
            for relevance in [options.grader.grade(label) for label in labels] or [None]:
                rows.add(task.line, pair_keys, relevance)
        except RowError as fault:
            problems.report(path, task.line, str(fault))
    return rows.label_file("label-studio", "a list of tasks", problems)


def _tasks(path: Path, columns: Mapping[str, str], problems: Problems) -> list[_Task]:
    records = list(read_records(path, problems))
    if not any(_has_annotations(record) for _, record in records):
        return _flat_tasks(path, records, columns.get("relevance"))
    tasks = []
    for line, record in records:
        try:
            tasks.append(_task(line, record))
        except RowError as fault:
            problems.report(path, line, str(fault))
    return tasks


def _has_annotations(record: Record) -> bool:
    return isinstance(record.get("data"), dict) and not record.keys().isdisjoint(_ANNOTATIONS)


def _task(line: int, record: Record) -> _Task:
    data, meta = record.get("data"), record.get("meta")
    if not isinstance(data, dict):
        raise RowError("is not a Label Studio task; expected data and annotations in each")
    exported = next((record[name] for name in _ANNOTATIONS if name in record), [])
    annotations = [
        _Annotation(
            _known_by(one.get("completed_by")),
            {} if any(one.get(name) for name in _CANCELLED) else _values(one.get("result")),
        )
        for one in _objects(exported, "annotations")
    ]
    return _Task(line, [data, *([meta] if isinstance(meta, dict) else [])], annotations)


def _values(result: object) -> dict[str, object]:
    values: dict[str, list[object]] = {}
    for item in _objects(result, "result"):
        kind = item.get("type")
        if kind in KINDS:
            values.setdefault(str(item.get("from_name", kind)), []).append(item.get("value"))
    return dict(values)


def _objects(value: object, name: str) -> list[Record]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RowError(f"{name} is not a list of objects; export it again as JSON")
    return cast("list[Record]", value)


def _known_by(completed_by: object) -> tuple[str, ...]:
    """All names of an annotator, who is given as a number, an e-mail address, or an object with both."""
    if isinstance(completed_by, dict):
        values = [completed_by.get(name) for name in ("email", "username", "id")]
    else:
        values = [completed_by]
    return tuple(str(value) for value in values if value not in (None, "", {})) or (_NOBODY,)


def _flat_tasks(path: Path, records: Sequence[tuple[int, Record]], wanted: str | None) -> list[_Task]:
    """The tasks of JSON-MIN, which has one object per annotation, grouped by their ids."""
    names = {name for _, record in records for name in record}
    controls = [wanted] if wanted is not None else [name for name in _CONTROLS if name in names]
    if records and not names & set(controls):
        columns = ", ".join(dict.fromkeys(name for _, record in records for name in record))
        message = f"no control of {', '.join(controls or _CONTROLS)}; the fields are {columns}: "
        raise InputError(path, None, message + "name the control with --column relevance=FIELD")
    tasks: dict[object, _Task] = {}
    for place, (line, record) in enumerate(records):
        identity = record.get("id")
        key = identity if isinstance(identity, (str, int)) else (place,)
        task = tasks.setdefault(key, _Task(line, [record]))
        if record.get("annotation_id") is not None:
            values = {name: record[name] for name in controls if name in record}
            task.annotations.append(_Annotation(_known_by(record.get("annotator")), values))
    return list(tasks.values())


def _names(tasks: Iterable[_Task]) -> dict[str, str]:
    """The preferred name of each annotator, by every name of that annotator."""
    known = {annotation.names for task in tasks for annotation in task.annotations}
    # If some annotations have only the number and others also the address, the latter decide.
    return {name: names[0] for names in sorted(known, key=lambda names: (len(names), names)) for name in names}


def _control(path: Path, tasks: Iterable[_Task], wanted: str | None) -> str:
    """The control that contains the grade: the named one, the only one, or the one called relevance."""
    controls = sorted({name for task in tasks for annotation in task.annotations for name in annotation.values})
    if wanted is not None and (wanted in controls or not controls):
        return wanted
    if wanted is None and len(controls) <= 1:
        return controls[0] if controls else "relevance"
    if wanted is None and "relevance" in controls:
        return "relevance"
    problem = "several controls" if wanted is None else f"no control {wanted!r}"
    message = f"has {problem}; choices, ratings and numbers are in {', '.join(controls)}: "
    raise InputError(path, None, message + "name one with --column relevance=CONTROL")
