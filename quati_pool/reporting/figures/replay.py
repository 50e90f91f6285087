"""Draws the figure of ``replay estimate`` and writes its files: tables in four formats, the figure in two."""

from __future__ import annotations

from pathlib import Path

from quati_pool.commands.replay.estimate import ReplayReport
from quati_pool.estimation.estimated import Values
from quati_pool.estimation.replay.results import MethodReplay
from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.reporting.figures.pictures import Picture, files
from quati_pool.reporting.figures.plots.replay import MethodDots, methods
from quati_pool.reporting.formats.tables import csv_file, latex_file, to_markdown
from quati_pool.reporting.json_data.replay import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.estimate import TARGETS
from quati_pool.reporting.tables.replay import METHODS, differences_csv, interval, systems_csv, tables


def picture(report: ReplayReport) -> Picture:
    """Coverage and half-width by method and target."""
    rows = [_dots(one) for one in report.replay.methods if one.estimated]
    plan = report.replay.plan
    caption = (
        f"Estimates of {report.measure} of {len(report.run_tags):,} systems over {plan.draws:,} draws: the share of "
        f"{interval(report)} intervals that contain the truth, and half their width. Dots: means over systems; lines: "
        "from the lowest to the highest system."
    )
    in_words = "; ".join(
        f"{row.name}: coverage {row.coverage[1]:.3f}, half-width {row.half_width[1]:.3f}" for row in rows
    )
    title = f"{report.measure} under the grades of {report.people.name}, replayed"
    return Picture("replay-estimate", methods(rows, 1 - plan.alpha, title), caption, f"{caption} {in_words}.")


def _dots(one: MethodReplay) -> MethodDots:
    return MethodDots(
        f"{METHODS[one.method]}, {TARGETS[one.target]}",
        _ends_and_mean(one.systems.coverage),
        _ends_and_mean(one.systems.half_width),
        float(one.differences.half_width.mean()),
    )


def _ends_and_mean(values: Values) -> tuple[float, float, float]:
    return float(values.min()), float(values.mean()), float(values.max())


def write(report: ReplayReport, output: Path | None, listener: Listener) -> None:
    """Writes ``replay-estimate.md``, ``.tex``, ``.csv``, ``.json``, ``-systems.csv``, ``-differences.csv`` and the
    figure into ``output``, or into the reports of the workspace that was read; writes nothing if there is neither."""
    folder = report_folder(report.config, output)
    if folder is None:
        return
    found, plan = tables(report), report.replay.plan
    content: dict[str, str | bytes] = {
        "replay-estimate.md": "# Estimates, replayed\n\n" + "\n".join(map(to_markdown, found)),
        "replay-estimate.tex": latex_file(found),
        "replay-estimate.csv": csv_file(found),
        "replay-estimate.json": readable_json(as_data(report)),
        "replay-estimate-systems.csv": systems_csv(report),
        "replay-estimate-differences.csv": differences_csv(report),
        **files([picture(report)]),
    }
    settings = {
        "measure": report.measure,
        "labelers": {one.name: one.version for one in (report.people, report.judge, *report.further)},
        "systems": list(report.run_tags),
        "queries": plan.queries,
        "pairs": plan.pairs,
        "draws": plan.draws,
        "seed": plan.seed,
        "targets": list(plan.targets),
        "baseline": plan.baseline,
        "alpha": plan.alpha,
        "delta": plan.delta,
        **({"by": list(plan.by), "pilot": plan.pilot} if report.weighted else {}),
    }
    save(report.config, folder, content, settings, listener, "replay estimate")
