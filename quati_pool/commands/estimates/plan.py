"""``quati-pool estimate --plan``: how much people have to grade for what estimates are to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal

import numpy as np

from quati_pool.commands.estimates.estimate import EstimateReport, estimate
from quati_pool.commands.estimates.frame_estimator import pair_frame
from quati_pool.commands.estimates.inputs import chosen_runs, one_state, workspace
from quati_pool.commands.estimates.plan_settings import CORRELATION, PlanSettings
from quati_pool.commands.estimates.settings import DEFAULT_MEASURE, EstimateSettings, measures_of, seed_of
from quati_pool.commands.estimates.sources import (
    LabelInputs,
    chosen_people,
    grades_of,
    judged,
    named_source,
    people_in_words,
    warnings_of,
)
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.estimation.estimated import compared
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame, judge_or_mean
from quati_pool.estimation.pair_measures import PairMeasure, served_by_pairs
from quati_pool.estimation.pair_refusals import PLANNED_IDEAL
from quati_pool.estimation.planning import PlannedDesign, Planner, TriedDesign, queries_by_residuals
from quati_pool.estimation.planning_goals import Detection, Goal, HalfWidth
from quati_pool.estimation.results import Target
from quati_pool.estimation.synthetic_grades import grades_by_correlation, grades_from_labels
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.graded_frame import GradedPairs
from quati_pool.labels.peoples_grades import PeoplesGrades, read_people
from quati_pool.labels.qrels import grades_by_pair
from quati_pool.labels.sampling_frame import graded_pairs
from quati_pool.project.events import Listener
from quati_pool.project.runs import RunSet
from quati_pool.records import Int
from quati_pool.registry import nearest
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.labels.labelers import Grading

SECONDS_PER_LABEL = 30.0
MINUTES_PER_QUERY = 2.0

LEAST_LABELS = 100
"""With fewer labels, or labels of fewer than 8 queries, plans are made as if there were none."""
_TRUTHS = 6
"""Sets of grades that designs are tried out on."""
_UNLABELLED = 0.15
"""The share of ``PLANNED_IDEAL`` that is planned with where no labels say how many documents are relevant for people:
judges often find more, and the fewer there are, the less well the ideal is known. On TREC DL 2021 the error is
several times the one that grades distributed like GPT-4o's suggest."""

Source = Literal["seen", "given", "assumed"]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What grading takes: seconds for each label and, besides, minutes for each query, and where these are from.
    ``timed``: the labels whose times were seen."""

    seconds_per_label: float
    seconds_from: Source
    minutes_per_query: float
    minutes_from: Source
    timed: int = 0

    def hours(self, design: PlannedDesign) -> float:
        """Hours of people's time."""
        return design.labels * self.seconds_per_label / 3600 + design.queries * self.minutes_per_query / 60


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """What one measure needs for one target. ``queries`` is None where there are fewer than 8, ``pairs`` for a measure
    that drawn pairs cannot serve. ``comparisons`` share the level of significance; 0 without a goal for differences."""

    measure: str
    target: Target
    queries: PlannedDesign | None
    pairs: PlannedDesign | None
    comparisons: int

    @property
    def designs(self) -> tuple[PlannedDesign, ...]:
        return tuple(one for one in (self.queries, self.pairs) if one is not None)


@dataclass(frozen=True, eq=False)
class PlanReport:
    """The result of ``estimate --plan``: one plan for each measure and target.

    ``queries``, ``pairs`` and ``systems`` count those of the pool and the runs. ``labels`` of ``labelled`` queries, by
    ``people`` in words, are what was planned from; ``correlation`` is None then, else what was planned from instead.
    ``correlation_from`` says whether it was given.
    """

    settings: PlanSettings
    people: str | None
    judge: str
    judge_version: str | None
    queries: int
    pairs: int
    systems: int
    labels: int
    labelled: int
    correlation: float | None
    correlation_from: Source
    plans: tuple[LabelPlan, ...]
    effort: Effort
    seed: int
    warnings: tuple[str, ...] = ()


