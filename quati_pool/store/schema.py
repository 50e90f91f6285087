"""The tables of the label database as they are at its newest revision.

The revisions under ``migrations/`` lead there; a test holds that they do. Ids compare by their bytes:
that is SQLite's default, and COLLATE "C" on PostgreSQL.
"""

from __future__ import annotations

from typing import get_args

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

from quati_pool.records import State
from quati_pool.store.columns import AnyText, Utc
from quati_pool.store.records import BatchStatus, Kind, Phase

HEAD = "0001"
"""The newest revision; a database that has it is opened without loading Alembic."""

REVISION_TABLE = "quati_pool_revision"
"""Not Alembic's own default, which another program in the same PostgreSQL database may use."""

metadata = MetaData()

_ID = Text().with_variant(Text(collation="C"), "postgresql")
# SQLite numbers rows by itself only in a column of type INTEGER, which is of 64 bits there.
_SEQ = BigInteger().with_variant(Integer(), "sqlite")


def _one_of(column: str, values: object) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in get_args(values) or list(State))
    return CheckConstraint(f"{column} IN ({listed})", name=f"known_{column}")


labels = Table(
    "labels",
    metadata,
    Column("seq", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("labeler_id", _ID, nullable=False),
    Column("kind", Text, nullable=False),
    Column("version", _ID, nullable=False),
    Column("query_id", _ID, nullable=False),
    Column("doc_id", _ID, nullable=False),
    Column("content_sha", _ID, nullable=False),
    Column("phase", Text, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("relevance", Integer),
    Column("status", Text, nullable=False),
    Column("rationale", AnyText),
    Column("shared_from", _SEQ, ForeignKey("labels.seq", name="shared_from_a_label")),
    Column("assignment_id", _SEQ),
    Column("created_at", Utc, nullable=False),
    Column("extra", JSON, nullable=False),
    _one_of("kind", Kind),
    _one_of("phase", Phase),
    _one_of("status", State),
    CheckConstraint("(status = 'ok') = (relevance IS NOT NULL)", name="grade_if_and_only_if_ok"),
    Index("labels_by_query", "collection", "labeler_id", "version", "query_id"),
    Index("labels_by_content", "version", "content_sha"),
    sqlite_autoincrement=True,
)

attempts = Table(
    "attempts",
    metadata,
    Column("seq", _SEQ, primary_key=True),
    Column("label_seq", _SEQ, ForeignKey("labels.seq", name="attempt_of_a_label"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("answer", AnyText),
    Column("problem", AnyText),
    Column("finish_reason", AnyText),
    Column("output", AnyText),
    Column("model", AnyText),
    Column("endpoint", AnyText),
    Column("response_id", AnyText),
    Column("fingerprint", AnyText),
    Column("input_tokens", BigInteger),
    Column("cached_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cost", Double),
    Column("seconds", Double),
    Column("retries", Integer, nullable=False),
    Column("extra", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    _one_of("status", State),
    Index("attempts_by_label", "label_seq"),
    sqlite_autoincrement=True,
)

versions = Table(
    "versions",
    metadata,
    Column("version", _ID, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("definition", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    _one_of("kind", Kind),
)

batches = Table(
    "batches",
    metadata,
    Column("key", _ID, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("labeler_id", _ID, nullable=False),
    Column("version", _ID, nullable=False),
    Column("endpoint", AnyText, nullable=False),
    Column("status", Text, nullable=False),
    Column("file_id", AnyText),
    Column("batch_id", AnyText),
    Column("requests", Integer, nullable=False),
    Column("extra", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    _one_of("status", BatchStatus),
)

batch_requests = Table(
    "batch_requests",
    metadata,
    Column("batch_key", _ID, primary_key=True),
    Column("custom_id", _ID, primary_key=True),
    Column("query_id", _ID, nullable=False),
    Column("doc_id", _ID, nullable=False),
    Column("content_sha", _ID, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("extra", JSON, nullable=False),
    Column("collected", Boolean, nullable=False),
    ForeignKeyConstraint(["batch_key"], ["batches.key"], name="request_of_a_batch"),
)
