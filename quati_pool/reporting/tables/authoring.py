"""The tables of the rounds in which questions are written."""

from __future__ import annotations

from collections.abc import Mapping

from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.release import ReleasedQuestions
from quati_pool.commands.annotate.authoring.report import AuthoringReport, Estimate, Evaluated, RoundsReport
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.text.durations import duration

HEADINGS = {
    "generic": "generic question",
    "in_text": "answerable with the text alone",
    "sense": "makes sense",
    "hard": "hard",
    "equivalent": "answers are equivalent",
    "type": "type of question",
}
"""What people evaluate, in words."""

_ALPHA = (
    "α: Krippendorff's, ordinal for 1 to 5, else nominal; AC1: Gwet's; over the questions that several people evaluated"
)


def rounds(found: RoundsReport) -> Table:
    """Each round that has tasks."""
    columns = [Column(heading) for heading in ("round", "open", "held", "done")]
    return Table("Tasks by round", columns, [tuple(one) for one in found.rounds if one.open + one.held + one.done])


def items(found: RoundsReport) -> Table:
    """Each kind of item with its states, and why items are out."""
    rows: list[tuple[Cell, ...]] = [
        (kind, *(states.get(state, 0) for state in ("open", "kept", "out")), _reasons(found.out.get(kind, {})))
        for kind, states in found.states.items()
    ]
    columns = [Column(heading) for heading in ("kind", "open", "kept", "out")]
    return Table("Items", [*columns, Column("reasons for out", prose=True)], rows)


def progress(found: RoundsReport) -> list[Table]:
    """All tables of ``questions list``."""
    rows = [(one.question_id, one.state, one.reason or "", one.source_id, one.text) for one in found.units]
    columns = [*map(Column, ("id", "state", "why", "from")), Column("as first written", prose=True)]
    return [rounds(found), items(found), Table("What was written", columns, rows)]


def evaluations(found: AuthoringReport) -> Table:
    """A row for each aspect, with the share of yes or the mean, and agreement where several people evaluated a
    question."""
    headings = [Column("aspect"), Column("n"), Column("yes, or mean"), Column("95 % interval")]
    if not any(one.agreement.n for one in found.evaluations):
        return Table("Evaluations", headings, [_evaluated(one) for one in found.evaluations])
    headings += [Column("α", 3), Column("AC1", 3), Column("by several", detail=True)]
    agreed = [(one.agreement.alpha.value, one.agreement.ac1.value, one.agreement.n) for one in found.evaluations]
    rows = [(*_evaluated(one), *ends) for one, ends in zip(found.evaluations, agreed, strict=True)]
    return Table("Evaluations", headings, rows, _ALPHA)


def tables(found: AuthoringReport) -> list[Table]:
    """All tables of ``questions report``; those without a row are left out."""
    listed = [
        rounds(found.progress),
        items(found.progress),
        evaluations(found),
        Table(
            "How often each value was given",
            [Column("aspect"), Column("value"), Column("evaluations")],
            [(HEADINGS.get(one.field, one.field), *pair) for one in found.evaluations for pair in one.values.items()],
        ),
        Table(
            "Answerable questions (answer triggering)",
            [Column("label"), Column("questions")],
            list(found.labels.items()),
            "makes sense 4 or 5: yes; 1 or 2: no; 3: dropped; none: not evaluated",
        ),
        human(found),
        _people(found),
        Table(
            "Derived texts by program",
            [*map(Column, ("program", "accepted", "edited", "refused", "waiting")), Column("accepted or edited", 1)],
            [
                (
                    *(one.model, one.accepted, one.edited, sum(one.refused.values()), one.waiting),
                    None if one.share.value is None else 100 * one.share.value,
                )
                for one in found.drafts
            ],
            "accepted or edited: percent of those decided",
        ),
        Table(
            "What rules point out in kept questions",
            [Column("oddity"), Column("times")],
            list(found.oddities.items()),
        ),
    ]
    return [table for table in listed if table.rows]


def human(found: AuthoringReport) -> Table:
    """F1 and exact match of people's answers."""
    columns = [Column("language"), Column("F1", 1), Column("95 % interval", 1), Column("EM", 1)]
    columns += [Column("95 % interval", 1), Column("questions")]
    rows: list[tuple[Cell, ...]] = [
        (one.language, one.f1.value, _ends(one.f1), one.em.value, _ends(one.em), one.n) for one in found.human
    ]
    note = "the first assessor's answer against the author's, in percent; intervals over texts"
    return Table("How well people answer", columns, rows, note)


def derived(found: Derived) -> list[Table]:
    columns = [Column("field"), Column("added")]
    return [Table("Added for acceptance", columns, sorted(found.added.items()))]


def released(found: ReleasedQuestions) -> list[Table]:
    columns = [Column("split"), Column(found.unit)]
    tables = [Table("Splits", columns, list(found.units.items()))]
    rows = [(language, one.accepted, one.refused, one.missing) for language, one in found.choices.items()]
    if rows:
        headings = ("language", "accepted", "refused", "never accepted as they are")
        tables.append(Table("Sets of multiple choice", list(map(Column, headings)), rows))
    return tables


def _evaluated(one: Evaluated) -> tuple[Cell, ...]:
    value, interval = "", ""
    if one.estimate is not None and one.estimate.value is not None:
        share = one.estimate.value if set(one.values) == {"yes", "no"} else None
        value = f"{one.estimate.value:.2f}" if share is None else f"{100 * share:.1f} %"
        if one.estimate.low is not None and one.estimate.high is not None:
            ends = (one.estimate.low, one.estimate.high)
            interval = " to ".join(f"{end:.2f}" if share is None else f"{100 * end:.1f} %" for end in ends)
    return HEADINGS.get(one.field, one.field), one.n, value, interval


def _people(found: AuthoringReport) -> Table:
    rows = [
        (
            *(one.person, one.round, one.given, one.refused, one.undone, duration(one.seconds)),
            one.median_seconds,
        )
        for one in found.people
    ]
    columns = [Column(heading) for heading in ("person", "round", "given", "refused", "undone", "active time")]
    return Table("Work by person", [*columns, Column("median s", 0)], rows, "times are of entries that count")


def _ends(found: Estimate) -> Cell:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _reasons(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1]))
