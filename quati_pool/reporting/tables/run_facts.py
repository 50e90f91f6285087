"""What ``evaluate`` reports about the runs themselves: their depth, ties, ranks that contradict scores, and the queries
that means are taken over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from quati_pool.commands.evaluate import Condition, Evaluation
from quati_pool.evaluation.truncation import WHOLE, Truncated
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.text.pluralize import counted

COLUMNS = ["queries_returned", "documents_per_query", "tied_share", "rank_contradictions"]
# Printed notes name the runs whose share of tied rows is at least this; files give the share of every run.
_MANY_TIES = 0.01
_NAMED = 4


def heading(evaluation: Evaluation, condition: Condition) -> str:
    """The queries that means are taken over, to be appended to a leaderboard's title; empty for all judged queries."""
    return {
        "judged": "",
        "common": f", over the {counted(condition.board.queries, 'query', 'queries')} that all runs return",
        "returned": ", each run over the queries that it returns",
    }[evaluation.settings.queries]


def which(evaluation: Evaluation) -> str:
    """The same as a restriction, to be appended to a mention of judged queries."""
    of = {"judged": "", "common": " and all runs return", "returned": " and the run returns"}
    return of[evaluation.settings.queries]


def tested(evaluation: Evaluation) -> str:
    """The queries of a paired test, if these are not the ones that means are taken over; otherwise empty."""
    return " over the queries that both return" if evaluation.settings.queries == "returned" else ""


def averaged(evaluation: Evaluation, condition: Condition) -> str:
    """The queries that means are taken over, as a note."""
    board, judged = condition.board, condition.judged_queries
    relevant = f"{board.without_relevant:,} without a relevant pair"
    if evaluation.settings.queries == "common":
        return (
            f"Means over the {board.queries:,} of {counted(judged, 'judged query', 'judged queries')} that all runs "
            f"return, {relevant}; a query that any run lacks counts for none."
        )
    if evaluation.settings.queries == "returned":
        return (
            f"Each mean is over those of the {counted(judged, 'judged query', 'judged queries')} that the run returns "
            "(trec_eval without -c), so that means of different runs may be over different queries; two systems are "
            "compared over the queries that both return."
        )
    return (
        f"Means over {counted(board.queries, 'judged query', 'judged queries')}, {relevant}; "
        "a query that a run lacks counts 0."
    )


def notes(evaluation: Evaluation, condition: Condition) -> list[str]:
    """The notes on the runs: all of them under the first qrels of a set of runs, under the others only those that
    depend on the qrels."""
    first = next(one for one in evaluation.conditions if one.run_set is condition.run_set)
    said = [*_ties(condition), *_contradictions(condition)] if condition is first else []
    return [*said, *filter(None, (_cut(condition, one, condition is first) for one in condition.truncated))]


def table(condition: Condition) -> Table:
    """A table of facts about every run."""
    rows: list[list[Cell]] = []
    for row in condition.board.rows:
        facts, found = condition.run_set.facts[row.run_tag], condition.run_set.contradictions.get(row.run_tag)
        returned = [condition.returned[row.run_tag], facts.rows, facts.longest]
        rows.append([row.run_tag, *returned, facts.tied_share, *((None, None) if found is None else found)])
    columns = [Column("System"), Column("Judged queries returned"), Column("Rows"), Column("Most documents per query")]
    columns += [
        Column("Tied rows", 1, percent=True),
        Column("Queries whose ranks contradict scores"),
        Column("Such rows"),
    ]
    note = (
        f"Of {counted(condition.judged_queries, 'judged query', 'judged queries')}. Tied: rows that share their score, "
        "as float32, with another of their query; they are ordered by doc_id, descending. Scores decide, not ranks."
    )
    leads = {0: [links.system(row.run_tag, by=condition.source.name) for row in condition.board.rows]}
    return Table(f"The runs under {condition.name}", columns, rows, note, links=leads)


def values(condition: Condition, run_tag: str) -> list[Any]:
    """The values of COLUMNS."""
    facts, found = condition.run_set.facts[run_tag], condition.run_set.contradictions.get(run_tag)
    return [condition.returned[run_tag], facts.longest, facts.tied_share, None if found is None else found.queries]


def _ties(condition: Condition) -> list[str]:
    shares = {tag: facts.tied_share or 0 for tag, facts in condition.run_set.facts.items()}
    many = sorted((tag for tag, share in shares.items() if share >= _MANY_TIES), key=lambda tag: -shares[tag])
    if not many:
        return []
    named = _some([f"{tag} {100 * shares[tag]:.0f} %" for tag in many])
    return [f"Rows that share their score with another of their query (as float32; doc_id decides): {named}."]


def _contradictions(condition: Condition) -> list[str]:
    found = {tag: one for tag, one in condition.run_set.contradictions.items() if one.rows}
    if not found:
        return []
    named = _some(
        [
            f"{tag} in {counted(one.queries, 'query', 'queries')} ({counted(one.rows, 'row', 'rows')})"
            for tag, one in found.items()
        ]
    )
    return [f"The rank column contradicts the scores, which decide as in trec_eval: {named}."]


def _cut(condition: Condition, found: Truncated, deeper: bool) -> str:
    """A note on the measures that are affected by cut lists; those that only need deeper lists are included if
    ``deeper``."""
    everyone = len(found.run_tags) == len(condition.run_set.runs) > 1
    who = "All runs" if everyone else _and(_few(found.run_tags))
    said = []
    if found.measures and deeper:
        whole = any("@" not in name for name in found.measures)
        usual = f" (a whole list is by convention {WHOLE:,} documents)" if whole else ""
        said.append(f"{_and(found.measures)} {'is' if len(found.measures) == 1 else 'are'} of truncated lists{usual}")
    for (queries, most), some in groupby(found.incomplete, lambda one: (one.queries, one.most)):
        up_to = "" if queries == 1 else "up to "
        with_more = f"{counted(queries, 'query', 'queries')} with {up_to}{most:,} relevant documents"
        said.append(f"{with_more} cannot have all of them found ({_and([one.measure for one in some])})")
    hold = "holds" if len(found.run_tags) == 1 else "hold"
    depth = counted(found.depth, "document", "documents")
    return f"{who} {hold} at most {depth} per query: {'; '.join(said)}." if said else ""


def _few(names: Sequence[str]) -> list[str]:
    rest = len(names) - _NAMED
    return [*names[:_NAMED], f"{rest:,} more"] if rest > 1 else list(names)


def _some(named: Sequence[str]) -> str:
    return ", ".join(_few(named))


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