def plan_estimate(
    config_path: Path,
    settings: PlanSettings,
    files: LabelFiles | None = None,
    runs: Sequence[str] = (),
    *,
    pool: Path | None = None,
    database: str | None = None,
    listener: Listener | None = None,
) -> PlanReport:
    """Plans how much people have to grade to estimate the workspace's runs, or those of the ``runs`` options.

    ``files`` are label files by name, to which people and judge of ``settings.estimate`` may refer; people may have
    graded nothing yet. Raises QuatiPoolError if the judge has not, or for a measure that can only be planned later.
    """
    settings.check()
    files, of = files or LabelFiles(), settings.estimate
    planning = planned_from(config_path, settings, files, runs, pool=pool, database=database, listener=listener)
    known, run_set = planning.known, planning.run_set
    plans: list[LabelPlan] = []
    for measure in planning.measures:
        served = served_by_pairs(measure)
        if served is not None:
            plans += planning.by_trial(served)
            continue
        if not planning.from_labels:
            raise ConfigError(
                f"{measure} is no sum over pairs, and can be planned only from {FEWEST_QUERIES} or more whole queries "
                f"that people have graded, without --correlation; before that, plan --measures {DEFAULT_MEASURE}"
            )
        wanted = replace(of, measures=[measure], targets=("these-queries", *of.targets))
        report = estimate(config_path, wanted, files, runs, pool=pool, database=database)
        plans += planning.by_residuals(report)
    return PlanReport(
        settings=settings,
        people=known.people,
        judge=known.judge.name,
        judge_version=known.judge.version if known.judge.origin is None else None,
        queries=len(known.pairs.query_ids),
        pairs=len(known.pairs.query),
        systems=len(planning.run_tags),
        labels=planning.labels,
        labelled=planning.labelled,
        correlation=None if planning.from_labels else planning.correlation,
        correlation_from="assumed" if settings.correlation is None else "given",
        plans=tuple(plans),
        effort=effort_of(settings, known.seconds),
        seed=planning.seed,
        warnings=(*warnings_of(known.gathered), *run_set.warnings, *planning.warnings),
    )


def planned_from(
    config_path: Path,
    settings: PlanSettings,
    files: LabelFiles,
    runs: Sequence[str] = (),
    *,
    pool: Path | None = None,
    database: str | None = None,
    listener: Listener | None = None,
) -> Planning:
    """What plans are made from, as for ``plan_estimate``. Raises QuatiPoolError if the judge has graded nothing."""
    of = settings.estimate
    people_in_file = of.people in files.files
    config = None
    if not (of.judge in files.files and runs and (of.people is None or people_in_file)):
        config = workspace(config_path, of.people, of.judge, files, runs, people_required=False)
    of_files = config is None or people_in_file
    with one_state(None if of_files else config, database) as (store, _):
        known = _known(LabelInputs(config, files, pool, store, of_files), of)
    run_set = chosen_runs(config, runs)
    if not (known.pairs.judge != NO_GRADE).any():
        raise QuatiPoolError("the judge has graded none of these pairs; run: quati-pool judge")
    (listener or Listener()).progress("plan", 0, 0)
    return Planning(known, run_set, settings, measures_of(of, config), seed_of(of, config))


@dataclass(frozen=True, eq=False)
class Known:
    """What is known before planning. ``people`` says in words whose grades there are, None without any; ``seconds`` are
    the times of their labels."""

    gathered: Gathered
    pairs: GradedPairs
    people: str | None
    judge: LabelSource
    seconds: Sequence[float] = ()


def _known(inputs: LabelInputs, settings: EstimateSettings) -> Known:
    gathered, judge = judged(inputs, settings)
    if inputs.of_files:
        source = None if settings.people is None else named_source(gathered, settings.people)
        grades = PeoplesGrades((), grades_by_pair(source.qrels) if source else {})
        return Known(gathered, graded_pairs(grades, judge.qrels), source.name if source else None, judge)
    grading = inputs.grading(settings)
    if settings.people is None and not grading.people():
        pairs = [(one.query_id, one.doc_id) for chunk in grading.pairs() for one in chunk]
        return Known(gathered, graded_pairs(PeoplesGrades(pairs, {}), judge.qrels), None, judge)
    people = read_people(grading, chosen_people(grading, settings))
    words = settings.people or people_in_words(people.names)
    return Known(gathered, graded_pairs(people, judge.qrels), words, judge, tuple(seconds_of_labels(grading)))


def seconds_of_labels(grading: Grading) -> Iterator[float]:
    """The active seconds of the latest labels of each person, as the app counts them."""
    from quati_pool.commands.annotate.grading.pace import RECENT
    from quati_pool.store.assessor_queries import last_labels

    for person in grading.people():
        for label in last_labels(grading.store, grading.config.name, person.name, RECENT):
            spent = label.extra.get("active_seconds")
            if isinstance(spent, (int, float)):
                yield float(spent)


def effort_of(settings: PlanSettings, seen: Sequence[float]) -> Effort:
    """By the options, or else the times of labels that were ``seen``, in seconds."""
    seconds: tuple[float, Source] = (SECONDS_PER_LABEL, "assumed")
    if settings.seconds_per_label is not None:
        seconds = (settings.seconds_per_label, "given")
    elif seen:
        seconds = (median(seen), "seen")
    minutes = settings.minutes_per_query
    return Effort(
        seconds_per_label=seconds[0],
        seconds_from=seconds[1],
        minutes_per_query=MINUTES_PER_QUERY if minutes is None else minutes,
        minutes_from="assumed" if minutes is None else "given",
        timed=len(seen) if seconds[1] == "seen" else 0,
    )


