"""The content of a report, independent of its format: sections of paragraphs, tables, matrices and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from quati_pool.reporting.formats.tables import Cell, Column, Table

Format = Literal["png", "svg"]
"""The formats of a figure."""


@dataclass(frozen=True)
class Link:
    """Words that lead to a section of the document (``#id``) or to a page in a folder next to it."""

    text: str
    href: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(?:[a-z]+/[a-z]+\.html)?#[!-~]*", self.href):
            raise ValueError(f"the link {self.href!r} leads outside: give #id, or folder/page.html#place")


Words: TypeAlias = str | tuple[str | Link, ...]
"""A text, in parts if some of them are links; anything that looks like markup is shown literally."""


def plain(words: Words) -> str:
    """The text without its links."""
    return words if isinstance(words, str) else "".join(one if isinstance(one, str) else one.text for one in words)


@dataclass(frozen=True)
class Paragraph:
    text: Words


@dataclass(frozen=True)
class Listing:
    """A list of short texts, the most important first."""

    items: Sequence[Words]


@dataclass(frozen=True)
class Standing:
    """A system's place: its mean with the ends of its interval, if it has one, and the letters of its groups, empty
    where systems have no groups."""

    rank: int
    system: Link
    mean: float
    interval: tuple[float, float] | None
    letters: str = ""


@dataclass(frozen=True)
class Standings:
    """The first rows of a leaderboard, each with its interval drawn; ``more`` leads to all rows, and ``interval`` names
    the intervals."""

    title: str
    measure: str
    rows: Sequence[Standing]
    note: str
    more: Link | None = None
    interval: str = "95 % interval"

    @property
    def grouped(self) -> bool:
        """Whether systems have groups."""
        return any(row.letters for row in self.rows)

    def table(self) -> Table:
        """The same rows as a table."""
        columns = [Column("Rank"), Column("System"), Column(self.measure, 3), Column(self.interval, 3)]
        rows: list[list[Cell]] = [[row.rank, row.system.text, row.mean, row.interval] for row in self.rows]
        if self.grouped:
            columns.append(Column("Groups"))
            rows = [[*cells, row.letters] for cells, row in zip(rows, self.rows, strict=True)]
        more = f"{self.more.text[:1].upper()}{self.more.text[1:]}." if self.more else ""
        note = " ".join(filter(None, (more, self.note)))
        return Table(self.title, columns, rows, note)


@dataclass(frozen=True)
class Region:
    """A part of a figure that is a link: a rectangle in fractions of the figure's width and height, from its upper left
    corner, and what is there in words."""

    x: float
    y: float
    width: float
    height: float
    href: str
    title: str


@dataclass(frozen=True)
class Figure:
    """A rendered figure; ``file`` is its path relative to the Markdown file, and ``alt`` describes in words what it
    shows."""

    content: bytes
    format: Format
    caption: str
    alt: str
    file: str
    links: Sequence[Region] = ()


@dataclass(frozen=True)
class Matrix:
    """How often one labeler gave each grade (rows) where another gave each grade (columns).

    ``href`` leads to all the pairs that both graded, ``links`` to those of each cell.
    """

    row_name: str
    column_name: str
    counts: Sequence[Sequence[int]]
    href: str
    links: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Matrices:
    """Small matrices over the same ``grades``, to be compared with each other at a glance.

    They are shown in HTML only: a document also has a table of each, with totals.
    """

    title: str
    grades: Sequence[str]
    matrices: Sequence[Matrix]
    note: str = ""


@dataclass(frozen=True)
class Row:
    """Blocks next to each other where there is room, otherwise one under another."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Details:
    """Blocks that are collapsed until the reader opens them."""

    summary: str
    blocks: Sequence[Block]


Block: TypeAlias = Paragraph | Listing | Standings | Table | Figure | Matrices | Row | Details


@dataclass(frozen=True)
class OpeningPart:
    """One of the blocks of an opening, under a heading."""

    title: str
    blocks: Sequence[Paragraph | Listing | Standings | Details]


@dataclass(frozen=True)
class Opening:
    """The result of a report, before all sections, to be shown on one screen."""

    title: str
    parts: Sequence[OpeningPart]


@dataclass(frozen=True)
class Section:
    """Blocks under a heading; ``id`` is the target of links: lower-case letters, digits and hyphens, a letter first."""

    id: str
    title: str
    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", self.id):
            raise ValueError(f"the section id {self.id!r} cannot be linked to: use lower-case letters, digits, hyphens")


@dataclass(frozen=True)
class Document:
    """A whole report; ``lang`` is the language of its text as a BCP 47 tag, such as ``en`` or ``pt-BR``."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    lang: str = "en"
    opening: Opening | None = None

    def __post_init__(self) -> None:
        ids = [section.id for section in self.sections]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two sections share an id: {', '.join(ids)}; give each its own")
