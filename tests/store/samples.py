"""Labels and attempts for tests, with what a test does not care about filled in."""

from __future__ import annotations

from typing import Any

from quati_pool.records import State
from quati_pool.store.records import Attempt, Entry, Label


def label(query_id: str = "q1", doc_id: str = "d1", status: State = State.ok, **values: Any) -> Label:
    """A label by the judge ``gpt`` of the collection ``pira``; an ok one has grade 2."""
    given: dict[str, Any] = {
        "collection": "pira",
        "labeler_id": "gpt",
        "kind": "judge",
        "version": "v1",
        "content_sha": f"sha of {doc_id}",
        "relevance": 2 if status is State.ok else None,
        **values,
    }
    return Label(query_id=query_id, doc_id=doc_id, status=status, **given)


def entry(query_id: str = "q1", doc_id: str = "d1", status: State = State.ok, **values: Any) -> Entry:
    """A label with the one attempt behind it."""
    attempt = Attempt(number=1, status=status, answer=f"an answer about {doc_id}", seconds=0.5)
    return Entry(label=label(query_id, doc_id, status, **values), attempts=(attempt,))


def alone(query_id: str = "q1", doc_id: str = "d1", status: State = State.ok, **values: Any) -> Entry:
    """A label without attempts."""
    return Entry(label=label(query_id, doc_id, status, **values))
