"""Runs for property tests: full of ties, with scores and ids that sort differently under other rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from quati_pool.records import Ids, Run, id_problem

# '10' < '9' as strings and not as numbers; 'B' < 'a' in bytes and not in a dictionary; é composed and
# decomposed; U+FF5E comes before U+1F600 in UTF-8 and after it in UTF-16.
AWKWARD = ["10", "9", "09", "B", "a", "Á", "é", "e\u0301", "z", "\uff5e", "\U0001f600", "\ufffd", "D-1", "D.1"]

any_id = st.text(min_size=1, max_size=4).filter(lambda text: id_problem(text) is None)
doc_ids = st.sampled_from(AWKWARD) | any_id
query_ids = st.sampled_from(["q1", "q2", "10", "9", "é", "\U0001f600"])

# Few values, so that ties abound. 1 + 1e-9 is 1 in float32, and 1e-50 is 0; 1e-40 is subnormal there.
few_scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 0.1, -1.5, -1.5 - 1e-9, 1e-40, 1e-50, -1e-50, 3e38])
any_score = st.floats(width=32, allow_nan=False, allow_infinity=False)
scores = few_scores | any_score

Rows = dict[tuple[str, str], float]
"""Scores by (query_id, doc_id)."""


def rows(score: st.SearchStrategy[float] = scores, max_size: int = 30) -> st.SearchStrategy[Rows]:
    return st.dictionaries(st.tuples(query_ids, doc_ids), score, max_size=max_size)


def ranked(run_tag: str, scored: Rows, depth: int | None = None) -> Run:
    """The run of ``scored`` over vocabularies of its own, in order of first appearance."""
    queries = list(dict.fromkeys(query_id for query_id, _ in scored))
    docs = list(dict.fromkeys(doc_id for _, doc_id in scored))
    query = np.array([queries.index(query_id) for query_id, _ in scored], dtype=np.int64)
    doc = np.array([docs.index(doc_id) for _, doc_id in scored], dtype=np.int64)
    score = np.array(list(scored.values()), dtype=np.float64)
    return Run.ranked(run_tag, Ids(queries), Ids(docs), query, doc, score, depth)


def expected_order(scored: Rows, depth: int | None = None) -> dict[str, list[tuple[str, np.float32]]]:
    """The rule of ties, one query at a time: float32 score, then the bytes of doc_id, both descending."""
    order: dict[str, list[tuple[str, np.float32]]] = {}
    for (query_id, doc_id), score in scored.items():
        order.setdefault(query_id, []).append((doc_id, np.float32(score)))
    return {
        query_id: sorted(hits, key=lambda hit: (hit[1], hit[0].encode()), reverse=True)[:depth]
        for query_id, hits in order.items()
    }


def listed(run: Run) -> dict[str, list[tuple[str, np.float32]]]:
    """A run's documents and scores by query, in the order of its rows; ranks must count 1, 2, …"""
    found: dict[str, list[tuple[str, np.float32]]] = {}
    query_ids, doc_ids = run.queries.decode(run.query).to_pylist(), run.docs.decode(run.doc).to_pylist()
    for query_id, doc_id, rank, score in zip(query_ids, doc_ids, run.rank.tolist(), run.score, strict=True):
        hits = found.setdefault(query_id, [])
        hits.append((doc_id, score))
        assert rank == len(hits)
    return found


def ranks(run: Run) -> dict[tuple[str, str], int]:
    """A run's ranks by (query_id, doc_id)."""
    return {
        (query_id, doc_id): position
        for query_id, hits in listed(run).items()
        for position, (doc_id, _) in enumerate(hits, 1)
    }


def runs(size: st.SearchStrategy[int]) -> st.SearchStrategy[Sequence[Run]]:
    """Several runs, each over vocabularies of its own, tagged s0, s1, …"""
    several = size.flatmap(lambda n: st.lists(rows(max_size=20), min_size=n, max_size=n))
    return several.map(lambda many: [ranked(f"s{i}", scored) for i, scored in enumerate(many)])
