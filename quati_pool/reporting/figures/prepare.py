"""Draws the figure of ``prepare`` and writes its files, and the record of rows dropped in favour of another row."""

from __future__ import annotations

import gzip
from pathlib import Path

from quati_pool.commands.prepare.prepare import Funnel
from quati_pool.files.artifacts import locked, stale, write_file
from quati_pool.files.readable_json import readable_json
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.figures.plots import Drawing, funnel
from quati_pool.reporting.formats.tables import to_markdown
from quati_pool.reporting.json_data.prepare import as_data, examples_as_data
from quati_pool.reporting.saved_files import save
from quati_pool.reporting.tables.prepare import tables


def picture(result: Funnel) -> Drawing:
    """The characters left after each step, a unit in which pages and passages can be compared."""
    shown = [f"{count.rows_out:,} {_unit_after(result, place)}" for place, count in enumerate(result.counts)]
    many = result.counts[0].characters_out >= 10_000_000
    scale = 1e6 if many else 1e3
    return funnel(
        [link.label for link in result.links],
        [count.characters_out / scale for count in result.counts],
        [max(count.characters_in - count.characters_out, 0) / scale for count in result.counts],
        shown,
        f"What is left of the pages of {result.config.name}",
        f"{'millions' if many else 'thousands'} of characters",
    )


def _unit_after(result: Funnel, place: int) -> str:
    return result.links[min(place + 1, len(result.links) - 1)].unit


def write(result: Funnel, listener: Listener) -> None:
    """Writes ``reports/prepare-<name>.md``, ``.json``, ``.svg``, ``.png``, the examples, and the record of rows that
    were dropped in favour of another row."""
    name = result.config.name
    drawing = picture(result)
    head = f"# Preparation of {name}\n\n"
    notes = "".join(f"- {note}\n" for note in result.notes)
    text = head + "\n".join(map(to_markdown, tables(result))) + (f"\n## Notes\n\n{notes}" if notes else "")
    files: dict[str, str | bytes] = {
        f"prepare-{name}.md": text,
        f"prepare-{name}.json": readable_json(as_data(result)),
        f"prepare-{name}-examples.json": readable_json(examples_as_data(result)),
        **{f"prepare-{name}.{suffix}": content for suffix, content in drawing.render_all().items()},
    }
    folder = Workspace(result.config.folder).report("")
    save(None, folder, files, {"preparation": name}, listener, "reports")
    _write_dropped(result, folder / f"prepare-{name}-dropped.jsonl.gz")


def _write_dropped(result: Funnel, path: Path) -> None:
    key = {"preparation": result.key}

    def fill(partial: Path) -> dict[str, int]:
        lines = 0
        with partial.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
            for part in result.dropped:
                with part.open("rb") as source:
                    for line in source:
                        packed.write(line)
                        lines += 1
        return {"rows": lines}

    with locked(Workspace(result.config.folder).lock(path.name), lambda line: None):
        if stale(path, key) is not None:
            write_file(path, key, {"preparation": result.config.name}, fill)
