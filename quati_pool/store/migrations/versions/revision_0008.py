"""An index of judges' answers in audits, of which there are few among their labels.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

IN_AUDITS = sa.text("phase IN ('repeat', 'probe') AND kind = 'judge'")


def upgrade() -> None:
    op.create_index(
        "labels_of_audits",
        "labels",
        ["collection", "labeler_id", "version", "query_id"],
        sqlite_where=IN_AUDITS,
        postgresql_where=IN_AUDITS,
    )
