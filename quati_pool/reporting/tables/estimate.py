"""The tables of ``estimate``, and its systems and differences as CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.estimation.results import Difference, Estimate, Figure, SystemEstimate, Target
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.tables import Cell, Column, Table, to_csv
from quati_pool.text.pluralize import counted

TARGETS: dict[Target, str] = {"these-queries": "these queries", "queries-like-these": "queries like these"}
# The number of differences in a printed table; files contain all.
SHOWN_DIFFERENCES = 30
PEOPLES_INTERVAL = "People's interval"
POWER = "with a power of 80 %"
BOUNDS = "Lowest and Highest: the estimate if these pairs had the worst or the best grades for the system"
# Intervals that are wider by a smaller share count as equally wide.
_WIDER = 0.01


def tables(report: EstimateReport, differences: int | None = SHOWN_DIFFERENCES) -> list[Table]:
    """All tables; those of differences have at most ``differences`` rows (None for all)."""
    found = []
    for estimate in report.estimates:
        found.append(systems_table(report, estimate))
        if estimate.differences:
            found.append(differences_table(report, estimate, differences))
    return [*found, _drawn(report)]


def systems_table(report: EstimateReport, estimate: Estimate) -> Table:
    """Each system's estimate with its interval, next to what people and judge alone give."""
    target = TARGETS[estimate.target]
    columns = [
        Column("System"),
        Column("For", detail=True),
        Column(estimate.measure, 4),
        Column(interval(estimate), 4),
        Column("Standard error", 4, positive=True, detail=True),
        Column("People only", 4),
        Column(PEOPLES_INTERVAL, 4, detail=True),
        Column("Judge alone", 4),
        Column("Effective queries", 1),
    ]
    rows: list[list[Cell]] = [
        [
            one.run_tag,
            target,
            one.estimate,
            (one.low, one.high),
            one.standard_error,
            one.people_only.estimate,
            ends(one.people_only),
            one.judge_only,
            one.effective_queries,
        ]
        for one in estimate.systems
    ]
    notes = [
        report.statement(estimate),
        people_only(report, estimate),
        judge_alone(report),
        "Effective queries: how many people alone would have to grade for as narrow an interval.",
    ]
    details = []
    if any(one.judge_weight is not None for one in estimate.systems):
        columns += [Column("λ", 3), Column("Own λ", 3, detail=True)]
        rows = [[*row, one.judge_weight, one.own_weight] for row, one in zip(rows, estimate.systems, strict=True)]
        notes.append("λ: how much of the judge's differences between queries is taken over, pooled over systems.")
        details.append("Own λ: that of the system alone.")
    if any(one.bounds for one in estimate.systems):
        columns += [Column("Lowest", 4), Column("Highest", 4)]
        rows = [[*row, *(one.bounds or (None, None))] for row, one in zip(rows, estimate.systems, strict=True)]
        notes.append(
            "Lowest and highest: the estimate if the pairs that people could not judge had the worst or the best "
            "grades for the system."
        )
    notes += [*wider_than_peoples(estimate), *(f"{one.removesuffix('.')}." for one in estimate.warnings)]
    title = _title("Estimates of", report, estimate)
    return Table(title, columns, rows, " ".join([*notes, *details]), latex_note=" ".join(notes))


def people_only(report: EstimateReport, estimate: Estimate) -> str:
    """The note on figures from people's grades alone."""
    note = "People only: without the judge's grades"
    if report.drawn.unit == "pairs" and estimate.measure.startswith("nDCG"):
        return f"{note}; the ideal ranking is then less well known, and nDCG tends to be too high."
    return f"{note}."


def judge_alone(report: EstimateReport) -> str:
    """The note on figures of the judge alone."""
    return f"Judge alone: under the grades of {report.judge}, which is no estimate of people's."


def wider_than_peoples(estimate: Estimate) -> list[str]:
    """The note on systems whose interval is visibly wider with the judge's grades than without; empty if there are
    none."""
    wider = [one for one in estimate.systems if _width(one) > (1 + _WIDER) * _width(one.people_only)]
    if not wider:
        return []
    intervals = "The interval of {} is" if len(wider) == 1 else "The intervals of {} are"
    pooled = "" if wider[0].judge_weight is None else ", because λ is pooled over systems"
    named = intervals.format(wording.names([one.run_tag for one in wider]))
    return [f"{named} wider than from people's grades only{pooled}."]


def _width(one: SystemEstimate | Figure) -> float:
    """NaN for an undefined interval."""
    return math.nan if one.low is None or one.high is None else one.high - one.low


def ends(figure: Figure | Difference) -> tuple[float, float] | None:
    return None if figure.low is None or figure.high is None else (figure.low, figure.high)


def differences_table(report: EstimateReport, estimate: Estimate, limit: int | None = None) -> Table:
    """The differences between systems, the first ``limit`` of them, with verdicts and what would decide."""
    target, found = TARGETS[estimate.target], estimate.differences
    columns = [
        Column("System"),
        Column("and"),
        Column("For", detail=True),
        Column("Difference", 4),
        Column("Simultaneous interval", 4),
        Column("p", 4, positive=True, detail=True),
        Column("p, Holm", 4, positive=True),
        Column("Verdict"),
        Column(f"Further {estimate.unit}", detail=True),
    ]
    rows: list[list[Cell]] = [
        [one.a, one.b, target, one.estimate, ends(one), one.p, one.p_adjusted, one.verdict, one.needed]
        for one in found[:limit]
    ]
    if any(one.reason for one in found[:limit]):
        columns.append(Column("Why", prose=True))
        rows = [[*row, one.reason or ""] for row, one in zip(rows, found, strict=False)]
    title, notes = _title("Differences in", report, estimate), _verdicts(report, estimate)
    details = [_further(report, estimate, found[:limit])] if any(_is_open(one) for one in found[:limit]) else []
    first = [] if limit is None or len(found) <= limit else [f"The first {limit:,}; the files hold all."]
    return Table(title, columns, rows, " ".join([*notes, *details, *first]), latex_note=" ".join([*notes, *first]))


