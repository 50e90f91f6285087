"""``quati-pool evaluate``: measures runs under qrels, compares qrels, and estimates how reusable the pool is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

from quati_pool.agreement.pairwise import PairAgreement, pairwise
from quati_pool.agreement.ratings import Ratings
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.evaluation.averaged_queries import QUERIES, over_queries
from quati_pool.evaluation.bounds import ndcg_bounds
from quati_pool.evaluation.expected_gains import of_expected_gains, with_expected_gains
from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.leaderboard import Conditions, Leaderboard, leaderboard, systems_by_condition
from quati_pool.evaluation.measures import DEFAULTS, parse_measures
from quati_pool.evaluation.qrels_comparison import RankingComparison, compare_rankings
from quati_pool.evaluation.reusability import (
    Holes,
    LeaveOut,
    hole_rates,
    leave_one_family_out,
    leave_one_system_out,
)
from quati_pool.evaluation.robust import Robust, robust
from quati_pool.evaluation.scores import Scores, mean_over, score
from quati_pool.evaluation.significance import Comparison, compare, groups
from quati_pool.evaluation.truncation import Truncated, truncated
from quati_pool.labels.gathered import Gathered, LabelFiles, LabelSource, coverage, shared_members
from quati_pool.labels.main_labeler import MainLabeler
from quati_pool.labels.sources import gather, workspace_for
from quati_pool.pooling.diversity import GradeShares, diversity_by_grade
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.query_clusters import Clusters, read_clusters
from quati_pool.project.runs import RunSet, run_sets, workspace_runs
from quati_pool.registry import nearest
from quati_pool.stats.bootstrap import DRAWS

_NOT_OF_HYBRIDS = "they need whole grades, and a hybrid's gains are expected ones"
_NO_CLUSTER = "no judged query has a cluster_id"
_NDCG = re.compile(r"nDCG@([0-9]+)\Z")


@dataclass(frozen=True)
class Settings:
    """How runs are measured and compared.

    ``measures``: the first ranks the runs; None takes those of pool.yaml, or the default ones. ``baseline``: the run
    against which all others are tested, on every measure. ``robust``: whether to add scores of clusters of related
    queries. ``labeler``: the labeler whose leaderboard comes first and is the reference for the others; None takes the
    main labeler. ``queries``: the queries over which means are taken, one of QUERIES.
    """

    measures: Sequence[str] | None = None
    baseline: str | None = None
    test: str = "t"
    alpha: float = 0.05
    draws: int = DRAWS
    seed: int | None = None
    pool_depth: int | None = None
    robust: bool = False
    labeler: str | None = None
    queries: str = "judged"


@dataclass(frozen=True, eq=False)
class PoolQuality:
    """How much a pool's qrels depend on single systems and families, and diversity by grade (the Quati paper's
    Table 2)."""

    systems: LeaveOut
    families: LeaveOut | None
    grades: GradeShares


@dataclass(frozen=True, eq=False)
class Condition:
    """One set of runs under one labeler's qrels.

    ``bounds`` has, for each nDCG with a cutoff, the lowest and the highest mean of each run over the grades of
    ``scale`` that its unjudged documents could have, shape (runs,) each; nothing for a hybrid. ``letters``: runs
    that share one do not differ significantly on the first measure. ``quality`` and ``robust`` are a reason if they
    could not be computed; ``robust`` is None if it was not requested. ``judged_queries`` is the number of all
    judged queries and ``returned`` (by run_tag) that of the judged queries a run returns; all else is over the
    queries of the settings. ``covers``: the number of the pool's pairs with a grade by the labeler, and of all its
    pairs; None without a pool.
    """

    name: str
    run_set: RunSet
    source: LabelSource
    scale: Sequence[int]
    scores: Scores
    board: Leaderboard
    holes: tuple[Holes, ...]
    bounds: Mapping[str, tuple[list[float], list[float]]]
    comparisons: tuple[Comparison, ...]
    letters: Mapping[str, tuple[str, ...]]
    against: Mapping[str, tuple[Comparison, ...]]
    quality: PoolQuality | str
    judged_queries: int
    returned: Mapping[str, int]
    truncated: tuple[Truncated, ...]
    robust: Robust | str | None = None
    covers: tuple[int, int] | None = None

    @cached_property
    def of_expected_gains(self) -> tuple[str, ...]:
        """The measures that are computed from expected gains, as the grades are a hybrid's; all others are of whole
        grades."""
        return () if self.source.expected is None else of_expected_gains(self.scores.measures)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of ``evaluate``. ``rankings`` compares, for every two qrels over one set of runs, the order of
    the systems by the first measure; ``systems`` is None with a single condition."""

    config: PoolConfig | None
    gathered: Gathered
    measures: tuple[str, ...]
    settings: Settings
    seed: int
    conditions: list[Condition]
    rankings: list[tuple[Condition, Condition, RankingComparison]]
    systems: Conditions | None
    clusters: Clusters | None = None
    main: MainLabeler | None = None
    """The labeler whose condition comes first; None if labelers were named, which then keep their order."""

    @property
    def compared(self) -> list[tuple[Condition, Condition, RankingComparison]]:
        """The ``rankings`` of labelers that share no member (a panel and its member do), or that were both named."""
        return [(a, b, found) for a, b, found in self.rankings if self._independent(a.source, b.source)]

    @cached_property
    def agreement(self) -> dict[str, PairAgreement]:
        """How far each other labeler of the first set of runs agrees with the first, by name. Leaves out labelers that
        share a member with the first and were not both named, and those without a common pair."""
        first, *others = self.conditions
        a = first.source
        found = {}
        for b in (other.source for other in others if other.run_set is first.run_set):
            if self._independent(a, b):
                scale = {*self.gathered.scale, *a.qrels.relevance.tolist(), *b.qrels.relevance.tolist()}
                ratings = Ratings.join({a.name: a.qrels, b.name: b.qrels}, sorted(scale))
                (pair,) = pairwise(ratings, self.settings.draws, self.seed, binarized=False)
                if pair.n:
                    found[b.name] = pair
        return found

    def _independent(self, a: LabelSource, b: LabelSource) -> bool:
        return not shared_members(a, b) or {a.name, b.name} <= set(self.gathered.named)

    @property
    def warnings(self) -> list[str]:
        """Oddities in run and label files that are not errors."""
        run_warnings = (warning for condition in self.conditions for warning in condition.run_set.warnings)
        return list(dict.fromkeys([*run_warnings, *self.gathered.warnings]))


