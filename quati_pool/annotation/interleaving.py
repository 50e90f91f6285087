"""Where the pairs that check a person's care come among their own: in each block of their answers once, at a position
drawn by hash, so that it cannot be foreseen but is the same after a reload and on every server."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from quati_pool.stats.hashing import hashes, places

Check = Literal["repeats", "gold"]

_LONGEST = 10**9  # answers in a block, for rates that are practically 0


def block_size(rate: float) -> int:
    """The number of answers among which one check comes, for a ``rate`` of checks per answer, above 0."""
    return round(min(1 / rate, _LONGEST))


def block_due(check: Check, seed: int, name: str, answers: int, size: int) -> int | None:
    """The number, from 1, of the block of ``size`` answers in which a person with this many ``answers`` is, once its
    check is due; None before. The caller knows whether it was given already."""
    if answers < 0:
        return None
    block, place = divmod(answers, size)
    return block + 1 if place >= _place(check, seed, name, block, size) else None


def blocks_due(
    check: Check, seed: int, name: str, answers: int, total: int, size: int, given: Collection[int] = ()
) -> int:
    """In how many blocks, but those ``given``, a check is or gets due for a person with this many ``answers`` before
    they have ``total``: as ``block_due`` says for the last time with ``total - 1``."""
    if total <= max(answers, 0):
        return 0
    first, (last, place) = max(answers, 0) // size, divmod(total - 1, size)
    end = last + (place >= _place(check, seed, name, last, size))
    return max(end - first, 0) - sum(first < block <= end for block in given)


def _place(check: Check, seed: int, name: str, block: int, size: int) -> int:
    """After how many answers of a block, numbered from 0, its check is due."""
    [drawn] = hashes(f"{check} position", seed, [name], [str(block)])
    return int(drawn) % size


def drawn_order(check: Check, seed: int, name: str, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """These pairs (query_id, doc_id) in a person's random order, which does not depend on the order given; a subset has
    the same relative order."""
    query_ids, doc_ids = [query_id for query_id, _ in pairs], [doc_id for _, doc_id in pairs]
    drawn = hashes(f"{check} pairs", seed, [name] * len(pairs), query_ids, doc_ids)
    return [pairs[row] for row in places(drawn, query_ids, doc_ids).tolist()]
