"""A collection whose candidates people have all graded: what a replay tries methods on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.candidates import Candidates
from quati_pool.pooling.replay.ndcg import condensed, mean_ndcg
from quati_pool.pooling.replay.results import Ranking, Scoring
from quati_pool.records import Ids, Int, Qrels, Run, code_ids
from quati_pool.stats.rank_correlation import kendall_tau, tau_ap, top_tau

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NO_GRADE = np.iinfo(np.int64).min
"""In arrays of grades: there is none."""
Hybrid = Callable[[Int], Values]
"""From people's grades of some pairs, shape (pairs,), NO_GRADE elsewhere, the mean of each system, with the judge's
grades for what people did not grade."""
_TOP = 10
_DECIMALS = 12


@dataclass(frozen=True, eq=False)
class JudgedCollection:
    """Runs with the grades of people and of a judge.

    The pairs are those that any run ranks or people have graded, sorted by query: ``query`` and ``doc``, shape
    (pairs,), are codes of the vocabularies that the ``runs`` share. ``people``, same shape, are people's grades, 0
    where there is none, which ``graded`` tells apart; ``judge`` are a judge's, NO_GRADE where there is none.
    ``ranked``, shape (systems, queries, depth), are each run's pairs in the order of their ranks, −1 after the last
    one.
    """

    runs: tuple[Run, ...]
    query: Int
    doc: Int
    people: Int
    graded: Flags
    judge: Int
    ranked: Int
    cutoff: int

    def numbers(self, candidates: Candidates) -> Int:
        """The pair of each candidate, shape (candidates,)."""
        width = len(self.runs[0].docs)
        return np.searchsorted(self.query * width + self.doc, candidates.query * width + candidates.doc)

    def head(self, depth: int) -> JudgedCollection:
        """The same pairs, with the first ``depth`` ranks of the runs only."""
        return replace(self, runs=tuple(run.head(depth) for run in self.runs), ranked=self.ranked[:, :, :depth])

    def within(self, depth: int) -> Int:
        """The pairs that any run ranks among its first ``depth``, ascending."""
        ranks = self.ranked[:, :, :depth]
        return np.unique(ranks[ranks >= 0])

    @cached_property
    def truth(self) -> Values:
        """The mean of each system from all of people's grades, shape (systems,)."""
        return self.by_pool(np.ones(len(self.query), dtype=bool))

    def by_pool(self, judged: Flags, systems: Sequence[int] | slice = slice(None)) -> Values:
        """The mean of each of the ``systems`` from people's grades of the ``judged`` pairs, shape (pairs,), with others
        as 0."""
        return self._mean(self.ranked[systems], judged)

    def condensed(self, judged: Flags) -> Values:
        """The mean of each system from the ``judged`` pairs alone, which move up in the rankings, shape (systems,)."""
        return self._mean(condensed(self.ranked, judged), judged)

    def rankings(self, judged: Flags, hybrid: Hybrid | None) -> dict[Scoring, Ranking]:
        """The systems scored from people's grades of the ``judged`` pairs, shape (pairs,), compared to the truth."""
        scores: dict[Scoring, Values] = {"unjudged-as-0": self.by_pool(judged), "condensed": self.condensed(judged)}
        if hybrid is not None:
            scores["hybrid"] = hybrid(np.where(judged, self.people, NO_GRADE))
        return {scoring: compared(values, self.truth) for scoring, values in scores.items()}

    def _mean(self, ranked: Int, judged: Flags) -> Values:
        return mean_ndcg(ranked, np.where(judged, self.people, 0).astype(np.float64), self.query, self.cutoff)


def compared(scores: Values, truth: Values) -> Ranking:
    """The ranking by ``scores``, shape (systems,), against that by ``truth``; scores that differ in their last bits
    only are ties."""
    error = scores - truth
    found, reference = np.round(scores, _DECIMALS)[None], np.round(truth, _DECIMALS)[None]
    return Ranking(
        _defined(kendall_tau(found, reference)),
        _defined(tau_ap(found, reference)),
        _defined(top_tau(found, reference, _TOP)),
        float(error.mean()),
        float(np.sqrt((error * error).mean())),
    )


def _defined(values: Values) -> float | None:
    (value,) = values.tolist()
    return None if np.isnan(value) else value


def judged_collection(runs: Sequence[Run], people: Qrels, judge: Qrels | None, cutoff: int) -> JudgedCollection:
    """The ``runs`` on the queries that people judged, measured by nDCG@``cutoff``.

    Raises ValueError without a run.
    """
    if not runs:
        raise ValueError("there is no run")
    queries = Ids(people.queries.decode(np.unique(people.query)))
    given = [people] if judge is None else [people, judge]
    docs, _ = code_ids([*(run.docs.values for run in runs), *(qrels.docs.values for qrels in given)])
    runs = [_answering(run, queries, docs) for run in runs]
    width = max(len(docs), 1)
    of_people = _pairs(people, queries, docs)
    pairs = np.unique(np.concatenate([of_people[0], *(run.query * width + run.doc for run in runs)]))
    query, doc = np.divmod(pairs, width)
    depth = max(int(run.rank.max(initial=0)) for run in runs)
    ranked = np.full((len(runs), len(queries), depth), -1, dtype=np.int64)
    for system, run in enumerate(runs):
        ranked[system, run.query, run.rank - 1] = np.searchsorted(pairs, run.query * width + run.doc)
    none = np.empty(0, dtype=np.int64)
    of_judge = (none, none) if judge is None else _pairs(judge, queries, docs)
    grades, judges = (_grades(pairs, *one) for one in (of_people, of_judge))
    graded = grades != NO_GRADE
    return JudgedCollection(tuple(runs), query, doc, np.where(graded, grades, 0), graded, judges, ranked, cutoff)


def _answering(run: Run, queries: Ids, docs: Ids) -> Run:
    """The run's rows of the ``queries``, over these and ``docs``."""
    query = queries.encode(run.queries.values)[run.query] if len(run.queries) else run.query
    kept = query >= 0
    of_run = (run.query[kept], run.doc[kept], run.rank[kept], run.score[kept])
    return Run(run.run_tag, run.queries, run.docs, *of_run).over(queries, docs)


def _pairs(qrels: Qrels, queries: Ids, docs: Ids) -> tuple[Int, Int]:
    """The pairs of the ``queries``, as query · documents + document, and their grades."""
    query = queries.encode(qrels.queries.decode(qrels.query))
    doc = docs.encode(qrels.docs.decode(qrels.doc))
    kept = query >= 0
    return query[kept] * max(len(docs), 1) + doc[kept], qrels.relevance[kept]


def _grades(pairs: Int, graded: Int, grades: Int) -> Int:
    """The grade of each of the ascending ``pairs``, NO_GRADE without one."""
    found = np.full(len(pairs), NO_GRADE, dtype=np.int64)
    if len(pairs):
        place = np.minimum(np.searchsorted(pairs, graded), len(pairs) - 1)
        known = pairs[place] == graded
        found[place[known]] = grades[known]
    return found
