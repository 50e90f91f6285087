"""Views that the JSON of several commands shares."""

from __future__ import annotations

from typing import Any

from quati_pool.agreement.matching import Duplicate
from quati_pool.agreement.pool_join import UnmatchedRow
from quati_pool.files.label_files.label_file import KEYS
from quati_pool.reporting.json_data.serializer import Views, pick
from quati_pool.stats.bootstrap import Interval

_LONGEST_TEXT = 100
"""The number of characters of a text shown in the list of rows that could not be joined to a pair."""


def _duplicate(row: Duplicate) -> dict[str, Any]:
    return {**pick(row, "labeler file=path"), "lines": [row.first_line, row.line], **pick(row, "query_id doc_id")}


def _unmatched(row: UnmatchedRow) -> dict[str, Any]:
    texts = {key: value[:_LONGEST_TEXT] for key in KEYS if (value := getattr(row, key))}
    return {**pick(row, "labeler file=path line"), **texts, **pick(row, "relevance reason candidates")}


INTERVALS: Views = {Interval: lambda ends: None if ends.low is None else [ends.low, ends.high]}
UNUSED_ROWS: Views = {Duplicate: _duplicate, UnmatchedRow: _unmatched}
