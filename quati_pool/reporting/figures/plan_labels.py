"""Writes the files of ``plan-labels``: its table in four formats."""

from __future__ import annotations

from pathlib import Path

from quati_pool.commands.plan_labels.plan_labels import PlanLabelsReport
from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.reporting.formats.tables import csv_file, latex_file, to_markdown
from quati_pool.reporting.json_data.plan_labels import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.plan_labels import tables


def write(report: PlanLabelsReport, output: Path | None, listener: Listener) -> None:
    """Writes ``plan-labels.md``, ``.tex``, ``.csv`` and ``.json`` into ``output``, or into the workspace's reports."""
    folder = report_folder(report.config, output)
    assert folder is not None, "there is a workspace"
    found, settings = tables(report), report.settings
    content: dict[str, str | bytes] = {
        "plan-labels.md": "# What a budget buys\n\n" + "\n".join(map(to_markdown, found)),
        "plan-labels.tex": latex_file(found),
        "plan-labels.csv": csv_file(found),
        "plan-labels.json": readable_json(as_data(report)),
    }
    given = {
        "budget": settings.budget,
        "hours": settings.hours,
        "cost_person": str(report.cost_person),
        "cost_judge": settings.cost_judge,
        "measure": report.measure,
        "target": settings.target,
    }
    save(report.config, folder, content, given, listener, "plan-labels")
