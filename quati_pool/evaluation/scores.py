"""Computes the values of measures for each run and judged query, with ir_measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.evaluation.judged_runs import JudgedRows, JudgedRuns, Judgements
from quati_pool.evaluation.measures import deepest, for_samples, load_ir_measures, provider, resolve
from quati_pool.files.problems import quoted
from quati_pool.records import MAX_GRADE, Int, Qrels
from quati_pool.registry import nearest
from quati_pool.stats.ratio import ratio

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

GDEVAL_GRADES = 4
"""The highest grade that gdeval accepts; it computes ERR and the exponential nDCG."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Values of measures for every run and judged query. Means are over all of these queries, or, with ``own``, over
    those that the run itself returned.

    ``query_ids``: all judged queries, in order of first appearance in the qrels. ``values``: shape
    (runs, measures, queries). ``missing``, shape (runs, queries): whether the run has no row for the query; its value
    is then the measure's default, 0. ``without_relevant``, shape (queries,): whether the query has no grade above 0.
    ``unjudged_queries``: for each run, the number of its queries that are not judged and so never count.
    """

    run_tags: tuple[str, ...]
    measures: tuple[str, ...]
    query_ids: tuple[str, ...]
    values: Values
    missing: Flags
    without_relevant: Flags
    unjudged_queries: tuple[int, ...]
    own: bool = False

    @property
    def averaged(self) -> Flags:
        """Which queries the means of each run are taken over, shape (runs, queries)."""
        return ~self.missing if self.own else np.ones_like(self.missing)

    def means(self) -> Values:
        """The mean of each run and measure, shape (runs, measures); NaN if it is over no queries."""
        return mean_over(self.values, self.averaged[:, None])

    def means_of(self, measure: str) -> Values:
        """The mean of one measure for each run, shape (runs,)."""
        return mean_over(self.of(measure), self.averaged)

    def over(self, queries: Int) -> Scores:
        """The scores restricted to the queries at these positions."""
        return replace(
            self,
            query_ids=tuple(self.query_ids[query] for query in queries),
            values=self.values.take(queries, axis=2),
            missing=self.missing.take(queries, axis=1),
            without_relevant=self.without_relevant[queries],
        )

    def of(self, measure: str) -> Values:
        """The values of one measure, shape (runs, queries)."""
        if measure not in self.measures:
            raise ConfigError(f"the measure {measure!r} was not computed; {nearest(measure, self.measures)}")
        values: Values = self.values[:, self.measures.index(measure)]
        return values


def mean_over(values: Values, averaged: Flags) -> Values:
    """Means over the last axis of the values where ``averaged`` is true; NaN if there are none."""
    if averaged.all() and values.shape[-1]:
        found: Values = values.mean(axis=-1)
        return found
    return ratio(np.where(averaged, values, 0).sum(axis=-1), averaged.sum(axis=-1))


def score(joined: JudgedRuns, measures: Sequence[str]) -> Scores:
    """Computes ``measures`` (names as ``parse_measures`` accepts them) for all runs under their qrels.

    All providers see the same ranking, that of the run: its scores are replaced by ones that follow from the rank,
    without ties.

    Raises ConfigError for a measure that cannot be computed; QuatiPoolError for one that its provider did not
    compute, for two runs with the same name, and for a run with rows, but none for a judged query. A run without rows
    is missing for all queries instead.
    """
    wanted = resolve(measures)
    runs, judged = joined.runs, joined.judged
    run_tags = tuple(run.run_tag for run in runs)
    twice = next((tag for tag in run_tags if run_tags.count(tag) > 1), None)
    if twice is not None:
        raise QuatiPoolError(f"two runs are called {twice!r}; rename one")
    queries = len(judged.query_ids)
    values = np.empty((len(runs), len(wanted), queries))
    values[:] = np.array([measure.DEFAULT for measure in wanted])[:, None]
    missing = np.ones((len(runs), queries), dtype=bool)
    unjudged = []
    sampled = [place for place, one in enumerate(wanted) if _of_sample(one, joined.qrels)]
    library = [place for place in range(len(wanted)) if place not in sampled]
    computed = [wanted[place] for place in library]
    depth = deepest(computed)
    evaluator = None
    if queries and computed:
        rankings = Rankings(judged, max((int(run.rank.max(initial=0)) for run in runs), default=0), depth)
        evaluator = _Evaluator(computed, judged, rankings)
    for run, rows in enumerate(joined.rows(depth)):
        unjudged.append(rows.unjudged_queries)
        if len(rows.query):
            missing[run, rows.query] = False
            if evaluator is not None:
                found = values[run, library]
                evaluator.fill(found, rows, run_tags[run])
                values[run, library] = found
    if sampled and queries:
        values[:, sampled] = _sampled_values(joined, [wanted[place] for place in sampled])
    relevant = np.bincount(judged.query, weights=judged.relevance > 0, minlength=queries)
    return Scores(
        run_tags=run_tags,
        measures=tuple(map(str, wanted)),
        query_ids=judged.query_ids,
        values=values,
        missing=missing,
        without_relevant=relevant == 0,
        unjudged_queries=tuple(unjudged),
    )


def _of_sample(measure: Any, qrels: Qrels) -> bool:
    """Whether a measure reads how the pairs were drawn: trec_eval's infAP does if they are a sample."""
    return for_samples(measure) or (measure.NAME == "infAP" and qrels.sample is not None)


