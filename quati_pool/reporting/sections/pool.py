"""The report's parts on the pool and on its labels."""

from __future__ import annotations

from dataclasses import replace

from quati_pool.commands.report import State
from quati_pool.reporting.answers import build as answers
from quati_pool.reporting.answers import completeness as completeness_answers
from quati_pool.reporting.answers import labels as label_answers
from quati_pool.reporting.explorer import links
from quati_pool.reporting.figures import build as figures
from quati_pool.reporting.formats.document import Block, Details, Paragraph, Row
from quati_pool.reporting.tables import build as tables
from quati_pool.reporting.tables import completeness as completeness_tables
from quati_pool.reporting.tables import labels as label_tables


def pool(state: State) -> list[Block]:
    """What every system brought into the pool, how the pool would grow, and what it lacks."""
    systems = tables.tables(state.pool)[0]
    growth = figures.growth(state.pool)
    said = answers.answer(state.pool).sentences
    return [
        Paragraph(" ".join(said)),
        Row([systems, *([growth.figure()] if growth else [])]),
        *_completeness(state),
    ]


def _completeness(state: State) -> list[Block]:
    said = completeness_answers.sentences(state.completeness)
    return [*([Paragraph(" ".join(said))] if said else []), *completeness_tables.tables(state.completeness)]


def pool_appendix(state: State) -> list[Details]:
    overlap = figures.overlap(state.pool)
    blocks: list[Block] = [*tables.tables(state.pool)[1:], *([overlap.figure()] if overlap else [])]
    return [Details("Pool: growth, overlap and rank-biased overlap", blocks)]


def labels(state: State) -> list[Block]:
    """Who graded how much."""
    if state.ledger is None:
        return [Paragraph(state.missing["labels"])]
    problems = [Paragraph(f"{name} is left out: {problem}") for name, problem in state.ledger.problems.items()]
    grades = label_tables.tables(state.ledger)[0]
    leads = {0: [links.labeler(str(row[0])) for row in grades.rows]}
    said = label_answers.answer(state.ledger).sentences
    return [Paragraph(" ".join(said)), *problems, replace(grades, links=leads)]


def labels_appendix(state: State) -> list[Details]:
    if state.ledger is None:
        return []
    return [Details("Labels: states, aspects, attempts and earlier versions", label_tables.tables(state.ledger)[1:])]
