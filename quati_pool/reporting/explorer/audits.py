"""The explorer's data of audits: of each audited judge the card, and the pairs that fooled it most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from quati_pool.audit.cases import Case
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.report import State
from quati_pool.pooling.pool import Pool
from quati_pool.reporting.answers import audit as answers
from quati_pool.reporting.answers.drift import card_line
from quati_pool.reporting.formats.tables import Table
from quati_pool.reporting.tables import audit as tables


def audits(state: State, texts: bool) -> list[dict[str, Any] | None]:
    """The audit of each labeler, None where there is none. ``texts``: whether to include those of the pairs."""
    return [
        None if report is None else _audit(report, state.pool.pool, texts)
        for report in (state.audit(source.name) for source in state.gathered.sources)
    ]


def _audit(report: AuditReport, pool: Pool, texts: bool) -> dict[str, Any]:
    answer = answers.answer([report])
    assert answer.table is not None
    drift = [] if report.drift is None else [card_line(report.drift)]
    return {
        "said": [*answers.sentences(report), *drift],
        "table": _table(answer.table),
        "worst": [*_worst(report, pool, texts)],
    }


def _table(table: Table) -> dict[str, Any]:
    columns = [
        {"heading": column.heading, "number": table.numeric(place)} for place, column in enumerate(table.columns)
    ]
    return {"title": table.title, "columns": columns, "rows": table.shown(), "note": table.note}


def _worst(report: AuditReport, pool: Pool, texts: bool) -> Iterator[dict[str, Any]]:
    """The cases that fooled a judge most."""
    for one, place, case in tables.worst(report):
        yield {
            "probe": one.probe.danger,
            "variant": case.variant,
            "pair": _pair(case, pool),
            "doc": case.doc_id,
            "before": case.before,
            "after": tables.grade_after(one, place),
            "control": tables.grade_of_control(one, place),
            **(_texts(case) if texts else {}),
        }


def _texts(case: Case) -> dict[str, Any]:
    control = None if case.control is None else case.control._asdict()
    return {"original": case.original._asdict(), "changed": case.changed._asdict(), "controlTexts": control}


def _pair(case: Case, pool: Pool) -> int:
    """The number of a case's pair, which is in the pool: cases of another pool are not read."""
    query, doc = pool.queries.encode([case.query_id]), pool.docs.encode([case.doc_id])
    return int(np.flatnonzero((pool.query == query) & (pool.doc == doc))[0])
