"""The answer of ``audit --dry-run``: what an audit would ask, and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.reporting.answers import wording
from quati_pool.reporting.answers.audit import reason
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.audit import plan_total, plans_table
from quati_pool.reporting.tables.plan import dollars
from quati_pool.text.pluralize import counted


def plan_answer(plans: Sequence[AuditPlan]) -> Answer:
    """The answer of ``--dry-run``: what an audit would ask, and what it would cost."""
    said = [_forecast(plan) for plan in plans]
    audited = {plan.audited: plan.probes for plan in plans}
    for name, probes in audited.items():
        problems = [f"{one.probe.danger} ({reason(one)})" for one in probes if one.problem is not None]
        if problems:
            of = f" of {wording.name(name)}" if len(audited) > 1 else ""
            said.append(f"Not to be asked{of}: {'; '.join(problems)}.")
    said += [_total(plans)] if len(plans) > 1 else []
    table = plans_table(plans)
    rest = table.note
    if len(plans) == 1:
        (row,) = table.rows
        facts: list[list[Cell]] = [
            [column.heading, column.show(cell)] for column, cell in zip(table.columns[1:], row[1:], strict=True)
        ]
        table = Table(table.title, [Column("What"), Column("Estimate")], facts)
    else:
        table = replace(table, note="")
    if any(audited.values()):
        rest = f"{rest}\n--full shows how many pairs each probe changes, and why a probe cannot be used.".lstrip()
    return Answer(said, table, rest)


def _forecast(plan: AuditPlan) -> str:
    name = wording.name(plan.judge)
    if plan.judge != plan.audited:
        name += f", for the audit of {wording.name(plan.audited)},"
    if not plan.to_ask:
        return f"{name} has nothing left to ask."
    cost = _price(plan.calls, plan.cost)
    time = "" if plan.seconds is None else f" in about {plan.seconds / 60:,.1f} min"
    calls = f" in {counted(plan.calls, 'call', 'calls')}" if plan.calls else ""
    texts = counted(plan.texts, "text", "texts")
    return f"{name} would be asked about {plan.to_ask:,} of {texts}{calls}, {cost}{time}; nothing was asked."


def _price(calls: int, cost: float | None) -> str:
    if not calls:
        return "at no cost"
    return "at an unknown price" if cost is None else f"for about {dollars(cost)}"


def _total(plans: Sequence[AuditPlan]) -> str:
    """What all judges together would be asked."""
    total = plan_total(plans)
    texts, cost = counted(total.texts, "text", "texts"), _price(total.calls, total.cost)
    if total.cost is None and total.known_cost:
        cost = f"for about {dollars(total.known_cost)} and what those of an unknown price cost"
    calls = f" in {counted(total.calls, 'call', 'calls')}" if total.calls else ""
    return f"In total: {total.to_ask:,} of {texts}{calls}, {cost}."
