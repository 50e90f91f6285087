"""Real collections beside the checkout: a check that needs one is skipped where it is absent, saying
so; with QUATI_POOL_REQUIRE_ALL set it fails."""

from __future__ import annotations

from pathlib import Path

from tests.machine_parts import COLLECTIONS, not_checked


def shared(name: str) -> Path:
    """The file ``name``, such as ``vaswani/qrels``."""
    path = COLLECTIONS / name
    if not path.exists():
        not_checked(f"cannot check against {name}: it is not in {COLLECTIONS}")
    return path
