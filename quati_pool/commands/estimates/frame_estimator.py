"""Estimates measures of runs from people's grades of a sample and a judge's of all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quati_pool.commands.estimates.settings import EstimateSettings
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.estimation.pair_estimates import PairEstimator, PairMeans, folds
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame, judge_or_mean
from quati_pool.estimation.pair_measures import PairMeasure, highest_value, parse_pair_measure
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.estimation.results import Estimate, Target
from quati_pool.estimation.summary import Choices, Labelled, QueryValues, from_pairs, from_queries
from quati_pool.evaluation.judged_runs import JudgedRuns, emptied_if_unjudged
from quati_pool.evaluation.measures import deepest, resolve
from quati_pool.evaluation.scores import Values, score
from quati_pool.labels.graded_frame import (
    GradedFrame,
    GradedPairs,
)
from quati_pool.project.runs import RunSet
from quati_pool.records import Int
from quati_pool.registry import nearest
from quati_pool.text.pluralize import counted

MOST_NOT_JUDGED = 0.05
"""The share of pairs that people could not judge, above which estimates also show what these pairs could change."""
UNSURE_IDEAL = 0.5
"""The mean squared relative error of a query's ideal above which nDCG is not estimated from pairs: its bias then is no
longer small against its interval."""
DELTA = 0.02
"""Systems that differ by less than this share of the measure's highest value count as tied."""
_TOP = 10
"""The ranks in which documents outside the pool are counted, where a measure has no cutoff."""


class FrameEstimator:
    """Estimates measures of runs from a graded frame."""

    def __init__(
        self, frame: GradedFrame, run_set: RunSet, settings: EstimateSettings, scale: list[int], seed: int
    ) -> None:
        self._frame, self._settings, self._scale, self._seed = frame, settings, scale, seed
        if not (frame.judge != NO_GRADE).any():
            raise QuatiPoolError("the judge has graded none of these pairs; run: quati-pool judge")
        self._judge = judge_or_mean(frame.query, len(frame.query_ids), frame.judge)
        qrels = frame.qrels(self._judge)
        self._joined = JudgedRuns(run_set.answering(qrels), qrels)
        self._run_tags = [run.run_tag for run in self._joined.runs]
        if settings.baseline is not None and settings.baseline not in self._run_tags:
            hint = nearest(settings.baseline, self._run_tags)
            raise ConfigError(f"--baseline {settings.baseline}: no such run; {hint}")

    def _choices(self, measure: str) -> Choices:
        settings, delta = self._settings, self._settings.delta
        return Choices(
            baseline=settings.baseline,
            alpha=settings.alpha,
            delta=DELTA * highest_value(measure, self._scale) if delta is None else delta,
            looks=settings.looks,
            seed=self._seed,
        )

    def warnings(self, measures: Sequence[str]) -> list[str]:
        found = []
        if self._frame.tied:
            found.append(
                f"{counted(self._frame.tied, 'pair has', 'pairs have')} no majority, and count like pairs that could "
                "not be judged; decide them in the app's review, or ask for --aggregate mean"
            )
        depth = deepest(resolve(measures)) or _TOP
        rows = self._joined.rows(depth)
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
        frame = pair_frame(self._frame, self._joined, max(measure.cutoff for measure in served))
        return tuple(found for measure in served for found in self._from_pairs(frame, measure))

    def _from_queries(self, sample: QuerySample, measures: Sequence[str]) -> Iterator[Estimate]:
        judge = score(self._joined, measures)
        people, *extremes = (self._people_values(sample, grades, measures) for grades in self._filled())
        for place, measure in enumerate(measures):
            for target in self._settings.targets:
                found, *others = (
                    from_queries(
                        measure,
                        target,
                        self._run_tags,
                        QueryValues(values[:, place].T, judge.values[:, place].T, sample),
                        self._choices(measure),
                        self._rankings(measures),
                    )
                    for values in (people, *extremes)
                )
                yield _bounded(found, others)

    def _people_values(self, sample: QuerySample, grades: Int, measures: Sequence[str]) -> Values:
        """The measures for the drawn queries, shape (runs, measures, drawn); 0 for a query without a graded pair."""
        qrels = self._frame.qrels(grades, np.isin(self._frame.query, sample.drawn))
        runs = [emptied_if_unjudged(run, qrels) for run in self._joined.runs]
        scores = score(JudgedRuns(runs, qrels), measures)
        values = np.zeros((len(runs), len(measures), len(sample.drawn)))
        graded = self._frame.query_ids.encode(scores.query_ids)
        values[:, :, np.searchsorted(sample.drawn, graded)] = scores.values
        return values

    def _filled(self) -> Iterator[Int]:
        """People's grades, and, if they could not judge many pairs, these grades with the lowest grade for such pairs,
        and with the highest."""
        frame = self._frame
        yield frame.people
        if frame.drawn.not_judged > MOST_NOT_JUDGED * (frame.drawn.labels + frame.drawn.not_judged):
            for grade in (self._scale[0], self._scale[-1]):
                yield np.where(frame.not_judged, grade, frame.people)

    def _rankings(self, measures: Sequence[str]) -> list[int]:
        """A number for each system; equal ones rank the pool's pairs alike as far as the measures read."""
        known: dict[bytes, int] = {}
        rows = self._joined.rows(deepest(resolve(measures)))
        keys = (b"".join(column.tobytes() for column in (one.query, one.rank, one.judgement)) for one in rows)
        return [known.setdefault(key, len(known)) for key in keys]

    def _from_pairs(self, frame: PairFrame, measure: PairMeasure) -> Iterator[Estimate]:
        fold = folds(len(frame), self._seed)
        estimator = PairEstimator(frame, measure, self._scale, fold)
        samples = [self._frame.pair_sample(grades) for grades in self._filled()]
        judge = estimator.under(self._judge.astype(np.float64))
        alone = PairEstimator(frame, measure, self._scale, fold, use_judge=False).estimate(samples[0])
        means = [estimator.estimate(sample) for sample in samples]
        _check_ideal(means[0], measure, len(samples[0]))
        for target in self._settings.targets:
            found, *others = (self._of_pairs(measure.name, target, one, alone, judge) for one in means)
            yield _bounded(found, others)

    def _of_pairs(self, measure: str, target: Target, found: PairMeans, alone: PairMeans, judge: Values) -> Estimate:
        queries, drawn = self._frame.queries, self._frame.drawn
        if queries is None:
            labelled = Labelled(drawn.labels, drawn.pairs)
            choices, rankings = self._choices(measure), self._rankings([measure])
            return from_pairs(measure, target, self._run_tags, found, alone, judge, labelled, choices, rankings)
        share = len(queries.drawn) / drawn.queries
        values = QueryValues(
            found.by_query[queries.drawn],
            judge,
            queries,
            alone=alone.by_query[queries.drawn],
            noise=found.rows / share,
        )
        rankings = self._rankings([measure])
        return from_queries(measure, target, self._run_tags, values, self._choices(measure), rankings)


