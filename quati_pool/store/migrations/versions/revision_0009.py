"""Authoring: items that people write and assess, the tasks of its rounds, and entries of what people did. Of questions,
the program that drafted them.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
ACTIONS = "action IN ('opened', 'given', 'refused', 'skipped', 'ended', 'undone', 'released')"


def upgrade() -> None:
    # No foreign key to versions: SQLite would have to copy the table.
    op.add_column("question_events", sa.Column("drafted_by", ID))
    op.create_table(
        "authoring_items",
        sa.Column("item_id", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("design", ID, nullable=False),
        sa.Column("kind", ID, nullable=False),
        sa.Column("source_id", ID, nullable=False),
        sa.Column("parent_id", SEQ, sa.ForeignKey("authoring_items.item_id", name="parent_of_an_item")),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("made_by", SEQ),
        sa.Column("drafted_by", ID, sa.ForeignKey("versions.version", name="drafter_of_an_item")),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("state IN ('open', 'kept', 'out')", name="known_state"),
        sa.UniqueConstraint("collection", "design", "kind", "source_id", name="one_item_a_source"),
        sa.UniqueConstraint("made_by", name="one_item_an_entry"),
        sqlite_autoincrement=True,
    )
    op.create_index("items_by_parent", "authoring_items", ["parent_id"])
    op.create_table(
        "authoring_tasks",
        sa.Column("task_id", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("item_id", SEQ, sa.ForeignKey("authoring_items.item_id", name="task_of_an_item"), nullable=False),
        sa.Column("round", ID, nullable=False),
        sa.Column("replicate", sa.Integer, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("holder", ID),
        sa.Column("leased_until", sa.Double),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("skips", sa.Integer, nullable=False),
        sa.CheckConstraint("state IN ('open', 'done', 'withdrawn')", name="known_state"),
        sa.UniqueConstraint("item_id", "round", "replicate", name="one_task"),
        sa.UniqueConstraint("item_id", "round", "holder", name="one_task_a_person"),
        sqlite_autoincrement=True,
    )
    op.create_index("tasks_in_line", "authoring_tasks", ["collection", "round", "state", "skips", "place", "task_id"])
    op.create_index("tasks_by_holder", "authoring_tasks", ["collection", "holder", "state"])
    op.create_table(
        "authoring_entries",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("item_id", SEQ, sa.ForeignKey("authoring_items.item_id", name="entry_of_an_item"), nullable=False),
        sa.Column("task_id", SEQ, sa.ForeignKey("authoring_tasks.task_id", name="entry_of_a_task")),
        sa.Column("round", ID, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("by", ID, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("undoes", SEQ, sa.ForeignKey("authoring_entries.seq", name="undone_entry")),
        sa.Column("active_seconds", sa.Double),
        sa.Column("elapsed_seconds", sa.Double),
        sa.Column("nonce", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(ACTIONS, name="known_action"),
        sa.UniqueConstraint("nonce", name="one_entry_a_nonce"),
        sa.UniqueConstraint("undoes", name="undone_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("entries_by_item", "authoring_entries", ["item_id", "seq"])
    op.create_index("entries_by_person", "authoring_entries", ["collection", "by", "seq"])
