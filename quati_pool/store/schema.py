"""The tables of the label database at its newest revision.

- ``labels``: labels of judges and people; appended, never changed
- ``attempts``: the calls to a model behind a label
- ``versions``: the definitions of labelers' versions
- ``batches``, ``batch_requests``: what was sent to a provider's batch service
- ``assessors``: people and the hashes of their access codes
- ``sessions``: who is signed in, until when
- ``sign_in_failures``: recent wrong codes, by handle and address
- ``designs``: how pairs were chosen for people to grade
- ``selections``: the pairs that a design chose, with their inclusion probabilities
- ``frame_pairs``: all pairs that a random design could have chosen, with their inclusion probabilities
- ``assignments``: slots (a slot is a pair to be graded once by one person) and their holders; in slots of phase
  ``repeat`` people grade a pair that they have graded before
- ``queues``: for each query, how many pairs have a slot without a holder
- ``training``: pairs with a known grade, to practise on or (gold) to be mixed in among the others
- ``reveals``: the leads whom names and grades of judges and systems were revealed to, by pair
- ``question_events``: what people wrote and decided about questions; appended, never changed
- ``remarks``: what people asked leads about pairs, and the answers; appended, never changed
- ``authoring_items``: what people write from, write and assess; only their state changes
- ``authoring_tasks``: one person's work on an item in one round, and who holds it
- ``authoring_entries``: what people did in these tasks; appended, never changed

The revisions under ``migrations/`` produce these tables; a test checks that. Ids compare by their bytes:
that is SQLite's default, and COLLATE "C" on PostgreSQL. Times that decide something (how long
a slot or a session lasts) are seconds since 1970 by the database's clock; the others are UTC by the writer's.
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
    UniqueConstraint,
    false,
    text,
)

from quati_pool.records import State
from quati_pool.store.authoring_records import EntryAction, ItemState, TaskState
from quati_pool.store.columns import AnyText, Utc
from quati_pool.store.records import (
    BatchStatus,
    Kind,
    Method,
    Phase,
    QuestionAction,
    RemarkAction,
    Role,
    SlotPhase,
    SlotState,
)

HEAD = "0009"
"""The newest revision; a database at this revision is opened without loading Alembic."""

REVISION_TABLE = "quati_pool_revision"
"""Alembic's version table; not its default name, which another program in the same PostgreSQL database may use."""

metadata = MetaData()

_ID = Text().with_variant(Text(collation="C"), "postgresql")
# SQLite numbers rows automatically only in an INTEGER column, which has 64 bits there.
_SEQ = BigInteger().with_variant(Integer(), "sqlite")
_LEASED = text("state = 'open' AND leased_until IS NOT NULL")
_NONCE = text("nonce IS NOT NULL")
IN_AUDITS = text("phase IN ('repeat', 'probe') AND kind = 'judge'")
"""Selects a judge's answers in audits, in the words of their index, as databases use it only for those."""


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
    Column("nonce", _ID),
    Column("reading", Text),
    Column("rereads", _SEQ),
    _one_of("kind", Kind),
    _one_of("phase", Phase),
    _one_of("status", State),
    CheckConstraint("(status = 'ok') = (relevance IS NOT NULL)", name="grade_if_and_only_if_ok"),
    Index("labels_by_query", "collection", "labeler_id", "version", "query_id"),
    Index("labels_by_content", "version", "content_sha"),
    # Only people's labels have one.
    Index("labels_by_nonce", "nonce", unique=True, sqlite_where=_NONCE, postgresql_where=_NONCE),
    Index(
        "labels_of_audits",
        "collection",
        "labeler_id",
        "version",
        "query_id",
        sqlite_where=IN_AUDITS,
        postgresql_where=IN_AUDITS,
    ),
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
    Column("thoughts", AnyText),
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

