"""Slots in which a person gets a pair again, gold pairs among the training pairs, and remarks on pairs with answers.

A person may now have two slots of one pair, if they are of different phases.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
LEASED = sa.text("state = 'open' AND leased_until IS NOT NULL")
PHASES = "phase IN ('blind', 'repeat')"
ONE_SLOT = ("collection", "holder", "query_id", "doc_id", "phase")


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        rebuild_assignments()
    else:
        op.add_column("assignments", sa.Column("phase", sa.Text, nullable=False, server_default="blind"))
        op.create_check_constraint("known_phase", "assignments", PHASES)
        op.drop_constraint("one_slot_a_pair", "assignments", type_="unique")
        op.create_unique_constraint("one_slot_a_pair", "assignments", ONE_SLOT)
    op.add_column("training", sa.Column("gold", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "remarks",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("query_id", ID, nullable=False),
        sa.Column("doc_id", ID, nullable=False),
        sa.Column("thread", ID, nullable=False),
        sa.Column("by", ID, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("text", sa.Text),
        sa.Column("nonce", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("action IN ('asked', 'answered', 'read', 'closed')", name="known_action"),
        sa.UniqueConstraint("nonce", name="one_remark_a_nonce"),
        sqlite_autoincrement=True,
    )
    op.create_index("remarks_by_thread", "remarks", ["collection", "thread"])
    op.create_index("remarks_by_pair", "remarks", ["collection", "query_id", "doc_id"])


def rebuild_assignments() -> None:
    """SQLite changes a table's constraints only by a new table. No other table refers to this one."""
    connection = op.get_bind()
    for index in sa.inspect(connection).get_indexes("assignments"):
        op.drop_index(str(index["name"]), "assignments")
    op.execute("PRAGMA legacy_alter_table = ON")
    op.rename_table("assignments", "assignments_0005")
    op.execute("PRAGMA legacy_alter_table = OFF")
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
        sa.Column("phase", sa.Text, nullable=False, server_default="blind"),
        sa.CheckConstraint("state IN ('open', 'done', 'withdrawn')", name="known_state"),
        sa.CheckConstraint(PHASES, name="known_phase"),
        sa.UniqueConstraint(*ONE_SLOT, name="one_slot_a_pair"),
        sqlite_autoincrement=True,
    )
    former = ", ".join(f'"{column["name"]}"' for column in sa.inspect(connection).get_columns("assignments_0005"))
    op.execute(f"INSERT INTO assignments ({former}) SELECT {former} FROM assignments_0005")
    # Numbers that were given out once are never given out again.
    op.execute("DELETE FROM sqlite_sequence WHERE name = 'assignments'")
    op.execute("UPDATE sqlite_sequence SET name = 'assignments' WHERE name = 'assignments_0005'")
    op.drop_table("assignments_0005")
    op.create_index(
        "slots_in_line",
        "assignments",
        ["collection", "holder", "state", "line", "query_turn", "skips", "turn", "query_id", "design_id"],
    )
    op.create_index("slots_by_query", "assignments", ["collection", "query_id", "state", "holder", "doc_id"])
    op.create_index("slots_by_lease", "assignments", ["collection", "leased_until", "holder"], sqlite_where=LEASED)
    op.create_index("slots_by_label", "assignments", ["collection", "holder", "label_seq"])
