"""The report's part on agreement: how far labelers agree, and on which queries they do not."""

from __future__ import annotations

from dataclasses import replace

from quati_pool.commands.agree import AgreeReport
from quati_pool.commands.report import State
from quati_pool.reporting.answers import agree as answers
from quati_pool.reporting.figures import agree as figures
from quati_pool.reporting.formats.document import Block, Details, Paragraph
from quati_pool.reporting.formats.tables import Table
from quati_pool.reporting.tables import agree as tables


def body(state: State) -> list[Block]:
    """The agreement of every two labelers, their confusion matrices, and the queries that they disagree on."""
    report = state.agreement
    if report is None:
        return [Paragraph(state.missing["agreement"])]
    answer = answers.answer(report)
    assert answer.table is not None
    return [
        Paragraph(" ".join(answer.sentences)),
        replace(answer.table, links=tables.pair_links(report.compared)),
        figures.matrices(report),
        _hardest(report),
    ]


def appendix(state: State) -> list[Details]:
    """All tables of ``agree`` that the body does not have, and the figures by query."""
    report = state.agreement
    if report is None:
        return []
    labelers, pairs, *others = tables.main_tables(report)
    whole = replace(pairs, title=f"{pairs.title}, all coefficients")
    by_query = [table for table in tables.query_tables(report) if table.title != _hardest(report).title]
    pictures = [picture.figure() for picture in figures.by_query(report)]
    matrices = [table for pair in report.compared for table in tables.confusion_tables(report, pair)]
    return [
        Details("Agreement: labelers and coefficients", [labelers, whole, *others]),
        Details("Agreement: confusion matrices", matrices),
        Details("Agreement by query", [*by_query, *pictures]),
        Details("Agreement by grade", [*tables.grade_tables(report), *tables.listed_tables(report)]),
    ]


def _hardest(report: AgreeReport) -> Table:
    """The queries by how far all labelers disagree on them."""
    return tables.hardest_table(report, report.hardest[0])
