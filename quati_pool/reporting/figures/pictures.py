"""A figure with the words that go with it: drawn into files here, embedded in a report there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from quati_pool.reporting.figures.plots import Drawing
from quati_pool.reporting.formats.document import Figure

# Two hyphens part the parts of a name.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+|-{2,}")
_LONGEST = 60


@dataclass(frozen=True)
class Picture:
    """``stem`` names its files; ``alt`` says in words what it shows."""

    stem: str
    drawing: Drawing
    caption: str
    alt: str

    def figure(self, folder: str) -> Figure:
        """The picture as a block of a document that has its figures in ``folder``."""
        return self.drawing.embed(self.caption, self.alt, f"{folder}/{self.stem}")


def files(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """Each picture as SVG and as PNG, by file name."""
    contents = {}
    for picture in pictures:
        for suffix, content in picture.drawing.render_all().items():
            contents[f"{picture.stem}.{suffix}"] = content
    return contents


def stem(*parts: str) -> str:
    """A file name's stem, another one for other parts: what a file name had better not hold becomes a
    hyphen, and a part that was changed or cut for it ends with its hash."""
    return "--".join(map(_plain, parts))


def _plain(part: str) -> str:
    plain = _NOT_IN_NAMES.sub("-", part)[:_LONGEST].strip("-.")
    return plain if plain and plain == part else f"{plain or 'x'}-{hashlib.sha256(part.encode()).hexdigest()[:8]}"
