"""The answers of ``questions draft`` and of its ``--dry-run``."""

from __future__ import annotations

from quati_pool.commands.annotate.drafts.estimate import DraftPlan
from quati_pool.commands.annotate.drafts.report import DraftReport
from quati_pool.commands.llm_runs import dollars
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import drafts as tables
from quati_pool.text.pluralize import counted

_SOURCES = {"passages": "passages", "taxonomy": "combinations", "clusters": "queries of clusters"}


def drafts(report: DraftReport) -> Answer:
    """How many drafts wait for people, what became of the others, and the cost."""
    total = report.sources
    if not total:
        return Answer([f"There is nothing to draft from: no {_SOURCES[report.origin]}."])
    waiting = f"{report.waiting:,} of {counted(total, 'draft', 'drafts')} by {wording.name(report.drafter)}"
    parts = [f"{waiting} {'waits' if report.waiting == 1 else 'wait'} for people"]
    if report.decided:
        parts.append(f"{report.decided:,} decided")
    if held := report.held_back:
        parts.append(f"{held.total():,} held back ({_reasons(held.most_common())})")
    if failed := report.failed:
        parts.append(f"{failed.total():,} no draft ({_reasons(failed.most_common())})")
    if left := report.not_asked:
        parts.append(f"{left:,} not asked for")
    sentences = [f"{'; '.join(parts)}; {wording.asked_cost(report.calls, report.cost, report.unknown)}."]
    if total < report.wanted:
        sentences.append(f"There are {total:,} {_SOURCES[report.origin]}, so fewer than the {report.wanted:,} of --n.")
    if report.failed["failed"] and report.error is None:
        sentences.append("Run the same command again: failed calls are made again.")
    rest = f"--full lists every draft; {report.path} has them too."
    if report.waiting or report.held_back["subject"]:
        rest += "\nnext: quati-pool annotate"
    return Answer(sentences, tables.outcomes(report), rest)


def plan(found: DraftPlan) -> Answer:
    """What a run would ask, and what it would cost."""
    name, sources = wording.name(found.drafter), counted(found.sources, "draft", "drafts")
    if not found.to_ask:
        closed = f" ({_reasons(found.closed.most_common())})" if found.closed else ""
        return Answer([f"Of {sources}, nothing is left to ask {name} for{closed}; nothing was asked."])
    cost = "at an unknown price" if found.cost is None else f"for about {dollars(found.cost)}"
    said = f"{name} would be asked for {found.to_ask:,} of {sources}, {cost}; nothing was asked."
    table = tables.plan(found)
    (row,) = table.rows
    facts: list[list[Cell]] = [
        [column.heading, column.show(cell)] for column, cell in zip(table.columns[1:], row[1:], strict=True)
    ]
    return Answer([said], Table(table.title, [Column("What"), Column("Estimate")], facts), ". ".join(found.notes))


def _reasons(found: list[tuple[str, int]]) -> str:
    return wording.counts((reason.replace("_", " "), count) for reason, count in found)
