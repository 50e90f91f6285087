"""The JSON of ``evaluate``."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from quati_pool.commands.evaluate import Condition, Evaluation, PoolQuality, mean_bounds
from quati_pool.evaluation.leaderboard import LeaderboardRow
from quati_pool.evaluation.qrels_comparison import Correlation, RankingComparison, Swap
from quati_pool.evaluation.reusability import Change, LeaveOut, LeftOut, Stability, Unjudged
from quati_pool.evaluation.robust import Robust, Robustness, RobustRow
from quati_pool.evaluation.significance import Comparison
from quati_pool.evaluation.truncation import Incomplete, Truncated
from quati_pool.files.runs import RankContradictions
from quati_pool.labels.gathered import shared_members
from quati_pool.pooling.diversity import GradeShares, Share
from quati_pool.reporting.json_data.serializer import Undefined, Views, fields, known, pick, serialize
from quati_pool.reporting.json_data.shared import INTERVALS, UNUSED_ROWS
from quati_pool.reporting.tables.evaluate import COEFFICIENTS
from quati_pool.stats.bootstrap import Interval

_NO_DRAWS = "no resamples were drawn"


def as_data(evaluation: Evaluation, per_query: bool = False) -> Any:
    """The JSON object of ``evaluate``; undefined values are null, with the reason under ``undefined``.

    ``per_query`` adds the value of every run on every judged query.
    """
    data = {
        **pick(evaluation, "measures test=settings.test alpha=settings.alpha baseline=settings.baseline"),
        **pick(evaluation, "queries=settings.queries draws=settings.draws seed"),
        **serialize({"main_labeler": _main_labeler(evaluation)}),
        "qrels": [_condition(evaluation, condition, per_query) for condition in evaluation.conditions],
        "rank_correlation": [_ranking(a, b, found) for a, b, found in evaluation.rankings],
        **pick(evaluation, "duplicates=gathered.duplicates unmatched=gathered.unmatched problems=gathered.problems"),
        "warnings": evaluation.warnings,
    }
    return serialize(data, VIEWS)


def _main_labeler(evaluation: Evaluation) -> str | Undefined:
    main = evaluation.main
    if main is None:
        return Undefined("the labelers were named")
    return Undefined(main.said) if main.name is None else main.name


def _condition(evaluation: Evaluation, condition: Condition, per_query: bool) -> dict[str, Any]:
    source, board, covers, quality = condition.source, condition.board, condition.covers, condition.quality
    leave_out, grades = (Undefined(quality),) * 2 if isinstance(quality, str) else (quality, quality.grades)
    return {
        "name": condition.name,
        **pick(source, "labeler=name version file=origin"),
        "runs_from": condition.run_set.name or None,
        "absent_runs": condition.run_set.absent,
        "pairs": len(source.qrels),
        "pool": covers and dict(zip(("graded", "pairs"), covers, strict=True)),
        "without_grade": source.lacking,
        **_gains(condition),
        **pick(board, "queries queries_without_relevant=without_relevant"),
        **pick(condition, "judged_queries truncated"),
        "runs": [_run(evaluation, condition, row, per_query) for row in board.rows],
        "comparisons": {evaluation.measures[0]: condition.comparisons},
        "against_baseline": condition.against,
        "leave_out": leave_out,
        "grades": grades,
        **({} if evaluation.clusters is None else {"robust": _robust(condition)}),
    }


def _gains(condition: Condition) -> dict[str, Any]:
    """By whose grades and which gains a hybrid's measures are; nothing for other labelers."""
    hybrid = condition.source.hybrid
    if hybrid is None:
        return {}
    gains = {
        name: "expected" if name in condition.of_expected_gains else "likeliest" for name in condition.board.measures
    }
    return {"hybrid": hybrid.as_json(), "gains": gains}


def _run(evaluation: Evaluation, condition: Condition, row: LeaderboardRow, per_query: bool) -> dict[str, Any]:
    run_tag, scores = row.run_tag, condition.scores
    no_interval = "an interval over queries needs two of them" if evaluation.settings.draws else _NO_DRAWS
    bounds = {name: mean_bounds(condition, name, run_tag) for name in evaluation.measures}
    [holes] = [one for one in condition.holes if one.run_tag == run_tag]
    data = {
        "run_tag": run_tag,
        "sha256": condition.run_set.digests.get(run_tag),
        "rank": row.rank,
        "group": condition.letters[run_tag],
        "measures": {
            name: {"mean": mean.mean, **_ends(mean.interval, no_interval)} for name, mean in row.measures.items()
        },
        "missing_queries": condition.judged_queries - condition.returned[run_tag],
        **pick(row, "unjudged_queries queries"),
        **serialize(_run_facts(condition, run_tag), VIEWS),
        "bounds": {name: {"low": ends[0], "high": ends[1]} for name, ends in bounds.items() if ends is not None},
        "unjudged": holes.cutoffs,
    }
    if per_query:
        values = scores.values[scores.run_tags.index(run_tag)]
        data["per_query"] = {
            name: dict(zip(scores.query_ids, of_queries.tolist(), strict=True))
            for name, of_queries in zip(scores.measures, values, strict=True)
        }
    return data