def pair_frame(pairs: GradedPairs, joined: JudgedRuns, depth: int) -> PairFrame:
    """The pairs with their places in the first ``depth`` ranks of the runs; the qrels of ``joined`` are of all of
    them."""
    rows = joined.rows(depth)
    known = [one.judgement >= 0 for one in rows]
    pair = [one.judgement[inside] for one, inside in zip(rows, known, strict=True)]
    rank = [one.rank[inside] for one, inside in zip(rows, known, strict=True)]
    system = [np.full(len(one), place) for place, one in enumerate(pair)]
    return PairFrame(
        pairs.query,
        len(pairs.query_ids),
        pairs.judge,
        len(rows),
        np.concatenate(pair),
        np.concatenate(system),
        np.concatenate(rank),
    )


def _check_ideal(means: PairMeans, measure: PairMeasure, labels: int) -> None:
    if means.ideal_error > UNSURE_IDEAL:
        raise QuatiPoolError(
            f"{counted(labels, 'pair', 'pairs')} are too few for {measure.name}: the ideal ranking of a query remains "
            f"unknown; ask for --measures {measure.name.removeprefix('n')}, or have more pairs graded"
        )


def _bounded(found: Estimate, extremes: Sequence[Estimate]) -> Estimate:
    """The estimate with the lowest and the highest value of each system among the ``extremes``."""
    if not extremes:
        return found
    values = [{system.run_tag: system.estimate for system in one.systems} for one in (found, *extremes)]
    systems = (
        replace(one, bounds=(min(of[one.run_tag] for of in values), max(of[one.run_tag] for of in values)))
        for one in found.systems
    )
    return replace(found, systems=tuple(systems))
