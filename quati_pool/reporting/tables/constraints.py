"""The tables of ``questions constraints``."""

from __future__ import annotations

from quati_pool.commands.annotate.authoring.constraints import ClusterDraw
from quati_pool.reporting.formats.tables import Cell, Column, Table

REASONS = {
    "repeated": "repeated",
    "no_answers": "without answers",
    "too_many_answers": "with too many answers",
    "no_positive": "without a constraint that is not negated",
}
"""Why a draw gives no question, in words."""


def sizes(found: ClusterDraw) -> Table:
    """What clusters and questions consist of."""
    figures = {
        "constraints a cluster": found.cluster_constraints,
        "constraints a question": found.question_constraints,
        "answers a question": found.answers,
        "evidence texts a question": found.evidence,
    }
    rows: list[tuple[Cell, ...]] = [(name, *one) for name, one in figures.items() if one is not None]
    return Table("Clusters and questions", [Column("figure"), Column("mean", 2), Column("median", 1)], rows)


def too_few(found: ClusterDraw) -> str:
    """What is said of the clusters that were skipped."""
    least = found.min_questions
    return "without a question" if least == 1 else f"with fewer than {least} questions"


def tables(found: ClusterDraw) -> list[Table]:
    """All tables."""
    counts = [
        ("triples", found.triples),
        ("constraints with enough answers", found.usable),
        ("clusters", found.clusters),
        (f"clusters {too_few(found)}, skipped", found.skipped),
        ("draws", found.drawn),
        *((f"discarded: {REASONS[reason]}", count) for reason, count in found.discarded.items()),
        ("questions", found.questions),
        ("questions of which all candidates are answers", found.all_answers),
        ("constraints of questions", found.constraints),
        ("negated constraints", found.negated),
        ("ids", found.ids),
        ("ids without a text", found.unnamed),
    ]
    return [sizes(found), Table("Counts", [Column("what"), Column("count")], counts)]
