"""The pool: the query-document pairs to judge, and the rank that each system gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quati_pool.records import Ids, Int, Run, align, code_ids


@dataclass(frozen=True, eq=False)
class Pool:
    """The pairs to judge, sorted by query, then doc_id, so that their order does not reveal ranks.

    ``ranks``, shape (pairs, systems), is the ledger: the rank of each pair in each system's run, 0 if the system did
    not return it. ``depths``, shape (systems,), is the number of documents per query that each system feeds into the
    pool, 0 for a system that is only in the ledger.
    """

    queries: Ids
    docs: Ids
    query: Int
    doc: Int
    run_tags: tuple[str, ...]
    depths: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def fed(self) -> npt.NDArray[np.bool_]:
        """Whether each pair was fed into the pool by each system, shape (pairs, systems); a pair fed by none of them
        is an extra one."""
        return (self.ranks > 0) & (self.ranks <= self.depths)


def depth_pool(runs: Sequence[Run], depths: Mapping[str, int], extra: Sequence[tuple[str, str]] = ()) -> Pool:
    """The depth pool of ``runs``: the first ``depths[run_tag]`` documents per query of each run, and the ``extra``
    (query_id, doc_id) pairs.

    A depth of 0 means that the system does not feed the pool. The queries of extra pairs must be in the vocabulary of
    the first run. Queries keep the order of their vocabulary.
    """
    runs = align([*runs, _extra_run(extra, runs[0].queries)] if extra else runs)
    runs, added = (runs[:-1], runs[-1:]) if extra else (runs, [])
    feeding = [run.pair[run.rank <= depths[run.run_tag]] for run in runs]
    pairs = np.unique(np.concatenate([*feeding, *(run.pair for run in added)]))
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
    )


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