def evaluate(
    config_path: Path,
    names: Sequence[str] = (),
    files: LabelFiles | None = None,
    runs: Sequence[str] = (),
    settings: Settings | None = None,
    pool: Path | None = None,
    home: PoolConfig | None = None,
    listener: Listener | None = None,
    sets: Sequence[RunSet] = (),
) -> Evaluation:
    """Measures the workspace's runs, or those of the ``runs`` options and of ``sets``, which are read already, under
    the labelers that ``gather`` finds.

    Clusters of queries are those of the queries file of ``files``, else of the workspace's, else of that of ``home``,
    a pool.yaml that only identifies their collection. If there are several sets of runs and their names are those of
    the labelers, each set is measured under its labeler's qrels; otherwise every set is measured under all qrels.

    Raises QuatiPoolError if there are no runs or no grades.
    """
    settings, files = settings or Settings(), files or LabelFiles()
    if not config_path.exists():
        if not (names or files.files):
            raise ConfigError(f"there is no {config_path}; name qrels with --qrels FILE, or a workspace with -c")
        if not (runs or sets):
            raise ConfigError(f"there is no {config_path}; name runs with --run FILE, or a workspace with -c")
    workspace = workspace_for(config_path, names, files)
    config = workspace or (None if runs or sets else load_config(config_path))
    measures = _measures(settings, config)
    clusters = read_clusters(files.queries, config or home) if settings.robust else None
    gathered = gather(workspace, names, files, pool=pool, any_grade=True, home=home, nearby=config_path)
    if runs or sets or config is None:
        sets = [*run_sets(runs, settings.pool_depth), *sets]
        return measure(config, gathered, sets, measures, settings, clusters, listener)
    refuse_outdated(config)
    return measure(config, gathered, [workspace_runs(config)], measures, settings, clusters, listener)


