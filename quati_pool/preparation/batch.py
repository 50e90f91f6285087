"""Pages, and the passages cut from them, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.records import Int

WHOLE = -1
"""The ``index`` of a page that was not cut."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of one shard in the order of the input, all pages or all passages; columns of n rows.

    ``doc_id`` is the page's; ``url`` and ``language`` are empty where unknown; ``page`` counts the pages of the
    shard from 0, so that passages of one page share it; ``index`` counts the passages of a page from 0, and is
    ``WHOLE`` for a page; ``file`` is a position among the files of the shard, ``line`` the line, row or record
    in it, from 1.
    """

    doc_id: list[str]
    url: list[str]
    language: list[str]
    text: list[str]
    page: Int
    index: Int
    file: Int
    line: Int

    def __len__(self) -> int:
        return len(self.text)

    @cached_property
    def ids(self) -> list[str]:
        """The ids that rows have as documents of a corpus: ``<doc_id>_<index>`` of passages."""
        return [
            doc_id if index == WHOLE else f"{doc_id}_{index}"
            for doc_id, index in zip(self.doc_id, self.index.tolist(), strict=True)
        ]

    def take(self, rows: npt.NDArray[Any]) -> Batch:
        """The rows at these positions, or where this mask is true."""
        rows = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        places = rows.tolist()
        return Batch(
            [self.doc_id[row] for row in places],
            [self.url[row] for row in places],
            [self.language[row] for row in places],
            [self.text[row] for row in places],
            self.page[rows],
            self.index[rows],
            self.file[rows],
            self.line[rows],
        )

    def cut(self, rows: Int, index: Int, texts: Sequence[str]) -> Batch:
        """Passages: ``texts[i]`` was cut from the row ``rows[i]``, whose ``index[i]``-th passage it is."""
        return replace(self.take(rows), text=list(texts), index=index)

    def with_languages(self, languages: Sequence[str]) -> Batch:
        return replace(self, language=list(languages))
