"""Selects the queries that means are taken over: all judged ones, those that all runs return, or each run's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quati_pool.errors import QuatiPoolError
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import Scores
from quati_pool.records import Qrels

QUERIES = ("judged", "common", "returned")
"""All judged queries, where a query that a run lacks counts as 0 (trec_eval -c); the queries that all runs return; or
the queries that each run itself returns (trec_eval without -c)."""


def over_queries(queries: str, joined: JudgedRuns, scores: Scores) -> tuple[JudgedRuns, Scores]:
    """The judged runs and their scores, restricted to the queries that ``queries``, one of QUERIES, selects.

    Raises QuatiPoolError if there are no such queries for a run, or for all runs together.
    """
    lacking = scores.missing.sum(axis=1)
    worst = int(lacking.argmax())
    if queries == "returned":
        if scores.missing[worst].all():
            run_tag = scores.run_tags[worst]
            raise QuatiPoolError(f"{run_tag} returns no judged query, so that it has no mean over those; leave it out")
        return joined, replace(scores, own=True)
    common = np.flatnonzero(~scores.missing.any(axis=0))
    if queries == "judged" or len(common) == len(scores.query_ids):
        return joined, scores
    if not len(common):
        most_lacking = f"{scores.run_tags[worst]} returns {len(scores.query_ids) - lacking[worst]:,}"
        raise QuatiPoolError(
            f"no judged query is returned by all {len(scores.run_tags):,} runs, and {most_lacking} of "
            f"{len(scores.query_ids):,}; leave it out, or give --queries judged"
        )
    scores, qrels = scores.over(common), joined.qrels
    kept = np.isin(qrels.query, qrels.queries.encode(scores.query_ids))
    columns = (qrels.query[kept], qrels.doc[kept], qrels.relevance[kept])
    return JudgedRuns(joined.runs, Qrels(qrels.queries, qrels.docs, *columns, qrels.sample)), scores
