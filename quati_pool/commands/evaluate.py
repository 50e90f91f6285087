"""``quati-pool evaluate``: runs under qrels, qrels against each other, and how reusable the pool is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.evaluation.bounds import ndcg_bounds
from quati_pool.evaluation.judged_runs import JudgedRuns, emptied_if_unjudged
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
from quati_pool.files.artifacts import file_digest
from quati_pool.files.problems import quoted
from quati_pool.files.queries import CLUSTER_ID, read_queries
from quati_pool.labels.main_labeler import MainLabeler
from quati_pool.labels.sources import (
    Gathered,
    LabelFiles,
    LabelSource,
    coverage,
    gather,
    shared_members,
    workspace_for,
)
from quati_pool.pooling.diversity import GradeShares, diversity_by_grade
from quati_pool.pooling.pool import Pool, depth_pool
from quati_pool.project.cache_keys import refuse_outdated
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.runs import RunSet, run_sets, workspace_runs
from quati_pool.records import Qrels, Run
from quati_pool.registry import nearest
from quati_pool.stats.bootstrap import DRAWS

_NO_CLUSTER = "no judged query has a cluster_id"
_NDCG = re.compile(r"nDCG@([0-9]+)\Z")


QUERIES = ("judged", "common", "returned")
"""What means go over: all judged queries, where one that a run lacks counts 0 (trec_eval -c); those that all runs
return; or those that the run itself returns (trec_eval without -c)."""


@dataclass(frozen=True)
class Settings:
    """How runs are measured and compared. ``measures`` None: those of pool.yaml, or the default ones; the
    first ranks the runs. ``baseline``: the run that the others are tested against, on every measure.
    ``robust``: clusters of related queries count too. ``labeler``: whose leaderboard comes first, and is the
    reference of the others; the main labeler's where not given. ``queries``: which of QUERIES the means go over."""

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
class Clusters:
    """The cluster_id of every query of a file, None for one in no cluster; ``column`` holds them there."""

    path: Path
    column: str
    sha256: str
    of: Mapping[str, str | None]


@dataclass(frozen=True, eq=False)
class PoolQuality:
    """How much a pool's qrels owe to single systems and families; Table 2 of the Quati paper by grade."""

    systems: LeaveOut
    families: LeaveOut | None
    grades: GradeShares