def measure(
    config: PoolConfig | None,
    gathered: Gathered,
    sets: Sequence[RunSet],
    measures: tuple[str, ...],
    settings: Settings,
    clusters: Clusters | None = None,
    listener: Listener | None = None,
) -> Evaluation:
    """``evaluate`` for runs and labelers already read; ``measures`` are as returned by ``parse_measures``."""
    if not gathered.sources:
        raise QuatiPoolError("nobody has graded anything; run: quati-pool judge, or name qrels with --qrels FILE")
    _check(settings, sets)
    main = gathered.main if settings.labeler is None else _named_main(gathered, settings.labeler)
    sources = sorted(gathered.sources, key=lambda source: main is None or source.name not in main.candidates)
    seed = settings.seed if settings.seed is not None else config.seed if config else 0
    covered = coverage(gathered)
    listener = listener or Listener()
    planned = _conditions(sets, sources)
    conditions: list[Condition] = []
    for name, run_set, source in planned:
        listener.progress("evaluate: measuring runs", len(conditions), len(planned), name, unit="qrels")
        scale, covers = _scale(gathered, source), covered.get(source.name)
        conditions.append(_condition(name, run_set, source, scale, covers, measures, settings, seed, clusters))
    if clusters is not None and not any(isinstance(condition.robust, Robust) for condition in conditions):
        raise clusters.none_judged(query_id for condition in conditions for query_id in condition.scores.query_ids)
    listener.progress("evaluate: comparing qrels", 0, 0)
    rankings = [
        (a, b, _ranking(a, b, measures[0], settings, seed))
        for a, b in combinations(conditions, 2)
        if a.run_set is b.run_set and len(a.run_set.runs) > 1
    ]
    scores = {condition.name: condition.scores for condition in conditions}
    systems = systems_by_condition(scores, measures[0]) if len(scores) > 1 else None
    return Evaluation(config, gathered, measures, settings, seed, conditions, rankings, systems, clusters, main)


def _check(settings: Settings, sets: Sequence[RunSet]) -> None:
    """Raises ConfigError for settings that contradict each other or name something unknown."""
    known = {run.run_tag for run_set in sets for run in run_set.runs}
    if settings.baseline is not None and settings.baseline not in known:
        raise ConfigError(f"--baseline {settings.baseline}: no such run; {nearest(settings.baseline, known)}")
    if settings.queries not in QUERIES:
        raise ConfigError(f"cannot average over {settings.queries!r} queries; {nearest(settings.queries, QUERIES)}")
    if settings.robust and settings.queries == "returned":
        raise ConfigError("--robust compares runs over the same queries of a cluster; give --queries judged or common")


def _named_main(gathered: Gathered, name: str) -> MainLabeler:
    known = [source.name for source in gathered.sources]
    if name not in known:
        raise ConfigError(f"--labeler {name}: no such labeler here; {nearest(name, known)}")
    return MainLabeler(name, f"main labeler: {name}", (name,))


def _scale(gathered: Gathered, source: LabelSource) -> list[int]:
    """All possible grades: the declared scale, or else 0 and the grades of this labeler, regardless of other files."""
    if gathered.declared:
        return sorted(gathered.scale)
    grades: list[int] = np.union1d(source.qrels.relevance, [0]).tolist()
    return grades


def _measures(settings: Settings, config: PoolConfig | None) -> tuple[str, ...]:
    if settings.measures or config is None:
        return parse_measures(settings.measures or DEFAULTS)
    try:
        return parse_measures(config.measures)
    except ConfigError as error:
        raise InputError(config.path, None, f"measures: {error}") from None


