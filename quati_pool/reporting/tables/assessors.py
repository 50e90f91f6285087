"""The table of ``assessors list``, and the same as data."""

from __future__ import annotations

from datetime import datetime
from typing import Any

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
    return Table("People", columns, rows, "" if people else "Nobody is there yet.")


def as_data(people: list[ListedAssessor]) -> dict[str, Any]:
    def when(time: datetime | None) -> str | None:
        return None if time is None else time.isoformat(timespec="seconds")

    return {
        "people": [
            {
                "name": one.name,
                "role": one.role,
                "since": when(one.since),
                "last_seen": when(one.last_seen),
                "labels": one.labels,
                "revoked": when(one.revoked),
                "code": not one.never_had and one.revoked is None,
            }
            for one in people
        ]
    }


def _told(time: datetime | None) -> str:
    return "" if time is None else time.strftime("%Y-%m-%d %H:%M")
