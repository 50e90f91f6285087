"""The tables of ``audit``, of its forecast and of the probes that there are.

The texts of passages are hostile by design: whatever in them would act or hide is replaced by a mark before it enters a
cell, in every format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from quati_pool.audit.base import PairTexts
from quati_pool.audit.cases import Case
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.commands.components import ProbeListing
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import audit_grades, components, drift, near_duplicates
from quati_pool.reporting.tables.audit_grades import LEVEL
from quati_pool.reporting.tables.shown_texts import marks, shown, texts_table
from quati_pool.stats.shares import Difference, Share
from quati_pool.text.pluralize import listed

_SAME = "(the pair as it is)"


def tables(reports: Sequence[AuditReport], width: int | None = None) -> list[Table]:
    """All tables: the probes and their variants, judge by judge, and the worst examples, each as a table with lines of
    at most ``width`` characters, or all in one table if None."""
    found = []
    for report in reports:
        found += [probes_table(report), *audit_grades.tables(report), *near_duplicates.tables(report)]
        found.append(variants_table(report))
        found += [] if report.drift is None else drift.tables(report.judge, report.drift)
        if width is None:
            found += [examples_table(report), near_duplicates.examples_table(report)]
        else:
            found += [*example_tables(report, width), *near_duplicates.example_tables(report, width)]
    return [table for table in found if table.rows]


def probes_table(report: AuditReport) -> Table:
    """What each probe found, with all figures."""
    columns = [
        Column("Danger"),
        Column("Probe", detail=True),
        Column("Verdict"),
        Column("n"),
        Column("Fooled %", 1),
        Column(LEVEL, 1),
        Column("Controls %", 1),
        Column("Controls' interval", 1, detail=True),
        Column("Excess %", 1),
        Column("Its interval", 1),
        Column("Bound %", 1),
        Column("Mean change", 2),
        Column("Controls' change", 2, detail=True),
        Column("Ungraded", detail=True),
        Column("Controls ungraded", detail=True),
        Column("By people", detail=True),
        Column("Not asked because", prose=True, detail=True),
        Column("Do not", prose=True, detail=True),
        Column("Paper", prose=True, detail=True),
    ]
    rows = [_row(one) for one in report.probes]
    notes = [
        "n: changed pairs with a grade, or answers where each pair was asked about several times. Fooled: those whose "
        "grade moved as it must not. Excess: fooled less controls, where there are any. Verdict: fooled if the "
        "interval of the excess is above the bound, or that of one way of changing pairs, corrected for the number of "
        "ways; cleared if the interval is at most the bound and neither that of a way nor that of the controls is "
        "above it; else undecided. Intervals hold for each probe alone, with these texts.",
    ]
    details = ["By people: changed pairs that people had graded. Ungraded ones are not counted."]
    title = f"Dangers that {report.judge} was tested for"
    return Table(title, columns, rows, " ".join([*notes, *details]), latex_note=" ".join(notes))


def _row(one: AuditedProbe) -> list[Cell]:
    named: list[Cell] = [one.probe.danger, one.name]
    ends: list[Cell] = [problem(one) or "", one.probe.advice, one.probe.paper]
    found = one.findings
    if found is None:
        return [*named, "not asked", 0, *[None] * 6, 100 * one.probe.parameters.bound, *[None] * 5, *ends]
    return [
        *named, found.verdict, found.fooled.n, *_percents(found.fooled), *_percents(found.control),
        *_percents(found.excess), 100 * found.bound, found.mean_change, found.control_change, found.ungraded,
        ungraded_controls(one), one.by_people, *ends,
    ]  # fmt: skip


def problem(one: AuditedProbe) -> str | None:
    """Why a probe has no answer; None if it has."""
    if one.problem is not None:
        return one.problem
    if one.findings is None or not one.findings.fooled.n:
        return "no text of it has a grade yet"
    return None


def ungraded_controls(one: AuditedProbe) -> int:
    """How many controls have no grade."""
    if one.outcomes is None:
        return 0
    graded = np.isfinite(one.outcomes.control).tolist()
    return sum(case.control is not None and not has for case, has in zip(one.cases, graded, strict=True))


def _percents(found: Share | Difference | None) -> tuple[float | None, tuple[float, float] | None]:
    """A share or a difference, and its interval, in percent."""
    value = None if found is None else found.share if isinstance(found, Share) else found.value
    if found is None or value is None:
        return None, None
    return 100 * value, (100 * found.low, 100 * found.high)


def variants_table(report: AuditReport) -> Table:
    """What each way of changing pairs found."""
    columns = [
        Column("Danger"), Column("Variant"), Column("n"), Column("Fooled %", 1), Column(LEVEL, 1, detail=True),
        Column("Controls %", 1), Column("Controls' interval", 1, detail=True), Column("Excess %", 1),
        Column("Its interval", 1), Column("Fools it"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            one.probe.danger,
            each.name,
            each.fooled.n,
            *_percents(each.fooled),
            *_percents(each.control),
            *_percents(each.excess),
            "yes" if each in one.findings.fooled_by else "",
        ]
        for one in report.probes
        if one.findings is not None
        for each in one.findings.variants
    ]
    note = "Fools it: its excess lies above the bound, by an interval that is corrected for the number of ways."
    return Table(f"Ways of changing pairs that {report.judge} was asked about", columns, rows, note)


def examples_table(report: AuditReport) -> Table:
    """The worst examples of all probes, with their texts in full."""
    found = list(worst(report))
    with_narratives = any(case.original.narrative or case.changed.narrative for _, _, case in found)
    headings = ["Danger", "Variant", "query_id", "doc_id", "Grade before", "Grade after", "Grade of control"]
    columns = [
        *map(Column, [*headings, "Grade by people"]),
        *(Column(name, prose=True, detail=True) for name in _texts(None, narratives=with_narratives)),
    ]
    rows: list[list[Cell]] = [
        [
            one.probe.danger, case.variant, shown(case.query_id), shown(case.doc_id), case.before,
            grade_after(one, place), grade_of_control(one, place), case.people,
            *_texts(case, narratives=with_narratives).values(),
        ]
        for one, place, case in found
    ]  # fmt: skip
    title = f"Examples that fooled {report.judge} most"
    return Table(title, columns, rows, marks(rows), latex_note="The texts are in the tables of other formats.")


def example_tables(report: AuditReport, width: int) -> list[Table]:
    """A table for each of the worst examples, with its texts in full in lines of at most ``width`` characters."""
    found = []
    for one, place, case in worst(report):
        people = "none" if case.people is None else case.people
        control = grade_of_control(one, place)
        grades = [f"{case.before} before", f"{grade_after(one, place)} after"]
        grades += [] if control is None else [f"{control} in the control"]
        title = (
            f"{one.probe.danger}, {case.variant}: query {shown(case.query_id)}, passage {shown(case.doc_id)}; "
            f"{report.judge} graded {listed(grades)}; people's grade: {people}"
        )
        found.append(texts_table(title, _texts(case, narratives=True), width))
    return found


def worst(report: AuditReport) -> Iterator[tuple[AuditedProbe, int, Case]]:
    """The cases that fooled the judge most, with their places among those of their probe."""
    for one in report.probes:
        for place in () if one.findings is None else one.findings.worst:
            yield one, place, one.cases[place]


def grade_after(one: AuditedProbe, place: int) -> int | None:
    """The judge's grade of a changed pair."""
    return None if one.outcomes is None else _grade(one.outcomes.after[place])