def _frame(qrels: Qrels) -> Qrels | None:
    """All pairs that the judged ones were drawn from, in strata; None where they are not known."""
    return None if qrels.sample is None or qrels.sample.stratum is None else qrels.sample.frame


def _sampled_values(joined: JudgedRuns, wanted: Sequence[Any]) -> Values:
    """The values of measures for samples, shape (runs, measures, queries)."""
    from quati_pool.evaluation.sampled_measures import lacking_pairs, sampled_values

    query_ids, frame = joined.judged.query_ids, _frame(joined.qrels)
    values = np.empty((len(joined.runs), len(wanted), len(query_ids)))
    ours = [place for place, one in enumerate(wanted) if for_samples(one)]
    values[:, ours] = sampled_values(joined.runs, joined.qrels, [wanted[place] for place in ours], query_ids)
    theirs = [place for place in range(len(wanted)) if place not in ours]
    if theirs:
        if frame is None:
            raise lacking_pairs(str(wanted[theirs[0]]))
        scores = score(JudgedRuns(joined.runs, frame), [str(wanted[place]) for place in theirs])
        values[:, theirs] = scores.values[:, :, [scores.query_ids.index(query_id) for query_id in query_ids]]
    return values


class Rankings:
    """Rankings and qrels as the dictionaries that providers take, with short names instead of ids.

    A query is named by its position, a judged document by its place among the query's judgements, an unjudged document
    by its position in the ranking. Names never break ties, as there are none; short shared strings are faster than
    ids; and providers that read only numbers or ASCII (gdeval) can handle any collection.
    """

    def __init__(self, judged: Judgements, longest: int, depth: int | None) -> None:
        self._judged = judged
        self._longest = longest if depth is None else min(longest, depth)
        judgements = int(judged.place.max(initial=-1)) + 1
        self._unjudged_names = [f"u{position}" for position in range(self._longest)]
        self._judged_names = np.array([f"j{place}" for place in range(judgements)], dtype=object)
        # Integers up to 2²⁴ are exact in float32. No score is 0, which a provider reads as "not returned".
        self._scores = [float(n) for n in range(self._longest, 0, -1)]
        self._query_names = [str(query) for query in range(len(judged.query_ids))]
        self._last: dict[str, float] = {}

    def qrels(self) -> dict[str, dict[str, int]]:
        named: dict[str, dict[str, int]] = {name: {} for name in self._query_names}
        docs = self._judged_names[self._judged.place]
        # pytrec_eval ends the process if no grade of a query is above -2; it treats all grades below 0 as -1.
        relevance = np.maximum(self._judged.relevance, -1)
        judgements = (self._judged.query.tolist(), docs, relevance.tolist())
        for query, doc, relevance in zip(*judgements, strict=True):
            named[self._query_names[query]][doc] = relevance
        return named

    def of(self, rows: JudgedRows) -> dict[str, dict[str, float]]:
        starts = np.flatnonzero(np.r_[True, rows.query[1:] != rows.query[:-1]])
        lengths = np.diff(np.r_[starts, len(rows.query)])
        known = np.flatnonzero(rows.judgement >= 0)
        bounds = np.searchsorted(known, np.append(starts, len(rows.query))).tolist()
        docs = self._judged_names[self._judged.place[rows.judgement[known]]].tolist()
        positions = (known - np.repeat(starts, np.diff(bounds))).tolist()
        found = {}
        for n, (query, length) in enumerate(zip(rows.query[starts].tolist(), lengths.tolist(), strict=True)):
            # Most documents are unjudged, and copying a dictionary is faster than filling it.
            ranking = self._all_unjudged(length).copy()
            for at in range(bounds[n], bounds[n + 1]):
                del ranking[self._unjudged_names[positions[at]]]
                ranking[docs[at]] = self._scores[positions[at]]
            found[self._query_names[query]] = ranking
        return found

    def _all_unjudged(self, length: int) -> dict[str, float]:
        if len(self._last) != length:
            self._last = dict(zip(self._unjudged_names[:length], self._scores, strict=False))
        return self._last


