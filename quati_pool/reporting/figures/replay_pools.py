"""Draws the figure of ``replay pools`` and writes its files: tables in four formats, the figure in two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quati_pool.commands.replay.pools import PoolReplayReport
from quati_pool.files.readable_json import readable_json
from quati_pool.pooling.replay.results import Outcome, Scoring, Steering
from quati_pool.project.events import Listener
from quati_pool.reporting.figures.pictures import Picture, files
from quati_pool.reporting.figures.plots.replay_pools import MethodLine, Panel, method_lines
from quati_pool.reporting.formats.tables import csv_file, latex_file, to_markdown
from quati_pool.reporting.json_data.replay_pools import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.replay_pools import BUDGETS, percent, tables

_SCORINGS: dict[Scoring, str] = {"unjudged-as-0": "τ, unjudged as 0", "hybrid": "τ, hybrid"}


def picture(report: PoolReplayReport) -> Picture:
    """Recall and τ over the share of the pool, by method and budget."""
    plan, several = report.plan, len(report.plan.steered_by) > 1
    rows = [(f"steered by {one}" if several else "", _panels(report, one)) for one in plan.steered_by]
    hybrid = ", and with the judge's grades for what people did not judge" if report.judge is not None else ""
    caption = (
        f"The share of all relevant documents that each method finds with a share of the {report.replay.candidates:,} "
        f"candidates as budget, and Kendall's τ to the ranking of {len(report.replay.truth):,} systems by "
        f"{report.measure} from all grades: with unjudged documents as 0{hybrid}."
    )
    in_words = "; ".join(
        f"{one.method}, {BUDGETS[one.budget]}, {percent(one.share)}: recall {one.recall:.3f}"
        for one in report.replay.outcomes
        if one.share == max(plan.shares)
    )
    title = f"Pooling methods with a part of the grades of {report.people.name}, replayed"
    return Picture("replay-pools", method_lines(rows, plan.shares, title), caption, f"{caption} {in_words}.")


def _panels(report: PoolReplayReport, steering: Steering) -> list[Panel]:
    found = [one for one in report.replay.outcomes if one.steered_by in (steering, None)]
    alone = report.replay.judge_alone
    panels = [Panel("recall", _lines(report, found, [one.recall for one in found]), from_zero=True)]
    for scoring, name in _SCORINGS.items():
        if scoring in found[0].rankings:
            lines = _lines(report, found, [one.rankings[scoring].tau for one in found])
            panels.append(Panel(name, lines, alone.tau if alone is not None and scoring == "hybrid" else None))
    return panels


def _lines(report: PoolReplayReport, found: Sequence[Outcome], values: Sequence[float | None]) -> list[MethodLine]:
    """One line for each method and budget, from the ``values`` of the outcomes; those of one are next to each other, by
    share."""
    shares = len(report.plan.shares)
    return [
        MethodLine(found[start].method, found[start].budget == "moving", values[start : start + shares])
        for start in range(0, len(found), shares)
    ]


def write(report: PoolReplayReport, output: Path | None, listener: Listener) -> None:
    """Writes ``replay-pools.md``, ``.tex``, ``.csv``, ``.json`` and the figure into ``output``, or into the reports of
    the workspace that was read; writes nothing if there is neither."""
    folder = report_folder(report.config, output)
    if folder is None:
        return
    found, plan = tables(report), report.plan
    content: dict[str, str | bytes] = {
        "replay-pools.md": "# Pooling methods, replayed\n\n" + "\n".join(map(to_markdown, found)),
        "replay-pools.tex": latex_file(found),
        "replay-pools.csv": csv_file(found),
        "replay-pools.json": readable_json(as_data(report)),
        **files([picture(report)]),
    }
    labelers = [report.people, *([] if report.judge is None else [report.judge])]
    settings = {
        "measure": report.measure,
        "labelers": {one.name: one.version for one in labelers},
        "systems": list(report.replay.truth),
        "methods": {method.name: method.parameters.model_dump() for method in plan.methods},
        "depth": plan.depth,
        "shares": list(plan.shares),
        "steered_by": list(plan.steered_by),
        "relevant": plan.relevant,
        "random_share": plan.random,
        "families": None if plan.families is None else dict(plan.families),
        "seed": plan.seed,
        "seeds": plan.seeds,
    }
    save(report.config, folder, content, settings, listener, "replay pools")
