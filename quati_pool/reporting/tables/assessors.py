"""The table of ``assessors list``."""

from __future__ import annotations

from datetime import datetime

from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.reporting.formats.tables import Cell, Column, Table


def table(people: list[ListedAssessor]) -> Table:
    columns = [Column(name) for name in ("Name", "Role", "Since", "Last seen", "Labels", "Revoked")]
    rows: list[list[Cell]] = [
        [
            one.name,
            one.role,
            _told(one.since),
            _told(one.last_seen),
            one.labels,
            "never had a code" if one.never_had else _told(one.revoked),
        ]
        for one in people
    ]
    return Table("People", columns, rows, "" if people else "There is nobody yet.")


def _told(time: datetime | None) -> str:
    return "" if time is None else time.strftime("%Y-%m-%d %H:%M")
