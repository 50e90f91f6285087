"""Estimates measures of runs from people's grades of a sample and a judge's of all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import ConfigError, QuatiPoolError, TranslatableText
from quati_pool.estimation.pair_estimates import PairEstimator, PairMeans, folds
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame, judge_or_mean
from quati_pool.estimation.pair_measures import PairMeasure, parse_pair_measure, tie_bound
from quati_pool.estimation.pair_refusals import LEAST_BY_CHANCE, ideal_is_unsure, too_few
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.estimation.results import Estimate, Target
from quati_pool.estimation.summary import Choices, Labelled, PairValues, QueryValues, from_pairs, from_queries
from quati_pool.evaluation.judged_runs import JudgedRuns, condensed, emptied_if_unjudged
from quati_pool.evaluation.measures import deepest, resolve
from quati_pool.evaluation.scores import Values, score
from quati_pool.labels.graded_frame import GradedFrame
from quati_pool.labels.sampling_frame import AHEAD
from quati_pool.project.runs import RunSet
from quati_pool.records import Int, Run
from quati_pool.registry import nearest
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.text.pluralize import counted, first_of

MOST_NOT_JUDGED = 0.05
"""The share of pairs that people could not judge, above which estimates also show what these pairs could change."""
_TOP = 10
"""The ranks in which documents outside the pool are counted, where a measure has no cutoff."""


class TooFewQueriesError(QuatiPoolError):
    """Fewer than FEWEST_QUERIES ``queries`` are graded in full."""

    def __init__(self, queries: int, message: str) -> None:
        self.queries = queries
        super().__init__(message)


class FrameEstimator:
    """Estimates measures of runs from a graded frame."""

    def __init__(
        self, frame: GradedFrame, run_set: RunSet, settings: EstimateSettings, scale: list[int], seed: int
    ) -> None:
        self._frame, self._settings, self._scale, self._seed = frame, settings, scale, seed
        if not (frame.judge != NO_GRADE).any():
            text = "the judge has graded none of these pairs; run: quati-pool judge"
            raise QuatiPoolError(TranslatableText(text, "judge_graded_none"))
        self._judge = judge_or_mean(frame.query, len(frame.query_ids), frame.judge)
        qrels = frame.qrels(self._judge)
        self._joined = JudgedRuns(run_set.answering(qrels), qrels)
        self._run_tags = [run.run_tag for run in self._joined.runs]
        if settings.baseline is not None and settings.baseline not in self._run_tags:
            hint = nearest(settings.baseline, self._run_tags)
            raise ConfigError(f"--baseline {settings.baseline}: no such run; {hint}")

    def _choices(self, measure: str) -> Choices:
        settings = self._settings
        return Choices(
            baseline=settings.baseline,
            alpha=settings.alpha,
            delta=tie_bound(settings.delta, measure, self._scale),
            looks=settings.looks,
            seed=self._seed,
        )

    def warnings(self, measures: Sequence[str]) -> list[str]:
        found = []
        if without_majority := self._frame.drawn.without_majority:
            found.append(f"{without_majority}; decide them in the app's review, or ask for --aggregate mean")
        if blocked := self._blocked():
            found.append(blocked)
        depth = deepest(resolve(measures)) or _TOP
        rows = self._joined.rows(depth)
        unknown = max(one.unjudged_queries for one in rows)
        if unknown:
            found.append(
                f"the runs answer {counted(unknown, 'query', 'queries')} of which nobody graded a pair, and which are "
                "no part of the estimate"
            )
        queries = len(self._frame.query_ids)
        lacking = {tag: queries - len(np.unique(one.query)) for tag, one in zip(self._run_tags, rows, strict=True)}
        most_first = sorted((tag for tag, count in lacking.items() if count), key=lambda tag: (-lacking[tag], tag))
        if most_first:
            without_results = first_of([f"{tag} has no results for {lacking[tag]:,}" for tag in most_first])
            found.append(f"of the {queries:,} queries, {without_results}; without results a system scores 0")
        outside = sum(int((one.judgement < 0).sum()) for one in rows)
        if outside:
            found.append(
                f"{outside:,} of {sum(len(one.query) for one in rows):,} documents in the first {depth} ranks are "
                "outside the pool, and count as not relevant"
            )
        return found

    def estimates(self, measures: Sequence[str]) -> tuple[Estimate, ...]:
        if self._frame.asked is None:
            assert self._frame.queries is not None, "queries or pairs were drawn"
            return tuple(self._from_queries(self._frame.queries, measures))
        served = [parse_pair_measure(measure) for measure in measures]
        frame = pair_frame(self._joined, self._frame.judge, max(measure.cutoff for measure in served))
        return tuple(found for measure in served for found in self._from_pairs(frame, measure))

    def _from_queries(self, sample: QuerySample, measures: Sequence[str]) -> Iterator[Estimate]:
        if len(sample.drawn) < FEWEST_QUERIES:
            raise self._too_few(len(sample.drawn))
        judge = score(self._joined, measures)
        people = self._people_values(sample, measures)
        changes, rankings = self._changes(sample, measures, people), self._rankings(measures)
        for place, measure in enumerate(measures):
            values = QueryValues(
                people[:, place].T, judge.values[:, place].T, sample, complete=not self._frame.drawn.not_judged
            )
            for target in self._settings.targets:
                found = from_queries(measure, target, self._run_tags, values, self._choices(measure), rankings)
                yield self._bounded(found, changes[:, :, place])

    def _too_few(self, queries: int) -> TooFewQueriesError:
        blocked = self._blocked()
        text = (
            f"{self._frame.drawn.design}: {counted(queries, 'query is', 'queries are')} graded in full, and an "
            f"interval needs at least {FEWEST_QUERIES}; have more queries graded{blocked and f'; {blocked}'}"
        )
        return TooFewQueriesError(queries, TranslatableText(text, "few_queries", count=queries, least=FEWEST_QUERIES))

    def _blocked(self) -> str:
        """Which query is the first that is not graded in full, if later ones are."""
        drawn = self._frame.drawn
        if not drawn.waiting or not drawn.left_out.get(AHEAD):
            return ""
        return f"query {drawn.waiting!r} waits, and later ones are done, which count only after it"

    def _people_values(self, sample: QuerySample, measures: Sequence[str]) -> Values:
        """The measures for the drawn queries, shape (runs, measures, drawn), without the pairs that people could not
        judge, as if these had never been in the pool."""
        frame = self._frame
        rows = np.flatnonzero(frame.not_judged)
        query_ids = frame.query_ids.decode(frame.query[rows]).to_pylist()
        doc_ids = frame.doc_ids.decode(frame.doc[rows]).to_pylist()
        runs = [condensed(run, query_ids, doc_ids) for run in self._joined.runs]
        return self._drawn_values(runs, frame.people, sample, measures)

    def _drawn_values(self, runs: Sequence[Run], grades: Int, sample: QuerySample, measures: Sequence[str]) -> Values:
        """The measures of runs for the drawn queries under some grades; 0 for a query without a graded pair."""
        qrels = self._frame.qrels(grades, np.isin(self._frame.query, sample.drawn))
        scores = score(JudgedRuns([emptied_if_unjudged(run, qrels) for run in runs], qrels), measures)
        values = np.zeros((len(runs), len(measures), len(sample.drawn)))
        graded = self._frame.query_ids.encode(scores.query_ids)
        values[:, :, np.searchsorted(sample.drawn, graded)] = scores.values
        return values

    def _changes(self, sample: QuerySample, measures: Sequence[str], people: Values) -> Values:
        """How far each system's estimate would fall and rise with the grades of ``_extremes``, shape (runs, 2,
        measures); no rows where ``_extremes`` has none. An estimate changes by as much as the mean of the drawn queries
        does, as its λ is from the others."""
        changes = [
            [
                (self._drawn_values([run], grades, sample, measures) - people[place])[0] @ sample.shares
                for grades in extremes
            ]
            for place, (run, extremes) in enumerate(zip(self._joined.runs, self._extremes(measures), strict=False))
        ]
        return np.array(changes).reshape(len(changes), 2, len(measures))

    def _extremes(self, measures: Sequence[str]) -> Iterator[tuple[Int, Int]]:
        """For each system, if people could not judge many pairs, all grades with these pairs at its worst and at its
        best: what it ranks as far as the measures read has the lowest grade and the rest the highest, and the
        reverse."""
        frame = self._frame
        if frame.drawn.not_judged <= MOST_NOT_JUDGED * (frame.drawn.labels + frame.drawn.not_judged):
            return
        lowest, highest = self._scale[0], self._scale[-1]
        for rows in self._joined.rows(deepest(resolve(measures))):
            ranked = np.zeros(len(frame.query), dtype=np.bool_)
            ranked[rows.judgement[rows.judgement >= 0]] = True
            worst, best = np.where(ranked, lowest, highest), np.where(ranked, highest, lowest)
            yield np.where(frame.not_judged, worst, frame.people), np.where(frame.not_judged, best, frame.people)

    def _bounded(self, found: Estimate, changes: Values) -> Estimate:
        """The estimate with what it would be if it changed, by ``changes``, shape (runs, 2)."""
        if not len(changes):
            return found
        of = dict(zip(self._run_tags, changes.tolist(), strict=True))
        systems = (
            replace(one, bounds=(one.estimate + min(*of[one.run_tag], 0), one.estimate + max(*of[one.run_tag], 0)))
            for one in found.systems
        )
        return replace(found, systems=tuple(systems))

    def _rankings(self, measures: Sequence[str]) -> list[int]:
        """A number for each system; equal ones rank the pool's pairs alike as far as the measures read."""
        known: dict[bytes, int] = {}
        rows = self._joined.rows(deepest(resolve(measures)))
        keys = (b"".join(column.tobytes() for column in (one.query, one.rank, one.judgement)) for one in rows)
        return [known.setdefault(key, len(known)) for key in keys]

    def _from_pairs(self, frame: PairFrame, measure: PairMeasure) -> Iterator[Estimate]:
        fold = folds(len(frame), self._seed)
        estimator = PairEstimator(frame, measure, self._scale, fold)
        sample = self._frame.pair_sample(self._frame.people)
        queries = slice(None) if self._frame.queries is None else self._frame.queries.drawn
        if self._frame.queries is not None and len(self._frame.queries.drawn) < FEWEST_QUERIES:
            raise self._too_few(len(self._frame.queries.drawn))
        if too_few(sample.inclusion):
            text = (
                f"{self._frame.drawn.design}: {counted(len(sample), 'pair is', 'pairs are')} too few for an interval, "
                f"which needs {LEAST_BY_CHANCE}; have more pairs graded"
            )
            raise QuatiPoolError(TranslatableText(text, "few_pairs", count=len(sample), least=LEAST_BY_CHANCE))
        if "queries-like-these" in self._settings.targets and len(self._frame.query_ids) < FEWEST_QUERIES:
            raise QuatiPoolError(
                f"queries like these are estimated from at least {FEWEST_QUERIES} queries; ask for --target "
                "these-queries"
            )
        judge = estimator.under(self._judge.astype(np.float64))
        found = estimator.estimate(sample)
        if ideal_is_unsure(measure, found.ideal_error[queries]):
            raise _too_few_pairs(measure, len(sample))
        alone = PairEstimator(frame, measure, self._scale, fold, use_judge=False).estimate(sample)
        changes = [
            [
                (estimator.estimate(self._frame.pair_sample(grades)).by_query - found.by_query)[queries, system].mean()
                for grades in extremes
            ]
            for system, extremes in enumerate(self._extremes([measure.name]))
        ]
        for target in self._settings.targets:
            estimate = self._of_pairs(measure.name, target, found, alone, judge)
            yield self._bounded(estimate, np.array(changes).reshape(len(changes), 2))

    def _of_pairs(self, measure: str, target: Target, found: PairMeans, alone: PairMeans, judge: Values) -> Estimate:
        queries, drawn = self._frame.queries, self._frame.drawn
        choices, rankings = self._choices(measure), self._rankings([measure])
        if queries is None:
            values = PairValues(found, alone, judge, Labelled(drawn.labels, drawn.pairs, "pairs"))
            return from_pairs(measure, target, self._run_tags, values, choices, rankings)
        share = len(queries.drawn) / drawn.queries
        of_queries = QueryValues(
            found.by_query[queries.drawn],
            judge,
            queries,
            alone=alone.by_query[queries.drawn],
            noise=found.rows / share,
        )
        return from_queries(measure, target, self._run_tags, of_queries, choices, rankings)


def pair_frame(joined: JudgedRuns, judge: Int, depth: int) -> PairFrame:
    """All pairs of the qrels of ``joined``, with the ``judge``'s grades, shape (pairs,), and their places in the first
    ``depth`` ranks of the runs."""
    rows, judged = joined.rows(depth), joined.judged
    known = [one.judgement >= 0 for one in rows]
    return PairFrame(
        judged.query,
        len(judged.query_ids),
        judge,
        len(rows),
        np.concatenate([one.judgement[inside] for one, inside in zip(rows, known, strict=True)]),
        np.repeat(np.arange(len(rows)), [inside.sum() for inside in known]),
        np.concatenate([one.rank[inside] for one, inside in zip(rows, known, strict=True)]),
    )


def _too_few_pairs(measure: PairMeasure, labels: int) -> QuatiPoolError:
    text = (
        f"{counted(labels, 'pair', 'pairs')} are too few for {measure.name}: the ideal ranking of a query remains "
        f"unknown; ask for --measures {measure.name.removeprefix('n')}, or have more pairs graded"
    )
    return QuatiPoolError(TranslatableText(text, "unsure_ideal", count=labels, measure=measure.name))
