"""Draws the figures of ``agree`` and writes its files: tables in four formats, figures in two."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.commands.agree import AgreeReport
from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.reporting.explorer import links
from quati_pool.reporting.figures import plots
from quati_pool.reporting.figures.pictures import Picture, files, stem
from quati_pool.reporting.formats.document import Matrices, Matrix
from quati_pool.reporting.formats.tables import csv_file, latex_file, to_markdown
from quati_pool.reporting.json_data.agree import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.agree import as_rows, tables

MOST_CONFUSIONS = 15
"""Limits the drawings: twenty labelers form 190 pairs, and drawing them would take longer than all the rest."""


def drawn(report: AgreeReport) -> list[PairAgreement]:
    """The pairs of labelers whose confusion matrix is drawn: at most ``MOST_CONFUSIONS``; if there are more, pairs with
    a person come first."""
    common = [pair for pair in report.compared if pair.n]
    people = report.ratings.people
    if len(common) > MOST_CONFUSIONS:
        common.sort(key=lambda pair: people.isdisjoint((pair.a, pair.b)))
    return common[:MOST_CONFUSIONS]


def not_drawn(report: AgreeReport) -> str | None:
    """A sentence on the confusion matrices that are not drawn; None if all are drawn."""
    there, shown = sum(pair.n > 0 for pair in report.compared), len(drawn(report))
    if shown == there:
        return None
    return f"{shown:,} of {there:,} confusion matrices are drawn, those with people first; the tables hold all"


def pictures(report: AgreeReport) -> list[Picture]:
    """A heat map for each confusion matrix in ``drawn``, and the pictures of ``by_query``."""
    grades = [str(grade) for grade in report.ratings.scale]
    pictures = []
    for pair in drawn(report):
        drawing = plots.confusion_matrix(pair.confusion, pair.a, pair.b, grades, f"{pair.a} and {pair.b}")
        caption = f"Grades of {pair.a} (rows) and {pair.b} (columns): {pair.n:,} pairs."
        counts = "; ".join(" ".join(map(str, row)) for row in pair.confusion.tolist())
        pictures.append(Picture(stem("confusion", pair.a, pair.b), drawing, caption, f"{caption} {counts}."))
    return [*pictures, *by_query(report)]


def by_query(report: AgreeReport) -> list[Picture]:
    """For each judge the scatter plot of Figure 2 of the Quati paper, if people can be compared."""
    pictures = []
    found = report.query_layout
    shown = np.isfinite(found.human_mean)
    for column, judge in enumerate(found.judges):
        theirs = found.judge_mean[:, column]
        both = shown & np.isfinite(theirs)
        if both.any():
            x, y = "mean κ of people with each other", f"mean κ of {judge} with people"
            drawing = plots.scatter(found.human_mean, theirs, found.query_ids, x, y, f"κ by query: people and {judge}")
            caption = f"Each query by the {x} and the {y}; the cross is mean ± standard deviation."
            leads = [
                plots.Link(links.query(query_id, by=judge, show="disputed"), f"{query_id}: {across:.2f} and {up:.2f}")
                for query_id, across, up in zip(found.query_ids, found.human_mean, theirs, strict=True)
            ]
            alt = f"{caption} {both.sum():,} queries."
            pictures.append(Picture(stem("kappa-by-query", judge), drawing, caption, alt, leads))
    return pictures


def matrices(report: AgreeReport) -> Matrices:
    """The confusion matrices in ``drawn`` as small tables."""
    scale = report.ratings.scale

    def matrix(pair: PairAgreement) -> Matrix:
        leads = [[links.pairs(pair.a, pair.b, grade_a=a, grade_b=b) for b in scale] for a in scale]
        return Matrix(pair.a, pair.b, pair.confusion.tolist(), links.pairs(pair.a, pair.b), leads)

    left_out = not_drawn(report)
    note = "Pairs by the two grades that they have; the darker a cell, the larger its share of the row."
    return Matrices(
        "Grades of two labelers",
        [str(grade) for grade in scale],
        list(map(matrix, drawn(report))),
        f"{note} {left_out[0].upper()}{left_out[1:]}." if left_out else note,
    )


def write(report: AgreeReport, output: Path | None, listener: Listener) -> None:
    """Writes ``agreement.md``, ``.tex``, ``.csv``, ``.json``, ``agreement-tables.csv`` and the figures into
    ``output``, or into the reports of the workspace that was read; writes nothing if there is neither."""
    config = report.gathered.config
    folder = report_folder(config, output)
    if folder is None:
        return
    left_out = not_drawn(report)
    if left_out:
        listener.say(f"agreement: {left_out}")
    found = tables(report, queries=None)
    content: dict[str, str | bytes] = {
        "agreement.md": "# Agreement\n\n" + "\n".join(map(to_markdown, found)),
        "agreement.tex": latex_file(found),
        "agreement.csv": as_rows(report),
        "agreement.json": readable_json(as_data(report)),
        "agreement-tables.csv": csv_file(found),
        **files(pictures(report)),
    }
    gathered = report.gathered
    settings = {"draws": report.draws, "seed": report.seed, "labelers": gathered.versions, **gathered.state}
    save(config, folder, content, settings, listener, "agreement")
