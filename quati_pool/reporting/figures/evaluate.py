"""Draws the figures of ``evaluate`` and writes its files: tables in four formats, figures in two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quati_pool.commands.evaluate import Condition, Evaluation
from quati_pool.evaluation.qrels_comparison import RankingComparison, Swap, System
from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.reporting.explorer import links
from quati_pool.reporting.figures import plots
from quati_pool.reporting.figures.pictures import Picture, files, stem
from quati_pool.reporting.formats.tables import csv_file, latex_file, to_markdown
from quati_pool.reporting.json_data.evaluate import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.evaluate import as_rows, by_query, tables, under


def pictures(evaluation: Evaluation) -> list[Picture]:
    """Each leaderboard with its intervals, and the rank changes between each two qrels."""
    boards = [board(evaluation, condition) for condition in evaluation.conditions]
    changes = [rank_change(evaluation, *compared) for compared in evaluation.compared if compared[2].systems]
    return [*boards, *changes]


def board(evaluation: Evaluation, condition: Condition, *, alone: bool = False) -> Picture:
    """A leaderboard by the first measure with its intervals. With ``alone`` it is marked as resting on a judge's grades
    alone."""
    first, rows = evaluation.measures[0], condition.board.rows
    caption = f"{first} {under(condition, alone=alone)}, means with 95 % intervals over queries."
    in_words = [f"{row.run_tag} {row.measures[first].mean:.4f}" for row in rows]
    leads = [
        plots.Link(links.system(row.run_tag, by=condition.source.name), f"{said}: its scores by query")
        for row, said in zip(rows, in_words, strict=True)
    ]
    drawing = leaderboard(evaluation, condition, alone=alone)
    alt = f"{caption} {', '.join(in_words)}."
    return Picture(stem("leaderboard", condition.name), drawing, caption, alt, leads)


def rank_change(evaluation: Evaluation, a: Condition, b: Condition, compared: RankingComparison) -> Picture:
    """The ranks of the systems by the first measure under two qrels."""
    first = evaluation.measures[0]
    drawing = plots.rank_change(
        [system.run_tag for system in compared.systems],
        [system.mean_a for system in compared.systems],
        [system.mean_b for system in compared.systems],
        a.name,
        b.name,
        f"Ranks by {first}",
    )
    caption = f"Ranks of the systems by {first} under {a.name} and under {b.name}."
    in_words = ", ".join(f"{system.run_tag} {system.rank_a} and {system.rank_b}" for system in compared.systems)
    leads = [_change(system, b, compared.swaps) for system in compared.systems]
    return Picture(stem("ranks", a.name, b.name), drawing, caption, f"{caption} {in_words}.", leads)


def _change(system: System, b: Condition, swaps: Sequence[Swap]) -> plots.Link:
    """Leads to the system under the second qrels, against the one with which its order changes most, if any."""
    said = f"{system.run_tag}: rank {system.rank_a}, then {system.rank_b}"
    own = [swap for swap in swaps if system.run_tag in (swap.better, swap.worse)]
    if not own:
        return plots.Link(links.system(system.run_tag, by=b.source.name), f"{said}; swaps with none")
    widest = max(own, key=lambda swap: swap.difference_a - swap.difference_b)
    other = widest.worse if widest.better == system.run_tag else widest.better
    href = links.system(system.run_tag, against=other, by=b.source.name)
    return plots.Link(href, f"{said}; against {other}, with which it swaps most widely")


def leaderboard(evaluation: Evaluation, condition: Condition, *, alone: bool = False) -> plots.Drawing:
    """The runs under one qrels by the first measure, with their intervals."""
    first, rows = evaluation.measures[0], condition.board.rows
    found = [row.measures[first] for row in rows]
    return plots.intervals(
        [row.run_tag for row in rows],
        [mean.mean for mean in found],
        [mean.interval.low for mean in found],
        [mean.interval.high for mean in found],
        f"Systems {under(condition, alone=alone)}",
        first,
    )


def write(evaluation: Evaluation, output: Path | None, listener: Listener) -> None:
    """Writes ``evaluation.md``, ``.tex``, ``.csv``, ``.json``, ``-tables.csv``, ``-by-query.csv`` and the figures into
    ``output``, or into the reports of the workspace that was read; writes nothing if there is neither."""
    folder = report_folder(evaluation.config or evaluation.gathered.config, output)
    if folder is None:
        return
    found = tables(evaluation, comparisons=None)
    content: dict[str, str | bytes] = {
        "evaluation.md": "# Evaluation\n\n" + "\n".join(map(to_markdown, found)),
        "evaluation.tex": latex_file(found),
        "evaluation.json": readable_json(as_data(evaluation)),
        "evaluation.csv": as_rows(evaluation),
        "evaluation-tables.csv": csv_file(found),
        "evaluation-by-query.csv": by_query(evaluation),
        **files(pictures(evaluation)),
    }
    settings = {
        "measures": list(evaluation.measures),
        "test": evaluation.settings.test,
        "draws": evaluation.settings.draws,
        "seed": evaluation.seed,
        "labelers": evaluation.gathered.versions,
        **evaluation.gathered.state,
        **({} if evaluation.settings.queries == "judged" else {"queries": evaluation.settings.queries}),
        **(
            {"clusters": {"file": evaluation.clusters.sha256, "column": evaluation.clusters.column}}
            if evaluation.clusters
            else {}
        ),
        "runs": {condition.name: dict(condition.run_set.digests) for condition in evaluation.conditions},
    }
    save(evaluation.config, folder, content, settings, listener, "evaluation")
