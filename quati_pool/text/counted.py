"""Counts with their nouns, as messages and tables write them."""

from __future__ import annotations


def counted(count: int, one: str, many: str) -> str:
    """``1 query``, ``1,204 queries``: whatever words follow the number for one, and for any other."""
    return f"{count:,} {one if count == 1 else many}"
