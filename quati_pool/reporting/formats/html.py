"""Renders a document as one self-contained HTML page: no scripts, no external resources, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from quati_pool.reporting.formats.document import Block, Document, Figure, Standing, Standings
from quati_pool.reporting.formats.tables import Column, Table
from quati_pool.text.characters import possible

if TYPE_CHECKING:
    import jinja2

_MEDIA = {"svg": "image/svg+xml", "png": "image/png"}
_CSS_PIXELS_PER_INCH = 96
_SHORT = 18


def page(document: Document) -> str:
    """The HTML of the page, to be written as UTF-8. The same document always gives the same text.

    Its content security policy (CSP level 3) forbids everything except its own style sheet, by hash, and
    embedded images, so a browser runs and fetches nothing, regardless of what names and texts contain.
    """
    style = _source("page.css") + _source("opening.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _environment().get_template("page.html.j2").render(document=document, style=style, style_hash=digest)


def fragment(blocks: Sequence[Block]) -> str:
    """The HTML of some blocks without a page around them, everything escaped, for a page that has its own style."""
    show: Callable[[Sequence[Block]], str] = getattr(_environment().get_template("blocks.html.j2").module, "show")  # noqa: B009
    return str(show(blocks))


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quati_pool.reporting.formats"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: possible(value) if type(value) is str else value,
    )
    environment.filters |= {"kind": lambda block: type(block).__name__, "uri": _uri, "size": _size}
    environment.filters |= {"headings": _headings, "cells": _cells, "drawn": _drawn}
    return environment


def _source(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _kind(text: str, number: bool, undefined: bool = False) -> str:
    """The CSS classes of a cell; ``short`` keeps a short text on one line."""
    wanted = {"number": number, "undefined": undefined, "short": len(text) <= _SHORT}
    return " ".join(name for name, holds in wanted.items() if holds)


def _headings(table: Table) -> list[tuple[str, str]]:
    """The text and CSS classes of each heading."""
    return [
        (column.heading, _kind(column.heading, table.numeric(position)))
        for position, column in enumerate(table.columns)
    ]


def _cells(table: Table) -> list[list[tuple[str, str]]]:
    """The text and CSS classes of each cell."""
    numeric = [table.numeric(position) for position in range(len(table.columns))]
    return [
        [
            (text, _kind(text, number, undefined=cell is None or cell != cell))
            for cell, text, number in zip(row, shown, numeric, strict=True)
        ]
        for row, shown in zip(table.rows, table.shown(), strict=True)
    ]


def _drawn(standings: Standings) -> list[tuple[Standing, str, tuple[str, str, str]]]:
    """Each row, its interval in numbers, and where the interval's ends and the mean lie on the common axis of all."""
    column = Column("", 3)
    ends = [row.interval or (row.mean, row.mean) for row in standings.rows]
    first, last = min(low for low, _ in ends), max(high for _, high in ends)

    def place(value: float) -> str:
        # The axis ends short of the edges, where the mark of a mean would be cut.
        return f"{4 + 92 * (value - first) / (last - first) if last > first else 50:.1f}%"

    return [
        (row, column.show(row.interval), (place(low), place(row.mean), place(high)))
        for row, (low, high) in zip(standings.rows, ends, strict=True)
    ]


def _uri(figure: Figure) -> str:
    return f"data:{_MEDIA[figure.format]};base64,{base64.b64encode(figure.content).decode()}"


def _size(figure: Figure) -> dict[str, int]:
    """Width and height in CSS pixels at the size for which the figure was drawn; empty if the file does not give it."""
    if figure.format == "svg":
        root = re.search(rb"<svg\b[^>]*>", figure.content)
        points = dict(re.findall(rb'\b(width|height)="([\d.]+)pt"', root[0] if root else b""))
        if len(points) < 2:
            return {}
        width, height = (float(points[side]) / 72 for side in (b"width", b"height"))
    else:
        # PNG specification, sections 11.2.1 (IHDR) and 11.3.4.3 (pHYs, in pixels per metre).
        at = figure.content.find(b"pHYs", 0, 4096)
        if at < 0:
            return {}
        (per_metre,) = struct.unpack(">I", figure.content[at + 4 : at + 8])
        width, height = (side / (per_metre * 0.0254) for side in struct.unpack(">II", figure.content[16:24]))
    return {"width": round(width * _CSS_PIXELS_PER_INCH), "height": round(height * _CSS_PIXELS_PER_INCH)}