def grade_of_control(one: AuditedProbe, place: int) -> int | None:
    """The judge's grade of a control; None without one."""
    return None if one.outcomes is None else _grade(one.outcomes.control[place])


def _grade(value: float) -> int | None:
    return None if np.isnan(value) else int(value)


def _texts(case: Case | None, *, narratives: bool) -> dict[str, str | None]:
    """The texts of a case by name, those changed and of the control where they differ from the pair's; None for those
    that there are not."""
    names = {"query": "Query", "narrative": "Narrative", "text": "Passage"}
    if not narratives:
        del names["narrative"]
    found: dict[str, str | None] = {}
    for part, name in names.items():
        found[name] = None if case is None else _part(case.original, part)
    for kind in ("changed", "control"):
        texts: PairTexts | None = None if case is None else getattr(case, kind)
        for part, name in names.items():
            same = case is None or texts is None or getattr(case.original, part) == getattr(texts, part)
            found[f"{kind.capitalize()} {name.lower()}"] = (
                None if same or texts is None else _part(texts, part) or "(none)"
            )
        if case is not None and texts == case.original:
            found[f"{kind.capitalize()} passage"] = _SAME
    return found


def _part(texts: PairTexts, part: str) -> str | None:
    text = getattr(texts, part)
    return None if text is None else shown(text) or "(empty)"