def _conditions(sets: Sequence[RunSet], sources: Sequence[LabelSource]) -> list[tuple[str, RunSet, LabelSource]]:
    by_name = {source.name: source for source in sources}
    if len(sets) > 1 and {run_set.name for run_set in sets} == set(by_name):
        return [(run_set.name, run_set, by_name[run_set.name]) for run_set in sets]
    return [
        (f"{run_set.name}, {source.name}" if run_set.name else source.name, run_set, source)
        for run_set in sets
        for source in sources
    ]


def _condition(
    name: str,
    run_set: RunSet,
    source: LabelSource,
    scale: Sequence[int],
    covered: tuple[int, int] | None,
    measures: tuple[str, ...],
    settings: Settings,
    seed: int,
    clusters: Clusters | None,
) -> Condition:
    joined = JudgedRuns(run_set.answering(source.qrels), source.qrels)
    all_judged = score(joined, measures)
    if source.expected is not None:
        all_judged = with_expected_gains(all_judged, joined, source.expected)
    returned = dict(zip(all_judged.run_tags, (~all_judged.missing).sum(axis=1).tolist(), strict=True))
    joined, scores = over_queries(settings.queries, joined, all_judged)
    board = leaderboard(scores, settings.draws, seed)
    comparisons = compare(scores, measures[0], settings.test, alpha=settings.alpha, seed=seed)
    baseline = settings.baseline if settings.baseline in scores.run_tags else None
    return Condition(
        name,
        run_set,
        source,
        scale,
        scores,
        board,
        hole_rates(joined),
        _bounds(joined, scores, measures, scale) if source.expected is None else {},
        comparisons,
        groups([row.run_tag for row in board.rows], comparisons),
        {m: compare(scores, m, settings.test, baseline, settings.alpha, seed) for m in measures} if baseline else {},
        _quality(run_set, joined, measures) if source.expected is None else _NOT_OF_HYBRIDS,
        len(all_judged.query_ids),
        returned,
        truncated(run_set.facts, measures, joined.judged, scores.query_ids),
        None if clusters is None else robust(scores, clusters.of, settings.draws, seed) or _NO_CLUSTER,
        covered,
    )


def _bounds(
    joined: JudgedRuns, scores: Scores, measures: Sequence[str], scale: Sequence[int]
) -> dict[str, tuple[list[float], list[float]]]:
    bounds = {}
    for name in measures:
        cutoff = _NDCG.match(name)
        if cutoff:
            low, high = ndcg_bounds(joined, int(cutoff[1]), scale)
            bounds[name] = (mean_over(low, scores.averaged).tolist(), mean_over(high, scores.averaged).tolist())
    return bounds


def _ranking(a: Condition, b: Condition, first: str, settings: Settings, seed: int) -> RankingComparison:
    return compare_rankings(
        a.scores, b.scores, first, test=settings.test, alpha=settings.alpha, draws=settings.draws, seed=seed
    )


def _quality(run_set: RunSet, joined: JudgedRuns, measures: tuple[str, ...]) -> PoolQuality | str:
    """The quality of the pool of all runs of the set, or why it is unknown; runs without a judged query do not count in
    its diversity."""
    pool = run_set.pool
    if isinstance(pool, str):
        return pool
    if joined.qrels.sample is not None:
        return "the qrels are a sample, and which pairs a system alone brought is known of the drawn ones only"
    depths = dict(zip(pool.run_tags, pool.depths.tolist(), strict=True))
    has_families = len({run_set.families[run_tag] for run_tag in depths}) < len(joined.runs)
    answering = np.array([len(run) > 0 for run in joined.runs])
    return PoolQuality(
        leave_one_system_out(joined, depths, run_set.extra, measures),
        leave_one_family_out(joined, depths, run_set.families, run_set.extra, measures) if has_families else None,
        diversity_by_grade(replace(pool, ranks=pool.ranks * answering), joined.qrels),
    )


def mean_bounds(condition: Condition, measure_name: str, run_tag: str) -> tuple[float, float] | None:
    """The lowest and highest mean that a run could have on a measure; None for a measure without bounds."""
    bounds = condition.bounds.get(measure_name)
    if bounds is None:
        return None
    row = condition.scores.run_tags.index(run_tag)
    return bounds[0][row], bounds[1][row]
