"""Two audited judges next to each other, with all figures."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.comparison import AuditComparison, DangerContrast
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import audit
from quati_pool.reporting.tables.audit_grades import LEVEL, ends
from quati_pool.stats.bootstrap import Contrast


def tables(found: AuditComparison, reports: Sequence[AuditReport], width: int | None = None) -> list[Table]:
    """The comparison, and all tables of both audits."""
    own = [table for table in (contrasts_table(found), dangers_table(found)) if table.rows]
    return [*own, *audit.tables(reports, width)]


def contrasts_table(found: AuditComparison) -> Table:
    """Agreement with people, the order of systems, the level of the measure, and what both cost."""
    columns = [
        Column("Figure"), *(Column(name, 3) for name in found.judges), Column("Difference", 3), Column(LEVEL, 3),
        Column("n"), Column("Of"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    if found.systems is not None:
        queries = found.systems.queries
        rows.append(_contrast("τ of systems", found.systems.tau, queries, "queries"))
        rows.append(_contrast(f"{found.measure}, how far off", found.systems.level, queries, "queries"))
    if found.kappa is not None:
        rows.append(_contrast(f"κ with {found.people}", found.kappa.kappa, found.kappa.n, "pairs"))
    first, second = found.expenses
    for name, one, other in (
        ("US$ per 1,000 pairs", first.cost, second.cost), ("minutes per 1,000 pairs", first.minutes, second.minutes)
    ):  # fmt: skip
        if one is not None or other is not None:
            rows.append([name, one, other, None if one is None or other is None else one - other, None, None, None])
    note = "Difference: the first less the second, over the same pairs and queries; the interval resamples queries."
    return Table(f"{found.judges[0]} and {found.judges[1]} against {found.people or 'each other'}", columns, rows, note)


def _contrast(name: str, one: Contrast, n: int, of: str) -> list[Cell]:
    return [name, one.one, one.other, one.difference, ends(one.interval.low, one.interval.high), n, of]


def dangers_table(found: AuditComparison) -> Table:
    """The verdicts on both judges, danger by danger."""
    first, second = found.judges
    columns = [
        Column("Danger"), Column(first), Column(second), Column(f"Seen, {first}", 3), Column(f"Seen, {second}", 3),
        Column("Difference", 3), Column(LEVEL, 3), Column("Over"), Column(f"n, {first}", detail=True),
        Column(f"n, {second}", detail=True), Column("Shown of"),
    ]  # fmt: skip
    rows = [_danger(found, one) for one in found.dangers]
    note = (
        "Seen: the share fooled, or how far grades are from people's. Over: the same changed texts, or those of each, "
        "as independent shares. Shown of: the judge that is fooled, or beyond its bound, where the other is not and "
        "the intervals show it."
    )
    return Table(f"Dangers of {first} and {second}", columns, rows, note)


def _danger(found: AuditComparison, one: DangerContrast) -> list[Cell]:
    difference = one.difference
    over = None if one.same is None else "the same texts" if one.same else "the texts of each"
    return [
        one.danger, *one.verdicts, *one.seen, None if difference is None else difference.value,
        None if difference is None else (difference.low, difference.high), over, *one.n,
        None if one.against is None else found.judges[one.against],
    ]  # fmt: skip
