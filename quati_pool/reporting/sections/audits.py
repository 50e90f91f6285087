"""The report's part on audits: what fools the judges, and which judges were not audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.report import State
from quati_pool.reporting.answers import audit as answers
from quati_pool.reporting.answers import wording
from quati_pool.reporting.answers.drift import card_line
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.document import Block, Details, Link, Paragraph, Words
from quati_pool.reporting.formats.tables import Table
from quati_pool.reporting.tables import audit as tables
from quati_pool.reporting.tables import audit_grades, near_duplicates

# Browsers break the lines of texts.
_UNBROKEN = 1_000_000


def body(state: State) -> list[Block]:
    """The card of each audited judge, and a line for each language model that ranks systems without an audit; nothing
    without either."""
    blocks: list[Block] = []
    for report in state.audits:
        answer = answers.answer([report])
        assert answer.table is not None
        blocks += [Paragraph(_linked(report, said)) for said in answers.sentences(report)]
        blocks.append(answer.table)
        blocks += [] if report.drift is None else [Paragraph(card_line(report.drift))]
    for name in state.unaudited:
        judge = Link(wording.name(name), links.labeler(name))
        said = f" was not audited, so what fools it is not known; run: quati-pool audit {name}"
        blocks.append(Paragraph((judge, said)))
    return blocks


def appendix(state: State) -> list[Details]:
    """All tables of the audits, and the pairs that fooled each judge most."""
    return [Details(f"Audit of {report.judge}", _details(state, report)) for report in state.audits]


def _linked(report: AuditReport, said: str) -> Words:
    """A sentence, from which the judge's name leads to its page if it begins with it."""
    name = wording.name(report.judge)
    if not said.startswith((f"{name} ", f"{name}: ")):
        return said
    return (Link(name, links.labeler(report.judge)), said.removeprefix(name))


def _details(state: State, report: AuditReport) -> list[Block]:
    probes = tables.probes_table(report)
    figures = _of_columns(probes, [place for place, column in enumerate(probes.columns) if not column.prose])
    prose = [place for place, column in enumerate(probes.columns) if column.prose]
    words = _of_columns(probes, [0, *(place for place in prose if any(row[place] for row in probes.rows))])
    reading = replace(words, title=f"What the probes of {report.judge} are about", note="")
    grades = [table for table in audit_grades.tables(report) if table.rows]
    duplicates = [table for table in near_duplicates.tables(report) if table.rows]
    blocks: list[Block] = [figures, tables.variants_table(report), *grades, *duplicates, reading]
    if not state.config.release.texts:
        return [*blocks, Paragraph("Examples are left out, since this collection withholds its texts.")]
    examples = near_duplicates.example_tables(report, _UNBROKEN)
    return [*blocks, *tables.example_tables(report, _UNBROKEN), *examples]


def _of_columns(table: Table, places: Sequence[int]) -> Table:
    """The table with these columns alone."""
    columns, rows = [table.columns[place] for place in places], [[row[place] for place in places] for row in table.rows]
    return replace(table, columns=columns, rows=rows)
