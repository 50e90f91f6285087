"""Small runs and qrels written by hand, and random qrels over the documents of random runs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from random_runs import AWKWARD, any_id, query_ids, ranked

from quati_pool.records import Ids, Qrels, Run

Grades = dict[tuple[str, str], int]
"""Grades by (query_id, doc_id)."""


def qrels_of(grades: Grades) -> Qrels:
    """Qrels in the order of ``grades``, over vocabularies sorted another way."""
    queries, docs = Ids(sorted({query for query, _ in grades})), Ids(sorted({doc for _, doc in grades}))
    query = queries.encode([query for query, _ in grades])
    doc = docs.encode([doc for _, doc in grades])
    return Qrels(queries, docs, query, doc, np.array(list(grades.values()), dtype=np.int64))


def run_of(run_tag: str, **rankings: str) -> Run:
    """A run from query_id and documents of one letter, best first."""
    return ranked(
        run_tag,
        {
            (query_id, doc_id): float(-rank)
            for query_id, documents in rankings.items()
            for rank, doc_id in enumerate(documents)
        },
    )


def some_grades(highest: int = 3) -> st.SearchStrategy[Grades]:
    """At least one grade, of documents that random runs return and of others."""
    docs = st.sampled_from(AWKWARD) | any_id
    return st.dictionaries(st.tuples(query_ids, docs), st.integers(0, highest), min_size=1, max_size=40)


def nested(grades: Grades) -> dict[str, dict[str, int]]:
    """``grades`` as pytrec_eval takes them."""
    found: dict[str, dict[str, int]] = {}
    for (query_id, doc_id), grade in grades.items():
        found.setdefault(query_id, {})[doc_id] = grade
    return found
