"""The step ``line-breaks``: drops passages with too many line breaks, such as menus, tables and lists of links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from quati_pool.preparation.base import DropReasons, Filter
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch

# The line ends that count besides \n, \r and \r\n.
_RARE = ("\x85", "\u2028", "\u2029")


class LineBreaks(Filter):
    """Drops a text in which line breaks exceed a share, 20 % in the Quati paper (arXiv 2404.06976, section 3.1).

    The paper does not say what the share is relative to. Here it is relative to words, which are separated by white
    space: ``breaks / words > share``. Above 20 % a line has fewer than five words on average, as in menus, tables and
    lists of links, but never in prose. Relative to characters (``of: characters``, including line breaks) 20 % would
    be one break in five characters, which hardly any text has: such a rule would drop next to nothing, and needs a
    share of about 3 %. Blank lines count: two paragraphs are two breaks apart. A text of line breaks without any word
    is dropped.
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
        """The number of words or characters in a text; words are counted only until it is clear that the text is
        kept."""
        if self.parameters.of == "characters":
            return len(text)
        enough = breaks / self.parameters.share + 1 if self.parameters.share else len(text)
        return len(text.split(None, int(min(enough, len(text)))))


def line_breaks(text: str) -> int:
    """The number of line ends in a text; ``\\r\\n`` counts once."""
    count = text.count("\n")
    if "\r" in text:
        count += text.count("\r") - text.count("\r\n")
    if not text.isascii():
        count += sum(map(text.count, _RARE))
    return count
