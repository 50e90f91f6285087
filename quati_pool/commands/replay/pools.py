"""``quati-pool replay pools``: tries out pooling methods where people graded everything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quati_pool.commands.estimates.frame_estimator import pair_frame
from quati_pool.commands.estimates.inputs import chosen_runs, workspace
from quati_pool.commands.estimates.settings import DEFAULT_MEASURE
from quati_pool.commands.replay.estimate import complete_sources, graded_scale, replayed_measure
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.estimation import pair_frame as frames
from quati_pool.estimation.hybrid_grades import hybrid_grades
from quati_pool.estimation.pair_frame import PairFrame
from quati_pool.evaluation.expected_gains import ExpectedGrades, with_expected_gains
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.scores import Scores, Values, score
from quati_pool.labels.gathered import LabelFiles, LabelSource
from quati_pool.labels.sources import gather
from quati_pool.pooling.replay.collection import NO_GRADE, JudgedCollection, judged_collection
from quati_pool.pooling.replay.results import PoolReplay, Steering
from quati_pool.pooling.replay.running import Method, PoolReplayPlan, replay
from quati_pool.processes.local import LocalEngine
from quati_pool.project.config import PoolConfig
from quati_pool.project.config.pooling import DEPTH, lowest_relevant
from quati_pool.project.events import Listener
from quati_pool.project.runs import RunSet
from quati_pool.records import Int, Qrels
from quati_pool.registry import POOL_METHODS
from quati_pool.text.pluralize import counted

SHARES = (5.0, 10.0, 20.0, 40.0)
_NDCG = re.compile(r"nDCG@(\d+)")


@dataclass(frozen=True, kw_only=True)
class PoolReplaySettings:
    """What is replayed.

    ``people`` and ``judge`` are names of labelers or of label files. ``methods`` are names in POOL_METHODS, all of them
    if empty, except those that need a judge if there is none; depth pooling is always among them. ``shares``: budgets
    in percent of the candidates, which are the first ``depth`` documents of every run. ``relevant``: people's lowest
    relevant grade, None for the lowest of at least half the highest one. ``random_share``: how much of each budget is
    drawn at random, in percent. ``families``: a file of run_tag and family.
    ``leave_out``: whether pools are replayed without each family too. ``workers``: processes, None for one per core.
    """

    people: str
    judge: str | None = None
    methods: Sequence[str] = ()
    shares: Sequence[float] = SHARES
    depth: int = 10
    steered_by: Sequence[Steering] = ("people",)
    relevant: int | None = None
    random_share: float = 0.0
    families: Path | None = None
    leave_out: bool = True
    measure: str = DEFAULT_MEASURE
    seed: int | None = None
    seeds: int = 10
    workers: int | None = None

    def check(self) -> None:
        """Raises ConfigError for values that nothing can be replayed with."""
        for share in self.shares:
            if not 0 < share <= 100:
                raise ConfigError(f"--share {share:g}: give a percentage of the pool above 0, at most 100")
        if not 0 <= self.random_share < 100:
            raise ConfigError(
                f"--random-share {self.random_share:g}: give a percentage of the budget from 0, below 100"
            )
        for name, value in (("depth", self.depth), ("seeds", self.seeds), ("relevant", self.relevant)):
            if value is not None and value < 1:
                raise ConfigError(f"--{name} {value}: give 1 or more")
        if self.judge is None and "judge" in self.steered_by:
            raise ConfigError("--steered-by judge: there is no judge; name one with --judge")
        if self.families is not None and not self.leave_out:
            raise ConfigError(
                "--families says which systems are left out, and --no-leave-out leaves none out; drop one"
            )
        if self.judge == self.people:
            raise ConfigError(f"{self.people} is named by --people and --judge; name different labelers")

    @property
    def components(self) -> list[Method]:
        """The methods, depth pooling first. Raises ConfigError for an unknown one, and for one that needs a judge
        where there is none."""
        found = []
        for name in dict.fromkeys([DEPTH, *(self.methods or POOL_METHODS.names())]):
            cls = POOL_METHODS.get(name)
            if cls.expects and self.judge is None:
                if name in self.methods:
                    raise ConfigError(f"--method {name} orders documents by a judge's grades; name one with --judge")
                continue
            cls.require()
            found.append(Method(name, cls, cls.Parameters()))
        return found


@dataclass(frozen=True, eq=False)
class PoolReplayReport:
    """The result of ``replay_pools``. ``warnings`` are sentences about the input."""

    config: PoolConfig | None
    people: LabelSource
    judge: LabelSource | None
    measure: str
    plan: PoolReplayPlan
    replay: PoolReplay
    warnings: tuple[str, ...] = ()


def replay_pools(
    config_path: Path,
    settings: PoolReplaySettings,
    files: LabelFiles | None = None,
    runs: Sequence[str] = (),
    *,
    pool: Path | None = None,
    home: PoolConfig | None = None,
    listener: Listener | None = None,
) -> PoolReplayReport:
    """Pools the workspace's runs, or those of the ``runs`` options, by each method with parts of people's grades.

    Raises QuatiPoolError for fewer than two systems, where nothing is relevant, where the judge graded none of the
    candidates, and for any other measure than nDCG@k.
    """
    files, listener = files or LabelFiles(), listener or Listener()
    settings.check()
    methods = settings.components
    measure, cutoff = _cutoff(settings.measure)
    labelers = [settings.people, *([] if settings.judge is None else [settings.judge])]
    names = [name for name in labelers if name not in files.files]
    needed = names or not runs
    config = workspace(config_path, settings.people, labelers[-1], files, runs) if needed else None
    of_labels = config if names else None
    gathered = gather(of_labels, names, files, pool=pool, any_grade=True, negative=False, home=home, nearby=config_path)
    sources = complete_sources(gathered, labelers)
    people, judge = sources[0], sources[1] if len(sources) > 1 else None
    run_set = chosen_runs(config, runs)
    if len(run_set.runs) < 2:
        raise QuatiPoolError("a replay compares how systems rank, and there is one; name two or more with --run")
    answering = run_set.answering(people.qrels)
    JudgedRuns(answering, people.qrels).rows(1)  # Refuses runs of other queries than the judged ones.
    if not (people.qrels.relevance > 0).any():
        raise QuatiPoolError(
            f"{people.name} found nothing relevant, so that there is nothing to find; name other grades"
        )
    scale = graded_scale(gathered, people)
    relevant = lowest_relevant(scale) if settings.relevant is None else settings.relevant
    plan = PoolReplayPlan(
        methods=methods,
        depth=settings.depth,
        shares=tuple(share / 100 for share in sorted(set(settings.shares))),
        steered_by=tuple(dict.fromkeys(settings.steered_by)),
        relevant=relevant,
        judge_relevant=relevant if judge is None else _judge_relevant(judge, scale, relevant),
        families=_families(settings, run_set) if settings.leave_out else None,
        random=settings.random_share / 100,
        seed=settings.seed if settings.seed is not None else _seed(config or home),
        seeds=settings.seeds,
    )
    collection = judged_collection(answering, people.qrels, None if judge is None else judge.qrels, cutoff)
    candidates = collection.within(plan.depth)
    _refuse_unusable(collection, candidates, plan, people, judge)
    hybrid = None if judge is None else hybrid_scores(collection, candidates, scale, measure)
    with LocalEngine(settings.workers) as engine, listener.stage("replay pools"):
        found = replay(
            collection, plan, hybrid, engine,
            lambda done, total: listener.progress("replay pools", done, total, unit="pools"),
        )  # fmt: skip
    warnings = [*run_set.warnings, *gathered.warnings, *_remarks(people, judge, found)]
    return PoolReplayReport(config, people, judge, measure, plan, found, tuple(dict.fromkeys(warnings)))


@dataclass(frozen=True, eq=False)
class HybridScores:
    """The mean of each system by the measure of ``empty``, with people's grades where they are known and calibrated
    ones of the judge elsewhere, as ``evaluate`` has them.

    ``pairs`` are the candidates among the pairs of a ``JudgedCollection``, and ``joined``, ``frame`` and ``empty`` are
    about these: a judge would grade no other. Pairs without a grade gain nothing.
    """

    joined: JudgedRuns
    frame: PairFrame
    pairs: Int
    scale: Sequence[int]
    empty: Scores

    def __call__(self, people: Int) -> Values:
        known = people[self.pairs]
        grades = hybrid_grades(self.frame, np.where(known == NO_GRADE, frames.NO_GRADE, known), self.scale)
        expected = ExpectedGrades(grades.scale, np.nan_to_num(grades.reached, nan=0.0))
        (measure,) = self.empty.measures
        means: Values = with_expected_gains(self.empty, self.joined, expected).of(measure).mean(axis=1)
        return means


def hybrid_scores(collection: JudgedCollection, pairs: Int, scale: Sequence[int], measure: str) -> HybridScores:
    """``pairs`` are those that the judge was to grade, ``scale`` has people's grades, ascending."""
    queries, docs, judge = collection.runs[0].queries, collection.runs[0].docs, collection.judge[pairs]
    nothing = np.zeros(len(pairs), dtype=np.int64)
    joined = JudgedRuns(collection.runs, Qrels(queries, docs, collection.query[pairs], collection.doc[pairs], nothing))
    frame = pair_frame(joined, np.where(judge == NO_GRADE, frames.NO_GRADE, judge), collection.cutoff)
    # Without a lowest grade of 0, pairs that have no grade would gain something.
    return HybridScores(joined, frame, pairs, sorted({0, *scale}), score(joined, [measure]))


