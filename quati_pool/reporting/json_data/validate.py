"""The JSON of ``validate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quati_pool.files.validation import ValidationReport
from quati_pool.reporting.json_data.serializer import Views, pick, serialize


def as_data(reports: Sequence[ValidationReport]) -> Any:
    """The JSON object of ``validate``."""
    return serialize({"files": reports}, VIEWS)


def _report(report: ValidationReport) -> dict[str, Any]:
    return {
        **pick(report, "file=path kind ok"),
        "errors": [str(error) for error in report.errors],
        **pick(report, "error_count=faults more_errors warnings summary"),
    }


VIEWS: Views = {ValidationReport: _report}
