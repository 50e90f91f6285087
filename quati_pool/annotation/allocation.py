"""Who grades which pair, where named persons share the work from the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quati_pool.annotation.errors import DesignError
from quati_pool.annotation.hashing import hashes, places


class Allocation(NamedTuple):
    """The pair at position ``row`` goes to ``name``, as the pair's ``replicate``-th person, from 1."""

    row: int
    replicate: int
    name: str


def allocate(
    query_ids: Sequence[str], doc_ids: Sequence[str], names: Sequence[str], overlap: int, load: int | None, seed: int
) -> list[Allocation]:
    """Gives each pair to ``overlap`` different persons, ordered by row and replicate; nobody gets more than
    ``load`` pairs.

    Whole queries go to persons, the largest first, each to those who have least, so that two persons' loads
    differ by at most the largest query. Only where that would break the load, or leave somebody without any
    work, are queries cut: the pairs, query after query and the whole row ``overlap`` times, are dealt out in
    consecutive parts that differ by at most one pair (McNaughton's wrap-around rule, Management Science 6(1),
    1959); a part is never longer than the row, so nobody meets a pair twice. Neither the order of the pairs
    nor that of the names matters.

    Raises DesignError where there are fewer persons than ``overlap``, a name is given twice, or the loads
    together cannot hold all.
    """
    if overlap < 1:
        raise DesignError(f"an overlap of {overlap} gives pairs to nobody; ask for at least 1")
    people = sorted(set(names))
    if len(people) < len(names):
        raise DesignError("a person is named twice; name each once")
    if len(people) < overlap:
        raise DesignError(
            f"each pair goes to {overlap} different persons, but only {len(people)} are named; "
            "name more, or lower the overlap"
        )
    pairs = len(query_ids)
    needed = pairs * overlap
    if load is not None and min(load, pairs) * len(people) < needed:
        raise DesignError(
            f"{pairs:,} pairs × {overlap} are {needed:,}, and {len(people)} persons with at most {load:,} each hold "
            f"{load * len(people):,}; raise the load, name more persons, or choose fewer pairs"
        )
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
    """Each query's rows; queries and rows in an order that only the seed and the ids decide."""
    order = places(hashes("rows", seed, query_ids, doc_ids), query_ids, doc_ids).tolist()
    queries = sorted(set(query_ids))
    drawn = places(hashes("blocks", seed, queries), queries).tolist()
    blocks: dict[str, list[int]] = {queries[row]: [] for row in drawn}
    for row in order:
        blocks[query_ids[row]].append(row)
    return blocks


def _whole(blocks: dict[str, list[int]], people: list[str], overlap: int, seed: int) -> dict[str, set[str]]:
    """The queries of each person where none is cut."""
    given: dict[str, set[str]] = {name: set() for name in people}
    loads = dict.fromkeys(people, 0)
    for query_id in sorted(blocks, key=lambda query_id: -len(blocks[query_id])):
        # A draw for each query, so that everybody meets everybody as a partner.
        drawn = dict(zip(people, hashes("people", seed, [query_id] * len(people), people).tolist(), strict=True))
        takers = sorted(people, key=lambda name: (loads[name], drawn[name], name))[:overlap]
        for name in takers:
            given[name].add(query_id)
            loads[name] += len(blocks[query_id])
    return given


def _cut(blocks: dict[str, list[int]], people: list[str], overlap: int, seed: int) -> list[Allocation]:
    """Equal loads, to a pair: see ``allocate``."""
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
