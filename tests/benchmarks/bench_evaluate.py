"""Measures of 20 runs × 200 queries × 1000 documents by query, and what is made of them.

The peer is pytrec_eval alone on dictionaries made beforehand. What comes before is a figure of its own
on both sides: ours codes frames into runs, the peer's makes dictionaries of frames. Some 14,000 judgements:
the first five documents of every run, graded 0 to 3 at random.

Run from the checkout: python -m tests.benchmarks.bench_evaluate
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytrec_eval

from quati_pool.evaluation.bounds import ndcg_bounds
from quati_pool.evaluation.judged_runs import JudgedRuns, Judgements
from quati_pool.evaluation.leaderboard import leaderboard
from quati_pool.evaluation.measures import DEFAULTS
from quati_pool.evaluation.reusability import hole_rates
from quati_pool.evaluation.scores import Rankings, score
from quati_pool.evaluation.significance import compare, groups
from quati_pool.records import Qrels, Run, code_ids
from tests.benchmarks.synthetic_runs import frames

REPEAT = 5
MEASURES = {"nDCG@10": "ndcg_cut_10", "nDCG@20": "ndcg_cut_20", "R@100": "recall_100", "AP": "map", "P@10": "P_10"}

Nested = dict[str, dict[str, Any]]


def nested(frame: pd.DataFrame, value: str) -> Nested:
    found: Nested = {}
    for query_id, rows in frame.groupby("query_id", sort=False):
        found[str(query_id)] = dict(zip(rows["doc_id"].tolist(), rows[value].tolist(), strict=True))
    return found


def judgements(inputs: list[pd.DataFrame]) -> pd.DataFrame:
    heads = pd.concat([frame[frame["rank"] <= 5] for frame in inputs])[["query_id", "doc_id"]].drop_duplicates()
    return heads.assign(relevance=np.random.default_rng(0).integers(0, 4, size=len(heads)))


def dictionaries(runs: list[Run], qrels: Qrels) -> None:
    """What ``score`` does before its provider runs."""
    judged = Judgements(qrels)
    rankings = Rankings(judged, 1000, None)
    rankings.qrels()
    for rows in judged.rows(runs):
        rankings.of(rows)


def medians(*works: Callable[[], Any]) -> list[float]:
    """In turn, so that a busy machine is busy for all."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEAT):
        for work, own in zip(works, times, strict=True):
            started = time.perf_counter()
            work()
            own.append(time.perf_counter() - started)
    return [statistics.median(own) for own in times]


def median(work: Callable[[], Any]) -> float:
    return medians(work)[0]


def main() -> None:
    inputs = frames()
    tagged = {f"s{i:02}": frame for i, frame in enumerate(inputs)}
    runs = Run.from_frames(tagged)
    graded = judgements(inputs)
    queries, (query,) = code_ids([graded["query_id"].array.__arrow_array__()])
    docs, (doc,) = code_ids([graded["doc_id"].array.__arrow_array__()])
    qrels = Qrels(queries, docs, query, doc, graded["relevance"].to_numpy())
    evaluator = pytrec_eval.RelevanceEvaluator(nested(graded, "relevance"), set(MEASURES.values()))
    ready = [nested(frame, "score") for frame in inputs]

    found = score(JudgedRuns(runs, qrels), list(MEASURES))
    for values, run in zip(found.values, ready, strict=True):
        theirs = evaluator.evaluate(run)
        expected = [[theirs[query_id][name] for query_id in found.query_ids] for name in MEASURES.values()]
        assert np.allclose(values, expected, rtol=0, atol=1e-12)

    ours, peer = medians(
        lambda: score(JudgedRuns(runs, qrels), list(MEASURES)),
        lambda: [evaluator.evaluate(run) for run in ready],
    )
    print(f"{len(qrels):,} judgements; medians of {REPEAT}")
    print(f"| five measures by query, from runs | {ours:.2f} s | {peer:.2f} s (dictionaries made before) |")
    print(f"| of that, dictionaries from runs | {median(lambda: dictionaries(runs, qrels)):.2f} s | |")
    coded = median(lambda: Run.from_frames(tagged))
    theirs_made = median(lambda: [nested(frame, "score") for frame in inputs])
    print(f"| before that, from frames | {coded:.2f} s (runs) | {theirs_made:.2f} s (dictionaries) |")
    print(f"| the default measures | {median(lambda: score(JudgedRuns(runs, qrels), DEFAULTS)):.2f} s | |")
    print(f"| bounds of nDCG@10 | {median(lambda: ndcg_bounds(JudgedRuns(runs, qrels), 10, [0, 1, 2, 3])):.3f} s | |")
    print(f"| unjudged@10 | {median(lambda: hole_rates(JudgedRuns(runs, qrels), [10])):.3f} s | |")
    print(f"| leaderboard, 2,000 draws | {median(lambda: leaderboard(found)):.3f} s | |")
    for test in ("t", "wilcoxon", "randomisation"):
        print(f"| all pairs, {test} | {median(lambda test=test: compare(found, 'AP', test)):.3f} s | |")
    pairs = compare(found, "AP", "t")
    print(f"| letters of 20 runs | {median(lambda: groups(found.run_tags, pairs)):.4f} s | |")


if __name__ == "__main__":
    main()
