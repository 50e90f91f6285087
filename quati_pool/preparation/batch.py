"""Batches of pages, or of the passages cut from them, stored as columns."""

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
    """Consecutive rows of one shard in input order, all pages or all passages; columns of n rows.

    ``doc_id`` is the page's; ``url`` and ``language`` are empty if unknown; ``page`` is the number of the page in the
    shard, from 0, shared by all passages of the page; ``index`` is the number of the passage in its page, from 0, or
    ``WHOLE`` for a page; ``file`` is a position among the files of the shard, and ``line`` the line, row or record
    in that file, from 1.
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
        """The ids of the rows as documents of a corpus: ``<doc_id>`` for a page, ``<doc_id>_<index>`` for a passage."""
        return [
            doc_id if index == WHOLE else f"{doc_id}_{index}"
            for doc_id, index in zip(self.doc_id, self.index.tolist(), strict=True)
        ]

    def take(self, rows: npt.NDArray[Any]) -> Batch:
        """The rows at the given positions, or where the given mask is true."""
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
        """The passages cut from these rows: ``texts[i]`` is passage ``index[i]`` of the row ``rows[i]``."""
        return replace(self.take(rows), text=list(texts), index=index)

    def with_languages(self, languages: Sequence[str]) -> Batch:
        return replace(self, language=list(languages))
