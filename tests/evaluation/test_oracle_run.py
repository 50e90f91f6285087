from __future__ import annotations

import pandas as pd

from quati_pool.evaluation.oracle_run import oracle_run
from quati_pool.records import Qrels, Run, code_ids


def qrels(rows: list[tuple[str, str, int]]) -> Qrels:
    columns = list(zip(*rows, strict=True))
    import numpy as np
    import pyarrow as pa

    queries, (query,) = code_ids([pa.array(columns[0])])
    docs, (doc,) = code_ids([pa.array(columns[1])])
    return Qrels(queries, docs, query, doc, np.array(columns[2]))


def test_documents_go_by_grade_then_by_fused_rank_then_by_id() -> None:
    judged = qrels([("q", "d1", 1), ("q", "d2", 3), ("q", "d3", 1), ("q", "d4", 1), ("q", "d5", 1), ("p", "d1", -1)])
    runs = Run.from_frames(
        {
            "a": pd.DataFrame({"query_id": ["q"] * 3, "doc_id": ["d3", "d1", "unjudged"], "score": [3.0, 2.0, 1.0]}),
            "b": pd.DataFrame({"query_id": ["q", "other"], "doc_id": ["d3", "d1"], "score": [1.0, 1.0]}),
        }
    )
    found = oracle_run("oracle", judged, runs).to_frame()
    assert found[found.query_id == "q"].doc_id.tolist() == ["d2", "d3", "d1", "d5", "d4"]
    assert found[found.query_id == "p"].doc_id.tolist() == ["d1"]


def test_without_runs_ties_go_by_id() -> None:
    found = oracle_run("oracle", qrels([("q", "a", 0), ("q", "b", 0), ("q", "c", 2)]), []).to_frame()
    assert found.doc_id.tolist() == ["c", "b", "a"]
