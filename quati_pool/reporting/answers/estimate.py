"""The answer of ``estimate``: who is best under people's grades, how sure that is, and what would decide the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.estimation.results import Difference, Estimate, Figure, SystemEstimate, Unit, Verdict
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables.estimate import ends, interval, judge_alone, significance
from quati_pool.text.pluralize import counted, listed

_OTHERS = 3
_DECIMALS = 3
_EQUAL = 1e-12
_FLIPPED: dict[Verdict, Verdict] = {
    "better": "worse", "worse": "better", "tie": "tie", "inconclusive": "inconclusive",
}  # fmt: skip
_UNCERTAIN_FIRST: tuple[Verdict, ...] = ("inconclusive", "tie", "worse", "better")
_RELATIONS: dict[Verdict, str] = {"better": "better than", "tie": "tied with", "worse": "worse than"}
_COUNTED: dict[Verdict, str] = {"better": "better", "worse": "worse", "tie": "tied", "inconclusive": "open"}
_DECIDED = (("is decided", "are decided"), ("is a tie", "are ties"), ("is open", "are open"))
_MORE: dict[Unit, tuple[str, str]] = {"queries": ("more query", "more queries"), "pairs": ("more pair", "more pairs")}
# A mean that is less than this off is not: it would be shown as 0.000.
_LEAST_SHOWN = 0.0005


def answer(report: EstimateReport, output: Path | None = None) -> Answer:
    """``output`` is the folder that the command was asked to write to, if any."""
    first = report.estimates[0]
    folder = report_folder(report.config, output)
    sentences = [
        leader(report, first),
        *_decided(report, first),
        *_alone(report, first),
        *_further(report),
        *_doubts(report),
    ]
    rest = f"{report.statement(first)}\n{wording.files(folder, 'estimate')}"
    return Answer(sentences, board(report, first), rest)


def leader(report: EstimateReport, estimate: Estimate) -> str:
    """The best system with its interval, and which of the others it is better than."""
    best, *others = estimate.systems
    under = f"{estimate.measure} under the grades of {report.people} for {report.population(estimate)}"
    value = _with_ends(Figure(best.estimate, best.low, best.high), f"{interval(estimate)} ")
    if not others:
        return f"{wording.name(best.run_tag)} has an estimated {under} of {value}."
    equal = [one.run_tag for one in estimate.systems if abs(one.estimate - best.estimate) < _EQUAL]
    has = "has" if len(equal) == 1 else "have"
    said = f"{wording.names(equal)} {has} the highest {under}: {value}"
    found = _against(equal, estimate.differences)
    if not found or estimate.baseline is not None:
        return f"{said}."
    doubt = "" if any(verdict == "better" for verdict, _ in found) else "No clear winner: "
    return f"{doubt}{said}; {_relations(report, estimate, found, 'it is' if len(equal) == 1 else 'they are')}."


def _against(run_tags: Sequence[str], differences: Sequence[Difference]) -> list[tuple[Verdict, list[Difference]]]:
    """The verdict on systems with equal estimates against each other one, the least certain where theirs part, with
    the differences that it is from."""
    by_other: dict[str, list[tuple[Verdict, Difference]]] = {}
    for one in differences:
        if (one.a in run_tags) != (one.b in run_tags):
            ours, other = (one.verdict, one.b) if one.a in run_tags else (_FLIPPED[one.verdict], one.a)
            by_other.setdefault(other, []).append((ours, one))
    return [
        (min((verdict for verdict, _ in found), key=_UNCERTAIN_FIRST.index), [one for _, one in found])
        for found in by_other.values()
    ]


def _relations(
    report: EstimateReport, estimate: Estimate, found: Sequence[tuple[Verdict, list[Difference]]], it_is: str
) -> str:
    """``of the other 7 it is better than 4 and tied with 1; 2 are open: 12 more queries would decide``."""
    counts = Counter(verdict for verdict, _ in found)
    several = len(found) > 1
    others = f"the other {len(found):,}" if several else "the other"
    unsure = [one for verdict, ones in found if verdict == "inconclusive" for one in ones if one.verdict == verdict]
    if counts["inconclusive"] == len(found):
        which = f"any of {others}" if several else others
        return f"whether {it_is} better than {which} is open: {_would_decide(report, estimate, unsure)}"
    if len(counts) == 1:
        return f"{it_is} {_RELATIONS[found[0][0]]} {'all of ' if several else ''}{others}"
    decided = [f"{words} {counts[verdict]:,}" for verdict, words in _RELATIONS.items() if counts[verdict]]
    said = f"of {others} {it_is} {listed(decided)}"
    if not unsure:
        return said
    return f"{said}; {counted(counts['inconclusive'], 'is', 'are')} open: {_would_decide(report, estimate, unsure)}"


def _would_decide(report: EstimateReport, estimate: Estimate, unsure: Sequence[Difference]) -> str:
    """How many further labels would decide the open differences, as far as any number would."""
    drawn = report.drawn
    few = sum(one.reason is not None for one in unsure)
    if few == len(unsure):
        return (
            "they differ in too few queries to be tested" if few > 1 else "it differs in too few queries to be tested"
        )
    if few:
        rest = _would_decide(report, estimate, [one for one in unsure if one.reason is None])
        return f"{counted(few, 'differs', 'differ')} in too few queries to be tested; for the rest {rest}"
    all_of_them = f"not even all {drawn.queries if estimate.unit == 'queries' else drawn.pairs:,}"
    needed = [one.needed for one in unsure if one.needed is not None]
    if not needed:
        return f"{all_of_them} {estimate.unit} would decide"
    more = counted(max(needed), *_MORE[estimate.unit])
    if len(needed) == len(unsure):
        return f"{more} would decide"
    return f"{more} would decide {len(needed):,} of them; for the rest {all_of_them} would do"


def _decided(report: EstimateReport, estimate: Estimate) -> Iterator[str]:
    """How many of all differences are decided, unless the sentence on the best system has said so."""
    found = estimate.differences
    counts = Counter(one.verdict for one in found)
    unsure = [one for one in found if one.verdict == "inconclusive"]
    would = f": {_would_decide(report, estimate, unsure)}" if unsure else ""
    tested = f"(Holm, {significance(estimate)}; ties within ±{estimate.delta:.3g})"
    if estimate.baseline is not None and found:
        parts = [f"{counts[verdict]:,} {word}" for verdict, word in _COUNTED.items() if counts[verdict]]
        systems = counted(len(found), "system", "systems")
        yield f"Of {systems}, against the baseline {wording.name(estimate.baseline)}: {listed(parts)}{would} {tested}."
    elif len(found) > 1:
        numbers = (counts["better"] + counts["worse"], counts["tie"], len(unsure))
        parts = [counted(number, *words) for number, words in zip(numbers, _DECIDED, strict=True) if number]
        yield f"Of all {len(found):,} differences between systems, {listed(parts)}{would} {tested}."


def _alone(report: EstimateReport, estimate: Estimate) -> Iterator[str]:
    """How far the judge's grades alone put the systems off, on average."""
    off = sum(one.judge_only - one.estimate for one in estimate.systems) / len(estimate.systems)
    if abs(off) >= _LEAST_SHOWN:
        systems = "the systems" if len(estimate.systems) > 1 else "it"
        average = " on average" if len(estimate.systems) > 1 else ""
        yield (
            f"Under the grades of {wording.name(report.judge)} alone, {systems} would score {abs(off):.{_DECIMALS}f} "
            f"{'higher' if off > 0 else 'lower'}{average}."
        )