def _cutoff(name: str) -> tuple[str, int]:
    """The measure and its cutoff."""
    (measure,) = replayed_measure(name)
    found = _NDCG.fullmatch(measure)
    if found is None:
        raise ConfigError(f"--measure {name}: pools are replayed for nDCG with a cutoff only; give one such as nDCG@10")
    return measure, int(found[1])


def _judge_relevant(judge: LabelSource, scale: Sequence[int], relevant: int) -> int:
    """The judge's lowest relevant grade: people's if it grades on their scale."""
    grades: set[int] = set(judge.qrels.relevance.tolist())
    return relevant if grades <= set(scale) else lowest_relevant(grades)


def _families(settings: PoolReplaySettings, run_set: RunSet) -> Mapping[str, str]:
    of_file: Mapping[str, str] = {}
    if settings.families is not None:
        from quati_pool.commands.audit import grade_inputs

        of_file = grade_inputs._families(settings.families, run_set)
    own = {run.run_tag: run.run_tag for run in run_set.runs}
    return {**own, **(run_set.families if not of_file else {}), **of_file}


def _seed(config: PoolConfig | None) -> int:
    return config.seed if config else 0


def _refuse_unusable(
    collection: JudgedCollection,
    candidates: Int,
    plan: PoolReplayPlan,
    people: LabelSource,
    judge: LabelSource | None,
) -> None:
    """Raises QuatiPoolError where none of the ``candidates`` is relevant, or the judge graded none."""
    if not (collection.people[candidates] >= plan.relevant).any():
        raise QuatiPoolError(
            f"{people.name} gave none of the {len(candidates):,} candidates a grade of {plan.relevant} or more, so "
            "that there is nothing to find; lower --relevant"
        )
    if judge is not None and (collection.judge[candidates] == NO_GRADE).all():
        raise QuatiPoolError(
            f"{judge.name} graded none of the {len(candidates):,} candidates; name a judge that did, or leave out "
            "--judge"
        )


def _remarks(people: LabelSource, judge: LabelSource | None, found: PoolReplay) -> Iterator[str]:
    total = counted(found.candidates, "candidate", "candidates")
    if found.lacking_people:
        yield (
            f"{people.name} has no grade of {found.lacking_people:,} of {total}, which count as not relevant; a lower "
            "--depth leaves fewer of them"
        )
    if judge is not None and found.lacking_judge:
        yield (
            f"{judge.name} has no grade of {found.lacking_judge:,} of {total}, which come last in its order and gain "
            "nothing by its grades; have it grade them"
        )
