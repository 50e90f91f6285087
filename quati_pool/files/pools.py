"""The pool as JSON lines, one pair a line: readable by anything, without this library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from quati_pool.files.lines import output


class PoolPair(TypedDict):
    """A pair to judge. ``runs`` maps each system that returned it to its rank; ``reason`` is depth or
    extra; ``inclusion`` the probability with which the pair came into the pool."""

    query_id: str
    doc_id: str
    query: str
    text: str
    runs: dict[str, int]
    round: int
    reason: str
    inclusion: float


def write_pool(path: Path, pairs: Iterable[PoolPair]) -> None:
    """Writes pairs in their order, packed if ``path`` ends in .gz."""
    with output(path) as stream:
        for pair in pairs:
            stream.write(json.dumps(pair, ensure_ascii=False).encode() + b"\n")