def _verdicts(report: EstimateReport, estimate: Estimate) -> list[str]:
    number = len(estimate.differences)
    family = counted(number, "difference", "differences")
    statement, first = report.statement(estimate), "The verdict is about the first of two systems:"
    if known(report, estimate):
        return [statement, f"{first} people graded all pairs, so that the sign of a difference is known without error."]
    notes = [
        statement,
        f"{first} better or worse (p by Holm over {family}, {significance(estimate)}){_tie(estimate)} or inconclusive.",
    ]
    if number > 1:
        notes.append(f"Simultaneous intervals hold for all {family} at once (max-t).")
    return notes


def _further(report: EstimateReport, estimate: Estimate, found: Sequence[Difference]) -> str:
    """The note on how many further queries or pairs the inconclusive ones need."""
    column = f"Further {estimate.unit}"
    if left(report, estimate) <= 0:
        return f"{column}: none is left."
    reasons = []
    if any(_is_open(one) and one.needed is None and one.reason is None for one in found):
        reasons.append("not even all would")
    if any(_is_open(one) and one.reason is not None for one in found):
        reasons.append("too few queries differ for a test (Why)")
    dash = f"; a dash for an inconclusive one: {', or '.join(reasons)}" if reasons else ""
    return f"{column}: how many more would find {smallest(estimate)} {POWER}{dash}."


def _is_open(one: Difference) -> bool:
    return one.verdict == "inconclusive"


def left(report: EstimateReport, estimate: Estimate) -> int:
    """How many queries or pairs, as ``estimate`` counts them, people have not graded."""
    drawn = report.drawn
    return drawn.queries - drawn.labelled if estimate.unit == "queries" else drawn.pairs - drawn.labels


def known(report: EstimateReport, estimate: Estimate) -> bool:
    """Whether people graded all pairs, so that the estimates and their differences have no error."""
    exact = not any(one.standard_error for one in estimate.systems)
    return exact and estimate.target == "these-queries" and report.drawn.labels == report.drawn.pairs


def _tie(estimate: Estimate) -> str:
    return f", a tie {margin(estimate)}," if estimate.delta else ","


def margin(estimate: Estimate) -> str:
    """``within ±0.02``: how far tied systems may differ."""
    return f"within ±{estimate.delta:.3g}"


def smallest(estimate: Estimate) -> str:
    """The difference that further labels are planned to find."""
    return f"a difference of {estimate.delta:.3g}" if estimate.delta else "every difference, however small,"


def significance(estimate: Estimate) -> str:
    """The level of significance, and how many looks share it."""
    alpha = f"alpha {estimate.alpha:g}"
    return f"{alpha} shared by {estimate.looks:,} looks" if estimate.looks > 1 else alpha


def interval(estimate: Estimate) -> str:
    """``95 % interval``: the name of an estimate's intervals."""
    return f"{estimate.level} interval"


def _title(what: str, report: EstimateReport, estimate: Estimate) -> str:
    return f"{what} {estimate.measure} under the grades of {report.people}, for {report.population(estimate)}"


def _drawn(report: EstimateReport) -> Table:
    drawn = report.drawn
    counts = {
        "Queries": drawn.queries,
        "Queries with people's grades": drawn.labelled,
        "Pairs": drawn.pairs,
        "Pairs that people graded": drawn.labels,
        "Pairs that the judge graded": drawn.covered,
        "Pairs that people could not judge": drawn.not_judged - drawn.tied,
        **({"Pairs without a majority": drawn.tied} if drawn.tied else {}),
        **{f"Left out: queries {reason}": count for reason, count in drawn.left_out.items() if count},
    }
    note = f"Drawn at random: {drawn.unit}. People: {report.people}. Judge: {_judge(report)}."
    return Table(f"What was drawn: {drawn.design}", [Column("What"), Column("Number")], [*counts.items()], note)


def _judge(report: EstimateReport) -> str:
    return f"{report.judge}, version {report.judge_version}" if report.judge_version else report.judge


def systems_csv(report: EstimateReport) -> str:
    """CSV with one row for each measure, target and system."""
    heading = "measure target run_tag estimate low high standard_error people_only people_only_low people_only_high"
    heading += " judge_only effective_queries lambda own_lambda lowest highest"
    return _csv(heading, [[*_key(one), *_values(system)] for one in report.estimates for system in one.systems])


def differences_csv(report: EstimateReport) -> str:
    """CSV with one row for each measure, target and difference."""
    heading = f"measure target a b estimate low high p p_adjusted verdict {report.estimates[0].unit}_needed reason"
    return _csv(heading, [[*_key(one), *_differences(two)] for one in report.estimates for two in one.differences])


def _key(estimate: Estimate) -> tuple[str, str]:
    return estimate.measure, estimate.target


def _values(one: SystemEstimate) -> list[Cell]:
    people = one.people_only
    return [
        one.run_tag, one.estimate, one.low, one.high, one.standard_error, people.estimate, people.low, people.high,
        one.judge_only, one.effective_queries, one.judge_weight, one.own_weight, *(one.bounds or (None, None)),
    ]  # fmt: skip


def _differences(one: Difference) -> list[Cell]:
    return [one.a, one.b, one.estimate, one.low, one.high, one.p, one.p_adjusted, one.verdict, one.needed, one.reason]


def _csv(heading: str, rows: Sequence[Sequence[Cell]]) -> str:
    return to_csv(Table("", [Column(name) for name in heading.split()], rows))