def _ends(interval: Interval, reason: str) -> dict[str, Any]:
    return {"low": known(interval.low, reason), "high": known(interval.high, reason)}


def _run_facts(condition: Condition, run_tag: str) -> dict[str, Any]:
    facts, contradictions = condition.run_set.facts[run_tag], condition.run_set.contradictions.get(run_tag)
    return {
        "queries_returned": condition.returned[run_tag],
        **pick(facts, "rows documents_per_query=longest tied_rows=tied"),
        "tied_share": known(facts.tied_share, "the run holds no rows"),
        "rank_contradictions": known(contradictions, "the run was not read from a file"),
        "truncated_measures": [name for one in condition.truncated if run_tag in one.run_tags for name in one.measures],
    }


def _robust(condition: Condition) -> dict[str, Any] | Undefined:
    robust = condition.robust
    if not isinstance(robust, Robust):
        return Undefined(robust)
    undefined = {f"tau.{name}": tau for name, tau in robust.tau.items() if isinstance(tau, str)}
    return {
        **pick(robust, "clusters single_query_clusters=single queries queries_without_cluster=without_cluster"),
        "queries_not_in_file": robust.unknown,
        "tau": {name: None if isinstance(tau, str) else tau for name, tau in robust.tau.items()},
        **({"undefined": undefined} if undefined else {}),
        "runs": [_robust_run(row, robust) for row in robust.rows],
    }


def _robust_run(row: RobustRow, robust: Robust) -> dict[str, Any]:
    several = robust.clusters - robust.single
    return {
        **pick(row, "run_tag rank rank_by_mean"),
        "measures": _robust_measures(row.measures, robust.clusters),
        "clusters_of_several": _robust_measures(row.of_several, several)
        if several
        else Undefined("no cluster has two judged queries"),
    }


def _robust_measures(measures: dict[str, Robustness], clusters: int) -> dict[str, Any]:
    reason = "one cluster only" if clusters < 2 else _NO_DRAWS
    return {
        name: {part: {"value": one.value, **_ends(one.interval, reason)} for part, one in found._asdict().items()}
        for name, found in measures.items()
    }


def _ranking(a: Condition, b: Condition, found: RankingComparison) -> dict[str, Any]:
    correlations: dict[str, Correlation] = {name: getattr(found, name) for name in COEFFICIENTS}
    undefined: dict[str, str | None] = {}
    for name, one in correlations.items():
        if one.undefined:
            undefined[name] = one.undefined
        if one.interval.low is None:
            lost = "undefined in more than half of the resamples" if one.interval.undefined else _NO_DRAWS
            undefined[f"intervals.{name}"] = one.undefined or lost
    if found.max_rank_change is None:
        undefined |= dict.fromkeys(("max_rank_change", "mean_rank_change"), found.tau.undefined)
    return {
        "a": a.name,
        "b": b.name,
        "measure": found.measure,
        "queries": pick(found, "a=queries_a b=queries_b common"),
        **pick(found, "top rbo_p"),
        "shared_members": shared_members(a.source, b.source),
        **pick(found, "max_rank_change mean_rank_change pairs_of_systems=pairs tied_pairs=tied"),
        "intervals": {name: one.interval for name, one in correlations.items()},
        "undefined": undefined,
        **{name: one.value for name, one in correlations.items()},
        "swaps": found.swaps,
    }


VIEWS: Views = {
    PoolQuality: fields("systems families", families="no two runs are of one family"),
    LeaveOut: fields("queries judged_pairs runs=systems measures"),
    LeftOut: fields("run_tag left_out pool_depth=depth unique_pairs unique_relevant emptied_queries measures"),
    Change: fields("before after difference rank_before rank_after"),
    Stability: fields("tau mean_change max_change", tau=attrgetter("undefined")),
    GradeShares: lambda grades: {"rows": [*grades.grades, grades.relevant], "ungraded": grades.ungraded},
    Share: fields("grade=name pairs unique unique_share", unique_share="no pair has such a grade"),
    Unjudged: fields("returned unjudged share", share="the run returned nothing"),
    Comparison: fields(
        "a b difference p p_holm significant", difference=attrgetter("undefined"), p=attrgetter("undefined")
    ),
    Truncated: fields("run_tags documents_per_query=depth measures incomplete"),
    Incomplete: fields("measure queries most_relevant=most"),
    RankContradictions: fields("queries rows"),
    Swap: fields(
        "better worse difference_a difference_b p_a p_b significant_a significant_b",
        p_a=attrgetter("undefined_a"),
        p_b=attrgetter("undefined_b"),
    ),
    **INTERVALS,
    **UNUSED_ROWS,
}