assessors = Table(
    "assessors",
    metadata,
    Column("collection", _ID, primary_key=True),
    Column("name", _ID, primary_key=True),
    Column("role", Text, nullable=False),
    Column("handle", _ID, nullable=False),
    Column("code_hash", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("revoked_at", Utc),
    _one_of("role", Role),
    UniqueConstraint("collection", "handle", name="one_handle"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_sha", _ID, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("name", _ID, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("ended_at", Double),
    ForeignKeyConstraint(
        ["collection", "name"], ["assessors.collection", "assessors.name"], name="session_of_an_assessor"
    ),
    Index("sessions_by_name", "collection", "name"),
)

sign_in_failures = Table(
    "sign_in_failures",
    metadata,
    Column("collection", _ID, primary_key=True),
    Column("subject", _ID, primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("last_at", Double, nullable=False),
)

designs = Table(
    "designs",
    metadata,
    Column("design_id", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("method", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("frame_sha", _ID, nullable=False),
    Column("frame_pairs", BigInteger, nullable=False),
    Column("strata", JSON, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    _one_of("method", Method),
    sqlite_autoincrement=True,
)

selections = Table(
    "selections",
    metadata,
    Column("design_id", _SEQ, ForeignKey("designs.design_id", name="selection_of_a_design"), primary_key=True),
    Column("query_id", _ID, primary_key=True),
    Column("doc_id", _ID, primary_key=True),
    Column("stratum", _ID, nullable=False),
    Column("inclusion", Double, nullable=False),
    Column("replicates", Integer, nullable=False),
    CheckConstraint("inclusion > 0 AND inclusion <= 1", name="probability"),
)

frame_pairs = Table(
    "frame_pairs",
    metadata,
    Column("design_id", _SEQ, ForeignKey("designs.design_id", name="frame_of_a_design"), primary_key=True),
    Column("query_id", _ID, primary_key=True),
    Column("doc_id", _ID, primary_key=True),
    Column("stratum", _ID, nullable=False),
    Column("inclusion", Double, nullable=False),
    CheckConstraint("inclusion > 0 AND inclusion <= 1", name="probability"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("assignment_id", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("design_id", _SEQ, ForeignKey("designs.design_id", name="slot_of_a_design"), nullable=False),
    Column("query_id", _ID, nullable=False),
    Column("doc_id", _ID, nullable=False),
    Column("replicate", Integer, nullable=False),
    Column("query_order", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("holder", _ID),
    Column("leased_until", Double),
    Column("query_turn", Integer),
    Column("turn", Integer),
    Column("skips", Integer, nullable=False),
    Column("line", _SEQ, nullable=False),
    Column("label_seq", _SEQ, ForeignKey("labels.seq", name="label_of_a_slot")),
    Column("phase", Text, nullable=False, server_default="blind"),
    _one_of("state", SlotState),
    _one_of("phase", SlotPhase),
    # Nobody is assigned a pair twice, except once more to repeat it.
    UniqueConstraint("collection", "holder", "query_id", "doc_id", "phase", name="one_slot_a_pair"),
    # The last two columns let counts of a person's slots be answered from the index alone.
    Index(
        "slots_in_line",
        "collection",
        "holder",
        "state",
        "line",
        "query_turn",
        "skips",
        "turn",
        "query_id",
        "design_id",
    ),
    Index("slots_by_query", "collection", "query_id", "state", "holder", "doc_id"),
    Index("slots_by_lease", "collection", "leased_until", "holder", sqlite_where=_LEASED, postgresql_where=_LEASED),
    Index("slots_by_label", "collection", "holder", "label_seq"),
    sqlite_autoincrement=True,
)

queues = Table(
    "queues",
    metadata,
    Column("collection", _ID, primary_key=True),
    Column("query_id", _ID, primary_key=True),
    Column("query_order", Integer, nullable=False),
    Column("free", Integer, nullable=False),
)

training = Table(
    "training",
    metadata,
    Column("training_id", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("query_id", _ID, nullable=False),
    Column("doc_id", _ID, nullable=False),
    Column("relevance", Integer, nullable=False),
    Column("explanation", AnyText, nullable=False),
    Column("by", _ID, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("dropped_at", Utc),
    Column("gold", Boolean, nullable=False, server_default=false()),
    sqlite_autoincrement=True,
)

reveals = Table(
    "reveals",
    metadata,
    Column("collection", _ID, primary_key=True),
    Column("name", _ID, primary_key=True),
    Column("query_id", _ID, primary_key=True),
    Column("doc_id", _ID, primary_key=True),
    Column("created_at", Utc, nullable=False),
)

question_events = Table(
    "question_events",
    metadata,
    Column("seq", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("question_id", _SEQ, nullable=False),
    Column("by", _ID, nullable=False),
    Column("action", Text, nullable=False),
    Column("query", AnyText, nullable=False),
    Column("narrative", AnyText),
    Column("theme", AnyText),
    Column("scope", AnyText),
    Column("type", AnyText),
    Column("doc_id", _ID),
    Column("query_id", _ID),
    Column("comment", AnyText),
    Column("nonce", _ID),
    Column("created_at", Utc, nullable=False),
    Column("drafted_by", _ID),
    _one_of("action", QuestionAction),
    UniqueConstraint("nonce", name="one_event_a_nonce"),
    Index("events_by_question", "collection", "question_id"),
    sqlite_autoincrement=True,
)

remarks = Table(
    "remarks",
    metadata,
    Column("seq", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("query_id", _ID, nullable=False),
    Column("doc_id", _ID, nullable=False),
    Column("thread", _ID, nullable=False),
    Column("by", _ID, nullable=False),
    Column("action", Text, nullable=False),
    Column("text", AnyText),
    Column("nonce", _ID),
    Column("created_at", Utc, nullable=False),
    _one_of("action", RemarkAction),
    UniqueConstraint("nonce", name="one_remark_a_nonce"),
    Index("remarks_by_thread", "collection", "thread"),
    Index("remarks_by_pair", "collection", "query_id", "doc_id"),
    sqlite_autoincrement=True,
)

authoring_items = Table(
    "authoring_items",
    metadata,
    Column("item_id", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("design", _ID, nullable=False),
    Column("kind", _ID, nullable=False),
    Column("source_id", _ID, nullable=False),
    Column("parent_id", _SEQ, ForeignKey("authoring_items.item_id", name="parent_of_an_item")),
    Column("content", JSON, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", AnyText),
    # No foreign key: entries refer to items already.
    Column("made_by", _SEQ),
    Column("drafted_by", _ID, ForeignKey("versions.version", name="drafter_of_an_item")),
    Column("created_at", Utc, nullable=False),
    _one_of("state", ItemState),
    UniqueConstraint("collection", "design", "kind", "source_id", name="one_item_a_source"),
    UniqueConstraint("made_by", name="one_item_an_entry"),
    Index("items_by_parent", "parent_id"),
    sqlite_autoincrement=True,
)

authoring_tasks = Table(
    "authoring_tasks",
    metadata,
    Column("task_id", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("item_id", _SEQ, ForeignKey("authoring_items.item_id", name="task_of_an_item"), nullable=False),
    Column("round", _ID, nullable=False),
    Column("replicate", Integer, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("holder", _ID),
    Column("leased_until", Double),
    Column("step", Integer, nullable=False),
    Column("skips", Integer, nullable=False),
    _one_of("state", TaskState),
    UniqueConstraint("item_id", "round", "replicate", name="one_task"),
    # Nobody does an item twice in one round.
    UniqueConstraint("item_id", "round", "holder", name="one_task_a_person"),
    Index("tasks_in_line", "collection", "round", "state", "skips", "place", "task_id"),
    Index("tasks_by_holder", "collection", "holder", "state"),
    sqlite_autoincrement=True,
)

authoring_entries = Table(
    "authoring_entries",
    metadata,
    Column("seq", _SEQ, primary_key=True),
    Column("collection", _ID, nullable=False),
    Column("item_id", _SEQ, ForeignKey("authoring_items.item_id", name="entry_of_an_item"), nullable=False),
    Column("task_id", _SEQ, ForeignKey("authoring_tasks.task_id", name="entry_of_a_task")),
    Column("round", _ID, nullable=False),
    Column("step", Integer, nullable=False),
    Column("by", _ID, nullable=False),
    Column("action", Text, nullable=False),
    Column("content", JSON, nullable=False),
    Column("reason", AnyText),
    Column("undoes", _SEQ, ForeignKey("authoring_entries.seq", name="undone_entry")),
    Column("active_seconds", Double),
    Column("elapsed_seconds", Double),
    Column("nonce", _ID),
    Column("created_at", Utc, nullable=False),
    _one_of("action", EntryAction),
    UniqueConstraint("nonce", name="one_entry_a_nonce"),
    # An entry is taken back once.
    UniqueConstraint("undoes", name="undone_once"),
    Index("entries_by_item", "item_id", "seq"),
    Index("entries_by_person", "collection", "by", "seq"),
    sqlite_autoincrement=True,
)
