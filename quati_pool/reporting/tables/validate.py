"""The table of ``validate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.files.validation import ValidationReport
from quati_pool.reporting.formats.tables import Column, Table


def table(reports: Sequence[ValidationReport]) -> Table:
    rows = [[str(report.path), report.kind or "?", _verdict(report), _summary(report.summary)] for report in reports]
    return Table("Files", [Column("File"), Column("Kind"), Column("Verdict"), Column("Holds", prose=True)], rows)


def _verdict(report: ValidationReport) -> str:
    if report.faults:
        return f"{report.faults:,} error{'s' if report.faults > 1 else ''}"
    return "ok, with warnings" if report.warnings else "ok"


def _summary(summary: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in summary.items())


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key}: {inner:,}" for key, inner in value.items()) + ")"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
