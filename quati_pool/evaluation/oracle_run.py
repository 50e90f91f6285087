"""A labeler as a system: the run that orders what it graded by its grades (Clarke and Dietz, arXiv 2412.17156: a judge
that serves as a reranker is first under its own grades, whatever people say)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quati_pool.records import Qrels, Run

_K = 60


def oracle_run(run_tag: str, qrels: Qrels, runs: Sequence[Run]) -> Run:
    """Every query's graded documents from the highest grade to the lowest; those of one grade by reciprocal rank fusion
    of ``runs`` (k = 60), as a reranker would leave them, and documents that no run returns last."""
    pair = qrels.query * len(qrels.docs) + qrels.doc
    order = np.argsort(pair)
    pairs = pair[order]
    fused = np.zeros(len(pair))
    for run in runs:
        query, doc = (
            ids.encode(own.decode(codes))
            for ids, own, codes in ((qrels.queries, run.queries, run.query), (qrels.docs, run.docs, run.doc))
        )
        codes = np.where((query >= 0) & (doc >= 0), query * len(qrels.docs) + doc, -1)
        place = np.searchsorted(pairs, codes)
        found = np.append(pairs, -2)[place] == codes
        fused[order[place[found]]] += 1 / (_K + run.rank[found])
    _, grade = np.unique(qrels.relevance, return_inverse=True)
    # No fused score reaches 1, so that it only decides between equal grades.
    score = grade + fused / (1 + fused.max(initial=0.0))
    return Run.ranked(run_tag, qrels.queries, qrels.docs, qrels.query, qrels.doc, score)
