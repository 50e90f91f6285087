"""The answer of ``labels``: who has graded how much of the pool, and what is missing."""

from __future__ import annotations

from quati_pool.commands.labels import LabelsReport
from quati_pool.labels.qrels import outside
from quati_pool.reporting.answers import wording
from quati_pool.reporting.answers.judge import lacking
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.labels import missing_table
from quati_pool.text.pluralize import counted

# The most labelers that the sentences give the counts of.
_NAMED = 4


def answer(report: LabelsReport, missing: bool = False) -> Answer:
    """With ``missing``, the table lists the pairs without a grade."""
    said = graded(report)
    said += [f"{wording.name(name)} is a hybrid: {parts}." for name, parts in report.hybrids.items()]
    for name, count in report.unread.items():
        answers = counted(count, "stored answer was", "stored answers were")
        said.append(f"{answers} read by older rules; run: quati-pool judge {name} --reread.")
    said += [f"{note[0].upper()}{note[1:]}." for labeler in report.labelers if (note := labeler.note) is not None]
    if report.earlier:
        count = sum(rows for _, _, rows in report.earlier)
        said.append(f"{counted(count, 'label', 'labels')} of earlier versions are kept and count nowhere.")
    rest = "--full prints all tables: states, aspects, calls, earlier versions."
    table = missing_table(report) if missing else _labelers(report)
    return Answer(said, None if missing and not table.rows else table, rest)


def graded(report: LabelsReport) -> list[str]:
    """Who has graded all pairs, and how many the others have graded."""
    complete = [name for name, found in report.coverages.items() if found.grades.total() == found.pairs]
    partial = [name for name in report.coverages if name not in complete]
    pairs = max((found.pairs for found in report.coverages.values()), default=0)
    said = []
    whole = f"all {pairs:,} pairs" if pairs > 1 else counted(pairs, "pair", "pairs")
    if len(complete) > _NAMED and not partial:
        said.append(f"All {len(complete):,} labelers have graded {whole}.")
    elif complete:
        said.append(f"{wording.names(complete, _NAMED)} {'has' if len(complete) == 1 else 'have'} graded {whole}.")
    if partial:
        counts = [f"{wording.name(name)} {report.coverages[name].grades.total():,}" for name in partial[:_NAMED]]
        if len(partial) > _NAMED:
            counts.append(f"{len(partial) - _NAMED:,} more labelers fewer than all")
        said.append(f"Graded so far, of {counted(pairs, 'pair', 'pairs')}: {', '.join(counts)}.")
    return said


def _labelers(report: LabelsReport) -> Table:
    grades = sorted(set(report.config.grades).union(*(found.grades for found in report.coverages.values())))
    kinds = {labeler.name: labeler for labeler in report.labelers}
    rows: list[list[Cell]] = []
    for name, found in report.coverages.items():
        labeler, used = kinds[name], report.usage.get(name)
        cost: Cell = used.cost if used and used.attempts else None
        row: list[Cell] = [name, labeler.kind, found.grades.total(), *(found.grades[grade] for grade in grades)]
        rows.append([*row, found.pairs - found.grades.total(), cost, lacking(found), outside(labeler, found)])
    columns = [Column("Labeler"), Column("Kind"), Column("Graded"), *(Column(f"as {grade}") for grade in grades)]
    columns += [Column("Not graded"), Column("US$", 2), Column("Why not"), Column("Outside the pool")]
    kept = [place for place in range(len(columns)) if place < 3 + len(grades) or any(row[place] for row in rows)]
    return Table(
        "Who graded how much", [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]
    )
