"""Counts with their nouns, and lists of names, as messages and tables write them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, one: str, many: str) -> str:
    """``1 query``, ``1,204 queries``: whatever words follow the number for one, and for any other."""
    return f"{count:,} {one if count == 1 else many}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; empty for no name."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
