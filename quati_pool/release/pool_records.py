"""What the pool of a release says of its pairs, and the passages of pooled and graded documents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator
from typing import NamedTuple

from quati_pool.files.lines import read_lines
from quati_pool.files.pools import has_text, read_pool_rows
from quati_pool.release.checks import graded_documents
from quati_pool.release.state import Release


class PoolRecord(NamedTuple):
    """A pair of the pool with the rank that each run gave it."""

    query_id: str
    doc_id: str
    ranks: dict[str, int]


def pool_records(release: Release) -> Iterator[PoolRecord]:
    """The pairs of the pool, in its order."""
    for _, line in read_lines(release.pool):
        if line and not line.isspace():
            pair = json.loads(line)
            yield PoolRecord(pair["query_id"], pair["doc_id"], pair.get("runs") or {})


def pool_reasons(release: Release) -> Counter[str]:
    """The number of the pool's pairs by the reason for which each is in it; a pool of another tool has none."""
    lines = (line for _, line in read_lines(release.pool) if line and not line.isspace())
    return Counter(str(reason) for line in lines if (reason := json.loads(line).get("reason")) is not None)


def pooled_passages(release: Release) -> Iterator[tuple[str, str]]:
    """The passages of the pool, each once, in pool order; then those of graded pairs outside the pool, in corpus
    order."""
    seen: set[str] = set()
    for _, pair in read_pool_rows(release.pool):
        if pair.doc_id not in seen:
            seen.add(pair.doc_id)
            yield pair.doc_id, pair.text
    more = {doc_id for labelled in release.labelers for doc_id in graded_documents(labelled)} - seen
    if more:
        yield from ((doc_id, text) for doc_id, text in release.passages() if doc_id in more)


def passage_texts(release: Release, doc_ids: Container[str]) -> dict[str, str]:
    """The texts of those of ``doc_ids`` that are pooled or graded and have a text."""
    return {doc_id: text for doc_id, text in pooled_passages(release) if doc_id in doc_ids and has_text(text)}
