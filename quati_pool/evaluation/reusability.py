"""How reusable a pool is for systems that did not feed it: leave-one-out by system or family, and hole rates.

Leave-one-out removes the judgements that only one system (Zobel, SIGIR 1998) or its family (Büttcher et al., SIGIR
2007) brought into the pool, and measures all systems under the remaining judgements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.evaluation.incremental_measures import Recount, recountable
from quati_pool.evaluation.judged_runs import JudgedRows, JudgedRuns, Judgements
from quati_pool.evaluation.measures import DEFAULTS, deepest, resolve
from quati_pool.evaluation.scores import Values, score
from quati_pool.evaluation.system_ranks import ranks, rounded
from quati_pool.processes.threads import in_threads
from quati_pool.records import Ids, Qrels, Run
from quati_pool.stats.rank_correlation import kendall_tau

CUTOFFS = (5, 10, 20, 100)

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Change:
    """A system's mean and rank among all systems under the full qrels and under the reduced ones."""

    before: float
    after: float
    rank_before: int
    rank_after: int

    @property
    def difference(self) -> float:
        """The mean after minus the mean before: below 0 if leaving the system out lowers its mean."""
        return self.after - self.before

    @property
    def rank_change(self) -> int:
        """Ranks gained; below 0 if ranks are lost."""
        return self.rank_before - self.rank_after


@dataclass(frozen=True)
class LeftOut:
    """A system under the qrels without the judgements that only it, or its family, brought into the pool.

    ``left_out`` names the system or family; ``depth`` is the system's own pool depth, 0 if it did
    not feed the pool. ``unique_pairs`` counts the judgements removed, ``unique_relevant`` those among
    them with a grade of 1 or above, ``emptied_queries`` the queries that lose all their judgements.
    """

    run_tag: str
    left_out: str
    depth: int
    unique_pairs: int
    unique_relevant: int
    emptied_queries: int
    measures: dict[str, Change]


@dataclass(frozen=True)
class Stability:
    """How stable one measure is over all systems: Kendall's τ-b between the ranking under the full qrels and the
    ranking by the mean that each system has when left out, and the mean and largest absolute change of a mean.

    The changes are over the systems that fed the pool, or whose family did; None if there are none. ``tau`` is None
    if it is undefined; ``undefined`` then says why.
    """

    tau: float | None
    mean_change: float | None
    max_change: float | None
    undefined: str | None = None


@dataclass(frozen=True)
class LeaveOut:
    """The results of leaving out every system in turn, in the order of the runs. Means are over all ``queries`` of the
    full qrels; queries that lose all their judgements count as 0."""

    by: Literal["system", "family"]
    queries: int
    judged_pairs: int
    systems: tuple[LeftOut, ...]
    measures: dict[str, Stability]


class Unjudged(NamedTuple):
    """How many documents a run returned within a cutoff, over all judged queries, and how many are unjudged."""

    run_tag: str
    returned: int
    unjudged: int

    @property
    def share(self) -> float | None:
        """The share of returned documents that are unjudged; None if the run returned nothing."""
        return self.unjudged / self.returned if self.returned else None


@dataclass(frozen=True)
class Holes:
    """Unjudged documents among the top documents of a run, by cutoff, over the judged ``queries``.

    For ``missing_queries`` of these the run returned no document, so they do not affect the rates.
    """

    run_tag: str
    queries: int
    missing_queries: int
    cutoffs: dict[int, Unjudged]


def leave_one_system_out(
    joined: JudgedRuns,
    depths: Mapping[str, int],
    extra: Iterable[tuple[str, str]] = (),
    measures: Sequence[str] = DEFAULTS,
) -> LeaveOut:
    """Measures each system under the qrels without its unique pairs: judged pairs within its pool depth that are
    within the pool depth of no other system.

    ``depths`` gives pool depths by run_tag; 0 or no entry for a system that did not feed the pool. ``extra`` holds
    pairs (query_id, doc_id) that came into the pool by other means and are therefore kept; judged pairs that no
    system contributed are kept too.

    Raises QuatiPoolError for empty qrels, two runs with the same name, a pool depth for a run that is not
    given, and a run without any judged query; ConfigError for a measure that cannot be computed.
    """
    return _leave_out("system", joined, depths, {}, extra, measures)


def leave_one_family_out(
    joined: JudgedRuns,
    depths: Mapping[str, int],
    families: Mapping[str, str],
    extra: Iterable[tuple[str, str]] = (),
    measures: Sequence[str] = DEFAULTS,
) -> LeaveOut:
    """Measures each system under the qrels without the pairs that only its family, ``families[run_tag]``, contributed.

    A system without a family is one by itself. Otherwise like ``leave_one_system_out``.
    """
    return _leave_out("family", joined, depths, families, extra, measures)


