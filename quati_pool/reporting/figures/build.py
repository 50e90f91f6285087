"""Draws the figure of ``build`` and writes its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quati_pool.commands.build import BuildResult, provenance
from quati_pool.files.readable_json import readable_json
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.figures.plots import Drawing, heat_map
from quati_pool.reporting.formats.tables import latex_file, to_markdown
from quati_pool.reporting.json_data.build import as_data
from quati_pool.reporting.tables.build import tables

# To be increased when the reports of the same pool change, so that they are written again.
_FORMAT = 1


def write(result: BuildResult, listener: Listener) -> None:
    """Writes ``reports/diversity.md``, ``.tex``, ``.json`` and ``overlap.png``, ``.svg``."""
    found = tables(result)
    drawing = overlap_picture(result)
    config = result.config
    builder = ArtifactBuilder(Workspace(config.folder), provenance(config), listener)

    def text(content: str) -> Any:
        def fill(path: Path) -> dict[str, Any]:
            path.write_text(content, encoding="utf-8")
            return {}

        return fill

    def picture(path: Path) -> dict[str, Any]:
        drawing.write(path)
        return {}

    head = f"# Diversity of the pool {config.name}\n\n"
    fills = {
        "diversity.md": text(head + "\n".join(map(to_markdown, found))),
        "diversity.tex": text(latex_file(found)),
        "diversity.json": text(readable_json(as_data(result))),
        "overlap.png": picture,
        "overlap.svg": picture,
    }
    written = [
        name
        for name, fill in fills.items()
        if builder.ensure(
            f"report {name}",
            builder.workspace.report(name),
            {"report": _FORMAT, **result.key},
            fill,
            force=result.forced,
            quiet=True,
        )
    ]
    listener.say(f"reports: built {', '.join(written)}" if written else "reports: reused")


def overlap_picture(result: BuildResult) -> Drawing:
    """The heat map of the overlap between systems."""
    names = [share.name for share in result.diversity.systems]
    title = "Share of the row's pairs that the column returned too"
    return heat_map(result.diversity.overlap, names, title, "share of pairs")
