"""What ``audit --compare`` says of two judges: which to take, why, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from quati_pool.agreement.kappa_contrast import KappaContrast
from quati_pool.commands.audit.asking import Asked
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.comparison import AuditComparison, Expense, compare_audits
from quati_pool.evaluation.judge_contrast import JudgeContrast
from quati_pool.registry import PROBES
from quati_pool.reporting.answers.audit_comparison import answer
from quati_pool.reporting.formats.answers import LINES, PIPE, answer_text
from quati_pool.stats.bootstrap import Contrast, Interval
from quati_pool.text.display_width import columns
from tests.reporting.answers.test_near_duplicates import duplicates
from tests.reporting.audit_reports import STUFFED, probed, report
from tests.reporting.grade_audits import all_beyond, grades, wordings

TAU = Contrast(0.94, 0.85, 0.09, Interval(0.02, 0.15))
KAPPA = Contrast(0.41, 0.29, 0.12, Interval(0.09, 0.15))
LEVEL = Contrast(0.1, 0.08, 0.02, Interval(-0.01, 0.05))
SAME = Contrast(0.4, 0.39, 0.01, Interval(-0.02, 0.04))
CLEARED = probed("stuffing")


def pair(one: AuditReport | None = None, other: AuditReport | None = None) -> list[AuditReport]:
    """The audits of gpt and mistral, which were asked about different texts."""
    theirs = replace(other or report(CLEARED), judge="mistral")
    probes = [
        replace(probe, cases=[replace(case, query_id=f"x{case.query_id}") for case in probe.cases])
        for probe in theirs.probes
    ]
    return [replace(one or report(CLEARED), judge="gpt"), replace(theirs, probes=probes)]


def compared(
    reports: list[AuditReport], tau: Contrast | None = TAU, kappa: Contrast | None = KAPPA, **changes: Any
) -> AuditComparison:
    found = compare_audits(reports, changes.pop("expenses", ()))
    changes = {"people": "nist", "measure": "nDCG@10", **changes}
    systems = None if tau is None else JudgeContrast(53, 63, tau, LEVEL)
    return replace(found, kappa=kappa and KappaContrast(900, 53, kappa), systems=systems, **changes)


def said(found: AuditComparison, reports: list[AuditReport] | None = None) -> str:
    return str(answer(found, reports or pair()).sentences[0])


def test_the_one_that_orders_systems_better() -> None:
    assert said(compared(pair(), take=0, basis="order")) == (
        "Take gpt rather than mistral: its τ with the order of systems under nist is 0.09 higher (95 % interval 0.02 "
        "to 0.15); its κ with nist is 0.12 higher (0.09 to 0.15); it is fooled by nothing that mistral is not."
    )


def test_the_other_one_and_what_speaks_for_the_first() -> None:
    tau = Contrast(0.85, 0.94, -0.09, Interval(-0.15, -0.02))
    assert said(compared(pair(), tau, take=1, basis="order")) == (
        "Take mistral rather than gpt: its τ with the order of systems under nist is 0.09 higher (95 % interval 0.02 "
        "to 0.15); its κ with nist is 0.12 lower (0.09 to 0.15); it is fooled by nothing that gpt is not."
    )


def test_the_one_that_is_not_fooled() -> None:
    reports = pair(report(CLEARED), report(STUFFED))
    assert said(compared(reports, SAME)) == (
        "Take gpt rather than mistral: mistral is fooled by keyword stuffing (34 % against 0 %), which is not shown of "
        "gpt; no difference of its τ with the order of systems under nist is shown (+0.01, 95 % interval -0.02 to "
        "0.04); its κ with nist is 0.12 higher (0.09 to 0.15); it is fooled by nothing that mistral is not."
    )


def test_kappa_decides_and_comes_first() -> None:
    found = said(compared(pair(), SAME, take=0, basis="kappa"))
    assert found.startswith("Take gpt rather than mistral: its κ with nist is 0.12 higher (95 % interval 0.09 to 0.15)")


def test_neither_is_shown_to_be_better_and_the_cheaper_is_taken() -> None:
    found = compared(pair(), SAME, SAME, expenses=[Expense(1.2), Expense(0.004)])
    assert said(found) == (
        "Neither gpt nor mistral is shown to be better: no difference of τ with the order of systems under nist is "
        "shown (+0.01, 95 % interval -0.02 to 0.04); no difference of κ with nist is shown (+0.01, -0.02 to 0.04); in "
        "no danger are they shown to differ; take mistral, the cheaper (US$ < 0.01 per 1,000 pairs against 1.20)."
    )
    faster = compared(pair(), None, None, expenses=[Expense(None, 4.0), Expense(None, 30.0)])
    assert said(faster).endswith("; take gpt, the faster (4.0 minutes per 1,000 pairs against 30.0).")


def test_each_with_a_danger_of_its_own() -> None:
    reports = pair(report(STUFFED, probed("length")), report(CLEARED, probed("length", "fooled", 60, ends=(0.5, 0.7))))
    found = said(compared(reports))
    assert found.startswith(
        "Which of gpt and mistral to take depends on the use: gpt is fooled by keyword stuffing (34 % against 0 %); "
        "mistral is fooled by length and position (60 % against 0 %); gpt's τ with the order of systems under nist is "
        "0.09 higher (95 % interval"
    )


def test_an_undefined_figure_and_ends_near_zero() -> None:
    undefined = Contrast(None, 0.3, None, Interval(None, None))
    close = Contrast(0.41, 0.4, 0.0102, Interval(0.0004, 0.02))
    found = said(compared(pair(), undefined, close, take=0, basis="kappa"))
    assert "its κ with nist is 0.0102 higher (95 % interval 0.0004 to 0.0200)" in found
    assert "its τ with the order of systems under nist is undefined for one of them" in found


def test_judges_that_agree_with_each_other_more_than_with_people() -> None:
    *_, alike = answer(compared(pair(), between=0.5), pair()).sentences
    assert (
        alike
        == "Their κ with each other is 0.50, with nist 0.41 and 0.29, so that neither confirms the other's grades."
    )
    *_, apart = answer(compared(pair(), between=0.2), pair()).sentences
    assert apart == "Their κ with each other is 0.20, with nist 0.41 and 0.29."


def test_what_is_left_to_ask_is_said() -> None:
    reports = pair(report(CLEARED, runs=[Asked("gpt", 5, 7)]))
    assert (
        "7 texts are still to be asked about; the same command asks the rest."
        in answer(compared(reports), reports).rest
    )


def test_a_run_that_ended_early_recommends_none() -> None:
    reports = pair(report(CLEARED), report(STUFFED, runs=[Asked("mistral", 14, 1139, ended="budget")]))
    first, figures, *_ = answer(compared(reports), reports).sentences
    assert first == (
        "Not finished: 1,139 texts are still to be asked about, so neither gpt nor mistral is recommended yet; the "
        "same command asks the rest."
    )
    assert figures.startswith("By the grades that there are: gpt's τ with the order of systems under nist is 0.09 high")
    assert "still to be asked" not in answer(compared(reports), reports).rest


@pytest.mark.parametrize("name", ["gpt", "a" * 60, "\u202egpt\x1b[31m"])
@pytest.mark.parametrize("runs", [(), [Asked("mistral", 14, 1139, ended="budget")]])
def test_all_dangers_of_two_judges_fit_on_a_screen(name: str, runs: Any) -> None:
    every = [probed(one, "fooled", 34, ends=(0.25, 0.44), control=3, excess=(0.22, 0.4)) for one in PROBES.names()]
    reports = pair(
        replace(report(*every), grades=all_beyond(), near_duplicates=duplicates(), wordings=wordings()),
        replace(report(*map(probed, PROBES.names()), runs=runs), grades=grades("mistral")),
    )
    reports[0] = replace(reports[0], judge=name)
    found = compared(reports, between=0.5, expenses=[Expense(1.2, 3.0), Expense(0.5, 40.0)])
    text = answer_text(answer(found, reports))
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(columns, lines)) <= PIPE
    assert "Not shown here" not in text
    # Next to long names those of dangers are cut.
    assert all(any(line.startswith(one.danger[:6]) for line in lines[-30:]) for one in found.dangers)
    assert len(found.dangers) == 19
    assert "\x1b" not in text
    assert "\u202e" not in text.split("\n\n")[0]
