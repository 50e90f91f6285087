"""Finds a person's passages of one query that have nearly the same text, with a cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence

from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.commands.annotate.pool_view import PoolView

LARGEST = 1000
"""The most passages of one query that are compared with one another; among more, only equal texts are found."""

# (Person, query) entries that the cache holds.
_REMEMBERED = 512

Alike = Mapping[str, Sequence[tuple[str, float]]]
"""For each doc_id, the similar passages with their similarity (0 to 1), the most similar first."""


class SimilarPassages:
    """A cache of similar passages for the most recently requested people and queries; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str], tuple[str, frozenset[str], Alike]] = OrderedDict()

    def of(self, pool: PoolView, name: str, query_id: str, doc_ids: Collection[str]) -> Alike:
        """The similar passages among ``doc_ids``, a person's passages of a query, without those not in the pool."""
        key, mine = (name, query_id), frozenset(doc_ids)
        with self._lock:
            held = self._found.get(key)
            if held is not None and held[:2] == (pool.sha, mine):
                self._found.move_to_end(key)
                return held[2]
        alike = _alike(pool, query_id, mine)
        with self._lock:
            self._found[key] = (pool.sha, mine, alike)
            self._found.move_to_end(key)
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return alike


def _alike(pool: PoolView, query_id: str, mine: frozenset[str]) -> Alike:
    # In the pool's order, so that ties are in the same order for everybody.
    rows = [(doc_id, text) for doc_id, text in pool.passages(query_id) if doc_id in mine]
    if len(rows) <= LARGEST:
        found = near_duplicates([text for _, text in rows])
        return {
            rows[place][0]: [(rows[other.place][0], other.similarity) for other in others]
            for place, others in enumerate(found)
            if others
        }
    same: dict[str, list[str]] = {}
    for doc_id, text in rows:
        same.setdefault(text, []).append(doc_id)
    return {
        doc_id: [(other, 1.0) for other in doc_ids if other != doc_id]
        for doc_ids in same.values()
        if len(doc_ids) > 1
        for doc_id in doc_ids
    }
