"""The tables of a check of anchors."""

from __future__ import annotations

from datetime import datetime

from quati_pool.audit.drift import Drift, Server
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.shown_texts import marks, shown


def tables(judge: str, drift: Drift) -> list[Table]:
    """All tables: grades then and now, who answered, and the anchors whose grade differs."""
    found = (grades_table(judge, drift), servers_table(judge, drift), moved_table(judge, drift))
    return [table for table in found if table.rows]


def grades_table(judge: str, drift: Drift) -> Table:
    """How many anchors have which grade, then and now."""
    columns = [Column("Grade then"), Column("Anchors"), *(Column(f"Now {grade}") for grade in drift.grades)]
    cells = drift.table.tolist()
    rows: list[list[Cell]] = [
        [str(grade), sum(row), *row] for grade, row in zip(drift.grades, cells, strict=True) if drift.pairs
    ]
    now = [sum(column) for column in zip(*cells, strict=True)]
    if rows:
        rows.append(["All", sum(now), *now])
    note = "Then: when the anchors were fixed." if rows else ""
    return Table(f"Grades that {judge} gave to its anchors", columns, rows, note, totals=int(bool(rows)))


def servers_table(judge: str, drift: Drift) -> Table:
    """The models and fingerprints behind the answers, as the server reported them."""
    headings = ("Answers", "Model", "Fingerprint", "Number", "First", "Last")
    rows: list[list[Cell]] = [
        [when, *_named(one), one.answers, day(one.first), day(one.last)]
        for when, some in (("then", drift.servers_then), ("now", drift.servers_now))
        for one in some
    ]
    return Table(f"Who answered for {judge}", [*map(Column, headings)], rows, marks(rows))


def _named(one: Server) -> list[Cell]:
    return [None if name is None else shown(name) for name in (one.model, one.fingerprint)]


def day(at: datetime) -> str:
    return at.date().isoformat()


def moved_table(judge: str, drift: Drift) -> Table:
    """The anchors whose grade differs."""
    columns = [*map(Column, ("query_id", "doc_id", "People's grade", "Grade then", "Grade now"))]
    rows: list[list[Cell]] = [
        [shown(pair.query_id), shown(pair.doc_id), pair.people, pair.then, pair.now]
        for pair in drift.pairs
        if pair.then != pair.now
    ]
    return Table(f"Anchors that {judge} grades otherwise now", columns, rows, marks(rows))


def anchors_table(judge: str, drift: Drift) -> Table:
    """How many anchors have which grades of people and of the judge."""
    columns = [Column("People's grade"), Column("Anchors"), *(Column(f"{judge} {grade}") for grade in drift.grades)]
    rows: list[list[Cell]] = []
    for people in sorted({anchor.people for anchor in drift.anchors}):
        own = [anchor.grade for anchor in drift.anchors if anchor.people == people]
        rows.append([str(people), len(own), *(own.count(grade) for grade in drift.grades)])
    return Table(f"Anchors of {judge}", columns, rows)
