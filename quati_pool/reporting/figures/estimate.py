"""Draws the figures of ``estimate`` and writes its files: tables in four formats, figures in two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.estimation.results import Estimate
from quati_pool.files.readable_json import readable_json
from quati_pool.labels.gathered import Gathered
from quati_pool.project.events import Listener
from quati_pool.reporting.figures import plots
from quati_pool.reporting.figures.pictures import Picture, files, stem
from quati_pool.reporting.formats.tables import latex_file, to_markdown
from quati_pool.reporting.json_data.estimate import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.estimate import differences_csv, interval, systems_csv, tables


def pictures(report: EstimateReport) -> list[Picture]:
    """The systems by each measure and for each target, with their intervals."""
    return [picture(report, estimate) for estimate in report.estimates]


def picture(report: EstimateReport, estimate: Estimate) -> Picture:
    """The estimates of one measure for one target, with their intervals."""
    systems = estimate.systems
    people = [one.people_only for one in systems]
    what = f"{estimate.measure} under the grades of {report.people}, for {report.population(estimate)}"
    drawing = plots.estimates(
        [one.run_tag for one in systems],
        [one.estimate for one in systems],
        ([one.low for one in systems], [one.high for one in systems]),
        ([one.estimate for one in people], [one.low for one in people], [one.high for one in people]),
        [one.judge_only for one in systems],
        what,
        estimate.measure,
    )
    caption = (
        f"{what}: estimates, each with its {interval(estimate)}. Lighter: from people's grades alone. "
        f"Hollow: under the grades of {report.judge} alone, which is no estimate of people's."
    )
    in_words = ", ".join(f"{one.run_tag} {one.estimate:.4f} ({one.low:.4f} to {one.high:.4f})" for one in systems)
    return Picture(stem("estimate", estimate.measure, estimate.target), drawing, caption, f"{caption} {in_words}.")


def write(report: EstimateReport, output: Path | None, listener: Listener) -> None:
    """Writes ``estimate.md``, ``.tex`` and ``.json``, ``estimate-systems.csv``, ``estimate-differences.csv`` and the
    figures into ``output``, or into the reports of the workspace that was read; writes nothing if there is neither."""
    folder = report_folder(report.config, output)
    if folder is None:
        return
    found = tables(report, differences=None)
    content: dict[str, str | bytes] = {
        "estimate.md": "# Estimates\n\n" + "\n".join(map(to_markdown, found)),
        "estimate.tex": latex_file(found),
        "estimate.json": readable_json(as_data(report)),
        "estimate-systems.csv": systems_csv(report),
        "estimate-differences.csv": differences_csv(report),
        **files(pictures(report)),
    }
    first = report.estimates[0]
    settings = {
        "estimates": [[one.measure, one.target] for one in report.estimates],
        "people": report.people,
        "judge": [report.judge, report.judge_version],
        "design": report.drawn.design,
        "baseline": first.baseline,
        "alpha": first.alpha,
        "delta": first.delta,
        "looks": first.looks,
        "seed": report.seed,
        "simulation_seed": report.simulation_seed,
        **({} if report.gathered is None else _labels(report.gathered, report.seq)),
        "runs": {"": dict(report.runs)},
    }
    save(report.config, folder, content, settings, listener, "estimate")


def _labels(gathered: Gathered, seq: int | None) -> dict[str, Any]:
    """The labels that were read: the labelers with their versions, and which of them are files that options named."""
    filed = gathered.config.labels.files if gathered.config else ()
    files = [one.name for one in gathered.sources if one.origin is not None and one.name not in filed]
    return {
        "labelers": gathered.versions,
        "named": list(gathered.named),
        "files": files,
        **gathered.state,
        "state": seq,
    }
