"""The tables of an audit on near-duplicates that a judge graded apart."""

from __future__ import annotations

from collections.abc import Iterator

from quati_pool.audit.near_duplicates import DuplicatePair, GradedApart
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.near_duplicates import EXAMPLES, DuplicateAudit
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.audit_grades import LEVEL
from quati_pool.reporting.tables.shown_texts import marks, shown, texts_table

# The most pairs that a table lists.
_LISTED = 20


def tables(report: AuditReport) -> Iterator[Table]:
    """How many near-duplicates are graded apart, and the first of them; none if no two were graded."""
    audited = report.near_duplicates
    if audited is not None and audited.found.judge.share.n:
        yield shares_table(report.judge, audited)
        yield pairs_table(report.judge, audited)


def shares_table(judge: str, audited: DuplicateAudit) -> Table:
    """The shares of near-duplicates that the judge and people grade apart."""
    columns = [
        Column("Who"), Column("Of the pairs that"), Column("n"), Column("Apart"), Column("Apart %", 1),
        Column(LEVEL, 1), Column("Across"),
    ]  # fmt: skip
    found, people = audited.found, audited.people or ""
    shares = [(judge, f"{judge} graded", found.judge), (judge, f"{people} graded too", found.there)]
    shares.append((people, f"{people} graded too", found.people))
    rows = [[who, of, *_figures(one)] for who, of, one in shares if one is not None]
    note = (
        "Passages of one query whose sets of three successive words overlap by 80 % or more, without those that the "
        f"judge is shown as equal texts. Across: one grade is {audited.answers_from} or more, and the other is less."
    )
    return Table(f"Near-duplicates that {judge} graded apart", columns, rows, note)


def _figures(one: GradedApart) -> list[Cell]:
    share = one.share
    value = None if share.share is None else 100 * share.share
    return [share.n, share.hits, value, (100 * share.low, 100 * share.high), one.across]


def pairs_table(judge: str, audited: DuplicateAudit) -> Table:
    """The pairs to look at first."""
    apart = audited.found.apart
    columns = [
        Column("query_id"), Column("doc_id"), Column("Grade"), Column("Other doc_id"), Column("Other grade"),
        Column("Similarity", 2), Column("People's grade"), Column("People's other grade"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            shown(pair.query_id), shown(pair.doc_id), pair.grade, shown(pair.other_doc_id), pair.other_grade,
            pair.similarity, pair.people, pair.other_people,
        ]
        for pair in apart[:_LISTED]
    ]  # fmt: skip
    all_of_them = f"The first {_LISTED} of {len(apart):,}. " if len(apart) > _LISTED else ""
    note = (
        f"{all_of_them}Those that people have not settled come first, the widest gaps before others. "
        f"All are in {audited.path.name}. {marks(rows)}"
    ).rstrip()
    return Table(f"Near-duplicates of {judge} for people to look at", columns, rows, note)


def examples_table(report: AuditReport) -> Table:
    """The first pairs with their texts in full."""
    columns = [
        Column("query_id"), Column("doc_id"), Column("Grade"), Column("Other doc_id"), Column("Other grade"),
        *(Column(name, prose=True, detail=True) for name in ("Query", "Passage", "Other passage")),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            shown(pair.query_id), shown(pair.doc_id), pair.grade, shown(pair.other_doc_id), pair.other_grade,
            *_texts(audited, pair).values(),
        ]
        for audited, pair in _examples(report)
    ]  # fmt: skip
    title = f"Examples of near-duplicates that {report.judge} graded apart"
    return Table(title, columns, rows, marks(rows), latex_note="The texts are in the tables of other formats.")


def example_tables(report: AuditReport, width: int) -> list[Table]:
    """A table for each of the first pairs, with its texts in full in lines of at most ``width`` characters."""
    return [
        texts_table(
            f"Near-duplicates: query {shown(pair.query_id)}; {report.judge} graded passage {shown(pair.doc_id)} "
            f"{pair.grade}, passage {shown(pair.other_doc_id)} {pair.other_grade}",
            _texts(audited, pair),
            width,
        )
        for audited, pair in _examples(report)
    ]


def _examples(report: AuditReport) -> Iterator[tuple[DuplicateAudit, DuplicatePair]]:
    audited = report.near_duplicates
    if audited is not None:
        yield from ((audited, pair) for pair in audited.found.apart[:EXAMPLES])


def _texts(audited: DuplicateAudit, pair: DuplicatePair) -> dict[str, str | None]:
    one, other = (audited.texts[pair.query_id, doc_id] for doc_id in (pair.doc_id, pair.other_doc_id))
    return {"Query": shown(one.query), "Passage": shown(one.text), "Other passage": shown(other.text)}