class _Evaluator:
    """ir_measures under one set of qrels, without its default values: if a provider returns no finite number for a
    measure, the measure counts as not computed."""

    def __init__(self, wanted: Sequence[Any], judged: Judgements, rankings: Rankings) -> None:
        self._wanted, self._judged, self._rankings = wanted, judged, rankings
        evaluator = _evaluator(wanted, judged, rankings)
        # With several providers, there is one evaluator for each, and some of them sort all that they are given.
        evaluators = getattr(evaluator, "evaluators", [evaluator])
        self._evaluators = [(one, deepest(one.measures)) for one in evaluators]
        # Keyed by identity, because ir_measures hashes a measure by formatting its name, which is slow.
        self._column = {id(measure): place for place, measure in enumerate(wanted)}
        highest = np.zeros(len(judged.query_ids), dtype=np.int64)
        np.maximum.at(highest, judged.query, judged.relevance)
        # Providers may leave out a query without relevant documents; its value is the measure's default.
        self._expected = highest >= np.array([measure.params.get("rel", 1) for measure in wanted])[:, None]

    def fill(self, values: Values, rows: JudgedRows, run_tag: str) -> None:
        """Writes one run's values into ``values``, shape (measures, queries).

        Raises QuatiPoolError for a measure that was not computed for a query of the run.
        """
        given = np.zeros(values.shape, dtype=bool)
        try:
            for evaluator, depth in self._evaluators:
                ranking = self._rankings.of(rows if depth is None else rows.head(depth))
                for metric in _computed(evaluator, ranking):
                    at = self._column[id(metric.measure)], int(metric.query_id)
                    values[at] = metric.value
                    given[at] = True
        except Exception as error:
            raise _failed(self._wanted, error) from error
        in_run = np.zeros(values.shape[1], dtype=bool)
        in_run[rows.query] = True
        absent = np.argwhere(np.where(given, ~np.isfinite(values), self._expected & in_run)).tolist()
        if absent:
            row, query = absent[0]
            measure = self._wanted[row]
            got = f"gave {values[row, query]}" if given[row, query] else "gave nothing"
            raise QuatiPoolError(
                f"{measure} could not be computed: {provider(measure).NAME} {got} for the query "
                f"{quoted(self._judged.query_ids[query])} of the run {run_tag}; check the grades, or drop the measure"
            )


def _computed(evaluator: Any, ranking: dict[str, dict[str, float]]) -> Iterator[Any]:
    """The values that a provider itself returns, without the default values of ir_measures for the other queries.

    ir_measures adds these in ``Evaluator.iter_calc``, which few of its evaluators override.
    """
    replaced = "iter_calc" in vars(type(evaluator))
    yield from evaluator.iter_calc(ranking) if replaced else evaluator._iter_calc(ranking)


def _evaluator(wanted: Sequence[Any], judged: Judgements, rankings: Rankings) -> Any:
    ir_measures = load_ir_measures()
    highest = int(judged.relevance.max(initial=0))
    limited = [str(measure) for measure in wanted if provider(measure).NAME == "gdeval"]
    if limited and highest > GDEVAL_GRADES:
        raise QuatiPoolError(
            f"{limited[0]} is computed by gdeval, which takes grades up to {GDEVAL_GRADES}, and the qrels hold "
            f"{highest}; leave it out"
        )
    if int(np.abs(judged.relevance).max(initial=0)) > MAX_GRADE:
        raise QuatiPoolError(
            f"the qrels hold grades beyond ±{MAX_GRADE:,}, which providers of measures cannot hold; correct them"
        )
    try:
        return ir_measures.evaluator(wanted, rankings.qrels())
    except Exception as error:
        raise _failed(wanted, error) from error


def _failed(wanted: Sequence[Any], error: Exception) -> QuatiPoolError:
    reason = " ".join(str(error).split())
    return QuatiPoolError(
        f"ir_measures could not compute {', '.join(map(str, wanted))} ({type(error).__name__}: {reason}); "
        "ask for one measure at a time to see which fails, and leave it out"
    )
