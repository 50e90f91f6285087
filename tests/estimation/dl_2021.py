"""TREC Deep Learning 2021 as the estimators see it: people's grades and GPT-4o's of the same pairs, and 63 runs."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytrec_eval

from quati_pool.estimation.pair_frame import PairFrame
from tests.shared_data import shared

Graded = dict[str, dict[str, int]]


@dataclass(frozen=True, eq=False)
class DL2021:
    """``people`` and ``judge``, shape (queries, systems), are nDCG@10; ``relevance``, shape (pairs,), are people's
    grades of the pairs of ``frame``."""

    run_tags: list[str]
    people: np.ndarray
    judge: np.ndarray
    frame: PairFrame
    relevance: np.ndarray


@cache
def dl_2021() -> DL2021:
    nist, gpt_4o, runs = grades("nist"), grades("gpt-4o"), top_20_runs()
    run_tags, queries = sorted(runs), sorted(nist)
    pairs = [(query_id, doc_id) for query_id in queries for doc_id in sorted(nist[query_id])]
    numbers = {pair: number for number, pair in enumerate(pairs)}
    entries = [
        (numbers[query_id, doc_id], system, 21 - int(score))
        for system, run_tag in enumerate(run_tags)
        for query_id, scores in runs[run_tag].items()
        for doc_id, score in scores.items()
        if (query_id, doc_id) in numbers
    ]
    frame = PairFrame(
        np.array([queries.index(query_id) for query_id, _ in pairs]),
        len(queries),
        np.array([gpt_4o[query_id][doc_id] for query_id, doc_id in pairs]),
        len(run_tags),
        *np.array(entries).T,
    )
    return DL2021(
        run_tags,
        _ndcg(nist, runs, queries, run_tags),
        _ndcg(gpt_4o, runs, queries, run_tags),
        frame,
        np.array([nist[query_id][doc_id] for query_id, doc_id in pairs]),
    )


def grades(name: str) -> Graded:
    found: Graded = {}
    with gzip.open(shared(f"trec-dl-2021/{name}.qrels.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, _, doc_id, grade = line.split()
            found.setdefault(query_id, {})[doc_id] = int(grade)
    return found


def top_20_runs() -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    with gzip.open(shared("trec-dl-2021/dl21-runs-top20-judged53.txt.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, _, doc_id, _, score, run_tag = line.split()
            found.setdefault(run_tag, {}).setdefault(query_id, {})[doc_id] = float(score)
    return found


def _ndcg(
    qrels: Graded, runs: dict[str, dict[str, dict[str, float]]], queries: list[str], run_tags: list[str]
) -> np.ndarray:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})
    found = [evaluator.evaluate(runs[run_tag]) for run_tag in run_tags]
    return np.array([[one.get(query_id, {}).get("ndcg_cut_10", 0.0) for one in found] for query_id in queries])
