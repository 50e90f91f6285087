"""A pair as people are shown it, with its query's narrative, and the hashes by which its labels know it."""

from __future__ import annotations

from collections.abc import Mapping

from quati_pool.commands.annotate.pool_view import Frame
from quati_pool.judging.base import Pair
from quati_pool.store.records import content_sha

Ids = tuple[str, str]
"""query_id and doc_id."""


def shown_pair(frame: Frame, narratives: Mapping[str, str | None], query_id: str, doc_id: str) -> Pair | None:
    """None where the frame does not have it."""
    found = frame.pair(query_id, doc_id)
    return None if found is None else Pair(query_id, doc_id, found.query, found.text, narratives.get(query_id))


def label_sha(pair: Pair) -> str:
    """The hash that a label given now is written under."""
    return content_sha(pair.query, pair.text, pair.narrative)


def counting_shas(pair: Pair) -> frozenset[str]:
    """The hashes under which a person's label is of this pair: without its narrative too."""
    return frozenset(content_sha(pair.query, pair.text, narrative) for narrative in {pair.narrative, None})
