"""The questions that people write for a collection, stored as a log of events."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.records import Question, QuestionEvent
from quati_pool.store.schema import question_events
from quati_pool.store.slots import lock_all

_EVENT = tuple(field.name for field in fields(QuestionEvent))
_CONTENT = ("query", "narrative", "theme", "scope", "type", "doc_id", "query_id")
_ALL = select(question_events)


class Questions:
    """The questions of one collection, over an open store."""

    def __init__(self, store: Store, collection: str) -> None:
        self._store = store
        self._collection = collection

    def add_event(self, event: QuestionEvent, after: int | None = None) -> int:
        """Appends an event and returns its seq, which for a new question is the question_id. An event whose nonce is
        in the store is not written again. ``after`` is the seq of the question's last event that the caller saw.

        Raises ConflictError, and writes nothing, if there is an event newer than ``after`` or no such question;
        StoreError if a new one is not ``proposed`` or has no text, or another event has the nonce.
        """

        q = question_events.c
        now = datetime.now(UTC)
        with self._store.writing() as connection:
            lock_all(connection, f"questions: {self._collection}")
            if event.nonce is not None and (known := connection.execute(_ALL.where(q.nonce == event.nonce)).first()):
                return self._again(event, known)
            last = self._last(connection, event)
            if after is not None and (last is None or last.seq != after):
                problem = "somebody else has changed it since; nothing was written: read it again"
                raise ConflictError("changed", f"question {event.question_id}: {problem}")
            if last is not None:
                event = replace(event, drafted_by=last.drafted_by)
            if event.query is None and last is not None:
                kept = {name: getattr(last, name) for name in _CONTENT if getattr(event, name) is None}
                event = replace(event, **kept)
            row = {name: getattr(event, name) for name in _EVENT if name != "seq"}
            row.update(collection=self._collection, created_at=now, question_id=event.question_id or 0)
            given = connection.execute(insert(question_events).values(row)).inserted_primary_key
            assert given is not None
            seq = int(given[0])
            if event.question_id is None:
                connection.execute(update(question_events).where(q.seq == seq).values(question_id=seq))
        return seq

    def _again(self, event: QuestionEvent, known: Row[Any]) -> int:
        same = known.collection == self._collection and (known.by, known.action) == (event.by, event.action)
        of = known.seq if event.question_id is None else event.question_id
        if not same or known.question_id != of or event.query not in (None, known.query):
            raise StoreError(f"{event.by}: this nonce was already used for another event; reload the page")
        return int(known.seq)

    def _last(self, connection: Connection, event: QuestionEvent) -> QuestionEvent | None:
        """The last event of a question; None for a new one."""
        if event.question_id is None:
            if event.action != "proposed" or not event.query:
                raise StoreError(f"{event.by}: a new question is proposed with its text; write the question first")
            return None
        q = question_events.c
        mine = _ALL.where(q.collection == self._collection, q.question_id == event.question_id)
        row = connection.execute(mine.order_by(q.seq.desc()).limit(1)).first()
        if row is None:
            raise ConflictError("gone", f"question {event.question_id}: there is no such question; reload the list")
        return _event(row)

    def current(self) -> list[Question]:
        """Every question with its last event, oldest first."""

        q = question_events.c
        wanted = _ALL.where(q.collection == self._collection).order_by(q.seq)
        authors: dict[int, str] = {}
        last: dict[int, QuestionEvent] = {}
        with self._store.reading() as connection:
            for row in connection.execute(wanted):
                authors.setdefault(row.question_id, row.by)
                last[row.question_id] = _event(row)
        return [Question(question_id, author, last[question_id]) for question_id, author in authors.items()]

    def drafted(self) -> dict[str, int]:
        """The question_ids of the questions that programs wrote, by the nonce with which each was proposed."""

        q = question_events.c
        wanted = select(q.nonce, q.question_id).where(
            q.collection == self._collection, q.action == "proposed", q.drafted_by.is_not(None), q.nonce.is_not(None)
        )
        with self._store.reading() as connection:
            return {row.nonce: row.question_id for row in connection.execute(wanted)}

    def histories_of_drafts(self) -> dict[int, list[QuestionEvent]]:
        """All events, oldest first, of the questions that programs wrote, by question_id."""

        q = question_events.c
        wanted = _ALL.where(q.collection == self._collection, q.drafted_by.is_not(None)).order_by(q.seq)
        found: dict[int, list[QuestionEvent]] = {}
        with self._store.reading() as connection:
            for row in connection.execute(wanted):
                found.setdefault(row.question_id, []).append(_event(row))
        return found

    def events(self, question_id: int) -> list[QuestionEvent]:
        """All events of a question, oldest first."""

        q = question_events.c
        wanted = _ALL.where(q.collection == self._collection, q.question_id == question_id).order_by(q.seq)
        with self._store.reading() as connection:
            return [_event(row) for row in connection.execute(wanted)]


def _event(row: Row[Any]) -> QuestionEvent:
    return QuestionEvent(**{name: getattr(row, name) for name in _EVENT})
