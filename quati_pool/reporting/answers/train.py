"""The answer of ``train judge``."""

from __future__ import annotations

from typing import Any

from quati_pool.commands.train.judge import TrainedJudgeReport
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables.train import measures
from quati_pool.text.pluralize import counted, listed


def answer(report: TrainedJudgeReport) -> Answer:
    card = report.card
    steps = card.steps
    teachers = listed([wording.name(one.name) for one in card.teachers])
    learned = (
        f"It learned from {counted(steps['training_pairs'], 'pair', 'pairs')} of "
        f"{counted(len(card.training_queries), 'query', 'queries')} with the grades of {teachers}"
    )
    negatives = card.negatives["training"]
    learned += f", {negatives:,} of them ungraded and taken as irrelevant." if negatives else "."
    stopped = steps["done"] < steps["planned"]
    early = f" Training ended early, after step {steps['done']:,} of {steps['planned']:,}." if stopped else ""
    already = [] if report.trained else ["This judge was trained before; nothing was done."]
    rest = (
        f"The model, with its card, is in {report.folder}. Let it grade by an entry under judges: in pool.yaml,\n"
        f"  {report.folder.name}: {{judge: distilled, model: {report.path_in_workspace}}}\n"
        f"and look how it errs: quati-pool judge {report.folder.name}, quati-pool audit {report.folder.name}. What it "
        f"must not be used for: docs/own-judge.md. --full prints all tables."
    )
    return Answer([*already, _result(report), learned + early], measures(report), rest)


def _result(report: TrainedJudgeReport) -> str:
    """How well it grades, or why that is not known."""
    found = report.card.held_out
    name = wording.name(report.folder.name)
    if not found["pairs"]:
        return f"{name} is trained; how well it grades is not known, as no queries were held out."
    on = (
        f"On {counted(found['pairs'], 'pair', 'pairs')} of {counted(found['queries'], 'query', 'queries')} that it was "
        f"not trained on"
    )
    if found["auc"]["value"] is None:
        return f"{on}, how well {name} tells relevant from irrelevant is not known: {found['undefined']['auc']}."
    said = f"{on}, {name} tells relevant from irrelevant with an AUC of {_value(found['auc'])}"
    kappa = found.get("kappa_relevant", {})
    if kappa.get("value") is None:
        return f"{said}."
    agreement = found.get("agreement", {})
    of = "pairs" if not found["negatives"] else "the pairs that were graded"
    same = f", and the same grade in {_value(agreement)} of {of}" if agreement.get("value") is not None else ""
    return f"{said}; κ of relevant or not is {_value(kappa)}{same}."


def _value(one: dict[str, Any]) -> str:
    ends = "" if one["low"] is None else f" ({one['low']:.3f} to {one['high']:.3f})"
    return f"{one['value']:.3f}{ends}"
