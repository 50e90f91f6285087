"""The JSON of ``agree``."""

from __future__ import annotations

from typing import Any

import numpy as np

from quati_pool.agreement.disagreement import Hardness, QueryDisagreement
from quati_pool.agreement.estimates import Estimates
from quati_pool.agreement.overall import Overall
from quati_pool.agreement.pairwise import PairAgreement, QueryPair
from quati_pool.agreement.paper_tables import Layout, QueryLayout
from quati_pool.commands.agree import AgreeReport
from quati_pool.labels.gathered import LabelSource
from quati_pool.reporting.json_data.serializer import Views, fields, known, pick, serialize
from quati_pool.reporting.json_data.shared import INTERVALS, UNUSED_ROWS


def as_data(report: AgreeReport) -> Any:
    """The JSON object of ``agree``; undefined values are null, with the reason under ``undefined``."""
    return serialize(report, VIEWS)


def _report(report: AgreeReport) -> dict[str, Any]:
    gathered = report.gathered
    # Files as they were named, so that the output does not depend on the current folder.
    files = {source.name: source.origin for source in gathered.sources if source.origin}
    return {
        "labelers": report.ratings.labelers,
        "people": gathered.people,
        "scale": dict(sorted(gathered.scale.items())),
        **pick(report, "matched_by=gathered.matched_by draws seed revealed=gathered.revealed"),
        "sources": [_source(report, source) for source in gathered.sources],
        **pick(report, "pairs overall layouts"),
        "queries": [
            {"query_id": query.query_id, "query": gathered.queries.get(query.query_id), "pairs": query.pairs}
            for query in report.queries
        ],
        **pick(report, "kappa_by_query=query_layout hardest_queries=hardest"),
        "duplicates": [row._replace(path=files[row.labeler]) for row in gathered.duplicates],
        **pick(gathered, "unmatched problems"),
    }


def _source(report: AgreeReport, source: LabelSource) -> dict[str, Any]:
    return {
        **pick(source, "labeler=name kind version file=origin"),
        "graded": len(source.qrels),
        **pick(source, "without_grade=lacking revealed"),
        "derived": bool(source.members),
        "members": source.members,
        **({} if source.hybrid is None else {"hybrid": source.hybrid.as_json()}),
        "unmatched": report.ratings.pair_ids(report.unmatched[source.name]),
    }


def _undefined_draws(found: Estimates) -> dict[str, int]:
    """How many resamples were left out of each interval because the coefficient is undefined in them."""
    return {name: ends.undefined for name, ends in found.intervals.items() if ends.undefined}


def _pair(pair: PairAgreement) -> dict[str, Any]:
    return {
        **pick(pair, "a b n queries shared_members"),
        **pair.values,
        **pick(pair, "confusion intervals"),
        "undefined_draws": _undefined_draws(pair),
        **pick(pair, "undefined binarized"),
        **_weighting(pair),
    }


def _weighting(pair: PairAgreement) -> dict[str, Any]:
    """How a pair's figures are weighted, with those without weights; nothing where weights are not called for."""
    if pair.weighting is None or pair.unweighted is None:
        return pick(pair, "not_weighted?")
    plain = pair.unweighted
    return {
        "weighted": pick(pair.weighting, "designs n queries left_out"),
        "confusion_weighted": pair.weighting.shares,
        "unweighted": {
            **plain.values,
            **pick(plain, "intervals"),
            "undefined_draws": _undefined_draws(plain),
            **pick(plain, "undefined binarized"),
        },
    }


def _overall(found: Overall) -> dict[str, Any]:
    return {
        **found.values,
        **pick(found, "labelers left_out intervals"),
        "undefined_draws": _undefined_draws(found),
        **pick(found, "n graded undefined"),
    }


def _layout(found: Layout) -> dict[str, Any]:
    return {
        "people": found.people,
        "rows": [_layout_row(found, row) for row in range(len(found.labelers))],
        **pick(found, "mean_human=human_mean std_human=human_std"),
        "undefined": {} if len(found.people) > 1 else {"mean_human": "fewer than two people"},
    }


def _layout_row(found: Layout, row: int) -> dict[str, Any]:
    labeler, mean = found.labelers[row], found.mean[row]
    others = [person for person in found.people if person != labeler]
    no_mean = "undefined with every person" if others else "there is no other person"
    no_difference = no_mean if np.isnan(mean) else "the people have no mean of their own"
    if labeler in found.people:
        no_difference = "a person is part of the mean"
    return {
        "labeler": labeler,
        "values": found.value[row],
        "mean": known(mean, no_mean),
        "std": found.std[row],
        "undefined_values": found.undefined[row],
        "difference": known(found.difference[row], no_difference),
        "undefined": {},
    }


def _query_layout(found: QueryLayout) -> dict[str, Any]:
    return {
        "queries": [
            {
                "query_id": query_id,
                "human": _spread(found.human_mean[row], found.human_std[row], found.human_undefined[row]),
                "judges": {
                    judge: _spread(found.judge_mean[row, i], found.judge_std[row, i], found.judge_undefined[row, i])
                    for i, judge in enumerate(found.judges)
                },
            }
            for row, query_id in enumerate(found.query_ids)
        ],
        "overall": {
            name: {"mean": mean, "std": std, "undefined_queries": undefined}
            for name, mean, std, undefined in zip(
                ("human", *found.judges), found.overall_mean, found.overall_std, found.overall_undefined, strict=True
            )
        },
    }


def _spread(mean: float, std: float, undefined: int) -> dict[str, Any]:
    """The mean over pairs of labelers within a query, and how many of these pairs are undefined and not in the mean."""
    reason = "κ is undefined between all of them" if undefined else "no two of them to compare"
    return {"mean": known(mean, reason), "std": std, "undefined_pairs": undefined}


VIEWS: Views = {
    AgreeReport: _report,
    Estimates: lambda found: {**found.values, **pick(found, "intervals undefined")},
    PairAgreement: _pair,
    QueryPair: lambda pair: {**pick(pair, "a b n"), **pair.values, "undefined": pair.undefined},
    Overall: _overall,
    Layout: _layout,
    QueryLayout: _query_layout,
    Hardness: lambda hard: {"among": hard.judge or hard.among, "queries": hard.queries},
    QueryDisagreement: fields("query_id n agreement mean_distance=distance"),
    **INTERVALS,
    **UNUSED_ROWS,
}
