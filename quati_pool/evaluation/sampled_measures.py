"""Measures of runs under sampled qrels: xinfAP, infNDCG, statAP and DCG, as measures of ir_measures.

xinfAP and infNDCG (Yilmaz, Kanoulas, Aslam, SIGIR 2008, sections 4 and 5) take strata with a sampling rate each, and
agree with NIST's sample_eval: its smoothing, its depth of 1,000 documents, its adjustment of xinfAP for queries with
more relevant documents than that, linear gains. statAP (Carterette, Pavlu, Kanoulas, Aslam, Allan, SIGIR 2008, section
3.2) and DCG take the probability of each judged pair. Without a sample, judged pairs are a census, of which a relevance
below 0 means that a pair was not drawn, as for trec_eval's infAP.

This module imports ir_measures: import it by ``measures.load_ir_measures``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from ir_measures import measures

from quati_pool.errors import ConfigError
from quati_pool.evaluation.judged_runs import JudgedRows, JudgedRuns, Judgements
from quati_pool.records import Int, Qrels, Run, Sample
from quati_pool.stats.ratio import ratio

Values = npt.NDArray[np.float64]

_DEPTH = 1000
# The smoothing of a stratum's precision, and how often it is added below the line; trec_eval's infAP adds it twice.
_SMALL, _BELOW = 1e-5, 3


# The library has no types.
_ir: Any = measures
_CUTOFF = {"cutoff": _ir.ParamInfo(dtype=int, required=True)}
_REL = {"rel": _ir.ParamInfo(dtype=int, default=1)}


class SampledMeasure(measures.Measure):
    """The base of measures that read how the pairs were drawn."""


class _XinfAP(SampledMeasure):
    NAME = __name__ = "xinfAP"
    SUPPORTED_PARAMS = _REL


class _InfNDCG(SampledMeasure):
    NAME = __name__ = "infNDCG"


class _StatAP(SampledMeasure):
    NAME = __name__ = "statAP"
    SUPPORTED_PARAMS = _REL


class _DCG(SampledMeasure):
    NAME = __name__ = "DCG"
    SUPPORTED_PARAMS = _CUTOFF


for _measure in (_XinfAP, _InfNDCG, _StatAP, _DCG):
    _ir.register(_measure())


def sampled_values(runs: Sequence[Run], qrels: Qrels, wanted: Sequence[Any], query_ids: Sequence[str]) -> Values:
    """The values of the measures ``wanted`` for the queries ``query_ids``, shape (runs, measures, queries); 0 for a
    query that a run lacks.

    Raises ConfigError for a measure that needs other knowledge of the sample than there is.
    """
    sample = qrels.sample or Sample(qrels, stratum=np.zeros(len(qrels), dtype=np.int64))
    lacking = next((str(one) for one in wanted if one.NAME not in _WITHOUT_STRATA and sample.stratum is None), None)
    if lacking is not None:
        raise lacking_pairs(lacking)
    joined = JudgedRuns(runs, sample.frame)
    frame = _Frame(joined.judged, sample)
    place = {query_id: at for at, query_id in enumerate(joined.judged.query_ids)}
    chosen = [place[query_id] for query_id in query_ids]
    values = np.empty((len(runs), len(wanted), len(query_ids)))
    for run, rows in enumerate(joined.rows(_DEPTH)):
        ranked = _Ranked(frame, rows)
        for column, measure in enumerate(wanted):
            values[run, column] = _COMPUTED[measure.NAME](frame, ranked, measure)[chosen]
    return values


def lacking_pairs(measure: str) -> ConfigError:
    """The error for a measure that reads the pairs that were not drawn, under prels."""
    return ConfigError(f"{measure} needs the pairs that were not drawn, which prels do not list; ask for statAP")


class _Frame:
    """The frame of a sample. A cell is a stratum of one query; ``cell`` has shape (frame,), ``size``, ``drawn`` and
    ``cell_query`` shape (cells,), ``weight``, the number of pairs that each drawn one stands for, shape (frame,)."""

    def __init__(self, judged: Judgements, sample: Sample) -> None:
        self.queries = len(judged.query_ids)
        self.query, self.relevance = judged.query, judged.relevance
        self.is_drawn = self.relevance >= 0
        if sample.inclusion is not None:
            self.is_drawn &= sample.inclusion > 0
            self.weight = ratio(np.ones(len(self.query)), sample.inclusion, otherwise=0)
            return
        assert sample.stratum is not None
        self.strata = int(sample.stratum.max(initial=0)) + 1
        self.stratum = sample.stratum
        self.cell: Int = self.query * self.strata + self.stratum
        cells = self.queries * self.strata
        self.size = np.bincount(self.cell, minlength=cells).astype(np.float64)
        drawn = np.bincount(self.cell, self.is_drawn, minlength=cells)
        self.weight = ratio(self.size, drawn, otherwise=0)[self.cell] * self.is_drawn

    def total(self, weights: Values) -> Values:
        """The sum over the frame of ``weights``, by query."""
        totals: Values = np.bincount(self.query, weights, minlength=self.queries).astype(np.float64)
        return totals

    def ideal(self) -> Values:
        """The ideal DCG of each query: as many documents of each grade as the sample lets expect, which need not be a
        whole number, the highest grade first."""
        ideal, rank = np.zeros(self.queries), np.zeros(self.queries)
        for grade in np.unique(self.relevance[self.relevance > 0])[::-1].tolist():
            expected = self.total(self.weight * (self.relevance == grade))
            # A sum of fractions that makes a whole number must not fall below it.
            whole = np.floor(expected + 1e-9).astype(np.int64)
            query = np.repeat(np.arange(self.queries), whole)
            first = np.concatenate([[0], np.cumsum(whole)[:-1]]) if self.queries else whole
            at = rank[query] + np.arange(len(query)) - first[query] + 1
            within = at <= _DEPTH
            ideal += np.bincount(query[within], grade / np.log2(at[within] + 1), minlength=self.queries)
            rank += expected
        return ideal


class _Ranked:
    """The rows of a run that are in the frame, sorted by query, then rank; ``pair`` are their places in the frame."""

    def __init__(self, frame: _Frame, rows: JudgedRows) -> None:
        there = rows.judgement >= 0
        self.query, self.rank, self.pair = rows.query[there], rows.rank[there], rows.judgement[there]
        self.drawn = frame.is_drawn[self.pair]
        self.relevance = np.where(self.drawn, frame.relevance[self.pair], -1)


def _xinfap(frame: _Frame, ranked: _Ranked, measure: Any) -> Values:
    """The expected precision at a relevant document, drawn at random: that of the strata above it, each with the share
    of relevant documents among its drawn ones (section 4.2)."""
    relevant = ranked.relevance >= measure["rel"]
    strata = frame.stratum[ranked.pair, None] == np.arange(frame.strata)
    everything = np.ones_like(relevant)
    above, drawn, found = (_above(strata & one[:, None], ranked.query) for one in (everything, ranked.drawn, relevant))
    shares = (found + _SMALL) / (drawn + _BELOW * _SMALL)
    precision = (1 + (above * shares).sum(axis=1)) / ranked.rank
    weights = frame.weight[ranked.pair] * relevant
    expected = frame.total(frame.weight * (frame.relevance >= measure["rel"]))
    total = np.bincount(ranked.query, weights * precision, minlength=frame.queries)
    return ratio(total, expected, otherwise=0) * np.maximum(expected / _DEPTH, 1)


def _above(counts: npt.NDArray[Any], query: Int) -> Values:
    """For each row, the sum of ``counts``, shape (rows, strata), over the rows of its query above it."""
    before = np.cumsum(counts, axis=0, dtype=np.float64) - counts
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]]) if len(query) else np.empty(0, dtype=np.int64)
    of_query = np.repeat(before[starts], np.diff(np.r_[starts, len(query)]), axis=0)
    above: Values = before - of_query
    return above


def _infndcg(frame: _Frame, ranked: _Ranked, measure: Any) -> Values:
    """The mean discounted gain of each stratum's drawn documents in the run, for all that the run has of the stratum
    (section 5), by that of an ideal ranking."""
    cell, cells = frame.cell[ranked.pair], len(frame.size)
    gains = np.bincount(cell, np.maximum(ranked.relevance, 0) / np.log2(ranked.rank + 1), minlength=cells)
    returned = np.bincount(cell, minlength=cells).astype(np.float64)
    drawn = np.bincount(cell, ranked.drawn, minlength=cells)
    dcg = (gains * ratio(returned, drawn, otherwise=0)).reshape(frame.queries, frame.strata).sum(axis=1)
    return ratio(dcg, frame.ideal(), otherwise=0)


def _statap(frame: _Frame, ranked: _Ranked, measure: Any) -> Values:
    """The precision at each relevant document, and their mean, from documents weighted by 1/π."""
    weights = frame.weight[ranked.pair] * (ranked.relevance >= measure["rel"])
    up_to = _above(weights[:, None], ranked.query)[:, 0] + weights
    total = np.bincount(ranked.query, weights * up_to / ranked.rank, minlength=frame.queries)
    relevant = frame.is_drawn & (frame.relevance >= measure["rel"])
    return ratio(total, frame.total(frame.weight * relevant), otherwise=0)


def _dcg(frame: _Frame, ranked: _Ranked, measure: Any) -> Values:
    """Σ gain / log2(rank + 1) up to the cutoff, where the gain is the grade: each drawn document stands for as many as
    its weight says."""
    gains = frame.weight[ranked.pair] * np.maximum(ranked.relevance, 0) * (ranked.rank <= measure["cutoff"])
    sums = np.bincount(ranked.query, gains / np.log2(ranked.rank + 1), minlength=frame.queries)
    return sums.astype(np.float64)


_COMPUTED = {"xinfAP": _xinfap, "infNDCG": _infndcg, "statAP": _statap, "DCG": _dcg}
_WITHOUT_STRATA = frozenset({"statAP", "DCG"})
