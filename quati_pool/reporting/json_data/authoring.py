"""The JSON of the commands around rounds of writing: ``questions list``, ``report``, ``derive``, ``release``."""

from __future__ import annotations

import shlex
from typing import Any

from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.estimate import Agreement
from quati_pool.commands.annotate.authoring.release import ReleasedQuestions
from quati_pool.commands.annotate.authoring.report import (
    AuthoringReport,
    Evaluated,
    HumanAnswers,
    PersonsWork,
    RoundsReport,
)
from quati_pool.commands.annotate.authoring.romqa_report import Comparison, Sizes, Spread, Verification
from quati_pool.commands.annotate.draft_decisions import Drafts
from quati_pool.commands.annotate.drafts.deriving import DerivedByModel
from quati_pool.reporting.json_data.draft_decisions import drafts_data
from quati_pool.reporting.json_data.draft_decisions import estimate as _estimate
from quati_pool.reporting.json_data.serializer import Undefined, Views, known, pick, serialize


def as_data(result: RoundsReport | AuthoringReport | Derived | AddedBlocks | ReleasedQuestions) -> Any:
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
    if found.romqa is not None:
        return {
            **progress(found.progress),
            **pick(found.romqa, "verification clusters sizes naturalness=comparison"),
            "by_person": found.people,
            "drafts": found.drafts,
        }
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
    data: dict[str, Any] = {**pick(one, "field values n")}
    if one.estimate is not None:
        name = "share" if set(one.values) == {"yes", "no"} else "mean"
        data |= _estimate(name, one.estimate)
    return data | _agreement(one.agreement)


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        **_estimate("alpha", found.alpha, "alpha_low", "alpha_high"),
        **_estimate("ac1", found.ac1, "ac1_low", "ac1_high"),
        "agreement_n": found.n,
    }


def _human(one: HumanAnswers) -> dict[str, Any]:
    return {
        "language": one.language,
        **_estimate("F1", one.f1),
        **_estimate("EM", one.em, "EM_low", "EM_high"),
        "n": one.n,
    }


def _verification(one: Verification) -> dict[str, Any]:
    return {
        **pick(one, "verifiers judged exact"),
        **_estimate("share", one.share),
        "refusals": one.refusals,
        **_agreement(one.agreement),
    }


def _sizes(one: Sizes) -> dict[str, Any]:
    data = pick(one, "split questions clusters constraints negated answers evidence")
    return {**data, "negated": known(one.negated, "there are no questions")}


def _spread(one: Spread) -> dict[str, Any]:
    return {name: known(value, one.why) for name, value in (("mean", one.mean), ("median", one.median))}


def _comparison(one: Comparison) -> dict[str, Any]:
    found = one.naturalness
    tests = {"p_randomisation": found.randomisation, "p_wilcoxon": found.wilcoxon}
    return {
        "other_set": one.other,
        **pick(found, "pairs=blocks clusters raters"),
        **_estimate("ours", found.ours, "ours_low", "ours_high"),
        **_estimate("other", found.other, "other_low", "other_high"),
        **_estimate("difference", found.difference, "difference_low", "difference_high"),
        "between_clusters": known(found.between_clusters, found.difference.why),
        **{name: known(test.p, test.undefined) for name, test in tests.items()},
        **_estimate("alpha", found.alpha, "alpha_low", "alpha_high"),
        "rated_by_several": found.rated_by_several,
    }


def _person(one: PersonsWork) -> dict[str, Any]:
    data = pick(one, "person round given refused undone seconds")
    return {**data, "median_seconds": known(one.median_seconds, "no entry has a time")}


def _by_model(one: DerivedByModel) -> dict[str, Any]:
    return {
        **pick(one, "model drafter"),
        "texts": len(one.texts),
        **pick(one, "held_back failed not_asked calls"),
        "cost": Undefined("no call has a known cost") if one.unknown and not one.cost else one.cost,
        "calls_of_unknown_cost": one.unknown,
        "error": None if one.error is None else str(one.error),
    }


VIEWS: Views = {
    RoundsReport: lambda one: {**progress(one), "units": one.units},
    AuthoringReport: _report,
    Evaluated: _evaluated,
    HumanAnswers: _human,
    PersonsWork: _person,
    Drafts: drafts_data,
    Derived: lambda one: pick(one, "questions added there too_small replaced by_model?"),
    DerivedByModel: _by_model,
    AddedBlocks: lambda one: pick(one, "name raters questions added there waiting unpaired unused"),
    ReleasedQuestions: lambda one: {
        **pick(one, "path form made unit units out open choices"),
        **({} if one.with_evidence is None else pick(one, "with_evidence shared_constraints")),
        "next": [shlex.join(("quati-pool", *command)) for command in one.commands],
    },
    Verification: _verification,
    Sizes: _sizes,
    Spread: _spread,
    Comparison: _comparison,
}
