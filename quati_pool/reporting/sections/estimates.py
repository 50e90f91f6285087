"""The report's part on estimates: what the systems would score if people had graded every pair."""

from __future__ import annotations

from dataclasses import replace

from quati_pool.commands.report import State
from quati_pool.reporting.answers import estimate as answers
from quati_pool.reporting.explorer import links
from quati_pool.reporting.figures import estimate as figures
from quati_pool.reporting.formats.document import Block, Details, Paragraph
from quati_pool.reporting.tables import estimate as tables


def body(state: State) -> list[Block]:
    """The estimates with verdicts and what they hold for, or why there are none; nothing without a random design."""
    report = state.estimates
    if report is None:
        reason = state.missing.get("estimates")
        return [] if reason is None else [Paragraph(f"No estimate under people's grades is possible yet: {reason}.")]
    answer = answers.answer(report)
    assert answer.table is not None
    leads = [links.system(one.run_tag) for one in report.estimates[0].systems]
    return [
        Paragraph(" ".join(answer.sentences)),
        replace(answer.table, links={0: leads}),
        *(Paragraph(report.statement(estimate)) for estimate in report.estimates),
        *(picture.figure() for picture in figures.pictures(report)),
    ]


def appendix(state: State) -> list[Details]:
    """All tables of ``estimate``."""
    if state.estimates is None:
        return []
    return [Details("Systems: estimates under people's grades", tables.tables(state.estimates, differences=None))]
