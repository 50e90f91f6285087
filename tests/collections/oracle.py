"""Measures of a written run by pytrec_eval, averaged over all judged queries."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytrec_eval


def measures(folder: Path, run_tag: str) -> dict[str, float]:
    """success@1, success@10, nDCG@10 and AP of ``runs/<run_tag>.trec.gz``; a judged query that the run
    lacks counts 0."""
    names = {"success@1": "success_1", "success@10": "success_10", "nDCG@10": "ndcg_cut_10", "AP": "map"}
    with (folder / "gold.qrels").open(encoding="utf-8") as file:
        qrels = pytrec_eval.parse_qrel(file)
    with gzip.open(folder / "runs" / f"{run_tag}.trec.gz", "rt", encoding="utf-8") as file:
        run = pytrec_eval.parse_run(file)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"success.1,10", "ndcg_cut.10", "map"})
    values = evaluator.evaluate(run)
    return {
        name: sum(values.get(query_id, {}).get(measure, 0.0) for query_id in qrels) / len(qrels)
        for name, measure in names.items()
    }
