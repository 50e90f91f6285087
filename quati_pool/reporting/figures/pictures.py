"""Figures with their caption and alternative text, to be written to files or embedded in a report."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quati_pool.reporting.figures.plots import Drawing, Link
from quati_pool.reporting.formats.document import Figure

# Parts of a name must not contain two hyphens, which separate the parts.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+|-{2,}")
_LONGEST = 60
# The report's figures have their own folder, because build, agree and evaluate write theirs next to it at other times.
_FOLDER = "figures"


@dataclass(frozen=True)
class Picture:
    """A drawing with its texts; ``stem`` is the name of its files, and ``alt`` describes in words what it shows.
    ``links`` has where each thing that is drawn leads in a report, or nothing."""

    stem: str
    drawing: Drawing
    caption: str
    alt: str
    links: Sequence[Link] = ()

    def figure(self) -> Figure:
        """The picture as a block of a report."""
        return self.drawing.embed(self.caption, self.alt, f"{_FOLDER}/{self.stem}", self.links)


def files(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """The contents of each picture as SVG and as PNG, by file name."""
    contents = {}
    for picture in pictures:
        for suffix, content in picture.drawing.render_all().items():
            contents[f"{picture.stem}.{suffix}"] = content
    return contents


def stem(*parts: str) -> str:
    """The stem of a file name, different for different ``parts``: unsuitable characters become hyphens, and a part that
    was changed or cut gets its hash appended."""
    return "--".join(map(_plain, parts))


def _plain(part: str) -> str:
    plain = _NOT_IN_NAMES.sub("-", part)[:_LONGEST].strip("-.")
    return plain if plain and plain == part else f"{plain or 'x'}-{hashlib.sha256(part.encode()).hexdigest()[:8]}"