class Planning:
    """Plans for ``measures`` of the runs of ``run_set``."""

    def __init__(
        self, known: Known, run_set: RunSet, settings: PlanSettings, measures: tuple[str, ...], seed: int
    ) -> None:
        self.known, self.run_set, self.measures, self.seed = known, run_set, measures, seed
        self._settings = settings
        pairs = known.pairs
        qrels = pairs.qrels(judge_or_mean(pairs.query, len(pairs.query_ids), pairs.judge))
        self._joined = JudgedRuns(run_set.answering(qrels), qrels)
        self.run_tags = [run.run_tag for run in self._joined.runs]
        self._compared = self._comparisons()
        graded = pairs.people != NO_GRADE
        self.labels, self.labelled = int(graded.sum()), len(np.unique(pairs.query[graded]))
        self.correlation = CORRELATION if settings.correlation is None else settings.correlation

    @property
    def from_labels(self) -> bool:
        enough = self.labels >= LEAST_LABELS and self.labelled >= FEWEST_QUERIES
        return enough and self._settings.correlation is None

    @property
    def warnings(self) -> list[str]:
        if not self.labels or self.from_labels:
            return []
        found = f"{counted(self.labels, 'label', 'labels')} of {counted(self.labelled, 'query', 'queries')}"
        if self._settings.correlation is not None:
            return [f"{found} by people are not used, as --correlation is given"]
        return [f"{found} by people are too few to plan from (at least {LEAST_LABELS}, of {FEWEST_QUERIES} queries)"]

    def by_trial(self, measure: PairMeasure) -> Iterator[LabelPlan]:
        """The plans for each target, tried out on grades that people might give."""
        for target, planner, few in self._planners(measure):
            yield self._plan(measure.name, target, None if few else planner.queries(), planner.pairs(self._ideal_error))

    def given(
        self, measure: PairMeasure, queries: int, pairs: int
    ) -> Iterator[tuple[Target, TriedDesign | None, TriedDesign | None]]:
        """What that many ``queries`` drawn whole, and that many ``pairs`` drawn for the measure, give for each target;
        None for fewer than are planned."""
        for target, planner, few in self._planners(measure):
            whole = None if few else planner.given_queries(queries)
            yield target, whole, planner.given_pairs(pairs, self._ideal_error)

    def _planners(self, measure: PairMeasure) -> Iterator[tuple[Target, Planner, bool]]:
        """One for each target, and whether there are too few queries to draw whole ones."""
        frame = pair_frame(self._joined, self.known.pairs.judge, measure.cutoff)
        truths = [self._truth(frame, number) for number in range(_TRUTHS)]
        for target in self._settings.estimate.targets:
            planner = Planner(frame, measure, grades_of(self.known.gathered), truths, self._goal, target, self.seed)
            yield target, planner, frame.queries < FEWEST_QUERIES

    @property
    def _ideal_error(self) -> float:
        return PLANNED_IDEAL if self.from_labels else _UNLABELLED * PLANNED_IDEAL

    def by_residuals(self, report: EstimateReport) -> Iterator[LabelPlan]:
        """The plans for each target, from estimates for these queries and for each target."""
        these, *targets = report.estimates
        for one in targets:
            yield self._plan(one.measure, one.target, queries_by_residuals(these, one, report.drawn, self._goal), None)

    def _truth(self, frame: PairFrame, number: int) -> Int:
        generator = np.random.default_rng([self.seed, number])
        if self.from_labels:
            return grades_from_labels(frame, self.known.pairs.people, generator)
        return grades_by_correlation(frame, self.correlation, generator)

    def _plan(
        self, measure: str, target: Target, queries: PlannedDesign | None, pairs: PlannedDesign | None
    ) -> LabelPlan:
        comparisons = len(self._goal.a) if isinstance(self._goal, Detection) else 0
        return LabelPlan(measure, target, queries, pairs, comparisons)

    @cached_property
    def _goal(self) -> Goal:
        settings = self._settings
        level = settings.estimate.alpha / settings.estimate.looks
        if settings.half_width is not None:
            return HalfWidth(most=settings.half_width, level=level)
        assert settings.difference is not None, "one of both is the goal"
        a, b = self._compared
        return Detection(most=settings.difference, power=settings.planned_power, level=level, a=a, b=b)

    def _comparisons(self) -> tuple[Int, Int]:
        """The positions of the systems that are compared: all pairs, or each with the baseline."""
        baseline, systems = self._settings.estimate.baseline, len(self.run_tags)
        if baseline is not None and baseline not in self.run_tags:
            raise ConfigError(f"--baseline {baseline}: no such run; {nearest(baseline, self.run_tags)}")
        if self._settings.difference is not None and systems < 2:
            raise ConfigError("--difference needs two systems, and there is one run; plan --half-width")
        return compared(systems, None if baseline is None else self.run_tags.index(baseline))
