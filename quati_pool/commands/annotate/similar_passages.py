"""Which of a person's passages of a query are nearly the same text, found once and remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence

from quati_pool.annotation.near_duplicate_passages import near_duplicates
from quati_pool.commands.annotate.pool_view import Frame

LARGEST = 1000
"""How many passages of one query are compared with one another; among more, only equal texts are found."""

# People's queries that are remembered.
_REMEMBERED = 512

Alike = Mapping[str, Sequence[tuple[str, float]]]
"""By doc_id the others that are alike, with their similarity (0 to 1), the most alike first."""


class Twins:
    """Remembers what was found for as many people and queries as are at work; safe with threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str], tuple[str, frozenset[str], Alike]] = OrderedDict()

    def of(self, frame: Frame, name: str, query_id: str, doc_ids: Collection[str]) -> Alike:
        """What is alike among a person's passages ``doc_ids`` of a query; those the pool has no more are left out."""
        key, mine = (name, query_id), frozenset(doc_ids)
        with self._lock:
            held = self._found.get(key)
            if held is not None and held[:2] == (frame.sha, mine):
                self._found.move_to_end(key)
                return held[2]
        alike = _alike(frame, query_id, mine)
        with self._lock:
            self._found[key] = (frame.sha, mine, alike)
            self._found.move_to_end(key)
            while len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return alike


def _alike(frame: Frame, query_id: str, mine: frozenset[str]) -> Alike:
    # In the pool's order, so that equal similarities come in the same order for everybody.
    rows = [(doc_id, text) for doc_id, text in frame.passages(query_id) if doc_id in mine]
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
