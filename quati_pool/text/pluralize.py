"""Counts with their nouns, and lists of names, for messages and tables."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, one: str, many: str) -> str:
    """``1 query``, ``1,204 queries``: the number and the words that follow it, ``one`` or ``many``."""
    return f"{count:,} {one if count == 1 else many}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; empty without names."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def first_of(names: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, or the first ``most`` names and the number of the others: ``a, b, c and 5 more``."""
    return listed(names) if len(names) <= most + 1 else f"{', '.join(names[:most])} and {len(names) - most:,} more"
