"""The content of a report, independent of its format: sections of paragraphs, tables, matrices and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from quati_pool.reporting.formats.tables import Table

Format = Literal["png", "svg"]
"""The formats of a figure."""


@dataclass(frozen=True)
class Paragraph:
    """Plain text; anything that looks like markup is shown literally."""

    text: str


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


Block: TypeAlias = Paragraph | Table | Figure | Matrices | Row | Details


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

    def __post_init__(self) -> None:
        ids = [section.id for section in self.sections]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two sections share an id: {', '.join(ids)}; give each its own")