def hole_rates(joined: JudgedRuns, cutoffs: Sequence[int] = CUTOFFS) -> tuple[Holes, ...]:
    """For each run and cutoff, the share of unjudged documents among the top documents, over all judged queries;
    where a run returned fewer documents than the cutoff, only those it returned count.

    Raises ConfigError for a cutoff below 1, QuatiPoolError for a run without any judged query.
    """
    low = next((cutoff for cutoff in cutoffs if cutoff < 1), None)
    if low is not None:
        raise ConfigError(f"the cutoff is {low}; give a whole number from 1")
    queries = len(joined.judged.query_ids)
    found = []
    for run, rows in zip(joined.runs, joined.rows(max(cutoffs, default=1)), strict=True):
        rates = {}
        for cutoff in cutoffs:
            judgement = rows.judgement[rows.rank <= cutoff]
            rates[cutoff] = Unjudged(run.run_tag, len(judgement), int((judgement < 0).sum()))
        found.append(Holes(run.run_tag, queries, queries - len(np.unique(rows.query)), rates))
    return tuple(found)


def _leave_out(
    by: Literal["system", "family"],
    joined: JudgedRuns,
    depths: Mapping[str, int],
    families: Mapping[str, str],
    extra: Iterable[tuple[str, str]],
    measures: Sequence[str],
) -> LeaveOut:
    wanted = resolve(measures)
    runs, qrels, judged = joined.runs, joined.qrels, joined.judged
    _check(runs, qrels, depths)
    groups = [families.get(run.run_tag, run.run_tag) for run in runs]
    names = list(dict.fromkeys(groups))
    group = np.array([names.index(name) for name in groups], dtype=np.int64)
    rows = joined.rows(_depth(wanted, depths))
    unique = _unique(judged, rows, [depths.get(run.run_tag, 0) for run in runs], group, len(names))
    unique[_extra(qrels, extra)] = False

    scorer = _Scorer(joined, rows, wanted)
    full = scorer.means(np.ones(len(qrels), dtype=bool))
    reduced = list(in_threads(lambda gone: scorer.means(~gone) if gone.any() else full, unique.T))
    ranks_full, ranks_reduced = ranks(full), [ranks(means) for means in reduced]
    systems = []
    for row, (run, place) in enumerate(zip(runs, group, strict=True)):
        means = zip(full[row].tolist(), reduced[place][row].tolist(), strict=True)
        run_ranks = zip(ranks_full[row].tolist(), ranks_reduced[place][row].tolist(), strict=True)
        changes = (Change(*mean, *rank) for mean, rank in zip(means, run_ranks, strict=True))
        systems.append(
            LeftOut(
                run.run_tag,
                groups[row],
                depths.get(run.run_tag, 0),
                *_losses(judged, unique[:, place]),
                dict(zip(map(str, wanted), changes, strict=True)),
            )
        )
    fed = {name for name, run in zip(groups, runs, strict=True) if depths.get(run.run_tag, 0) > 0}
    feeding = np.array([name in fed for name in groups], dtype=bool)
    own = np.array([reduced[place][row] for row, place in enumerate(group)]).reshape(len(runs), len(wanted))
    stability = {
        str(measure): _stability(full[:, column], own[:, column], feeding) for column, measure in enumerate(wanted)
    }
    return LeaveOut(by, len(judged.query_ids), len(qrels), tuple(systems), stability)


def _depth(wanted: Sequence[Any], depths: Mapping[str, int]) -> int | None:
    """How many documents per query the recounted measures and the pool depths need; None for all."""
    recounted = [measure for measure in wanted if recountable(measure)]
    depth = deepest(recounted) if recounted else 1
    return None if depth is None else max([depth, *depths.values()])


def _losses(judged: Judgements, gone: Flags) -> tuple[int, int, int]:
    """The number of judgements removed, the number of these with grade 1 or above, and the number of queries left
    without any judgement."""
    queries = len(judged.query_ids)
    before = np.bincount(judged.query, minlength=queries)
    emptied = np.bincount(judged.query[gone], minlength=queries) == before
    return int(gone.sum()), int((gone & (judged.relevance >= 1)).sum()), int(emptied.sum())


def _check(runs: Sequence[Run], qrels: Qrels, depths: Mapping[str, int]) -> None:
    run_tags = [run.run_tag for run in runs]
    twice = next((run_tag for run_tag in run_tags if run_tags.count(run_tag) > 1), None)
    if twice is not None:
        raise QuatiPoolError(f"two runs are called {twice!r}; rename one")
    absent = next((run_tag for run_tag, depth in depths.items() if depth > 0 and run_tag not in run_tags), None)
    if absent is not None:
        raise QuatiPoolError(
            f"{absent} contributed to the pool, but its run is not given, so that what it shares would count as "
            "unique to others; give its run too"
        )
    if not len(qrels):
        raise QuatiPoolError("the qrels hold no judgement to leave out; judge the pool first")


