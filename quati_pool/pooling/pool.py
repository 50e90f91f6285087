"""The pool: the query-document pairs to judge, and the rank that each system gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quati_pool.records import Ids, Int, Qrels, Run, align, code_ids

DEPTH, EXTRA, RANDOM, KEPT = "depth", "extra", "random", "kept"
"""Why a pair is in a pool, other than by an adaptive method: it is among a run's first documents, in a file of pairs,
or was drawn at random; or it was in a former pool."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The pairs to judge, sorted by query, then doc_id, so that their order does not reveal ranks.

    ``ranks``, shape (pairs, systems), is the ledger: the rank of each pair in each system's run, 0 if the system did
    not return it. ``depths``, shape (systems,), is the number of documents per query that each system feeds into the
    pool, 0 for a system that is only in the ledger.

    ``round``, ``reason`` and ``inclusion``, shape (pairs,) each, say how each pair entered: in which round, from 1; why
    (``depth``, ``extra``, an adaptive method's name, ``random`` or ``kept``); and with what probability, NaN where it
    is unknown, as grades or the draw of other pairs chose the pair.
    """

    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    run_tags: tuple[str, ...]
    depths: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]
    round: npt.NDArray[np.int32]
    reason: npt.NDArray[np.object_]
    inclusion: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def fed(self) -> npt.NDArray[np.bool_]:
        """Whether each pair was fed into the pool by each system, shape (pairs, systems); a pair fed by none of them
        is an extra one."""
        fed: npt.NDArray[np.bool_] = (self.ranks > 0) & (self.ranks <= self.depths)
        return fed

    @property
    def adaptive(self) -> bool:
        """Whether grades chose some of the pairs, so that it is no depth pool of its systems."""
        return not {DEPTH, EXTRA, RANDOM}.issuperset(self.reason.tolist())


def depth_pool(runs: Sequence[Run], depths: Mapping[str, int], extra: Sequence[tuple[str, str]] = ()) -> Pool:
    """The depth pool of ``runs``: the first ``depths[run_tag]`` documents per query of each run, and the ``extra``
    (query_id, doc_id) pairs.

    A depth of 0 means that the system does not feed the pool. The queries of extra pairs must be in the vocabulary of
    the first run. Queries keep the order of their vocabulary.
    """
    runs, added = with_pairs(runs, extra)
    feeding = [run.pair[run.rank <= depths[run.run_tag]] for run in runs]
    pairs = np.unique(np.concatenate([*feeding, added]))
    entered = np.ones(len(pairs), dtype=np.int32), np.full(len(pairs), EXTRA, dtype=object), np.ones(len(pairs))
    pool = pool_of(runs, depths, pairs, *entered)
    return replace(pool, reason=np.where(pool.fed.any(axis=1), DEPTH, EXTRA).astype(object))


def with_pairs(runs: Sequence[Run], pairs: Sequence[tuple[str, str]]) -> tuple[list[Run], Int]:
    """The runs over vocabularies that have the documents of ``pairs`` (query_id, doc_id) too, and these pairs encoded
    as in ``Run.pair``. Their queries must be in the vocabulary of the first run."""
    if not pairs:
        return align(runs), np.empty(0, dtype=np.int64)
    *aligned, added = align([*runs, _extra_run(pairs, runs[0].queries)])
    return aligned, added.pair


def pool_of(
    runs: Sequence[Run],
    depths: Mapping[str, int],
    pairs: Int,
    rounds: npt.NDArray[np.int32],
    reason: npt.NDArray[np.object_],
    inclusion: npt.NDArray[np.float64],
) -> Pool:
    """The pool of ``pairs``, ascending and encoded as in ``Run.pair`` of the ``runs``, which share their vocabularies;
    for the other columns see ``Pool``."""
    ranks = np.zeros((len(pairs), len(runs)), dtype=np.int32)
    for column, run in enumerate(runs):
        row = np.searchsorted(pairs, run.pair)
        there = row < len(pairs)
        there[there] = pairs[row[there]] == run.pair[there]
        ranks[row[there], column] = run.rank[there]
    query, doc = np.divmod(pairs, max(len(runs[0].docs), 1))
    order = np.lexsort((runs[0].docs.lexicographic_rank(doc), query)) if len(pairs) else np.empty(0, dtype=np.int64)
    return Pool(
        runs[0].queries,
        runs[0].docs,
        query[order],
        doc[order],
        tuple(run.run_tag for run in runs),
        np.array([depths[run.run_tag] for run in runs], dtype=np.int32),
        ranks[order],
        rounds[order],
        reason[order],
        inclusion[order],
    )


def pool_grades(pool: Pool, qrels: Qrels) -> tuple[Int, npt.NDArray[np.bool_]]:
    """The grade of each pair of a pool (0 if it has none) and whether it has one, shape (pairs,) each."""
    query = qrels.queries.encode(pool.queries.decode(pool.query))
    doc = qrels.docs.encode(pool.docs.decode(pool.doc))
    relevance = np.zeros(len(pool), dtype=np.int64)
    graded = (query >= 0) & (doc >= 0)
    judged = qrels.query * max(len(qrels.docs), 1) + qrels.doc
    order = np.argsort(judged)
    wanted = query[graded] * max(len(qrels.docs), 1) + doc[graded]
    at = np.searchsorted(judged, wanted, sorter=order)
    found = at < len(judged)
    found[found] = judged[order[at[found]]] == wanted[found]
    relevance[np.flatnonzero(graded)[found]] = qrels.relevance[order[at[found]]]
    graded[graded] = found
    return relevance, graded


def growth(runs: Sequence[Run]) -> Int:
    """The number of pairs in a pool of ``runs`` at depths 1, 2, … up to the deepest rank, shape (depth,)."""
    runs = align(runs)
    step = max((int(run.rank.max(initial=0)) for run in runs), default=0) + 1
    keys = np.sort(np.concatenate([run.pair * step + run.rank for run in runs]))
    pairs, ranks = np.divmod(keys, step)
    best = np.r_[True, pairs[1:] != pairs[:-1]] if len(pairs) else np.empty(0, dtype=bool)
    return np.cumsum(np.bincount(ranks[best], minlength=step)[1:])


def _extra_run(extra: Sequence[tuple[str, str]], queries: Ids) -> Run:
    query = queries.encode([query_id for query_id, _ in extra])
    docs, (doc,) = code_ids([Ids([doc_id for _, doc_id in extra]).values])
    return Run.ranked("", queries, docs, query, doc, np.zeros(len(extra)))
