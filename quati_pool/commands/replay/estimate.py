"""``quati-pool replay estimate``: tries out designs and estimates where people graded everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from quati_pool.commands.estimates.frame_estimator import pair_frame
from quati_pool.commands.estimates.inputs import chosen_runs, workspace
from quati_pool.commands.estimates.plan_settings import CORRELATION
from quati_pool.commands.estimates.settings import DEFAULT_MEASURE, check_decisions, check_targets
from quati_pool.commands.estimates.sources import named_source
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.estimation.gain_spread import LEAST_LABELS, Weighting
from quati_pool.estimation.pair_frame import NO_GRADE
from quati_pool.estimation.pair_measures import served_by_pairs, tie_bound
from quati_pool.estimation.replay.census import Census
from quati_pool.estimation.replay.results import Replay, ReplayPlan
from quati_pool.estimation.replay.running import replay
from quati_pool.estimation.results import TARGETS, Target
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.measures import parse_measures
from quati_pool.evaluation.scores import score
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource
from quati_pool.labels.sources import gather
from quati_pool.processes.local import LocalEngine
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.project.runs import RunSet
from quati_pool.records import Int, Qrels
from quati_pool.registry import nearest
from quati_pool.stats.sample_sizes import FEWEST_QUERIES
from quati_pool.text.pluralize import counted


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """What is replayed.

    ``people``, ``judge`` and ``further_judges`` are names of labelers or of label files. ``queries``: how many are
    drawn whole; ``pairs``: how many are expected to be drawn as pairs, None for as many as the queries have on average.
    ``systems``: the run_tags of those that are estimated, all if empty. ``delta`` is as in ``EstimateSettings``.
    ``workers``: processes, None for one per core. ``by``: what pairs are drawn by, besides ``discount``; the
    ``further_judges`` are those that the judge disagrees with. ``pilot``: how many random pairs people graded before,
    which say how uncertain the judge is.
    """

    people: str
    judge: str
    measure: str = DEFAULT_MEASURE
    queries: int = 15
    pairs: int | None = None
    draws: int = 1000
    targets: Sequence[Target] = TARGETS
    systems: Sequence[str] = ()
    baseline: str | None = None
    alpha: float = 0.05
    delta: float | None = None
    seed: int | None = None
    workers: int | None = None
    by: Sequence[Weighting] = ()
    further_judges: Sequence[str] = ()
    pilot: int = 0

    def check(self) -> None:
        """Raises ConfigError for values that nothing can be replayed with."""
        check_decisions(self.alpha, self.delta)
        check_targets(self.targets)
        for name, value in (("draws", self.draws), ("pairs", self.pairs)):
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; give 1 or more")
        if self.pilot < 0:
            raise ConfigError(f"pilot is {self.pilot}; give 0 or more")
        if self.pilot and "uncertainty" not in self.by:
            raise ConfigError("--pilot says how uncertain the judge is; add --by uncertainty")
        if 0 < self.pilot < LEAST_LABELS:
            raise ConfigError(
                f"--pilot {self.pilot}: so few grades do not say how uncertain the judge is; give {LEAST_LABELS} or "
                "more"
            )
        if bool(self.further_judges) != ("disagreement" in self.by):
            raise ConfigError(
                "judges that may disagree are given by --by disagreement and a second --judge; give both or neither"
            )
        labelers = [self.people, self.judge, *self.further_judges]
        for name in labelers:
            if labelers.count(name) > 1:
                raise ConfigError(f"{name} is named twice by --people and --judge; name different labelers")


@dataclass(frozen=True, eq=False)
class ReplayReport:
    """The result of ``replay_estimate``, over ``queries`` queries and ``pairs`` pairs. ``warnings`` are sentences about
    the input."""

    config: PoolConfig | None
    people: LabelSource
    judge: LabelSource
    measure: str
    run_tags: tuple[str, ...]
    queries: int
    pairs: int
    replay: Replay
    warnings: tuple[str, ...] = ()
    further: tuple[LabelSource, ...] = ()

    @property
    def weighted(self) -> bool:
        """Whether pairs were drawn by more than what they weigh in the measure."""
        return bool({*self.replay.plan.by} - {"discount"})

    @property
    def pairs_replayed(self) -> bool:
        """Whether samples of pairs were drawn too."""
        return any(one.method == "pairs" for one in self.replay.methods)


def replay_estimate(
    config_path: Path,
    settings: ReplaySettings,
    files: LabelFiles | None = None,
    runs: Sequence[str] = (),
    *,
    pool: Path | None = None,
    home: PoolConfig | None = None,
    listener: Listener | None = None,
) -> ReplayReport:
    """Draws samples of people's grades many times, and estimates the workspace's runs, or those of the ``runs``
    options, from each.

    Raises QuatiPoolError where people lack a grade of a pair that the judge graded, for fewer than two systems, and
    for more queries or pairs than there are.
    """
    files, listener = files or LabelFiles(), listener or Listener()
    settings.check()
    labelers = [settings.people, settings.judge, *settings.further_judges]
    names = [name for name in labelers if name not in files.files]
    config = workspace(config_path, settings.people, settings.judge, files, runs) if names or not runs else None
    of_labels = config if names else None
    gathered = gather(of_labels, names, files, pool=pool, any_grade=True, negative=False, home=home, nearby=config_path)
    people, judge, *further = complete_sources(gathered, labelers)
    run_set = _chosen_systems(chosen_runs(config, runs), settings)
    (measure,) = replayed_measure(settings.measure)
    grades, lacking = _judges_grades(people, judge)
    joined = JudgedRuns(run_set.answering(people.qrels), people.qrels)
    scale = graded_scale(gathered, people)
    others = [_further_grades(people, one) for one in further]
    graded = replace(census(joined, grades, scale, measure), further=np.stack(others) if others else None)
    if graded.measure is None and settings.by:
        raise ConfigError(f"--by is about samples of pairs, which {measure} cannot be estimated from; leave it out")
    plan = _plan(settings, graded, measure, [run.run_tag for run in joined.runs], config or home)
    with LocalEngine(settings.workers) as engine, listener.stage("replay estimate"):
        found = replay(
            graded, plan, engine, lambda done: listener.progress("replay estimate", done, plan.draws, unit="draws")
        )
    warnings = [*run_set.warnings, *gathered.warnings, *_remarks(judge, measure, lacking, graded)]
    return ReplayReport(
        config,
        people,
        judge,
        measure,
        tuple(run.run_tag for run in joined.runs),
        len(graded.people),
        len(graded.frame),
        found,
        tuple(dict.fromkeys(warnings)),
        tuple(further),
    )


def complete_sources(gathered: Gathered, names: Sequence[str]) -> list[LabelSource]:
    """The sources of people, the first of ``names``, and of judges. Raises QuatiPoolError if one was left out, has
    graded a sample only, or is a hybrid of people and a judge."""
    found = [named_source(gathered, name) for name in names]
    for option, one in zip(["--people", *["--judge"] * len(names)], found, strict=False):
        if one.qrels.sample is not None:
            raise QuatiPoolError(f"{one.name} is a sample of pairs; a replay needs the grades of all pairs")
        if one.grader == "hybrid":
            other = "a judge's grades in it; name people" if option == "--people" else "people's in it; name its judge"
            raise ConfigError(f"{option} {one.name}: a hybrid has {other}")
    return found


def _chosen_systems(run_set: RunSet, settings: ReplaySettings) -> RunSet:
    """The runs of ``settings.systems`` and the baseline, or all."""
    known = [run.run_tag for run in run_set.runs]
    for option, name in [*(("--system", name) for name in settings.systems), ("--baseline", settings.baseline)]:
        if name is not None and name not in known:
            raise ConfigError(f"{option} {name}: no such run; {nearest(name, known)}")
    kept = {*settings.systems, settings.baseline} if settings.systems else set(known)
    if len(kept & set(known)) < 2:
        raise ConfigError("a replay tells systems apart, and there is one; name two or more")
    return replace(run_set, runs=[run for run in run_set.runs if run.run_tag in kept])


def replayed_measure(name: str) -> tuple[str, ...]:
    """The one measure called ``name``. Raises ConfigError if it names several."""
    found = parse_measures([name])
    if len(found) > 1:
        raise ConfigError(f"--measure {name}: one measure is replayed at a time; name one")
    return found


def _judges_grades(people: LabelSource, judge: LabelSource) -> tuple[Int, int]:
    """The judge's grade of each pair that people graded, NO_GRADE without one, and the number of those without.

    Raises QuatiPoolError if people lack a grade of a pair that the judge graded.
    """
    grades, known = _on_pairs(people.qrels, judge.qrels)
    if not known.all():
        raise _not_all(people, judge, known)
    return grades, int((grades == NO_GRADE).sum())


def _on_pairs(all_pairs: Qrels, graded: Qrels) -> tuple[Int, np.ndarray]:
    """The grade that each of ``all_pairs`` has in ``graded``, NO_GRADE without one, and which of ``graded`` are among
    them."""
    query = all_pairs.queries.encode(graded.queries.decode(graded.query))
    doc = all_pairs.docs.encode(graded.docs.decode(graded.doc))
    width = max(len(all_pairs.docs), 1)
    theirs = all_pairs.query * width + all_pairs.doc
    order = np.argsort(theirs)
    place = np.searchsorted(theirs[order], query * width + doc)
    row = order[np.minimum(place, len(order) - 1)] if len(order) else np.zeros(len(query), dtype=np.int64)
    known = (query >= 0) & (doc >= 0)
    known[known] = theirs[row[known]] == (query * width + doc)[known]
    grades = np.full(len(all_pairs), NO_GRADE, dtype=np.int64)
    grades[row[known]] = graded.relevance[known]
    return grades, known


def _further_grades(people: LabelSource, judge: LabelSource) -> Int:
    """As ``_judges_grades``, of a judge that the first one is compared with, which may have graded other pairs too.

    Raises QuatiPoolError if it graded none of people's pairs.
    """
    grades, _ = _on_pairs(people.qrels, judge.qrels)
    if (grades == NO_GRADE).all():
        raise QuatiPoolError(f"{judge.name} graded none of the pairs that {people.name} graded; name another judge")
    return grades


def _not_all(people: LabelSource, judge: LabelSource, known: np.ndarray) -> QuatiPoolError:
    qrels, first = judge.qrels, np.flatnonzero(~known)[:1]
    (query_id,), (doc_id,) = (
        ids.decode(codes[first]).to_pylist() for ids, codes in ((qrels.queries, qrels.query), (qrels.docs, qrels.doc))
    )
    return QuatiPoolError(
        f"{people.name} lacks {(~known).sum():,} of the {len(qrels):,} pairs that {judge.name} graded (first: query "
        f"{query_id}, {doc_id}); a replay needs people's grades of all: give the judge's of queries that people graded "
        "in full"
    )


def census(joined: JudgedRuns, grades: Int, scale: list[int], measure: str) -> Census:
    """The runs of ``joined`` by ``measure`` under its qrels, people's on ``scale``, and under the judge's ``grades`` of
    the same pairs, shape (pairs,), NO_GRADE where there is none."""
    judged, pair_measure = joined.judged, served_by_pairs(measure)
    frame = pair_frame(joined, grades, pair_measure.cutoff if pair_measure else 1)
    by_judge = JudgedRuns(joined.runs, replace(joined.qrels, relevance=frame.judge_or_mean))
    people, judge = (score(one, [measure]).of(measure).T for one in (joined, by_judge))
    return Census(people, judge, frame, judged.relevance, scale, pair_measure)


def graded_scale(gathered: Gathered, people: LabelSource) -> list[int]:
    grades: set[int] = set(people.qrels.relevance.tolist())
    if not any(grade > 0 for grade in grades):
        raise QuatiPoolError(f"{people.name} found nothing relevant, so that there is nothing to estimate")
    return sorted(grades | set(gathered.scale if gathered.declared else ()))


def _plan(
    settings: ReplaySettings, census: Census, measure: str, run_tags: Sequence[str], config: PoolConfig | None
) -> ReplayPlan:
    queries, pairs = len(census.people), len(census.frame)
    if settings.pilot > pairs:
        raise ConfigError(
            f"--pilot {settings.pilot}: people graded {counted(pairs, 'pair', 'pairs')}; give at most that"
        )
    if not FEWEST_QUERIES <= settings.queries <= queries:
        raise QuatiPoolError(
            f"{counted(settings.queries, 'query', 'queries')} cannot be drawn from {queries:,}: give --queries from "
            f"{FEWEST_QUERIES}, the fewest that an interval needs, to {queries}"
            if queries >= FEWEST_QUERIES
            else f"{counted(queries, 'query has', 'queries have')} grades, and an interval needs at least "
            f"{FEWEST_QUERIES}"
        )
    return ReplayPlan(
        queries=settings.queries,
        pairs=settings.queries * pairs / queries if settings.pairs is None else settings.pairs,
        draws=settings.draws,
        seed=settings.seed if settings.seed is not None else config.seed if config else 0,
        targets=tuple(settings.targets),
        baseline=None if settings.baseline is None else run_tags.index(settings.baseline),
        alpha=settings.alpha,
        delta=tie_bound(settings.delta, measure, census.scale),
        by=tuple(settings.by) or ("discount",),
        pilot=settings.pilot,
        correlation=CORRELATION,
    )


def _remarks(judge: LabelSource, measure: str, lacking: int, graded: Census) -> list[str]:
    found = []
    if lacking:
        found.append(
            f"{judge.name} has no grade of {lacking:,} of {len(graded.frame):,} pairs, which count with their query's "
            "mean grade"
        )
    if graded.measure is None:
        found.append(f"{measure} cannot be estimated from a sample of pairs, so that only whole queries are drawn")
    return found
