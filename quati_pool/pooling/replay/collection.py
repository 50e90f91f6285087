"""A collection whose candidates people have all graded: what a replay tries methods on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.candidates import Candidates
from quati_pool.pooling.replay.ndcg import condensed, mean_ndcg
from quati_pool.pooling.replay.results import Ranking, Scoring
from quati_pool.records import Int, Qrels, Run
from quati_pool.stats.rank_correlation import kendall_tau, tau_ap, top_tau

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NO_GRADE = np.iinfo(np.int64).min
"""In arrays of grades: there is none."""
_TOP = 10
_DECIMALS = 12


@dataclass(frozen=True, eq=False)
class JudgedCollection:
    """Runs with the grades of people and of a judge.

    The pairs are those that any run ranks or people have graded, sorted by query: ``query`` and ``doc``, shape
    (pairs,), are codes of the vocabularies that the ``runs`` share. ``people`` and ``judge``, same shape, are grades,
    NO_GRADE where there is none. ``ranked``, shape (systems, queries, depth), are each run's pairs in the order of
    their ranks, −1 after the last one.
    """

    runs: tuple[Run, ...]
    query: Int
    doc: Int
    people: Int
    judge: Int
    ranked: Int
    cutoff: int

    @property
    def graded(self) -> Flags:
        """Whether people graded each pair, shape (pairs,)."""
        known: Flags = self.people != NO_GRADE
        return known

    def numbers(self, candidates: Candidates) -> Int:
        """The pair of each candidate, shape (candidates,)."""
        width = len(self.runs[0].docs)
        return np.searchsorted(self.query * width + self.doc, candidates.query * width + candidates.doc)

    def truth(self, systems: Sequence[int] | None = None) -> Values:
        """The mean of each system from all grades."""
        ranked = self.ranked if systems is None else self.ranked[np.array(systems)]
        return mean_ndcg(ranked, self.people.astype(np.float64), self.query, self.cutoff, self.graded)

    def by_pool(self, judged: Flags, systems: Sequence[int] | None = None) -> Values:
        """The mean of each system from the ``judged`` pairs, others as 0."""
        ranked = self.ranked if systems is None else self.ranked[np.array(systems)]
        return mean_ndcg(ranked, self.people.astype(np.float64), self.query, self.cutoff, judged & self.graded)

    def rankings(self, judged: Flags, hybrid: Callable[[Int], Values] | None) -> dict[Scoring, Ranking]:
        """The systems from the ``judged`` pairs, shape (pairs,), compared to the truth. ``hybrid`` gives the expected
        gain of every pair from the grades that are known, NO_GRADE elsewhere."""
        judged = judged & self.graded
        gains = self.people.astype(np.float64)
        truth = self.truth()
        scores: dict[Scoring, Values] = {
            "unjudged-as-0": self.by_pool(judged),
            "condensed": mean_ndcg(condensed(self.ranked, judged), gains, self.query, self.cutoff, judged),
        }
        if hybrid is not None:
            expected = hybrid(np.where(judged, self.people, NO_GRADE))
            scores["hybrid"] = mean_ndcg(self.ranked, expected, self.query, self.cutoff)
        return {scoring: compared(values, truth) for scoring, values in scores.items()}


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
    """``runs`` over the vocabulary of the queries that people judged; runs and qrels share their vocabularies."""
    width = len(runs[0].docs)
    keys = [run.pair for run in runs]
    graded = people.query * width + people.doc
    pairs = np.unique(np.concatenate([*keys, graded]))
    query, doc = np.divmod(pairs, width)
    depth = max(int(run.rank.max(initial=0)) for run in runs)
    ranked = np.full((len(runs), len(runs[0].queries), depth), -1, dtype=np.int64)
    for system, run in enumerate(runs):
        ranked[system, run.query, run.rank - 1] = np.searchsorted(pairs, run.pair)
    return JudgedCollection(
        tuple(runs), query, doc, _grades(pairs, width, people), _grades(pairs, width, judge), ranked, cutoff
    )


def _grades(pairs: Int, width: int, qrels: Qrels | None) -> Int:
    found = np.full(len(pairs), NO_GRADE, dtype=np.int64)
    if qrels is not None and len(pairs):
        key = qrels.query * width + qrels.doc
        place = np.minimum(np.searchsorted(pairs, key), len(pairs) - 1)
        known = pairs[place] == key
        found[place[known]] = qrels.relevance[known]
    return found
