"""The tables of an audit's second part: a judge's grades next to people's."""

from __future__ import annotations

from collections.abc import Iterator

from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.grades import GradeAudit
from quati_pool.commands.audit.wordings import Kappa, Wordings
from quati_pool.evaluation.qrels_comparison import Correlation, RankingComparison
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.stats.clustered_means import ClusteredMean
from quati_pool.text.pluralize import counted

LEVEL = "95 % interval"


def tables(report: AuditReport) -> Iterator[Table]:
    """All tables, none if the grades were not compared; those without a row are to be left out."""
    yield lines_table(report)
    if report.wordings is not None:
        yield wordings_table(report.wordings)
    found = report.grades
    if found is None:
        return
    yield shifts_table(found)
    yield orders_table(found)
    yield decisions_table(found)
    yield families_table(found)
    yield oracle_table(found)
    yield alike_table(found)


def lines_table(report: AuditReport) -> Table:
    """Every danger of the grades with its figures and what not to do."""
    columns = [
        Column("Danger"), Column("Verdict"), Column("Seen", 3), Column(LEVEL, 3), Column("Bound", 3), Column("n"),
        Column("Of"), Column("Do not", prose=True, detail=True),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [one.danger, one.position, one.seen, ends(one.low, one.high), one.bound, one.n, one.of, one.advice]
        for one in report.grade_lines
    ]
    note = (
        "Order: τ with people's order, to be at least the bound. Level: the judge's measure less people's. "
        "Significance: the share of significant differences under the judge that are none under people. "
        "Overrating: the mean grade less people's. Beyond or within: the whole interval is; else undecided. "
        "Significance has no interval."
    )
    return Table(f"How {report.judge}'s grades differ from people's", columns, rows, note)


def wordings_table(found: Wordings) -> Table:
    """The judge under each wording of its prompt, over the same pairs; its own prompt first."""
    columns = [
        Column("Wording"), Column("Mean grade", 2), Column("Shift", 2), Column(LEVEL, 2), Column("κ with own", 2),
        Column("Its interval", 2, detail=True), Column("κ with people", 2), Column("Its interval", 2, detail=True),
        Column("τ with own", 2), Column("Its interval", 2, detail=True), Column("τ with people", 2),
        Column("Its interval", 2, detail=True),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            one.name, one.mean, *_mean(one.shift), *_figure(one.kappa), *_figure(one.kappa_people), *_figure(one.tau),
            *_figure(one.tau_people),
        ]
        for one in found.all
    ]  # fmt: skip
    pairs = counted(found.pairs, "pair", "pairs")
    note = (
        f"Over the {pairs} of {counted(found.queries, 'query', 'queries')} that have a grade under every wording; "
        f"people graded {found.by_people:,} of them. Shift: the mean grade less that under the judge's own prompt; the "
        f"intervals of all shifts hold together. τ: of the orders of systems by {found.measure}."
    )
    return Table("Grades under other wordings of the prompt", columns, rows, note, totals=0)


def _figure(found: Kappa | Correlation | None) -> list[Cell]:
    return [None, None] if found is None else [found.value, ends(found.interval.low, found.interval.high)]


def shifts_table(found: GradeAudit) -> Table:
    """The judge's mean grade by people's grade."""
    columns = [
        Column("People's grade"), Column("Pairs"), Column("Judge's mean", 2), Column("Without overrating", 2),
        Column("Overrated by", 2),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [one.grade, one.n, one.judge, one.implied, one.judge - one.implied] for one in found.overrating.by_grade
    ]
    note = (
        "Without overrating: the judge's mean if it erred as often upwards as downwards between each two grades. It is "
        "above the lowest grade and below the highest, since there is only one way to err from there."
    )
    return Table(f"Grades of {found.judge} by the grades of {found.people}", columns, rows, note)


def orders_table(found: GradeAudit) -> Table:
    """τ over all systems and without the judge's kin."""
    columns = [
        Column("Systems"), Column("n"), Column("Queries"), Column("τ", 3), Column(LEVEL, 3), Column("τ_AP", 3),
        Column("Swaps"),
    ]  # fmt: skip
    without = None if found.kinship is None else found.kinship.without_kin
    orders = [("all", found.rankings), ("without kin", without)]
    rows = [_order(name, one) for name, one in orders if one is not None]
    return Table(f"The order of systems by {found.measure}, {found.judge} against {found.people}", columns, rows)


