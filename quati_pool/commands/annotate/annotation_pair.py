"""A pair as shown to people, with its query's narrative, and the hashes that link labels to its texts."""

from __future__ import annotations

from collections.abc import Mapping

from quati_pool.commands.annotate.pool_view import PoolView
from quati_pool.judging.pair import Pair
from quati_pool.store.records import content_sha

Ids = tuple[str, str]
"""(query_id, doc_id)."""


def shown_pair(pool: PoolView, narratives: Mapping[str, str | None], query_id: str, doc_id: str) -> Pair | None:
    """A pair with its texts; None if it is not in the pool."""
    found = pool.pair(query_id, doc_id)
    return None if found is None else Pair(query_id, doc_id, found.query, found.text, narratives.get(query_id))


def label_sha(pair: Pair) -> str:
    """The ``content_sha`` of a new label of this pair."""
    return content_sha(pair.query, pair.text, pair.narrative)


def counting_shas(pair: Pair) -> frozenset[str]:
    """The values of ``content_sha`` with which a person's label counts for this pair: with and without the
    narrative."""
    return frozenset(content_sha(pair.query, pair.text, narrative) for narrative in {pair.narrative, None})
