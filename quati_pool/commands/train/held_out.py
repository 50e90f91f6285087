"""How a trained judge grades pairs of queries that it was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.estimates import Estimates
from quati_pool.agreement.pairwise import PairAgreement, pairwise
from quati_pool.agreement.ratings import Ratings
from quati_pool.labels.qrels import qrels_of
from quati_pool.models.judge_card import JudgeCard
from quati_pool.records import Ids
from quati_pool.stats.bootstrap import DRAWS
from quati_pool.stats.roc import roc_area
from quati_pool.training.judge_data import Examples

_JUDGE, _LABELERS = "judge", "labelers"


def measured(
    card: JudgeCard, outputs: npt.NDArray[np.float64], held_out: Examples, seed: int, draws: int = DRAWS
) -> dict[str, Any]:
    """The measures of a judge's ``outputs``, shape (pairs, outputs), as JSON: each with ``value``, ``low`` and
    ``high``, null where undefined, with the reason under ``undefined``.

    Intervals resample queries. ``auc``: relevant pairs against the others, by score. ``kappa_relevant``: Cohen's κ of
    relevant or not. ``kappa``, ``kappa_quadratic``, ``agreement`` and ``difference`` (the judge's mean grade less the
    labelers'): of grades, where the judge gives all of the scale. Several labelers' grades of a pair are the grade of
    the scale nearest to their mean, the lower one where two are. Pairs that nobody graded count as irrelevant in
    ``auc`` and ``kappa_relevant``, and not in the others.
    """
    counts = {
        "queries": len(set(held_out.query_ids)),
        "pairs": len(held_out),
        "relevant": int(held_out.relevant.sum()),
        "negatives": int(held_out.negative.sum()),
    }
    if not len(held_out):
        return {**counts, "undefined": {"auc": "no queries were held out"}}
    read = card.read(outputs)
    query = Ids(list(dict.fromkeys(held_out.query_ids))).encode(list(held_out.query_ids))
    area = roc_area(read.score, held_out.relevant, query, seed, draws)
    found: dict[str, Any] = {"auc": {"value": area.area, "low": area.interval.low, "high": area.interval.high}}
    undefined: dict[str, str] = {}
    if area.area is None:
        undefined["auc"] = "the held-out pairs are all relevant or all irrelevant"
    elif area.interval.low is None:
        undefined["auc.interval"] = "undefined in more than half of the resamples"
    every = _agreement(card, read.grades, held_out, list(range(len(held_out))), seed, draws)
    parts = [_members(every.binarized[card.relevant_from], {"kappa": "kappa_relevant"})]
    if card.target != "binary" or len(card.scale) == 2:
        graded = np.flatnonzero(~held_out.negative)
        pair = every if len(graded) == len(held_out) else None
        if pair is None and len(graded):
            pair = _agreement(card, read.grades, held_out, graded.tolist(), seed, draws)
        parts.append(_of_grades(pair, held_out.above[graded]))
    for members, reasons in parts:
        found |= members
        undefined |= reasons
    return {**counts, **found, **({"undefined": undefined} if undefined else {})}


def _of_grades(pair: PairAgreement | None, above: npt.NDArray[np.float64]) -> tuple[dict[str, Any], dict[str, str]]:
    """The measures of grades on the pairs that labelers graded, with their ``above``, and why some are undefined;
    ``pair`` is the judge's agreement with the labelers, None without such pairs."""
    kappas, names = ["kappa", "kappa_quadratic"], ["agreement", "difference"]
    if pair is None:
        return {}, dict.fromkeys([*kappas, *names], "no held-out pair was graded")
    reasons: dict[str, str] = {}
    if (above == above[0]).all():
        # Whatever the judge gives them, κ is 0 then, and says nothing.
        reasons = dict.fromkeys(kappas, "the labelers gave all held-out pairs the same grade")
    else:
        names = kappas + names
    members, more = _members(pair, {name: name for name in names})
    return members, reasons | more


def _agreement(
    card: JudgeCard, grades: npt.NDArray[np.int64], held_out: Examples, rows: list[int], seed: int, draws: int
) -> PairAgreement:
    scale = np.array(card.scale)
    means = held_out.above @ np.diff(scale) + scale[0]
    nearest = scale[np.abs(means[:, None] - scale).argmin(axis=1)]
    ids = [(held_out.query_ids[row], held_out.doc_ids[row]) for row in rows]
    graded = {
        name: qrels_of([(*pair, int(values[row])) for pair, row in zip(ids, rows, strict=True)])
        for name, values in ((_JUDGE, grades), (_LABELERS, nearest))
    }
    (pair,) = pairwise(Ratings.join(graded, card.scale), draws, seed)
    return pair


def _members(estimates: Estimates, names: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The coefficients under their new names, and why some are undefined."""
    members, reasons = {}, {}
    for name, called in names.items():
        ends = estimates.intervals.get(name)
        members[called] = {
            "value": estimates.values[name],
            "low": ends.low if ends else None,
            "high": ends.high if ends else None,
        }
        for key, reason in estimates.undefined.items():
            if key in (name, f"intervals.{name}"):
                reasons[called if key == name else f"{called}.interval"] = reason
    return members, reasons
