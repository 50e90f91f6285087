"""Splits of a collection's queries for training and testing, without leakage between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import xxhash
from pydantic import Field, field_validator

from quati_pool.records import Query
from quati_pool.release import base
from quati_pool.release.errors import ReleaseError


class SplitParameters(base.Parameters):
    """The parameters of the formats that split queries, and which grades they learn from."""

    splits: Annotated[
        dict[str, Annotated[float, Field(gt=0)]],
        Field(
            min_length=1,
            default_factory=lambda: {"train": 0.8, "dev": 0.1, "test": 0.1},
            description="the share of queries in each split",
        ),
    ]
    together: Annotated[
        Literal["passages", "queries"],
        Field(
            description="which queries share a split: those of one cluster or text, and with passages also those with "
            "a common relevant passage, of one doc_id or text"
        ),
    ] = "passages"
    positive: Annotated[int, Field(description="the lowest grade of a relevant passage")] = 2
    seed: Annotated[int, Field(ge=0, description="of the splits and of random negatives")] = 0

    @field_validator("splits")
    @classmethod
    def _names(cls, splits: dict[str, float]) -> dict[str, float]:
        wrong = next((name for name in splits if not name.isidentifier() or not name.isascii()), None)
        if wrong is not None:
            raise ValueError(f"a split cannot be called {wrong!r}; use letters, digits and _")
        return splits


def folded(text: str) -> str:
    """The text without differences of case and white space."""
    return " ".join(text.casefold().split())


def split_queries(
    queries: Sequence[Query],
    graded: Mapping[tuple[str, str], int],
    texts: Mapping[str, str],
    parameters: SplitParameters,
    collection: str,
) -> dict[str, str]:
    """The split of each query that has a grade, by query_id, in the order of the queries.

    Related queries are in one split: those of one cluster, of one text (but for case and white space) and, unless
    ``together`` is queries, with a common relevant passage. Relevant documents of one text are one passage; ``texts``
    has their texts by doc_id, and one without a text counts by its doc_id. Groups of related queries are drawn by a
    hash of seed and query_id, and each goes to the split that lacks most of its share.

    Raises ReleaseError where a split would have no query, or no pair has the grade of a relevant passage.
    """
    if all(grade < parameters.positive for grade in graded.values()):
        raise ReleaseError(
            f"{collection}: no pair is graded {parameters.positive} or more; name the lowest grade of a relevant "
            "passage with --set positive=1"
        )
    known = {query_id for query_id, _ in graded}
    chosen = [query for query in queries if query.query_id in known]
    groups = _groups(chosen, graded, texts, parameters)
    shares = np.array(list(parameters.splits.values()))
    wanted = shares / shares.sum() * len(chosen)
    filled = np.zeros(len(shares))
    split: dict[str, str] = {}
    names = list(parameters.splits)
    for group in sorted(groups, key=lambda group: min(_drawn(parameters.seed, query_id) for query_id in group)):
        place = int(np.argmax((wanted - filled) / wanted))
        filled[place] += len(group)
        split |= dict.fromkeys(group, names[place])
    empty = next((name for name, count in zip(names, filled, strict=True) if not count), None)
    if empty is not None:
        largest = max(map(len, groups), default=0)
        raise ReleaseError(
            f"{collection}: the split {empty!r} would have no query: {len(chosen):,} graded queries form "
            f"{len(groups):,} groups of related ones, the largest of {largest:,}; name fewer --set splits={{…}}, or "
            "keep only clusters and equal texts together with --set together=queries"
        )
    return {query.query_id: split[query.query_id] for query in chosen}


def _groups(
    queries: Sequence[Query],
    graded: Mapping[tuple[str, str], int],
    texts: Mapping[str, str],
    parameters: SplitParameters,
) -> list[list[str]]:
    """The query_ids of related queries, in the order of the queries."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place = {query.query_id: at for at, query in enumerate(queries)}
    marks: list[tuple[int, tuple[str, str]]] = []
    for at, query in enumerate(queries):
        marks.append((at, ("query", folded(query.query) or f"\0{query.query_id}")))
        if query.cluster_id is not None:
            marks.append((at, ("cluster", query.cluster_id)))
    if parameters.together == "passages":
        relevant = [pair for pair, grade in graded.items() if grade >= parameters.positive and pair[0] in place]
        passages = {doc_id: _passage(doc_id, texts) for _, doc_id in relevant}
        marks += [(place[query_id], passages[doc_id]) for query_id, doc_id in relevant]
    numbers: dict[tuple[str, str], int] = {}
    rows = np.array([at for at, _ in marks], dtype=np.int64)
    columns = np.array([numbers.setdefault(mark, len(queries) + len(numbers)) for _, mark in marks], dtype=np.int64)
    nodes = len(queries) + len(numbers)
    graph = coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(nodes, nodes))
    _, component = connected_components(graph, directed=False)
    groups: dict[int, list[str]] = {}
    for query, number in zip(queries, component.tolist(), strict=False):
        groups.setdefault(number, []).append(query.query_id)
    return list(groups.values())


def _passage(doc_id: str, texts: Mapping[str, str]) -> tuple[str, str]:
    """What documents of one text have in common."""
    text = folded(texts.get(doc_id, ""))
    return ("passage", text) if text else ("doc_id", doc_id)


def _drawn(seed: int, query_id: str) -> tuple[int, str]:
    return xxhash.xxh3_64_intdigest(f"{seed}\tsplit\t{query_id}".encode()), query_id
