"""The pool: which query-document pairs to judge, and every system's rank of each."""

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

    ``ranks``, shape (pairs, systems), is the ledger: each system's rank of each pair, 0 where it did not return it.
    ``depths``, shape (systems,), holds the number of documents per query that each system feeds into the pool, 0
    for one that is only in the ledger.
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
        """Which system fed which pair into the pool, shape (pairs, systems); a pair that none fed is an extra one."""
        return (self.ranks > 0) & (self.ranks <= self.depths)


def depth_pool(runs: Sequence[Run], depths: Mapping[str, int], extra: Sequence[tuple[str, str]] = ()) -> Pool:
    """The depth pool of ``runs``: the first ``depths[run_tag]`` documents of each query and system,
    0 for a system that does not feed it, and ``extra`` pairs of query_id and doc_id, whose queries
    must be known to the first run. Queries keep the order of their vocabulary.
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
    """The number of pairs in a pool of ``runs`` at depth 1, 2, … to the deepest rank, shape (depth,)."""
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
