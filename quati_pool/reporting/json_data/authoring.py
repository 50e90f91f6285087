"""The JSON of the commands around rounds of writing: ``questions list``, ``report``, ``derive``, ``release``."""

from __future__ import annotations

import shlex
from typing import Any

from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.release import ReleasedQuestions
from quati_pool.commands.annotate.authoring.report import (
    AuthoringReport,
    Drafts,
    Estimate,
    Evaluated,
    HumanAnswers,
    PersonsWork,
    RoundsReport,
)
from quati_pool.reporting.json_data.serializer import Undefined, Views, known, pick, serialize


def as_data(result: RoundsReport | AuthoringReport | Derived | ReleasedQuestions) -> Any:
    """The JSON object of a result; an undefined number is null, with the reason under ``undefined``."""
    return serialize(result, VIEWS)


def progress(found: RoundsReport) -> dict[str, Any]:
    """How far the rounds are, without the items of the data set one by one."""
    return {
        "design": found.design,
        "unit": found.unit,
        "people": found.people,
        **pick(found, "rounds items=states out"),
    }


def _report(found: AuthoringReport) -> dict[str, Any]:
    return {
        **progress(found.progress),
        "evaluations": found.evaluations,
        "at_labels": found.labels,
        "human": found.human,
        "by_person": found.people,
        "drafts": found.drafts,
        "oddities": found.oddities,
    }


def _evaluated(one: Evaluated) -> dict[str, Any]:
    agreement = one.agreement
    data: dict[str, Any] = {**pick(one, "field values n")}
    if one.estimate is not None:
        name = "share" if set(one.values) == {"yes", "no"} else "mean"
        data |= _estimate(name, one.estimate)
    data |= _estimate("alpha", agreement.alpha, "alpha_low", "alpha_high")
    data |= _estimate("ac1", agreement.ac1, "ac1_low", "ac1_high")
    return {**data, "agreement_n": agreement.n}


def _human(one: HumanAnswers) -> dict[str, Any]:
    return {
        "language": one.language,
        **_estimate("F1", one.f1),
        **_estimate("EM", one.em, "EM_low", "EM_high"),
        "n": one.n,
    }


def _person(one: PersonsWork) -> dict[str, Any]:
    data = pick(one, "person round given refused undone seconds")
    return {**data, "median_seconds": known(one.median_seconds, "no entry has a time")}


def _drafts(one: Drafts) -> dict[str, Any]:
    return {**pick(one, "model accepted edited refused waiting"), **_estimate("share", one.share)}


def _estimate(name: str, found: Estimate, low: str = "low", high: str = "high") -> dict[str, Any]:
    ends = {low: found.low, high: found.high}
    return {
        key: value if value is not None else Undefined(found.why) for key, value in {name: found.value, **ends}.items()
    }


VIEWS: Views = {
    RoundsReport: lambda one: {**progress(one), "units": one.units},
    AuthoringReport: _report,
    Evaluated: _evaluated,
    HumanAnswers: _human,
    PersonsWork: _person,
    Drafts: _drafts,
    Derived: lambda one: pick(one, "questions added there too_small replaced"),
    ReleasedQuestions: lambda one: {
        **pick(one, "path form made unit units out open choices"),
        "next": shlex.join(("quati-pool", *one.command)) if one.command else None,
    },
}
