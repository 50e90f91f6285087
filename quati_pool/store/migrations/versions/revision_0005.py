"""The pairs of which a lead has seen names and grades of judges and systems, so that later decisions are marked.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "reveals",
        sa.Column("collection", ID, primary_key=True),
        sa.Column("name", ID, primary_key=True),
        sa.Column("query_id", ID, primary_key=True),
        sa.Column("doc_id", ID, primary_key=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