@dataclass(frozen=True, eq=False)
class Condition:
    """One set of runs under one labeler's qrels. ``bounds`` holds, for each nDCG with a cutoff, the lowest
    and highest mean of each run over the grades of ``scale`` that its unjudged documents could have, shape
    (runs,) each. ``letters``: runs that share one cannot be told apart by the first measure. ``quality`` is the
    reason where there is none, and so is ``robust``, which is None where it was not asked for. ``returned`` counts,
    by run_tag, which of all ``judged_queries`` each run returns; all else is of the queries of the settings.
    ``covers``: of how many pairs of the pool the labeler has a grade, and how many there are; None where there is
    no pool to ask."""

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


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Everything ``evaluate`` says. ``rankings`` compares, for every two qrels of one set of runs, the
    order of the systems by the first measure; ``systems`` is None with a single condition."""

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
    """The labeler whose condition comes first; None where the labelers were named, the first of them first."""

    @property
    def compared(self) -> list[tuple[Condition, Condition, RankingComparison]]:
        """The ``rankings`` of labelers that share no member, as a panel and its member do, and of such as were
        asked for by name."""
        named = set(self.gathered.named)
        return [
            (a, b, found)
            for a, b, found in self.rankings
            if not shared_members(a.source, b.source) or {a.source.name, b.source.name} <= named
        ]

    @property
    def warnings(self) -> list[str]:
        """What looks odd in the files of runs and labels without being wrong."""
        of_runs = (warning for condition in self.conditions for warning in condition.run_set.warnings)
        return list(dict.fromkeys([*of_runs, *self.gathered.warnings]))


def evaluate(
    config_path: Path,
    names: Sequence[str] = (),
    given: LabelFiles | None = None,
    runs: Sequence[str] = (),
    settings: Settings | None = None,
    pool: Path | None = None,
    named: PoolConfig | None = None,
) -> Evaluation:
    """Measures the workspace's runs, or those of the ``runs`` options, under the labelers that ``gather``
    finds. Clusters of queries are those of the ``given`` queries file, else of the workspace's or of ``named``,
    a pool.yaml that was named beside files.

    Several sets of runs whose names are those of the labelers go each under its own qrels; otherwise every
    set goes under all. Raises QuatiPoolError where there is nothing to measure or to measure by.
    """
    settings, given = settings or Settings(), given or LabelFiles()
    if not config_path.exists():
        if not (names or given.files):
            raise ConfigError(f"there is no {config_path}; name qrels with --qrels FILE, or a workspace with -c")
        if not runs:
            raise ConfigError(f"there is no {config_path}; name runs with --run FILE, or a workspace with -c")
    workspace = workspace_for(config_path, names, given)
    config = workspace or (None if runs else load_config(config_path))
    measures = _measures(settings, config)
    clusters = _clusters(given.queries, config or named) if settings.robust else None
    gathered = gather(workspace, names, given, pool=pool, any_grade=True, home=named, nearby=config_path)
    if runs or config is None:
        return measure(config, gathered, run_sets(runs, settings.pool_depth), measures, settings, clusters)
    refuse_outdated(config)
    return measure(config, gathered, [workspace_runs(config)], measures, settings, clusters)


def measure(
    config: PoolConfig | None,
    gathered: Gathered,
    sets: Sequence[RunSet],
    measures: tuple[str, ...],
    settings: Settings,
    clusters: Clusters | None = None,
) -> Evaluation:
    """The same for runs and labelers that were read already; ``measures`` as ``parse_measures`` gives them."""
    if not gathered.sources:
        raise QuatiPoolError("nobody has graded anything; run: quati-pool judge, or name qrels with --qrels FILE")
    known = {run.run_tag for run_set in sets for run in run_set.runs}
    if settings.baseline is not None and settings.baseline not in known:
        raise ConfigError(f"--baseline {settings.baseline}: no such run; {nearest(settings.baseline, known)}")
    seed = settings.seed if settings.seed is not None else config.seed if config else 0
    main = gathered.main if settings.labeler is None else _named_main(gathered, settings.labeler)
    sources = sorted(gathered.sources, key=lambda source: main is None or source.name != main.name)
    covers = coverage(gathered)
    if settings.queries not in QUERIES:
        raise ConfigError(f"means go over no {settings.queries!r} queries; {nearest(settings.queries, QUERIES)}")
    if clusters is not None and settings.queries == "returned":
        raise ConfigError("--robust compares runs over the same queries of a cluster; give --queries judged or common")
    pools = {id(run_set): _proposed(run_set) for run_set in sets}
    conditions = [
        replace(
            _condition(
                name, run_set, source, measures, settings, seed, _scale(gathered, source), pools[id(run_set)], clusters
            ),
            covers=covers.get(source.name),
        )
        for name, run_set, source in _conditions(sets, sources)
    ]
    if clusters is not None and not any(isinstance(condition.robust, Robust) for condition in conditions):
        raise _not_clustered(clusters, conditions)
    first = measures[0]
    rankings = [
        (a, b, _ranking(a, b, first, settings, seed))
        for a, b in combinations(conditions, 2)
        if a.run_set is b.run_set and len(a.run_set.runs) > 1
    ]
    several = {condition.name: condition.scores for condition in conditions}
    systems = systems_by_condition(several, first) if len(several) > 1 else None
    return Evaluation(config, gathered, measures, settings, seed, conditions, rankings, systems, clusters, main)


def _named_main(gathered: Gathered, name: str) -> MainLabeler:
    known = [source.name for source in gathered.sources]
    if name not in known:
        raise ConfigError(f"--labeler {name}: no such labeler here; {nearest(name, known)}")
    return MainLabeler(name, f"main labeler: {name}")


def _clusters(path: Path | None, config: PoolConfig | None) -> Clusters:
    """Those of the queries file ``path``, or of all queries of a workspace's file, chosen or not."""
    column = CLUSTER_ID
    if path is not None:
        queries = read_queries(path)
    elif config is not None:
        path, named, column = config.folder / config.queries.path, config.queries, config.queries.cluster_id
        queries = read_queries(path, named.query_id, named.query, named.narrative, column)
    else:
        raise ConfigError("--robust asks for clusters of queries; name their file with --queries, or a workspace by -c")
    if all(query.cluster_id is None for query in queries):
        expected = f"no query has a cluster_id, and --robust asks for some; add a column {quoted(column)}"
        raise InputError(path, None, f"{expected}, or name another file with --queries")
    return Clusters(path, column, file_digest(path), {query.query_id: query.cluster_id for query in queries})


def _not_clustered(clusters: Clusters, conditions: Sequence[Condition]) -> InputError:
    judged = {query_id for condition in conditions for query_id in condition.scores.query_ids}
    if judged.isdisjoint(clusters.of):
        told = f"holds none of the {len(judged):,} judged queries; name the file of these with --queries"
    else:
        told = (
            f"no judged query has a cluster_id in the column {quoted(clusters.column)}; add some, or leave out --robust"
        )
    return InputError(clusters.path, None, told)


