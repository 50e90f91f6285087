"""The tables of how complete a pool is: what it lacks of each query, and what each round found."""

from __future__ import annotations

from quati_pool.commands.completeness import LabeledCompleteness
from quati_pool.pooling.completeness import TOO_MANY, Completeness, PoolCompleteness, Unseen
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.tables import Cell, Column, Table


def tables(report: LabeledCompleteness | None) -> list[Table]:
    """A row for each query, those that need more first; and one for each round, if there are several."""
    if report is None or report.found is None or report.labeler is None:
        return []
    rounds = [_rounds(report.found)] if len(report.found.rounds) > 1 else []
    return [_queries(report.found, report.labeler), *rounds]


def _queries(found: PoolCompleteness, labeler: str) -> Table:
    random, several = found.whole.drawn > 0, len(found.rounds) > 1
    columns = [Column(heading) for heading in ("Query", "Pairs", "Relevant", "By one family", "By two")]
    columns += [Column("Outside, at least", 1), Column("95 % interval", 0)]
    columns += [Column("Drawn"), Column("Outside, by the draw", 1), Column("95 % interval", 0)] if random else []
    columns += [Column("New in the last round", 1, percent=True)] if several else []
    ordered = sorted(found.queries, key=lambda query: (not query.needs, -query.surely_lacks))

    def row(one: Completeness) -> list[Cell]:
        cells: list[Cell] = [one.query_id or "All", one.pairs, one.relevant, one.once, one.twice, *_cells(one.capture)]
        cells += [one.drawn, *_cells(one.random)] if random else []
        cells += [one.last.relevant / one.last.graded if one.last else None] if several else []
        return [*cells, ", ".join(one.needs) if one.query_id else ""]

    note = (
        f"Relevant: grade {found.relevant_from} or higher by {labeler}. Outside, at least: a lower bound, from what "
        f"exactly one and exactly two of {len(found.families):,} families of systems found; over all "
        "queries from their counts together. "
    )
    note += "By the draw: among the candidates of the systems, from random pairs. " if random else ""
    note += (
        f"A query needs more if, at the lower end of the interval, at least one document and more than {TOO_MANY:.0%} "
        f"of the relevant ones are outside{', or of its last round were relevant' if several else ''}. Intervals hold "
        "for these queries and cover neither disagreement among labelers nor documents that no such system finds."
    ).replace("%", " %")
    leads = {0: [links.query(query.query_id or "", by=labeler) for query in ordered]}
    return Table(
        "Relevant documents outside the pool",
        [*columns, Column("Needs more, by")],
        [*map(row, ordered), row(found.whole)],
        note,
        totals=1,
        links=leads,
    )


def _cells(unseen: Unseen | None) -> list[Cell]:
    return [None, None] if unseen is None else [unseen.estimate, (unseen.low, unseen.high)]


def _rounds(found: PoolCompleteness) -> Table:
    headings = ("Round", "Pairs", "Graded", "New relevant", "Relevant so far")
    rows: list[list[Cell]] = [[one.round, one.pairs, one.graded, one.relevant, one.total] for one in found.rounds]
    return Table("Relevant documents by round", [Column(heading) for heading in headings], rows)
