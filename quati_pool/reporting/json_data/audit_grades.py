"""The part of ``audit``'s JSON on a judge's grades next to people's."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.grades import GradeAudit, Kinship
from quati_pool.commands.audit.wordings import Kappa
from quati_pool.evaluation.qrels_comparison import Correlation, RankingComparison
from quati_pool.reporting.json_data.serializer import Undefined, known, pick
from quati_pool.stats.clustered_means import ClusteredMean

_NAMES = (
    "people", "measure", "order", "level", "decisions", "overrating", "length", "overlap", "kinship", "judge_family",
    "oracle", "alike",
)  # fmt: skip
_NO_RUNS = "systems were not compared: that needs two runs, and people's grades of 80 % of the judge's pairs"
_NO_WORDINGS = "no other wording of the prompt is known; some come with --wording"
_NO_INTERVAL = "there is a single query, or the value is undefined in too many resamples"
_OWN = "this is the judge's own prompt"
_UNGRADED = "people graded none of the pairs"
_NO_TEXTS = "the texts are not known, or length and words cannot be separated"


def grades_data(report: AuditReport) -> dict[str, Any]:
    """Members of the audit's object; all null with the reason if the grades were not compared."""
    found = report.grades
    lines = [pick(one, "danger verdict=position seen low high bound n of side advice") for one in report.grade_lines]
    if found is None:
        missing = report.no_grades or "only some probes were run"
        return {"grade_lines": lines, **dict.fromkeys(_NAMES, Undefined(missing))}
    oracle = found.oracle
    return {
        "grade_lines": lines,
        "people": found.people,
        "measure": found.measure,
        **({"learned_from": found.teachers, "seen_queries": found.seen_queries} if found.teachers else {}),
        "order": _order(found),
        "level": Undefined(_NO_RUNS) if found.gap is None else _mean(found.gap),
        "decisions": _decisions(found),
        "overrating": {
            **_mean(found.overrating.shift),
            "by_grade": [pick(one, "grade n judge implied") for one in found.overrating.by_grade],
        },
        "length": _of_texts(found.overrating.length),
        "overlap": _of_texts(found.overrating.overlap),
        "kinship": Undefined(_NO_RUNS) if found.kinship is None else _families(found.kinship),
        "judge_family": Undefined(_NO_RUNS) if found.kinship is None else pick(found.kinship, "family guessed"),
        **({} if found.drafted is None else {"drafted": pick(found.drafted, "family queries of")}),
        "oracle": Undefined(_NO_RUNS)
        if oracle is None
        else {
            **pick(oracle, "systems rank_judge rank_people mean_judge mean_people"),
            "excess": _mean(oracle.excess),
        },
        "alike": [
            {**pick(one, "judge=other n with_judge=with_other with_people excess"), **pick(one.interval, "low high")}
            for one in found.alike
        ],
    }


def paraphrases_data(report: AuditReport) -> list[dict[str, Any]] | Undefined:
    """The judge under each wording of its prompt, its own first."""
    found = report.wordings
    if found is None:
        return Undefined(report.no_wordings or _NO_WORDINGS)
    return [
        {
            "wording": one.name,
            "n": found.pairs,
            "queries": found.queries,
            "mean": one.mean,
            "shift": Undefined(_OWN) if one.shift is None else _mean(one.shift),
            "kappa": Undefined(_OWN) if one.kappa is None else _coefficient(one.kappa),
            "kappa_people": Undefined(_UNGRADED) if one.kappa_people is None else _coefficient(one.kappa_people),
            "tau": Undefined(_NO_RUNS if one is not found.own else _OWN) if one.tau is None else _coefficient(one.tau),
            "tau_people": Undefined(_NO_RUNS) if one.tau_people is None else _coefficient(one.tau_people),
        }
        for one in found.all
    ]


def _coefficient(found: Kappa | Correlation) -> dict[str, Any]:
    return {
        "value": known(found.value, "all grades are equal" if isinstance(found, Kappa) else found.undefined),
        "low": known(found.interval.low, _NO_INTERVAL),
        "high": known(found.interval.high, _NO_INTERVAL),
    }


def _mean(found: ClusteredMean) -> dict[str, Any]:
    single = "there is a single query"
    return {"value": found.value, "low": known(found.low, single), "high": known(found.high, single), "n": found.n}


def _of_texts(found: ClusteredMean | None) -> dict[str, Any] | Undefined:
    return Undefined(_NO_TEXTS) if found is None else _mean(found)


def _order(found: GradeAudit) -> dict[str, Any] | Undefined:
    if found.rankings is None:
        return Undefined(_NO_RUNS)
    without = None if found.kinship is None else found.kinship.without_kin
    return {**_tau(found.rankings), "without_kin": None if without is None else _tau(without)}


def _tau(found: RankingComparison) -> dict[str, Any]:
    interval, missing = found.tau.interval, found.tau.undefined
    return {
        "tau": known(found.tau.value, missing),
        "low": known(interval.low, missing),
        "high": known(interval.high, missing),
        "systems": len(found.systems),
        "queries": found.common,
        "swaps": len(found.swaps),
    }


def _decisions(found: GradeAudit) -> dict[str, Any] | Undefined:
    one = found.decisions
    if one is None:
        return Undefined(_NO_RUNS)
    return {
        **pick(one, "pairs both opposed only_judge=only_a only_people=only_b neither"),
        "false": known(one.false_of_a, "the judge finds no difference significant"),
        "missed": known(one.missed_by_a, "people find no difference significant"),
    }


def _families(kinship: Kinship) -> list[dict[str, Any]]:
    """A family each, and all kin together, if any, last; its ``family`` is null."""
    alone = "there are no other systems"
    found: list[dict[str, Any]] = [
        {
            "family": one.family,
            "kin": one.kin,
            "systems": {tag: kinship.kin.get(tag) for tag in one.run_tags},
            "shift": Undefined(alone) if one.shift is None else _mean(one.shift),
        }
        for one in kinship.shifts
    ]
    if kinship.kin:
        shift = Undefined(alone) if kinship.excess is None else _mean(kinship.excess)
        found.append({"family": None, "kin": True, "systems": dict(kinship.kin), "shift": shift})
    return found