def _scale(gathered: Gathered, source: LabelSource) -> list[int]:
    """The grades there are: those declared, or else 0 and what the labeler gave. Other files change nothing."""
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
    measures: tuple[str, ...],
    settings: Settings,
    seed: int,
    scale: Sequence[int],
    pool: Pool | str,
    clusters: Clusters | None,
) -> Condition:
    joined = JudgedRuns(_answering(run_set, source.qrels), source.qrels)
    whole = score(joined, measures)
    returned = dict(zip(whole.run_tags, (~whole.missing).sum(axis=1).tolist(), strict=True))
    joined, scores = _over(settings.queries, joined, whole)
    board = leaderboard(scores, settings.draws, seed)
    bounds = {}
    for wanted in measures:
        cut = _NDCG.match(wanted)
        if cut:
            low, high = ndcg_bounds(joined, int(cut[1]), scale)
            bounds[wanted] = (mean_over(low, scores.averaged).tolist(), mean_over(high, scores.averaged).tolist())
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
        bounds,
        comparisons,
        groups([row.run_tag for row in board.rows], comparisons),
        {m: compare(scores, m, settings.test, baseline, settings.alpha, seed) for m in measures} if baseline else {},
        pool if isinstance(pool, str) else _quality(run_set, joined, pool, measures),
        len(whole.query_ids),
        returned,
        truncated(run_set.facts, measures, joined.judged, scores.query_ids),
        None if clusters is None else robust(scores, clusters.of, settings.draws, seed) or _NO_CLUSTER,
    )


def _over(queries: str, joined: JudgedRuns, scores: Scores) -> tuple[JudgedRuns, Scores]:
    """The same over the queries that one of QUERIES means."""
    lacking = scores.missing.sum(axis=1)
    worst = int(lacking.argmax())
    if queries == "returned":
        if scores.missing[worst].all():
            run_tag = scores.run_tags[worst]
            raise QuatiPoolError(f"{run_tag} returns no judged query, so that it has no mean over those; leave it out")
        return joined, replace(scores, own=True)
    common = np.flatnonzero(~scores.missing.any(axis=0))
    if queries == "judged" or len(common) == len(scores.query_ids):
        return joined, scores
    if not len(common):
        there = f"{scores.run_tags[worst]} returns {len(scores.query_ids) - lacking[worst]:,}"
        raise QuatiPoolError(
            f"no judged query is returned by all {len(scores.run_tags):,} runs, and {there} of "
            f"{len(scores.query_ids):,}; leave it out, or give --queries judged"
        )
    found, qrels = scores.over(common), joined.qrels
    kept = np.isin(qrels.query, qrels.queries.encode(found.query_ids))
    columns = (qrels.query[kept], qrels.doc[kept], qrels.relevance[kept])
    return JudgedRuns(joined.runs, Qrels(qrels.queries, qrels.docs, *columns)), found


def _answering(run_set: RunSet, qrels: Qrels) -> list[Run]:
    """The runs, of which some may have found nothing for the few queries of a sample: such a run is an
    empty one, as it is no run for other queries where others of its workspace answer these."""
    if not run_set.of_workspace:
        return run_set.runs
    found = [emptied_if_unjudged(run, qrels) for run in run_set.runs]
    return found if any(map(len, found)) else run_set.runs


def _ranking(a: Condition, b: Condition, first: str, settings: Settings, seed: int) -> RankingComparison:
    return compare_rankings(
        a.scores, b.scores, first, test=settings.test, alpha=settings.alpha, draws=settings.draws, seed=seed
    )


def _proposed(run_set: RunSet) -> Pool | str:
    """The pool that the runs fed, with no rank beyond their pool depths; or why it is not known."""
    if run_set.pool_depths is None:
        return "how deep the runs were pooled is not known; say so with --pool-depth"
    lacking = [run_tag for run_tag in run_set.absent if run_set.pool_depths[run_tag]]
    if lacking:
        return f"{', '.join(lacking)} fed the pool and is not there, so that what it shares would count as others' own"
    depths = {run.run_tag: run_set.pool_depths[run.run_tag] for run in run_set.runs}
    if not any(depths.values()):
        return "none of the runs fed the pool"
    return depth_pool([run.head(depths[run.run_tag]) for run in run_set.runs], depths)


def _quality(run_set: RunSet, joined: JudgedRuns, pool: Pool, measures: tuple[str, ...]) -> PoolQuality:
    """``pool``: that of all runs of the set; what a run returned that answers no judged query is left out."""
    depths = dict(zip(pool.run_tags, pool.depths.tolist(), strict=True))
    related = len({run_set.families[run_tag] for run_tag in depths}) < len(joined.runs)
    answering = np.array([len(run) > 0 for run in joined.runs])
    return PoolQuality(
        leave_one_system_out(joined, depths, run_set.extra, measures),
        leave_one_family_out(joined, depths, run_set.families, run_set.extra, measures) if related else None,
        diversity_by_grade(replace(pool, ranks=pool.ranks * answering), joined.qrels),
    )


def mean_bounds(condition: Condition, measure_name: str, run_tag: str) -> tuple[float, float] | None:
    """The lowest and highest mean that a run could have; None for a measure without bounds."""
    found = condition.bounds.get(measure_name)
    if found is None:
        return None
    at = condition.scores.run_tags.index(run_tag)
    return found[0][at], found[1][at]