def _order(name: str, found: RankingComparison) -> list[Cell]:
    tau, interval = found.tau.value, ends(found.tau.interval.low, found.tau.interval.high)
    return [name, len(found.systems), found.common, tau, interval, found.tau_ap.value, len(found.swaps)]


def decisions_table(found: GradeAudit) -> Table:
    """Pairs of systems by who finds their difference significant."""
    one = found.decisions
    rows: list[list[Cell]] = []
    if one is not None:
        rows = [
            ["both, the same system better", one.both],
            ["both, opposed", one.opposed],
            [f"{found.judge} alone", one.only_a],
            [f"{found.people} alone", one.only_b],
            ["neither", one.neither],
        ]
    note = "By the paired t-test with Holm's correction over all pairs of systems."
    title = f"Who finds a difference of {found.measure} significant"
    return Table(title, [Column("Significant under"), Column("Pairs of systems")], rows, note)


def families_table(found: GradeAudit) -> Table:
    """How much the judge raises each family of systems."""
    columns = [
        Column("Family"), Column("Kin"), Column("Systems"), Column("Shift", 3), Column(LEVEL, 3),
        Column("Of", prose=True),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    kinship = found.kinship
    if kinship is not None:
        for one in kinship.shifts:
            reasons = dict.fromkeys(kinship.kin[tag] for tag in one.run_tags if tag in kinship.kin)
            shift, interval = _mean(one.shift)
            rows.append([one.family, ", ".join(reasons), len(one.run_tags), shift, interval, ", ".join(one.run_tags)])
        if kinship.excess is not None:
            rows.append(["all kin", "", len(kinship.kin), *_mean(kinship.excess), ", ".join(kinship.kin)])
    known = kinship is not None and kinship.family is not None
    family = f" ({kinship.family}{', guessed from its name' if kinship.guessed else ''})" if kinship and known else ""
    note = (
        f"Shift: how much more {found.judge}{family} raises the family's {found.measure} than that of all others, "
        "against people. A system without a family is one of its own. Kin: why it is kin to the judge."
    )
    totals = int(kinship is not None and kinship.excess is not None)
    return Table(f"Families of systems under {found.judge}", columns, rows, note, totals=totals)


def oracle_table(found: GradeAudit) -> Table:
    """The judge as a system, under itself and under people."""
    one = found.oracle
    columns = [Column("Under"), Column("Rank"), Column("Of"), Column(found.measure, 3)]
    rows: list[list[Cell]] = []
    if one is not None:
        rows = [
            [found.judge, one.rank_judge, one.systems, one.mean_judge],
            [found.people, one.rank_people, one.systems, one.mean_people],
        ]
    note = ""
    if one is not None and one.excess.low is not None and one.excess.high is not None:
        note = (
            f"It gains {one.excess.value:.3f} ({one.excess.low:.3f} to {one.excess.high:.3f}) more than the other "
            "systems by being measured under itself."
        )
    return Table(f"{found.judge} as a system that orders by its own grades", columns, rows, note)


def alike_table(found: GradeAudit) -> Table:
    """Whether other judges agree with the judge more than people do."""
    columns = [
        Column("Judge"), Column("Pairs"), Column("κ with it", 3), Column(f"κ with {found.people}", 3),
        Column("Excess", 3), Column(LEVEL, 3),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [one.other, one.n, one.with_other, one.with_people, one.excess, ends(one.interval.low, one.interval.high)]
        for one in found.alike
    ]
    note = "Over the pairs that all three graded."
    return Table(f"Judges that may err as {found.judge} does", columns, rows, note)


def _mean(found: ClusteredMean | None) -> tuple[Cell, Cell]:
    return (None, None) if found is None else (found.value, ends(found.low, found.high))


def ends(low: float | None, high: float | None) -> Cell:
    """An interval as a cell, empty without one."""
    return None if low is None or high is None else (low, high)
