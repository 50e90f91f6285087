"""Writes labels and attempts with prepared SQL text: SQLAlchemy's own binding of a row costs about as much as
everything else done for it, some hundred times a second while a judge runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Table

from quati_pool.store.columns import escaped, json_text
from quati_pool.store.records import Attempt, Entry, Label
from quati_pool.store.schema import attempts, labels

_LABEL = (
    "seq", "shared_from", "collection", "labeler_id", "kind", "version", "query_id", "doc_id", "content_sha",
    "phase", "sample", "relevance", "status", "rationale", "assignment_id", "extra", "nonce", "reading",
    "rereads", "created_at",
)  # fmt: skip
_ATTEMPT = (
    "label_seq", "number", "status", "answer", "problem", "finish_reason", "output", "model", "endpoint",
    "response_id", "fingerprint", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost",
    "seconds", "retries", "extra", "thoughts", "created_at",
)  # fmt: skip

_LAST_SEQ = "SELECT seq FROM sqlite_sequence WHERE name = 'labels'"
_NEXT_SEQS = "SELECT nextval(pg_get_serial_sequence('labels', 'seq')) FROM generate_series(1, %s)"


_latest = datetime.min.replace(tzinfo=UTC)
_clock = threading.Lock()


def _now() -> datetime:
    """The current time in UTC; if the machine's clock was set back, the latest time this process has returned."""
    global _latest
    with _clock:
        _latest = max(_latest, datetime.now(UTC))
        return _latest


def _insertion(table: Table, columns: Sequence[str]) -> Mapping[str, str]:
    """The statement that inserts a row with these columns, by dialect."""
    begin = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES"
    marks = {"sqlite": "?", "postgresql": "%s"}
    return {dialect: f"{begin} ({', '.join([mark] * len(columns))})" for dialect, mark in marks.items()}


_INSERT_LABEL = _insertion(labels, _LABEL)
_INSERT_ATTEMPT = _insertion(attempts, _ATTEMPT)


def write(connection: Connection, entries: Sequence[Entry]) -> list[int]:
    """Inserts labels, sharers and attempts in the open write transaction; returns the seqs of the entries'
    labels, in order."""
    dialect = connection.dialect
    now = _now()
    bind = labels.c.created_at.type.dialect_impl(dialect).bind_processor(dialect)
    created_at = bind(now) if bind else now
    seqs = iter(_new_seqs(connection, sum(1 + len(entry.sharers) for entry in entries)))
    own = []
    rows: list[tuple[Any, ...]] = []
    tries: list[tuple[Any, ...]] = []
    for entry in entries:
        seq = next(seqs)
        own.append(seq)
        rows.append((seq, entry.label.shared_from, *_label(entry.label), created_at))
        rows.extend((next(seqs), seq, *_label(sharer), created_at) for sharer in entry.sharers)
        tries.extend((seq, *_attempt(attempt), created_at) for attempt in entry.attempts)
    if rows:
        connection.exec_driver_sql(_INSERT_LABEL[dialect.name], rows)
    if tries:
        connection.exec_driver_sql(_INSERT_ATTEMPT[dialect.name], tries)
    return own


def _new_seqs(connection: Connection, count: int) -> Sequence[int]:
    """New seqs, reserved before the rows are inserted: a sharer must name its label's seq."""
    if connection.dialect.name == "postgresql":
        return connection.exec_driver_sql(_NEXT_SEQS, (count,)).scalars().all()
    # The write transaction is open, so no other process can take these.
    last = connection.exec_driver_sql(_LAST_SEQ).scalar() or 0
    return range(last + 1, last + 1 + count)


def _label(label: Label) -> tuple[Any, ...]:
    return (
        label.collection,
        label.labeler_id,
        label.kind,
        label.version,
        label.query_id,
        label.doc_id,
        label.content_sha,
        label.phase,
        label.sample,
        label.relevance,
        label.status.value,
        _text(label.rationale),
        label.assignment_id,
        json_text(label.extra),
        label.nonce,
        label.reading,
        label.rereads,
    )


def _attempt(attempt: Attempt) -> tuple[Any, ...]:
    return (
        attempt.number,
        attempt.status.value,
        _text(attempt.answer),
        _text(attempt.problem),
        _text(attempt.finish_reason),
        _text(attempt.output),
        _text(attempt.model),
        _text(attempt.endpoint),
        _text(attempt.response_id),
        _text(attempt.fingerprint),
        attempt.input_tokens,
        attempt.cached_tokens,
        attempt.output_tokens,
        attempt.reasoning_tokens,
        attempt.cost,
        attempt.seconds,
        attempt.retries,
        json_text(attempt.extra),
        _text(attempt.thoughts),
    )


def _text(value: str | None) -> str | None:
    return None if value is None else escaped(value)
