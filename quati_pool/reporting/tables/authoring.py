"""The tables of the rounds in which questions are written."""

from __future__ import annotations

from collections.abc import Mapping

from quati_pool.commands.annotate.authoring.blocks import AddedBlocks
from quati_pool.commands.annotate.authoring.data_set import unit_name
from quati_pool.commands.annotate.authoring.derive import Derived
from quati_pool.commands.annotate.authoring.estimate import Estimate
from quati_pool.commands.annotate.authoring.release import ReleasedQuestions
from quati_pool.commands.annotate.authoring.report import AuthoringReport, Evaluated, RoundsReport
from quati_pool.commands.annotate.authoring.romqa_report import Comparison, RomqaReport, Spread
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import draft_decisions
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
        *(_romqa(found.romqa) if found.romqa is not None else ()),
        _people(found),
        draft_decisions.table(found.drafts),
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


def sizes(found: RomqaReport) -> Table:
    """What RoMQA's tables say of the data set: a row for all questions, and one for each split."""
    columns = [
        Column("split"),
        Column("questions"),
        Column("clusters"),
        Column("constraints"),
        Column("negated", 1, True),
    ]
    columns += [Column("answers"), Column("evidence texts")]
    rows: list[tuple[Cell, ...]] = [
        (
            "all" if one.split is None else one.split,
            *(one.questions, one.clusters, _spread(one.constraints), one.negated),
            *(_spread(one.answers), _spread(one.evidence)),
        )
        for one in found.sizes
    ]
    note = (
        "constraints, answers and different evidence texts of a question: mean (median); negated: of all constraints; "
        "splits as a release into a new folder has them"
    )
    return Table("Questions that stay", columns, rows, note)


def _romqa(found: RomqaReport) -> list[Table]:
    verified = found.verification
    columns = [Column("figure"), Column("value", 3), Column("95 % interval", 3), Column("questions")]
    measured = [
        ("asks exactly this, by all verifiers", verified.share, verified.judged),
        ("Krippendorff's α", verified.agreement.alpha, verified.agreement.n),
        ("Gwet's AC1", verified.agreement.ac1, verified.agreement.n),
    ]
    rows: list[tuple[Cell, ...]] = [(name, one.value, _ends(one), n) for name, one, n in measured]
    note = "of the questions that all verifiers judged, kept or not; intervals over clusters"
    refusals = list(verified.refusals.items())
    fates = found.clusters
    listed = [
        sizes(found),
        Table("Verification", columns, rows, note),
        Table("Why verifiers refused", [Column("reason"), Column("judgements")], refusals),
        Table(
            "Clusters",
            list(map(Column, ("stay", "undecided", "go"))),
            [(fates.stay, fates.undecided, fates.go)],
            f"stay: {fates.least:,} questions are kept; go: fewer can be",
        ),
    ]
    return listed if found.comparison is None else [*listed, _naturalness(found.comparison)]


def _naturalness(compared: Comparison) -> Table:
    found = compared.naturalness
    columns = [Column("naturalness, 1 to 5"), Column("value", 2), Column("95 % interval", 2), Column("p")]
    rows: list[tuple[Cell, ...]] = [
        ("these questions", found.ours.value, _ends(found.ours), ""),
        (compared.other, found.other.value, _ends(found.other), ""),
        ("difference", found.difference.value, _ends(found.difference), ""),
        ("mean difference of clusters, randomisation", found.between_clusters, None, _p(found.randomisation.p)),
        ("mean difference of clusters, Wilcoxon", found.between_clusters, None, _p(found.wilcoxon.p)),
        ("agreement of raters (α, ordinal)", found.alpha.value, _ends(found.alpha), ""),
    ]
    pairs = f"{found.blocks:,} pairs of {found.clusters:,} clusters, rated by {found.raters:,} people"
    return Table("Naturalness", columns, rows, f"{pairs}; intervals over clusters")


def _p(p: float | None) -> str:
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def _spread(found: Spread) -> str:
    return "–" if found.mean is None or found.median is None else f"{found.mean:,.1f} ({found.median:,.1f})"


def derived(found: Derived | AddedBlocks) -> list[Table]:
    if isinstance(found, AddedBlocks):
        headings = ("added", "there already", "tasks wait", "no question left")
        row = (found.added, found.there, found.waiting, found.unpaired)
        return [Table("Pairs for rating", list(map(Column, headings)), [row])]
    columns = [Column("field"), Column("added")]
    return [Table("Added for acceptance", columns, sorted(found.added.items()))]


def released(found: ReleasedQuestions) -> list[Table]:
    columns = [Column("split"), Column(unit_name(found.unit))]
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
