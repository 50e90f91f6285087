"""Rankings by neural scores: a tolerance holds for them, so that passages whose scores are near may swap."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Doc = TypeVar("Doc", bound=Hashable)


def assert_ranked(docs: Iterable[Doc], scores: Mapping[Doc, float], tolerance: float, depth: int | None = None) -> None:
    """``docs`` are the ``depth`` best (all, unless given) by ``scores``, best first and each once.

    At no place may a passage be left waiting, or left out, whose score is higher than the one's that was taken by
    more than twice the tolerance: what two scores that are off by it can turn round.
    """
    waiting = dict(scores)
    for place, doc in enumerate(docs, 1):
        score = waiting.pop(doc)
        better = {other: waits for other, waits in waiting.items() if waits > score + 2 * tolerance}
        assert not better, f"place {place}: {doc} of score {score} is before {better}"
    wanted = len(scores) if depth is None else min(depth, len(scores))
    assert len(scores) - len(waiting) == wanted
