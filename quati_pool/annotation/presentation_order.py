"""The random order in which people see queries and passages; the same on every machine for a given seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quati_pool.stats.hashing import hashes, places


def query_places(seed: int, query_ids: Iterable[str]) -> dict[str, int]:
    """The place of each distinct query, from 1, in the order of a design's queries. People begin at different queries
    of it: see ``first_query``."""
    distinct = sorted(set(query_ids))
    order = places(hashes("queries", seed, distinct), distinct)
    return {distinct[row]: place for place, row in enumerate(order.tolist(), start=1)}


def first_query(seed: int, name: str) -> float:
    """Where in the order of queries a person begins: the share of the queries before it, from 0 to below 1. People
    begin at different queries, so that of a collection that is stopped early every query was done by somebody."""
    [drawn] = hashes("first query", seed, [name])
    return float(int(drawn) >> 11) / 2.0**53


def shuffled(seed: int, name: str, query_id: str, doc_ids: Sequence[str]) -> list[str]:
    """A query's passages in the order in which one person sees them. The order differs between people and queries,
    is always the same for one person and query, and does not depend on the order of ``doc_ids``. A subset of the
    passages has the same relative order."""
    rows = len(doc_ids)
    order = places(hashes("passages", seed, [name] * rows, [query_id] * rows, doc_ids), doc_ids)
    return [doc_ids[row] for row in order.tolist()]
