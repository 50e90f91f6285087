"""From whose grades a trained judge learned, as its identity has it and its labels therefore keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quati_pool.files.digests import query_sha


@dataclass(frozen=True)
class Origin:
    """What a judge learned from: the ``labelers``, with those that they are computed from, and the ``query_sha`` of
    each query whose grades it saw, in training or to decide when training ends. ``models`` and ``families`` are those
    of the labelers, and of the model from which training began."""

    labelers: frozenset[str]
    models: frozenset[str]
    families: frozenset[str]
    queries: frozenset[str]

    @classmethod
    def of(cls, identity: Mapping[str, Any] | None) -> Origin | None:
        """The origin in a judge's identity (``Judge.identity``); None for a judge that learned from no labeler."""
        learned = (identity or {}).get("learned")
        if not isinstance(learned, Mapping) or not learned.get("labelers"):
            return None
        return cls(*(frozenset(map(str, learned.get(name, ()))) for name in cls.__match_args__))

    def saw(self, query: str) -> bool:
        """Whether it saw grades of a query, given by its text."""
        return query_sha(query) in self.queries
