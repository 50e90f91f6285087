"""Drops passages with too many line breaks: menus, tables, lists of links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from quati_pool.preparation.base import DropReasons, Filter
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch

# What ends a line: \r\n is one; apart from \n and \r, the line and paragraph ends of Unicode.
_RARE = ("\x85", "\u2028", "\u2029")


class LineBreaks(Filter):
    """Drops a text in which line breaks exceed a share, 20 % in the Quati paper (arXiv 2404.06976, section 3.1).

    The paper does not say what the share is of. Here it is of words: ``breaks / words > share``, words being stretches
    without white space. At 20 % a line then has fewer than five words on average, as menus, tables and lists of
    links have, and prose never has. Of characters (``of: characters``, line breaks included) 20 % would be one
    break in five characters, which hardly any text has: such a rule drops next to nothing, and needs a share of
    3 % or so. Blank lines count: two paragraphs are two breaks apart. A text of breaks without any word goes.
    """

    id = "preparation/line-breaks"
    summary = "drops texts in which line breaks exceed a share, such as menus and tables"

    class Parameters(BaseParameters):
        share: Annotated[
            float, Field(ge=0, description="The most line breaks there may be, as a share of `of`; more are dropped.")
        ] = 0.2
        of: Annotated[
            Literal["words", "characters"],
            Field(description="What the share is of: words between white space, or characters."),
        ] = "words"

    parameters: Parameters

    @property
    def reasons(self) -> Sequence[str]:
        return ("too many line breaks",)

    def apply(self, batch: Batch) -> DropReasons:
        breaks = np.array(list(map(line_breaks, batch.text)), dtype=np.int64)
        sizes = np.ones(len(batch), dtype=np.int64)
        for row in np.flatnonzero(breaks).tolist():
            sizes[row] = self._size(batch.text[row], int(breaks[row]))
        # Divided, not multiplied: 29 / 100 is exactly the number 0.29, 0.29 * 100 is less than 29.
        shares = np.divide(breaks, sizes, where=sizes > 0, out=np.full(len(batch), np.inf))

        def detail(row: int) -> str:
            whole = len(batch.text[row].split()) if self.parameters.of == "words" else len(batch.text[row])
            counted = f"{breaks[row]} line breaks to {whole} {self.parameters.of}"
            found = f", {100 * breaks[row] / whole:.1f} %" if whole else ""
            return f"{counted}{found}; at most {100 * self.parameters.share:g} %"

        return DropReasons((shares > self.parameters.share).astype(np.int16), detail)

    def _size(self, text: str, breaks: int) -> int:
        """The words or characters of a text; of words no more are counted than show that it stays."""
        if self.parameters.of == "characters":
            return len(text)
        enough = breaks / self.parameters.share + 1 if self.parameters.share else len(text)
        return len(text.split(None, int(min(enough, len(text)))))


def line_breaks(text: str) -> int:
    """How often a line ends in a text; ``\\r\\n`` counts once."""
    count = text.count("\n")
    if "\r" in text:
        count += text.count("\r") - text.count("\r\n")
    if not text.isascii():
        count += sum(map(text.count, _RARE))
    return count
