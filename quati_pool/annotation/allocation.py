"""Allocation of pairs to named people in advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quati_pool.annotation.errors import DesignError
from quati_pool.stats.hashing import hashes, places
from quati_pool.text.pluralize import counted


class Allocation(NamedTuple):
    """Assigns the pair at position ``row`` to ``name`` as its ``replicate``-th person, counted from 1."""

    row: int
    replicate: int
    name: str


def allocate(
    query_ids: Sequence[str], doc_ids: Sequence[str], names: Sequence[str], overlap: int, load: int | None, seed: int
) -> list[Allocation]:
    """Gives each pair to ``overlap`` different people, at most ``load`` pairs per person (None: no limit); returns
    the allocations ordered by row and replicate.

    Whole queries are assigned, the largest first, to the people with the least load, so that two loads differ by
    at most the largest query. Queries are split only if this would exceed ``load`` or leave somebody without any
    work: the sequence of all pairs, query by query, repeated ``overlap`` times, is then divided into consecutive
    parts that differ by at most one pair (McNaughton's wrap-around rule, Management Science 6(1), 1959). A part is
    never longer than the sequence, so nobody gets a pair twice. The result does not depend on the order of the
    pairs or names.

    Raises DesignError if there are fewer people than ``overlap``, a name is given twice, or the loads together
    are too small.
    """
    if overlap < 1:
        raise DesignError(f"an overlap of {overlap} gives pairs to nobody; ask for at least 1")
    people = sorted(set(names))
    if len(people) < len(names):
        raise DesignError("a person is named twice; name each once")
    if len(people) < overlap:
        raise DesignError(
            f"each pair needs {counted(overlap, 'person', 'different people')}, but only "
            f"{counted(len(people), 'is', 'are')} named; name more, or lower the overlap"
        )
    pairs = len(query_ids)
    needed = pairs * overlap
    if load is not None and min(load, pairs) * len(people) < needed:
        raise DesignError(
            f"{pairs:,} pairs × {overlap} are {needed:,}, and {counted(len(people), 'person', 'people')} with at most "
            f"{load:,} each hold {load * len(people):,}; raise the load, name more people, or choose fewer pairs",
            "load", needed=needed, held=load * len(people),
        )  # fmt: skip
    blocks = _blocks(query_ids, doc_ids, seed)
    given = _whole(blocks, people, overlap, seed)
    loads = [sum(len(blocks[query_id]) for query_id in queries) for queries in given.values()]
    if pairs and (min(loads) == 0 or (load is not None and max(loads) > load)):
        return _cut(blocks, people, overlap, seed)
    found = []
    for query_id, rows in blocks.items():
        takers = [name for name in people if query_id in given[name]]
        found += [Allocation(row, place, name) for row in rows for place, name in enumerate(takers, start=1)]
    return sorted(found)


def _blocks(query_ids: Sequence[str], doc_ids: Sequence[str], seed: int) -> dict[str, list[int]]:
    """The rows of each query; the order of queries and rows depends only on the seed and the ids."""
    order = places(hashes("rows", seed, query_ids, doc_ids), query_ids, doc_ids).tolist()
    queries = sorted(set(query_ids))
    drawn = places(hashes("blocks", seed, queries), queries).tolist()
    blocks: dict[str, list[int]] = {queries[row]: [] for row in drawn}
    for row in order:
        blocks[query_ids[row]].append(row)
    return blocks


def _whole(blocks: dict[str, list[int]], people: list[str], overlap: int, seed: int) -> dict[str, set[str]]:
    """The queries of each person when no query is split."""
    given: dict[str, set[str]] = {name: set() for name in people}
    loads = dict.fromkeys(people, 0)
    for query_id in sorted(blocks, key=lambda query_id: -len(blocks[query_id])):
        # Ties are drawn separately for each query, so that everybody shares pairs with everybody.
        drawn = dict(zip(people, hashes("people", seed, [query_id] * len(people), people).tolist(), strict=True))
        takers = sorted(people, key=lambda name: (loads[name], drawn[name], name))[:overlap]
        for name in takers:
            given[name].add(query_id)
            loads[name] += len(blocks[query_id])
    return given


def _cut(blocks: dict[str, list[int]], people: list[str], overlap: int, seed: int) -> list[Allocation]:
    """Loads that differ by at most one pair, by splitting queries; see ``allocate``."""
    rows = [row for block in blocks.values() for row in block]
    order = [people[place] for place in places(hashes("cut", seed, people), people).tolist()]
    size, longer = divmod(len(rows) * overlap, len(order))
    takers: dict[int, list[str]] = {row: [] for row in rows}
    dealt = 0
    for place, name in enumerate(order):
        end = dealt + size + (place < longer)
        for position in range(dealt, end):
            takers[rows[position % len(rows)]].append(name)
        dealt = end
    return sorted(
        Allocation(row, place, name) for row, names in takers.items() for place, name in enumerate(sorted(names), 1)
    )
