"""The parts of an HTML page as its templates show them: blocks with their ids, cells, downloads, regions of figures."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quati_pool.reporting.formats.document import (
    Block,
    Details,
    Document,
    Figure,
    Matrices,
    Matrix,
    Region,
    Row,
    Section,
    Standing,
    Standings,
)
from quati_pool.reporting.formats.tables import Cell, Column, Table, to_csv, to_latex

_MEDIA = {"svg": "image/svg+xml", "png": "image/png"}
_CSS_PIXELS_PER_INCH = 96
_SHORT = 18
_LONGEST_ID = 60
# The classes of the shares in a matrix, from share-0 to share-9.
_TINTS = 10


@dataclass(frozen=True)
class Part:
    """A block with the ``id`` that links lead to, empty outside of a page, and the parts that it contains."""

    block: Block
    id: str = ""
    inside: Sequence[Part] = ()

    @property
    def kind(self) -> str:
        return type(self.block).__name__


class Entry(NamedTuple):
    """An entry of the contents list below that of its section."""

    id: str
    text: str


class Shown(NamedTuple):
    """A section with its parts and their entries in the contents list."""

    section: Section
    parts: Sequence[Part]
    entries: Sequence[Entry]


class ShownCell(NamedTuple):
    """A cell's text and CSS classes, the number to sort by if the text is not that number, and where the cell leads."""

    text: str
    kind: str
    raw: str
    href: str


class Download(NamedTuple):
    """A file that the page contains."""

    label: str
    name: str
    uri: str


def sections(document: Document) -> list[Shown]:
    taken = {name for section in document.sections for name in (section.id, f"{section.id}-title")}
    found = []
    for section in document.sections:
        parts = [part(block, section.id, taken) for block in section.blocks]
        found.append(Shown(section, parts, list(_entries(parts))))
    return found


def parts(blocks: Sequence[Block]) -> list[Part]:
    """The parts that show ``blocks``, without ids."""
    return [part(block) for block in blocks]


def part(block: Block, section: str = "", taken: set[str] | None = None) -> Part:
    """The part that shows ``block``; its id, if ``taken`` is given, is none of those and is added to them."""
    name = _name(block)
    own = _id(section, name, taken) if taken is not None and name else ""
    inside = block.blocks if isinstance(block, (Details, Row)) else ()
    return Part(block, own, [part(one, section, taken) for one in inside])


def _name(block: Block) -> str:
    """What the contents list calls the block; empty for one that it does not list."""
    if isinstance(block, (Table, Matrices)):
        return block.title
    if isinstance(block, Figure):
        return block.caption.removesuffix(".")
    return block.summary if isinstance(block, Details) else ""


def _id(section: str, name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_ID].strip("-")
    first = found = f"{section}-{plain or 'part'}"
    number = 1
    while found in taken:
        number += 1
        found = f"{first}-{number}"
    taken.add(found)
    return found


def _entries(parts: Sequence[Part]) -> Iterator[Entry]:
    for one in parts:
        if isinstance(one.block, Row):
            yield from _entries(one.inside)
        elif one.id:
            yield Entry(one.id, _name(one.block))


def local(href: str) -> str:
    """The address of a file next to the page; what looks like another scheme or server becomes the name of a file."""
    return f"./{href}"


def _classes(text: str, number: bool, undefined: bool = False) -> str:
    """The CSS classes of a cell; ``short`` keeps a short text on one line."""
    wanted = {"number": number, "undefined": undefined, "short": len(text) <= _SHORT}
    return " ".join(name for name, holds in wanted.items() if holds)


def headings(table: Table) -> list[tuple[str, str]]:
    """The text and CSS classes of each heading."""
    return [
        (column.heading, _classes(column.heading, table.numeric(position)))
        for position, column in enumerate(table.columns)
    ]


def cells(table: Table) -> tuple[list[list[ShownCell]], list[list[ShownCell]]]:
    """The rows of the table's body, and those of its foot."""
    numeric = [table.numeric(position) for position in range(len(table.columns))]

    def shown(row: int, position: int, column: Column, cell: Cell) -> ShownCell:
        text = column.show(cell)
        undefined = cell is None or cell != cell
        links = table.links.get(position, ())
        href = local(links[row]) if row < len(links) and links[row] else ""
        return ShownCell(text, _classes(text, numeric[position], undefined), _raw(cell, text), href)

    rows = [
        [shown(number, position, *pair) for position, pair in enumerate(zip(table.columns, row, strict=True))]
        for number, row in enumerate(table.rows)
    ]
    body = len(rows) - table.totals
    return rows[:body], rows[body:]


def _raw(cell: Cell, text: str) -> str:
    if isinstance(cell, tuple):
        return repr(cell[0])
    if cell is None or isinstance(cell, str) or cell != cell:
        return ""
    return "" if repr(cell) == text else repr(cell)


def drawn(standings: Standings) -> list[tuple[Standing, str, tuple[str, str, str]]]:
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


def downloads(part: Part) -> list[Download]:
    """The table as CSV and LaTeX, unless it is shown outside of a page."""
    assert isinstance(part.block, Table)
    if not part.id:
        return []
    csv, latex = to_csv(part.block), to_latex(part.block)
    return [
        Download("CSV", f"{part.id}.csv", _data("text/csv;charset=utf-8", _encoded(csv))),
        Download("LaTeX", f"{part.id}.tex", _data("application/x-tex;charset=utf-8", _encoded(latex))),
    ]


def matrix_rows(matrix: Matrix) -> list[list[tuple[int, str, str]]]:
    """The count, the class of its share of the row, and the address of each cell."""
    return [
        [(count, f"share-{_tint(count, sum(counts))}", href) for count, href in zip(counts, links, strict=True)]
        for counts, links in zip(matrix.counts, matrix.links, strict=True)
    ]


def _tint(count: int, total: int) -> int:
    return min(_TINTS - 1, _TINTS * count // total) if total else 0


def regions(figure: Figure) -> list[tuple[Region, dict[str, str]]]:
    """The figure's links, each with the attributes of its rectangle."""
    sides = ("x", "y", "width", "height")
    return [(one, {side: f"{100 * getattr(one, side):.2f}%" for side in sides}) for one in figure.links]


def uri(figure: Figure) -> str:
    return _data(_MEDIA[figure.format], figure.content)


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _data(media: str, content: bytes) -> str:
    return f"data:{media};base64,{base64.b64encode(content).decode()}"


def size(figure: Figure) -> dict[str, int]:
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
