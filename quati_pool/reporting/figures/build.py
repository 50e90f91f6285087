"""Draws the figure of ``build`` and writes its files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from quati_pool.commands.build import BuildResult, provenance
from quati_pool.files.readable_json import readable_json
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.explorer import links
from quati_pool.reporting.figures.pictures import Picture
from quati_pool.reporting.figures.plots import MOST_NUMBERED, Drawing, Link, heat_map, lines
from quati_pool.reporting.formats.document import Format
from quati_pool.reporting.formats.tables import latex_file, to_markdown
from quati_pool.reporting.json_data.build import as_data
from quati_pool.reporting.tables.build import tables

# To be increased when the reports of the same pool change, so that they are written again.
_FORMAT = 1


def write(result: BuildResult, listener: Listener) -> None:
    """Writes ``reports/diversity.md``, ``.tex``, ``.json`` and ``overlap.png``, ``.svg``."""
    found = tables(result)
    rendered = cache(overlap_picture(result).render_all)
    config = result.config
    builder = ArtifactBuilder(Workspace(config.folder), provenance(config), listener)

    def text(content: str) -> Any:
        def fill(path: Path) -> dict[str, Any]:
            path.write_text(content, encoding="utf-8")
            return {}

        return fill

    def picture(kind: Format) -> Any:
        def fill(path: Path) -> dict[str, Any]:
            path.write_bytes(rendered()[kind])
            return {}

        return fill

    head = f"# Diversity of the pool {config.name}\n\n"
    fills = {
        "diversity.md": text(head + "\n".join(map(to_markdown, found))),
        "diversity.tex": text(latex_file(found)),
        "diversity.json": text(readable_json(as_data(result))),
        "overlap.png": picture("png"),
        "overlap.svg": picture("svg"),
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


def overlap(result: BuildResult) -> Picture | None:
    """The heat map as a part of a report, each numbered cell leading to its two systems; None without systems."""
    names = [share.name for share in result.diversity.systems]
    if not names:
        return None
    caption = "Overlap: share of the row's pairs that the column returned too."
    leads = [
        Link(links.system(row, against=column), f"{row} against {column}: {value:.2f}")
        for row, values in zip(names, result.diversity.overlap.tolist(), strict=True)
        for column, value in zip(names, values, strict=True)
    ]
    of = f"{caption} Of {', '.join(names)}."
    return Picture("overlap", overlap_picture(result), caption, of, leads if len(names) <= MOST_NUMBERED else [])


def growth(result: BuildResult) -> Picture | None:
    """The size of the pool by its depth; None if it is not known."""
    sizes = result.pool_growth
    if not len(sizes):
        return None
    title = "How the pool would grow with its depth"
    drawing = lines({"pairs": (list(range(1, len(sizes) + 1)), sizes.tolist())}, "depth", "pairs", title)
    caption = f"{title}: {int(sizes[0]):,} pairs at depth 1, {int(sizes[-1]):,} at depth {len(sizes):,}."
    return Picture("growth", drawing, caption, caption)
