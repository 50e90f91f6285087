"""The first schema: labels, attempts, versions, batches and their requests.

Written out, and never edited: what ``schema.py`` becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)

KINDS = "kind IN ('judge', 'assessor')"
STATES = "status IN ('ok', 'unparsed', 'off_scale', 'refused', 'truncated', 'failed', 'skipped', 'unsure', 'retracted')"


def upgrade() -> None:
    op.create_table(
        "labels",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("labeler_id", ID, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.Column("query_id", ID, nullable=False),
        sa.Column("doc_id", ID, nullable=False),
        sa.Column("content_sha", ID, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("relevance", sa.Integer),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("rationale", sa.Text),
        sa.Column("shared_from", SEQ, sa.ForeignKey("labels.seq", name="shared_from_a_label")),
        sa.Column("assignment_id", SEQ),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("extra", sa.JSON, nullable=False),
        sa.CheckConstraint(KINDS, name="known_kind"),
        sa.CheckConstraint("phase IN ('training', 'blind', 'revealed', 'final')", name="known_phase"),
        sa.CheckConstraint(STATES, name="known_status"),
        sa.CheckConstraint("(status = 'ok') = (relevance IS NOT NULL)", name="grade_if_and_only_if_ok"),
        sqlite_autoincrement=True,
    )
    op.create_index("labels_by_query", "labels", ["collection", "labeler_id", "version", "query_id"])
    op.create_index("labels_by_content", "labels", ["version", "content_sha"])
    op.create_table(
        "attempts",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("label_seq", SEQ, sa.ForeignKey("labels.seq", name="attempt_of_a_label"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("problem", sa.Text),
        sa.Column("finish_reason", sa.Text),
        sa.Column("output", sa.Text),
        sa.Column("model", sa.Text),
        sa.Column("endpoint", sa.Text),
        sa.Column("response_id", sa.Text),
        sa.Column("fingerprint", sa.Text),
        sa.Column("input_tokens", sa.BigInteger),
        sa.Column("cached_tokens", sa.BigInteger),
        sa.Column("output_tokens", sa.BigInteger),
        sa.Column("reasoning_tokens", sa.BigInteger),
        sa.Column("cost", sa.Double),
        sa.Column("seconds", sa.Double),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("extra", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(STATES, name="known_status"),
        sqlite_autoincrement=True,
    )
    op.create_index("attempts_by_label", "attempts", ["label_seq"])
    op.create_table(
        "versions",
        sa.Column("version", ID, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("definition", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(KINDS, name="known_kind"),
    )
    op.create_table(
        "batches",
        sa.Column("key", ID, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("labeler_id", ID, nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.Column("endpoint", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("file_id", sa.Text),
        sa.Column("batch_id", sa.Text),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("extra", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("status IN ('prepared', 'submitted', 'collected', 'abandoned')", name="known_status"),
    )
    op.create_table(
        "batch_requests",
        sa.Column("batch_key", ID, primary_key=True),
        sa.Column("custom_id", ID, primary_key=True),
        sa.Column("query_id", ID, nullable=False),
        sa.Column("doc_id", ID, nullable=False),
        sa.Column("content_sha", ID, nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("extra", sa.JSON, nullable=False),
        sa.Column("collected", sa.Boolean, nullable=False),
        sa.ForeignKeyConstraint(["batch_key"], ["batches.key"], name="request_of_a_batch"),
    )
