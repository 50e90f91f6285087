"""Reads Doccano's export of a text classification project, as JSONL or as a single list.

A record has ``id``, the passage as ``text`` (``data`` in some versions), the label names in ``label`` (``labels``
in the oldest) and its imported fields, at the top level or under ``meta``. Doccano writes one file per annotator;
its oldest versions write one file with a ``username`` in each record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from quati_pool.files.label_files.grades import one_label
from quati_pool.files.label_files.label_file import LabelFile, Rows
from quati_pool.files.label_files.options import Options, chosen_annotator
from quati_pool.files.label_files.records import PairKeys, Record, read_records
from quati_pool.files.problems import Collected, Problems, RowError, quoted

LABELS = ("label", "labels")
NAMES = {
    "query_id": ("query_id",),
    "query": ("query",),
    "doc_id": ("doc_id", "passage_id"),
    "text": ("passage", "text", "data"),
}
# Versions that name annotators write this for an unlabelled record.
_NOBODY = "unknown"


# Files written by ``release.doccano`` for import into Doccano have no id.
_TO_IMPORT = {"query_id", "doc_id", "query", "passage", "text", "label"}


def looks_like(record: Record) -> bool:
    texts = "text" in record or "data" in record
    return (texts and "id" in record and not record.keys().isdisjoint(LABELS)) or record.keys() >= _TO_IMPORT


def annotators(path: Path) -> list[str]:
    """The annotators named in the records; faults of the file are left for ``read`` to report."""
    return _users(read_records(path, Collected(0)))


def read(path: Path, options: Options, problems: Problems) -> LabelFile:
    """The labels of one annotator; a record without a label has no grade.

    Raises InputError if several annotators have labels and none is chosen.
    """
    names = (options.columns["relevance"],) if "relevance" in options.columns else LABELS
    keys = PairKeys(NAMES, options.columns)
    records = list(read_records(path, problems))
    chosen = chosen_annotator(path, {user: user for user in _users(records)}, options.annotator)
    rows = Rows(path)
    labelled = False
    for line, record in records:
        if chosen is not None and _user(record) not in (chosen, None):
            continue
        try:
            layers = _layers(record)
            name = next((name for name in names if name in record), None)
            if name is None and "annotations" in record:
                raise RowError("was exported with numbers for labels; export it again with their names (JSONL)")
            labelled = labelled or name is not None
            relevance = None if name is None else options.grader.grade(one_label(record[name]))
            rows.add(line, keys.read(*layers), relevance)
        except RowError as fault:
            problems.report(path, line, str(fault))
    if records and not labelled and not problems.count:
        problems.report(path, None, f"no record has {quoted(names[0])}; name it with --column relevance=FIELD")
    return rows.label_file("doccano", "records of a text classification project", problems)


def _layers(record: Record) -> list[Mapping[str, object]]:
    meta = [record[name] for name in ("meta", "metadata") if name in record]
    return [record, *(layer for layer in meta if isinstance(layer, dict))]


def _users(records: Iterable[tuple[int, Record]]) -> list[str]:
    return sorted({user for _, record in records if (user := _user(record)) is not None})


def _user(record: Record) -> str | None:
    user = record.get("username")
    return user if isinstance(user, str) and user not in ("", _NOBODY) else None