def plans_table(plans: Sequence[AuditPlan]) -> Table:
    """What a run would ask each judge, and what it would cost."""
    headings = ("Judge", "Texts", "To ask", "Calls", "Tokens in", "Tokens out")
    rows: list[list[Cell]] = [
        [
            plan.judge, plan.texts, plan.to_ask, plan.calls, plan.input_tokens, plan.output_tokens,
            "unknown" if plan.cost is None else plan.cost, None if plan.seconds is None else plan.seconds / 60,
        ]
        for plan in plans
    ]  # fmt: skip
    columns = [*map(Column, headings), Column("US$", 2), Column("Minutes", 1)]
    notes = dict.fromkeys(note for plan in plans for note in plan.notes)
    several = len(plans) > 1
    if several:
        total = plan_total(plans)
        minutes = None if total.seconds is None else total.seconds / 60
        rows.append(["All", *total[:5], "unknown" if total.cost is None else total.cost, minutes])
    return Table("What a run would ask", columns, rows, "; ".join(notes), totals=int(several))


class PlanTotal(NamedTuple):
    """What all judges together would be asked. ``cost`` is None if a price is unknown, ``known_cost`` that of the
    others; ``seconds`` is None if the time of one is unknown."""

    texts: int
    to_ask: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    known_cost: float
    seconds: float | None


def plan_total(plans: Sequence[AuditPlan]) -> PlanTotal:
    costs = [plan.cost for plan in plans if plan.cost is not None]
    times = [plan.seconds for plan in plans if plan.seconds is not None]
    return PlanTotal(
        texts=sum(plan.texts for plan in plans),
        to_ask=sum(plan.to_ask for plan in plans),
        calls=sum(plan.calls for plan in plans),
        input_tokens=sum(plan.input_tokens for plan in plans),
        output_tokens=sum(plan.output_tokens for plan in plans),
        cost=sum(costs) if len(costs) == len(plans) else None,
        known_cost=sum(costs),
        seconds=sum(times) if len(times) == len(plans) else None,
    )


def plan_tables(plans: Sequence[AuditPlan]) -> list[Table]:
    """What a run would ask, and by which probes."""
    columns = [Column("Audit of"), Column("Danger"), Column("Probe"), Column("Pairs"), Column("Changed pairs")]
    columns += [Column("By people"), Column("Not asked because", prose=True)]
    audited = {plan.audited: plan.probes for plan in plans}
    rows: list[list[Cell]] = [
        [name, one.probe.danger, one.name, one.pairs, len(one.cases), one.by_people, one.problem or ""]
        for name, probes in audited.items()
        for one in probes
    ]
    return [plans_table(plans), *([Table("Probes", columns, rows)] if rows else [])]


def probes(found: Sequence[ProbeListing]) -> list[Table]:
    """The probes that there are with their papers, and their parameters."""
    listed, parameters = components.steps(found)
    columns = [Column("Probe"), listed.columns[1], Column("Shown in"), listed.columns[2]]
    rows = [[*row[:2], one.paper, row[2]] for row, one in zip(listed.rows, found, strict=True)]
    named = [Column("Probe"), *parameters.columns[1:]]
    note = "In pool.yaml: audit: {probes: {stuffing: {bound: 0.05}}}"
    return [Table("Probes", columns, rows), Table(parameters.title, named, parameters.rows, note)]
