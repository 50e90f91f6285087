"""People, their sessions, designs and assignments, training and questions; a nonce for labels.

Written out, and never edited: what ``schema.py`` becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
LEASED = sa.text("state = 'open' AND leased_until IS NOT NULL")
NONCE = sa.text("nonce IS NOT NULL")


def upgrade() -> None:
    op.add_column("labels", sa.Column("nonce", ID))
    op.create_index("labels_by_nonce", "labels", ["nonce"], unique=True, sqlite_where=NONCE, postgresql_where=NONCE)
    op.create_table(
        "assessors",
        sa.Column("collection", ID, primary_key=True),
        sa.Column("name", ID, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("handle", ID, nullable=False),
        sa.Column("code_hash", sa.Text, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("revoked_at", TIME),
        sa.CheckConstraint("role IN ('assessor', 'lead')", name="known_role"),
        sa.UniqueConstraint("collection", "handle", name="one_handle"),
    )
    op.create_table(
        "sessions",
        sa.Column("token_sha", ID, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("name", ID, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.ForeignKeyConstraint(
            ["collection", "name"], ["assessors.collection", "assessors.name"], name="session_of_an_assessor"
        ),
    )
    op.create_index("sessions_by_name", "sessions", ["collection", "name"])
    op.create_table(
        "sign_in_failures",
        sa.Column("collection", ID, primary_key=True),
        sa.Column("subject", ID, primary_key=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
    )
    op.create_table(
        "designs",
        sa.Column("design_id", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("frame_sha", ID, nullable=False),
        sa.Column("frame_pairs", sa.BigInteger, nullable=False),
        sa.Column("strata", sa.JSON, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("method IN ('all', 'random', 'stratified', 'queries', 'imported')", name="known_method"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "selections",
        sa.Column("design_id", SEQ, sa.ForeignKey("designs.design_id", name="selection_of_a_design"), primary_key=True),
        sa.Column("query_id", ID, primary_key=True),
        sa.Column("doc_id", ID, primary_key=True),
        sa.Column("stratum", ID, nullable=False),
        sa.Column("inclusion", sa.Double, nullable=False),
        sa.Column("replicates", sa.Integer, nullable=False),
        sa.CheckConstraint("inclusion > 0 AND inclusion <= 1", name="probability"),
    )
    op.create_table(
        "assignments",
        sa.Column("assignment_id", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("design_id", SEQ, sa.ForeignKey("designs.design_id", name="slot_of_a_design"), nullable=False),
        sa.Column("query_id", ID, nullable=False),
        sa.Column("doc_id", ID, nullable=False),
        sa.Column("replicate", sa.Integer, nullable=False),
        sa.Column("query_order", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("holder", ID),
        sa.Column("leased_until", sa.Double),
        sa.Column("query_turn", sa.Integer),
        sa.Column("turn", sa.Integer),
        sa.Column("skips", sa.Integer, nullable=False),
        sa.Column("line", SEQ, nullable=False),
        sa.Column("label_seq", SEQ, sa.ForeignKey("labels.seq", name="label_of_a_slot")),
        sa.CheckConstraint("state IN ('open', 'done', 'withdrawn')", name="known_state"),
        sa.UniqueConstraint("collection", "holder", "query_id", "doc_id", name="one_slot_a_pair"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "slots_in_line",
        "assignments",
        ["collection", "holder", "state", "line", "query_turn", "skips", "turn", "query_id", "design_id"],
    )
    op.create_index("slots_by_query", "assignments", ["collection", "query_id", "state", "holder", "doc_id"])
    op.create_index(
        "slots_by_lease",
        "assignments",
        ["collection", "leased_until", "holder"],
        sqlite_where=LEASED,
        postgresql_where=LEASED,
    )
    op.create_index("slots_by_label", "assignments", ["collection", "holder", "label_seq"])
    op.create_table(
        "queues",
        sa.Column("collection", ID, primary_key=True),
        sa.Column("query_id", ID, primary_key=True),
        sa.Column("query_order", sa.Integer, nullable=False),
        sa.Column("free", sa.Integer, nullable=False),
    )
    op.create_table(
        "training",
        sa.Column("training_id", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("query_id", ID, nullable=False),
        sa.Column("doc_id", ID, nullable=False),
        sa.Column("relevance", sa.Integer, nullable=False),
        sa.Column("explanation", sa.Text, nullable=False),
        sa.Column("by", ID, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("dropped_at", TIME),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "question_events",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("question_id", SEQ, nullable=False),
        sa.Column("by", ID, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("narrative", sa.Text),
        sa.Column("theme", sa.Text),
        sa.Column("scope", sa.Text),
        sa.Column("type", sa.Text),
        sa.Column("doc_id", ID),
        sa.Column("query_id", ID),
        sa.Column("comment", sa.Text),
        sa.Column("nonce", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "action IN ('proposed', 'revised', 'accepted', 'sent_back', 'withdrawn')", name="known_action"
        ),
        sa.UniqueConstraint("nonce", name="one_event_a_nonce"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_question", "question_events", ["collection", "question_id"])
