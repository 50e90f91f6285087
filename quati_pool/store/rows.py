"""Conversion of label and attempt rows to records and Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from sqlalchemy import Select, Text, cast, select
from sqlalchemy.engine import RowMapping

from quati_pool.records import ID, State
from quati_pool.store.label_resolution import STATUS
from quati_pool.store.records import Attempt, CurrentLabel, Label, Phase
from quati_pool.store.schema import labels

RESOLVING = (
    labels.c.query_id, labels.c.doc_id, labels.c.content_sha, labels.c.phase, labels.c.sample,
    labels.c.seq, labels.c.status, labels.c.relevance, labels.c.shared_from, labels.c.rereads, labels.c.reading,
    cast(labels.c.extra, Text).label("extra"),
)  # fmt: skip
"""The columns from which current labels are read, in the order of ``CurrentLabel``: first the key within one version
of a labeler, then the rest."""
KEY = itemgetter(0, 1, 2, 3, 4)
QUERY = itemgetter(0)

TABLE = pa.schema(
    [
        ("query_id", ID),
        ("doc_id", ID),
        ("content_sha", pa.string()),
        ("phase", pa.string()),
        ("sample", pa.int32()),
        ("seq", pa.int64()),
        ("status", pa.string()),
        ("relevance", pa.int32()),
        ("shared_from", pa.int64()),
        ("rereads", pa.int64()),
        ("reading", pa.string()),
        ("extra", pa.string()),
    ]
)
"""The schema of ``Store.table``; ``relevance`` is null if there is no grade, ``extra`` is JSON text."""

_STATES = {state.value: state for state in State}
_NO_EXTRA: Mapping[str, Any] = MappingProxyType({})
_LABEL = tuple(field.name for field in fields(Label))
_ATTEMPT = tuple(field.name for field in fields(Attempt))


def of_version(collection: str, labeler_id: str, version: str, phases: Sequence[Phase]) -> Select[Any]:
    """The RESOLVING columns of all labels of a labeler's version, by query_id, then seq."""
    c = labels.c
    # All labels of a version have the same kind, so there is no condition on it.
    mine = (c.collection == collection, c.labeler_id == labeler_id, c.version == version)
    return select(*RESOLVING).where(*mine, c.phase.in_(phases)).order_by(c.query_id, c.seq)


def label_of(row: RowMapping) -> Label:
    values = {name: row[name] for name in _LABEL}
    values["status"] = _STATES[row["status"]]
    return Label(**values)


def attempt_of(row: RowMapping) -> Attempt:
    values = {name: row[name] for name in _ATTEMPT}
    values["status"] = _STATES[row["status"]]
    return Attempt(**values)


def current_of(row: Sequence[Any]) -> CurrentLabel:
    """The CurrentLabel of a row that begins with the RESOLVING columns."""
    *values, extra = row[: len(RESOLVING)]
    values[STATUS] = _STATES[values[STATUS]]
    return CurrentLabel._make([*values, _NO_EXTRA if extra == "{}" else json.loads(extra)])


def record_batch(rows: Iterable[Sequence[Any]]) -> pa.RecordBatch:
    """Rows of the RESOLVING columns as a record batch with the schema TABLE."""
    columns = list(zip(*rows, strict=True)) or [()] * len(TABLE)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, TABLE, strict=True)]
    return pa.record_batch(arrays, schema=TABLE)
