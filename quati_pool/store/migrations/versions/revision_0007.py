"""The frame of each random design: all pairs that it could have selected, with their inclusion probabilities.

Estimates from two designs need the probability of every pair in both. Earlier designs have no stored frame.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "frame_pairs",
        sa.Column("design_id", SEQ, sa.ForeignKey("designs.design_id", name="frame_of_a_design"), primary_key=True),
        sa.Column("query_id", ID, primary_key=True),
        sa.Column("doc_id", ID, primary_key=True),
        sa.Column("stratum", ID, nullable=False),
        sa.Column("inclusion", sa.Double, nullable=False),
        sa.CheckConstraint("inclusion > 0 AND inclusion <= 1", name="probability"),
    )
