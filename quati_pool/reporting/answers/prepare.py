"""The answers of ``prepare`` and ``prepare --explain``."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.commands.prepare.prepare import Funnel
from quati_pool.project.workspace import Workspace
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.text.pluralize import counted


def answer(result: Funnel) -> Answer:
    first, last = result.counts[0], result.counts[-1]
    written = [f"{counted(one.rows, 'passage', 'passages')} in {one.folder}" for one in result.written]
    said = [
        f"{counted(first.rows_out, 'page was', 'pages were')} read; {counted(last.rows_out, 'row', 'rows')} of "
        f"{counted(last.pages_out, 'page', 'pages')} are left "
        f"({wording.percent(last.pages_out, first.pages_out)} of the pages, "
        f"{wording.percent(last.characters_out, first.characters_out)} of the text)."
    ]
    if written:
        said.append(f"Written: {'; '.join(written[:4])}{f'; {len(written) - 4:,} more' if len(written) > 4 else ''}.")
    reasons = [
        (count, f"{link.label}: {reason}")
        for link, counts in zip(result.links, result.counts, strict=True)
        for reason, count in counts.dropped.items()
    ]
    if reasons:
        count, reason = max(reasons)
        said.append(f"Most were dropped by {reason} ({count:,}).")
    rows: list[list[Cell]] = [
        [link.label, link.unit, count.rows_in, sum(count.dropped.values()), count.rows_out, count.pages_out]
        for link, count in zip(result.links, result.counts, strict=True)
    ]
    columns = [Column(name) for name in ("Step", "Rows are", "Came", "Dropped", "Left", "Pages left")]
    report = Workspace(result.config.folder).report(f"prepare-{result.config.name}.md")
    rest = (
        f"--full prints all tables, as does {report}. Examples of what was dropped: quati-pool prepare --explain STEP."
    )
    return Answer(said, Table(f"Funnel of {result.config.name}", columns, rows), rest)


def explained(tables: Sequence[Table]) -> Answer:
    """Examples of dropped rows, of all rules that were asked about."""
    columns = [Column("Rule"), Column("doc_id"), Column("Text", prose=True)]
    rows = [[table.title, row[0], row[-1]] for table in tables for row in table.rows]
    said = [f"{table.title}." for table in tables]
    return Answer(said, Table("Examples", columns, rows), "--full prints pages and measured values.")
