"""Real collections beside the checkout: a check that needs one is skipped where it is absent, saying
so; with QUATI_POOL_REQUIRE_ALL set it fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "shared" / "data"


def shared(name: str) -> Path:
    """The file ``name``, such as ``vaswani/qrels``."""
    path = FOLDER / name
    if not path.exists():
        reason = f"cannot check against {name}: it is not in {FOLDER}"
        if os.environ.get("QUATI_POOL_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path