def _further(report: EstimateReport) -> Iterator[str]:
    """The best systems by further measures, and for the other target."""
    others = report.estimates[1:]
    yield from (leader(report, one) for one in others[:_OTHERS])
    if len(others) > _OTHERS:
        yield f"{counted(len(others) - _OTHERS, 'more estimate is', 'more estimates are')} in the tables."


def _doubts(report: EstimateReport) -> Iterator[str]:
    """What was drawn and does not count, and pairs without a grade."""
    drawn = report.drawn
    left_out = [f"{counted(count, 'query', 'queries')} {reason}" for reason, count in drawn.left_out.items() if count]
    if left_out:
        yield f"Drawn, and left out: {listed(left_out)}."
    if drawn.not_judged:
        bounded = any(system.bounds for one in report.estimates for system in one.systems)
        far = "; the tables show how far they could change the estimates" if bounded else ""
        yield f"People could not judge {counted(drawn.not_judged, 'pair', 'pairs')}{far}."
    if drawn.covered < drawn.pairs:
        yield (
            f"{wording.name(report.judge)} graded {drawn.covered:,} of {drawn.pairs:,} pairs; the others count with "
            "their query's mean grade."
        )


def board(report: EstimateReport, estimate: Estimate) -> Table:
    """The systems with their intervals, next to what people and judge alone give."""
    columns = [
        Column("System"),
        Column(estimate.measure, _DECIMALS),
        Column(interval(estimate), _DECIMALS),
        Column("People only", _DECIMALS),
        Column("Judge alone", _DECIMALS),
        Column(f"vs {'baseline' if estimate.baseline else 'first'}"),
        Column("λ", 2),
        Column("Effective queries", 1),
    ]
    reference = estimate.baseline or estimate.systems[0].run_tag
    verdicts = {one.a: one.verdict for one in estimate.differences if one.b == reference}
    verdicts |= {one.b: _FLIPPED[one.verdict] for one in estimate.differences if one.a == reference}
    rows = [_row(one, verdicts.get(one.run_tag)) for one in estimate.systems]
    kept = [place for place, column in enumerate(columns) if any(row[place] is not None for row in rows)]
    title = f"Estimates under the grades of {report.people} for {report.population(estimate)}"
    note = f"People only: without the judge's grades. {judge_alone(report)}"
    return Table(title, [columns[place] for place in kept], [[row[place] for place in kept] for row in rows], note)


def _row(one: SystemEstimate, verdict: Verdict | None) -> list[Cell]:
    return [
        one.run_tag,
        one.estimate,
        (one.low, one.high),
        _with_ends(one.people_only),
        one.judge_only,
        verdict,
        one.judge_weight,
        one.effective_queries,
    ]


def _with_ends(figure: Figure, interval: str = "") -> str:
    """``0.612 (0.571 to 0.653)``, with the name of the interval in front of its ends."""
    value, around = wording.number(figure.estimate, _DECIMALS), ends(figure)
    return value if around is None else f"{value} ({interval}{Column('', _DECIMALS).show(around)})"
