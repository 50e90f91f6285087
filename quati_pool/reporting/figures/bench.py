"""Draws the figures of ``bench`` (success@k, compared with a random order) and writes its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.reporting.figures import plots
from quati_pool.reporting.figures.pictures import Picture, files, stem
from quati_pool.reporting.formats.document import Document, Figure, Paragraph, Section
from quati_pool.reporting.formats.markdown import markdown
from quati_pool.reporting.formats.tables import csv_file, latex_file
from quati_pool.reporting.json_data.bench import as_data
from quati_pool.reporting.saved_files import report_folder, save
from quati_pool.reporting.tables.bench import RANDOM, as_rows, in_words, result_tables, sentence, success_rows, tables

if TYPE_CHECKING:
    from quati_pool.commands.bench.bench import BenchResult


def pictures(result: BenchResult) -> list[Picture]:
    """A picture for each case that has curves, with a line for each system and one for a random order."""
    pictures = []
    for curve in result.curves:
        about = f"{result.benchmark.title}, {result.task.name}: {in_words(curve.case)}"
        ranks = range(1, len(curve.random) + 1)
        # A system with the same name as the random order must keep its own line.
        last = f"{RANDOM} (expected)" if RANDOM in curve.systems else RANDOM
        series = {name: (list(ranks), values) for name, values in (*curve.systems.items(), (last, curve.random))}
        drawing = plots.lines(series, "k (logarithmic)", "success@k", about, log=True)
        caption = f"Share of the queries with a relevant document among the first k. {about}."
        tenth = min(10, len(ranks))
        values_there = ", ".join(f"{name} {values[tenth - 1]:.4f}" for name, (_, values) in series.items())
        case = [curve.case.split, curve.case.language, *filter(None, [curve.case.setting])]
        pictures.append(
            Picture(stem(result.task.name, *case), drawing, caption, f"{caption} At k = {tenth}: {values_there}.")
        )
    return pictures


def write(result: BenchResult, folder: Path, listener: Listener) -> None:
    """Writes ``<task>.md``, ``.tex``, ``.csv``, ``.json``, ``<task>-tables.csv``, the pictures, ``<task>-success.csv``
    where there are curves, and any files of the result itself into ``folder/reports``; existing files with the same
    content are left as they are. Writes nothing if there are no rows, as when a collection was only written."""
    if not result.rows:
        return
    reports = report_folder(None, folder / "reports")
    assert reports is not None
    task, drawn = result.task.name, pictures(result)
    images = files(drawn)
    figures = [Figure(images[f"{one.stem}.svg"], "svg", one.caption, one.alt, f"{one.stem}.svg") for one in drawn]
    content: dict[str, str | bytes] = {
        f"{task}.md": markdown(_document(result, figures)),
        f"{task}.tex": latex_file(result_tables(result)),
        f"{task}.csv": as_rows(result),
        f"{task}.json": readable_json(as_data(result)),
        f"{task}-tables.csv": csv_file(tables(result, None, None)),
        **({f"{task}-success.csv": success_rows(result)} if result.curves else {}),
        **images,
    }
    settings = {"seed": result.options.seed, "inputs": result.inputs, "models": result.models}
    save(None, reports, {**result.files, **content}, settings, listener, f"bench {task}")


def _document(result: BenchResult, figures: Sequence[Figure]) -> Document:
    benchmark = result.benchmark
    sections = [Section("results", "Results", [*result_tables(result), *figures])]
    if result.notes:
        sections.append(Section("notes", "Notes", [Paragraph(sentence(note)) for note in result.notes]))
    source = [f"License: {benchmark.license}", f"Cite: {benchmark.citation}", f"Released at {benchmark.source}"]
    sections.append(Section("source", "Source", list(map(Paragraph, source))))
    return Document(f"{benchmark.title}: {result.task.name}", result.task.summary, sections)