def _unique(
    judged: Judgements, rows: Sequence[JudgedRows], depths: Sequence[int], group: npt.NDArray[Any], groups: int
) -> Flags:
    """Which judgements only one group contributed, shape (judgements, groups)."""
    fed = np.zeros((len(judged.query), groups), dtype=bool)
    for one, depth, place in zip(rows, depths, group, strict=True):
        fed[one.judgement[(one.rank <= depth) & (one.judgement >= 0)], place] = True
    alone: Flags = fed & (fed.sum(axis=1) == 1)[:, None]
    return alone


def _extra(qrels: Qrels, extra: Iterable[tuple[str, str]]) -> Flags:
    """Which judgements are of the ``extra`` pairs, shape (judgements,)."""
    pairs = list(extra)
    query = qrels.queries.encode([query_id for query_id, _ in pairs])
    doc = qrels.docs.encode([doc_id for _, doc_id in pairs])
    known = (query >= 0) & (doc >= 0)
    step = len(qrels.docs)
    found: Flags = np.isin(qrels.query * step + qrels.doc, query[known] * step + doc[known])
    return found


class _Scorer:
    """Computes the means of all runs and measures under subsets of the judgements.

    Common measures are recounted (``incremental_measures``). ir_measures computes the others: once in full, then only
    for the queries that lose a judgement.
    """

    def __init__(self, joined: JudgedRuns, rows: Sequence[JudgedRows], wanted: Sequence[Any]) -> None:
        runs, judged = joined.runs, joined.judged
        self._runs, self._qrels, self._judged = runs, joined.qrels, judged
        self._recounted = [column for column, measure in enumerate(wanted) if recountable(measure)]
        self._scored = [column for column, measure in enumerate(wanted) if not recountable(measure)]
        self._recount = Recount(judged, rows, [wanted[column] for column in self._recounted])
        self._names = [str(wanted[column]) for column in self._scored]
        self._shape = (len(runs), len(wanted))
        self._full = score(joined, self._names).values if self._names else None
        query_ids = Ids(judged.query_ids)
        self._queries = [query_ids.encode(run.queries.values)[run.query] for run in runs] if self._names else []

    def means(self, kept: Flags) -> Values:
        """The means under only the ``kept`` judgements, a mask of shape (judgements,); shape (runs, measures)."""
        means = np.zeros(self._shape)
        means[:, self._recounted] = self._recount.values(kept).mean(axis=2)
        if self._full is not None:
            means[:, self._scored] = self._rescored(self._full, kept).mean(axis=2)
        return means

    def _rescored(self, full: Values, kept: Flags) -> Values:
        changed = np.zeros(len(self._judged.query_ids), dtype=bool)
        changed[self._judged.query[~kept]] = True
        left = np.flatnonzero(kept & changed[self._judged.query])
        values = full.copy()
        values[:, :, changed] = 0
        if len(left):
            # ir_measures does not accept queries that have no judgement left.
            changed[:] = False
            changed[self._judged.query[left]] = True
            runs = [
                _chosen(run, (query >= 0) & changed[query])
                for run, query in zip(self._runs, self._queries, strict=True)
            ]
            found = score(JudgedRuns(runs, _reduced(self._qrels, left)), self._names)
            place = {query_id: position for position, query_id in enumerate(self._judged.query_ids)}
            values[:, :, [place[query_id] for query_id in found.query_ids]] = found.values
        return values


def _chosen(run: Run, rows: Flags) -> Run:
    return Run(run.run_tag, run.queries, run.docs, run.query[rows], run.doc[rows], run.rank[rows], run.score[rows])


def _reduced(qrels: Qrels, rows: npt.NDArray[Any]) -> Qrels:
    return Qrels(qrels.queries, qrels.docs, qrels.query[rows], qrels.doc[rows], qrels.relevance[rows])


def _stability(full: Values, own: Values, feeding: Flags) -> Stability:
    """The stability of one measure; ``own``, shape (runs,), holds each system's mean when it is left out."""
    before, after = rounded(full), rounded(own)
    tau = float(kendall_tau(before[None], after[None])[0])
    undefined = None
    if np.isnan(tau):
        undefined = "fewer than two systems" if len(full) < 2 else "all systems are tied before or after"
    changes = np.abs(own - full)[feeding]
    return Stability(
        tau=None if undefined else tau,
        mean_change=float(changes.mean()) if len(changes) else None,
        max_change=float(changes.max()) if len(changes) else None,
        undefined=undefined,
    )
