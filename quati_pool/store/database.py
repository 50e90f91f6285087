"""The label database: what was judged, by whom and why. Labels are appended and never changed.

People, their assignments and the questions they write have separate classes over an open ``Store``:
``People``, ``Assignments`` and ``Questions``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import pyarrow as pa
from sqlalchemy import Connection, Engine, Row, delete, func, select, update

from quati_pool.records import State
from quati_pool.store import batches as batching
from quati_pool.store import engine as engines
from quati_pool.store.columns import json_text
from quati_pool.store.database_url import DatabaseUrl, parse_database_url
from quati_pool.store.engine import insert_where_new, one_state
from quati_pool.store.error_messages import explained
from quati_pool.store.errors import StoreError
from quati_pool.store.label_resolution import STATUS, resolved
from quati_pool.store.label_writer import write
from quati_pool.store.locks import held
from quati_pool.store.records import (
    AUDITING,
    COUNTING,
    Attempt,
    Batch,
    BatchRequest,
    BatchStatus,
    CurrentLabel,
    Entry,
    Kind,
    Label,
    Labeler,
    Phase,
    Usage,
)
from quati_pool.store.rows import (
    KEY,
    QUERY,
    RESOLVING,
    TABLE,
    attempt_of,
    current_of,
    label_of,
    of_version,
    record_batch,
)
from quati_pool.store.schema import (
    IN_AUDITS,
    attempts,
    authoring_items,
    batches,
    designs,
    labels,
    question_events,
    versions,
)
from quati_pool.store.upgrade import make_ready, ready
from quati_pool.store.usage import attempts_of, total

_IDS_A_STATEMENT = 500
_ROWS = 20_000  # in memory at a time when many are read


class Store:
    """An open label database, to be used in a ``with`` statement.

    Any number of threads may use one at once. When the database cannot do what is asked, every method raises
    StoreError with a one-line message that says what to do.
    """

    def __init__(self, engine: Engine, url: DatabaseUrl) -> None:
        self._engine = engine
        self._writer = engines.writing(engine)
        self._url = url
        self._mine = _OfThisThread()
        # Waiting SQLite writers sleep and retry, some for a long time; with a lock each goes when the previous is done.
        self._turn: AbstractContextManager[Any] = nullcontext() if url.path is None else threading.Lock()

    @classmethod
    def open(cls, url: str | None, folder: Path) -> Store:
        """Opens the database of ``url`` (see ``parse_database_url``) and brings it to the newest revision.

        Raises StoreError, and MissingExtraError for PostgreSQL without psycopg.
        """
        parsed = parse_database_url(url, folder)
        store = cls(engines.reading(parsed), parsed)
        try:
            with explained(parsed):
                if not ready(store._engine, parsed):
                    make_ready(store._engine, parsed, store.lock("schema", _silent), store.lock)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The database's name in messages."""
        return self._url.name

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """A context in which all reads of this thread see one state of the database, whatever others write meanwhile.
        Yields the seq of that state's last label, 0 if there is none."""
        with explained(self._url), one_state(self._engine) as connection:
            last = connection.execute(select(func.max(labels.c.seq))).scalar()
            self._mine.pinned = connection
            try:
                yield last or 0
            finally:
                self._mine.pinned = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading; within a snapshot of this thread, the snapshot's."""
        if self._mine.pinned is not None:
            yield self._mine.pinned
            return
        with explained(self._url), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction, committed at its end and rolled back by an exception. Must not be nested."""
        with explained(self._url), self._turn, self._writer.begin() as connection:
            yield connection

    def lock(self, name: str, say: Callable[[str], None]) -> AbstractContextManager[None]:
        """Holds the lock ``name`` among all processes that use this database; see ``held``."""
        return held(self._engine, self._url, name, say)

    # Versions

    def register(self, version: str, kind: Kind, definition: Mapping[str, Any]) -> None:
        """Stores the definition of a version; does nothing if it is already stored.

        Raises StoreError if the version already has a different definition.
        """
        row = {"version": version, "kind": kind, "definition": dict(definition), "created_at": datetime.now(UTC)}
        with self.writing() as connection:
            insert_where_new(connection, versions, [row])
            known = connection.execute(select(versions).where(versions.c.version == version)).one()
        if known.kind != kind or _canonical(known.definition) != _canonical(definition):
            raise StoreError(
                f"{self._url.name}: version {version} already has a different definition; "
                "give the changed one a new version"
            )

    def definition(self, version: str) -> dict[str, Any] | None:
        """The definition of a version; None if the version is unknown."""
        with self.reading() as connection:
            found = connection.execute(select(versions.c.definition).where(versions.c.version == version)).scalar()
        return cast("dict[str, Any] | None", found)

    def rename_version(self, former: str, version: str) -> None:
        """Moves everything stored under ``former`` to ``version``, which must be registered, and deletes the
        definition of ``former``; does nothing if ``former`` is unknown."""
        with self.writing() as connection:
            if connection.execute(select(versions.c.version).where(versions.c.version == former)).scalar() is None:
                return
            for table in (labels, batches):
                connection.execute(update(table).where(table.c.version == former).values(version=version))
            for table in (authoring_items, question_events):
                connection.execute(update(table).where(table.c.drafted_by == former).values(drafted_by=version))
            for design in connection.execute(select(designs.c.design_id, designs.c.parameters)).all():
                if design.parameters.get("judge_version") == former:
                    renamed = {**design.parameters, "judge_version": version}
                    changed = update(designs).where(designs.c.design_id == design.design_id)
                    connection.execute(changed.values(parameters=renamed))
            connection.execute(delete(versions).where(versions.c.version == former))

    # Writing

    def append(self, entries: Sequence[Entry], collected: Sequence[tuple[str, str]] = ()) -> list[int]:
        """Writes labels with their attempts and sharers, and marks batch requests (key, custom_id) as
        collected, all or nothing. Returns the seqs of the entries' labels, in order; by then all is durable.

        Raises StoreError, and writes nothing, if one of the requests is already collected or unknown.
        """
        with self.writing() as connection:
            seqs = write(connection, entries)
            if collected and not batching.mark(connection, collected):
                raise StoreError(
                    f"{self._url.name}: an answer of a batch is collected already, perhaps by another process; "
                    "run the same command again: it takes only what is left"
                )
        return seqs

    # Reading

    def current(
        self,
        collection: str,
        labeler_id: str,
        version: str,
        query_ids: Sequence[str],
        phases: Sequence[Phase] = COUNTING,
    ) -> list[CurrentLabel]:
        """The label that counts for each (doc_id, content_sha, phase, sample) of these queries, by query_id."""
        found: list[CurrentLabel] = []
        with self.reading() as connection:
            for some in _chunks(query_ids):
                wanted = of_version(collection, labeler_id, version, phases).where(labels.c.query_id.in_(some))
                found.extend(map(current_of, resolved(connection.execute(wanted).all(), KEY)))
        return found

    def shareable(self, version: str, content_shas: Sequence[str]) -> dict[tuple[str, int], CurrentLabel]:
        """A grade that counts for each (content_sha, sample), by this version in any collection: the first one that
        was given rather than shared, or else the first."""
        c = labels.c
        found: dict[tuple[str, int], CurrentLabel] = {}

        def whose(row: Row[Any]) -> tuple[Any, ...]:
            return (KEY(row), row.collection, row.labeler_id, row.kind)

        with self.reading() as connection:
            for some in _chunks(content_shas):
                wanted = (
                    select(*RESOLVING, c.collection, c.labeler_id, c.kind)
                    .where(c.version == version, c.content_sha.in_(some), c.phase.in_(COUNTING))
                    .order_by(c.seq)
                )
                given = resolved(connection.execute(wanted).all(), whose)
                given.sort(key=lambda row: (row.shared_from is not None, row.seq))
                for row in given:
                    if row[STATUS] == State.ok.value:
                        found.setdefault((row.content_sha, row.sample), current_of(row))
        return found

    def labelers(self, collection: str) -> list[Labeler]:
        """Every version of every labeler of a collection that gave labels outside audits, the most recent writer
        first."""
        c = labels.c
        # An index covers these columns; the kind, which is the same throughout a version, is read from one label each.
        spans = (
            select(
                c.labeler_id,
                c.version,
                func.min(c.seq).label("first_seq"),
                func.max(c.seq).label("last_seq"),
                func.count().label("rows"),
            )
            .where(c.collection == collection)
            .group_by(c.labeler_id, c.version)
            .subquery()
        )
        wanted = select(spans, c.kind).join(labels, c.seq == spans.c.first_seq).order_by(spans.c.last_seq.desc())
        audits = (
            select(c.labeler_id, c.version, func.count(), func.max(c.seq))
            .where(c.collection == collection, IN_AUDITS)
            .group_by(c.labeler_id, c.version)
        )
        with self.reading() as connection:
            audited = {(name, version): counted for name, version, *counted in connection.execute(audits)}
            found = []
            for row in connection.execute(wanted).mappings():
                one = Labeler(**row)
                rows, last_seq = audited.get((one.labeler_id, one.version), (0, None))
                if one.rows == rows:
                    continue
                if one.last_seq == last_seq:
                    # Asked only after an audit, as it reads all labels of the version.
                    mine = (c.collection == collection, c.labeler_id == one.labeler_id, c.version == one.version)
                    last = select(func.max(c.seq)).where(*mine, c.phase.not_in(AUDITING))
                    one = replace(one, last_seq=connection.execute(last).scalar_one())
                found.append(replace(one, rows=one.rows - rows))
        return sorted(found, key=lambda one: -one.last_seq)

    def table(
        self,
        collection: str,
        labeler_id: str,
        version: str,
        phases: Sequence[Phase] = COUNTING,
        query_ids: Sequence[str] | None = None,
    ) -> pa.Table:
        """Every label that counts, with the columns of ``TABLE``, by query_id; for all queries or for ``query_ids``."""
        wanted = of_version(collection, labeler_id, version, phases)
        parts = [wanted]
        if query_ids is not None:
            parts = [wanted.where(labels.c.query_id.in_(some)) for some in _chunks(query_ids)]
        batches = [record_batch([])]
        with self.reading() as connection:
            streamed = connection.execution_options(yield_per=_ROWS)
            rows: list[Row[Any]] = []
            found = chain.from_iterable(chain.from_iterable(streamed.execute(part).partitions()) for part in parts)
            for _, some in groupby(found, QUERY):
                rows.extend(resolved(some, KEY))
                if len(rows) >= _ROWS:
                    batches.append(record_batch(rows))
                    rows = []
            batches.append(record_batch(rows))
        return pa.Table.from_batches(batches, schema=TABLE)

    def rationales(self, collection: str, labeler_id: str, version: str) -> dict[int, str]:
        """A labeler's rationales, by the seq of the label."""
        c = labels.c
        mine = (c.collection == collection, c.labeler_id == labeler_id, c.version == version)
        wanted = select(c.seq, c.rationale).where(*mine, c.rationale.is_not(None))
        with self.reading() as connection:
            return {row.seq: row.rationale for row in connection.execute(wanted)}

    def history(
        self, collection: str, labeler_id: str, query_id: str, doc_id: str
    ) -> list[tuple[Label, list[Attempt]]]:
        """Every label that a labeler gave to one pair, under any version, oldest first, each with its attempts."""
        c = labels.c
        pair = (
            c.collection == collection, c.labeler_id == labeler_id, c.query_id == query_id, c.doc_id == doc_id,
        )  # fmt: skip
        tried = select(attempts).where(attempts.c.label_seq.in_(select(c.seq).where(*pair))).order_by(attempts.c.seq)
        tries: dict[int | None, list[Attempt]] = {}
        with self.reading() as connection:
            found = [
                label_of(row) for row in connection.execute(select(labels).where(*pair).order_by(c.seq)).mappings()
            ]
            for row in connection.execute(tried).mappings():
                tries.setdefault(row["label_seq"], []).append(attempt_of(row))
        return [(label, tries.get(label.seq, [])) for label in found]

    def usage(
        self, collection: str, labeler_id: str, version: str | None = None, phases: Sequence[Phase] = COUNTING
    ) -> Usage:
        """The total usage of a labeler's attempts at labels of these phases, under one version or all."""
        with self.reading() as connection:
            streamed = connection.execution_options(yield_per=_ROWS)
            return total(streamed.execute(attempts_of(collection, labeler_id, version, phases)).partitions())

    # Batches

    def prepare_batch(self, batch: Batch, requests: Sequence[BatchRequest]) -> None:
        """Stores a batch and its requests, before anything is sent."""
        with self.writing() as connection:
            batching.prepare(connection, batch, requests)

    def update_batch(
        self,
        key: str,
        *,
        status: BatchStatus | None = None,
        file_id: str | None = None,
        batch_id: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Sets the values that are given and leaves the rest; raises StoreError if no batch has this key."""
        values = {"status": status, "file_id": file_id, "batch_id": batch_id, "extra": extra}
        given = {name: value for name, value in values.items() if value is not None}
        with self.writing() as connection:
            if not batching.change(connection, key, given):
                raise StoreError(
                    f"{self._url.name}: holds no batch {key}; see quati-pool batch status for those it holds"
                )

    def batches(self, collection: str, labeler_id: str | None = None, open_only: bool = False) -> list[Batch]:
        """The batches of a collection, oldest first; with ``open_only``, those prepared or submitted."""
        with self.reading() as connection:
            return batching.listed(connection, collection, labeler_id, open_only)

    def batch_requests(self, key: str) -> list[BatchRequest]:
        """The requests of a batch, by custom_id."""
        with self.reading() as connection:
            return batching.requests(connection, key)


class _OfThisThread(threading.local):
    pinned: Connection | None = None


def _silent(_: str) -> None:
    """Reports nothing: another process creates the tables within a second."""


def _canonical(definition: Mapping[str, Any]) -> str:
    return json.dumps(json.loads(json_text(dict(definition))), sort_keys=True)


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    distinct = sorted(set(ids))
    for start in range(0, len(distinct), _IDS_A_STATEMENT):
        yield distinct[start : start + _IDS_A_STATEMENT]
