"""The JSON of ``replay pools``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.replay.pools import PoolReplayReport
from quati_pool.pooling.replay.results import Outcome, Ranking
from quati_pool.reporting.json_data.serializer import Undefined, known, pick, serialize

_TIED = "one of the rankings puts no two systems in order"
_NO_DEPTH = "depth pooling found nothing relevant"
_NO_ORDER = "no grade changes what the method chooses"
_NO_FAMILIES = "families were not left out"
_NO_JUDGE = "there is no judge"


def as_data(report: PoolReplayReport) -> Any:
    """The JSON object of ``replay pools``. Undefined values are null, with the reason under ``undefined``."""
    found, plan, judge = report.replay, report.plan, report.judge
    families = found.families if found.outcomes[0].left_out is not None else None
    data = {
        **pick(report, "measure people=people.name people_version=people.version"),
        "judge": Undefined(_NO_JUDGE) if judge is None else judge.name,
        **({} if judge is None else {"judge_version": judge.version}),
        **pick(plan, "depth shares steered_by relevant"),
        **({} if judge is None else {"judge_relevant": plan.judge_relevant}),
        **pick(plan, "random_share=random seed seeds"),
        "parameters": {method.name: method.parameters.model_dump() for method in plan.methods},
        **pick(found, "n_queries=queries n_candidates=candidates n_relevant=relevant"),
        "n_families": known(families, _NO_FAMILIES),
        "lacking": {"people": found.lacking_people, **({} if judge is None else {"judge": found.lacking_judge})},
        "systems": [{"run_tag": run_tag, "mean": mean} for run_tag, mean in found.truth.items()],
        "judge_alone": Undefined(_NO_JUDGE) if found.judge_alone is None else _ranking(found.judge_alone),
        "methods": [_outcome(one) for one in found.outcomes],
        "warnings": report.warnings,
    }
    return serialize(data)


def _outcome(one: Outcome) -> dict[str, Any]:
    times = one.times_depth
    return {
        **pick(one, "method budget"),
        "steered_by": known(one.steered_by, _NO_ORDER),
        **pick(one, "share labels found recall"),
        "times_depth": known(times.value, _NO_DEPTH),
        "times_depth_interval": known(None if times.low is None else [times.low, times.high], _NO_DEPTH),
        "rankings": {scoring: _ranking(ranking) for scoring, ranking in one.rankings.items()},
        "left_out": Undefined(_NO_FAMILIES) if one.left_out is None else _ranking(one.left_out),
        "seeds": one.seeds,
    }


def _ranking(one: Ranking) -> dict[str, Any]:
    correlations = {name: known(value, _TIED) for name, value in pick(one, "tau tau_ap top_tau").items()}
    return {**correlations, **pick(one, "bias error")}
