"""The answer of ``doctor``: whether all can run, what cannot and why, and one row for each part of the machine."""

from __future__ import annotations

from quati_pool.commands.doctor.doctor import Checkup, Problem
from quati_pool.reporting.answers.wording import names
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables.doctor import overview
from quati_pool.text.pluralize import counted, listed

_PROBLEMS = 4


def answer(checkup: Checkup) -> Answer:
    """The first few problems are named; all are in the full tables."""
    more = len(checkup.problems) - _PROBLEMS
    rest = "--full prints every package and problem. Values of keys are never shown."
    said = [_words(one) for one in checkup.problems[:_PROBLEMS]] + ([f"{more:,} more"] if more > 0 else [])
    return Answer([_summary(checkup, said)], overview(checkup), rest)


def _summary(checkup: Checkup, problems: list[str]) -> str:
    lacking = [extra.name for extra in checkup.extras if extra.name and extra.missing]
    extras = f"the extras {listed(lacking)} are" if len(lacking) > 1 else f"the extra {''.join(lacking)} is"
    not_installed = f"; {extras} not installed" if lacking else ""
    if checkup.config is None:
        return f"There is no pool.yaml here, so only the machine was looked at{not_installed}."
    name, systems, judges = checkup.config.name, len(checkup.config.systems), len(checkup.config.judges)
    if not problems:
        asked = f"{counted(systems, 'system', 'systems')}, {counted(judges, 'judge', 'judges')}"
        return f"{name}: all that pool.yaml asks for can run here ({asked}){not_installed}."
    many = counted(len(checkup.problems), "thing keeps", "things keep")
    return f"{name}: {many} what pool.yaml asks for from running here: {'; '.join(problems)}."


def _words(problem: Problem) -> str:
    who = f"{names(problem.affects)}: " if problem.affects else ""
    return f"{who}{problem.what}"
