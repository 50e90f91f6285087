"""The answer of ``estimate``: who is best under people's grades, how sure that is, and what the rest needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.estimation.results import Difference, Estimate, SystemEstimate, Unit, Verdict
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import PIPE, Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.saved_files import report_folder
from quati_pool.reporting.tables.estimate import (
    BOUNDS,
    PEOPLES_INTERVAL,
    POWER,
    ends,
    interval,
    judge_alone,
    known,
    left,
    margin,
    people_only,
    significance,
    smallest,
    wider_than_peoples,
)
from quati_pool.text.display_width import wrapped_lines
from quati_pool.text.pluralize import counted, listed

# The most further estimates that sentences name, and the most lines of sentences that are printed.
_OTHERS, _LINES = 3, 15
_DECIMALS = 3
_EQUAL = 1e-12
_FLIPPED: dict[Verdict, Verdict] = {
    "better": "worse", "worse": "better", "tie": "tie", "inconclusive": "inconclusive",
}  # fmt: skip
_UNCERTAIN_FIRST: tuple[Verdict, ...] = ("inconclusive", "tie", "worse", "better")
_RELATIONS: dict[Verdict, str] = {"better": "better than", "tie": "tied with", "worse": "worse than"}
_COUNTED: dict[Verdict, str] = {"better": "better", "worse": "worse", "tie": "tied", "inconclusive": "open"}
_DECIDED = (("is decided", "are decided"), ("is a tie", "are ties"), ("is open", "are open"))
_UNITS: dict[Unit, tuple[str, str]] = {"queries": ("query", "queries"), "pairs": ("pair", "pairs")}
_KNOWN = "known without error"
# A mean that is less than this off is not: it would be shown as 0.000.
_LEAST_SHOWN = 0.0005


def answer(report: EstimateReport, output: Path | None = None) -> Answer:
    """``output`` is the folder that the command was asked to write to, if any."""
    first = report.estimates[0]
    folder = report_folder(report.config, output)
    sentences, doubts = [leader(report, first), *_decided(report, first), *_alone(report, first)], [*_doubts(report)]
    sentences += [*_further(report, _LINES - _lines([*sentences, *doubts])), *doubts]
    rest = f"{report.statement(first)}\n{wording.files(folder, 'estimate')}"
    return Answer(sentences, board(report, first), rest)


def leader(report: EstimateReport, estimate: Estimate) -> str:
    """The best system with its interval, and which of the others it is better than."""
    said = _best(report, estimate, f" under the grades of {report.people}")
    equal = _first_ones(estimate)
    found = _against(equal, estimate.differences)
    if not found or estimate.baseline is not None:
        return f"{said}."
    doubt = "" if any(verdict == "better" for verdict, _ in found) else "No clear winner: "
    return f"{doubt}{said}; {_relations(report, estimate, found, 'it is' if len(equal) == 1 else 'they are')}."


def _best(report: EstimateReport, estimate: Estimate, under: str = "") -> str:
    """``lsa has the highest AP for these 24 queries: 0.848 (95 % interval …)``."""
    best, equal = estimate.systems[0], _first_ones(estimate)
    around = f"{interval(estimate)} {Column('', _DECIMALS).show((best.low, best.high))}"
    value = f"{wording.number(best.estimate, _DECIMALS)} ({_KNOWN if known(report, estimate) else around})"
    what = f"{estimate.measure}{under} for {report.population(estimate)}"
    if len(estimate.systems) == 1:
        return f"{wording.name(best.run_tag)} has an estimated {what} of {value}"
    return f"{wording.names(equal)} {'has' if len(equal) == 1 else 'have'} the highest {what}: {value}"


def _first_ones(estimate: Estimate) -> list[str]:
    """The systems with the highest estimate."""
    return [one.run_tag for one in estimate.systems if abs(one.estimate - estimate.systems[0].estimate) < _EQUAL]


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
    """``of the other 7 it is better than 4 and tied with 1; 2 are open: 12 more queries would find …``."""
    counts = Counter(verdict for verdict, _ in found)
    several = len(found) > 1
    others = f"the other {len(found):,}" if several else "the other"
    unsure = [one for verdict, ones in found if verdict == "inconclusive" for one in ones if one.verdict == verdict]
    if counts["inconclusive"] == len(found):
        which = f"any of {others}" if several else others
        return f"whether {it_is} better than {which} is open: {_needed(report, estimate, unsure)}"
    if len(counts) == 1:
        return f"{it_is} {_RELATIONS[found[0][0]]} {'all of ' if several else ''}{others}"
    decided = [f"{words} {counts[verdict]:,}" for verdict, words in _RELATIONS.items() if counts[verdict]]
    said = f"of {others} {it_is} {listed(decided)}"
    if not unsure:
        return said
    return f"{said}; {counted(counts['inconclusive'], 'is', 'are')} open: {_needed(report, estimate, unsure)}"


def _needed(report: EstimateReport, estimate: Estimate, unsure: Sequence[Difference]) -> str:
    """How many further labels the open differences need, as far as any number would do."""
    tested = [one for one in unsure if one.reason is None]
    few = len(unsure) - len(tested)
    if not tested:
        return f"{'they differ' if few > 1 else 'it differs'} in too few queries to be tested"
    untested = f"{counted(few, 'differs', 'differ')} in too few queries to be tested; " if few else ""
    needed = [one.needed for one in tested if one.needed is not None]
    missed = len(tested) - len(needed)
    rest = "for the rest " if few and not (needed and missed) else ""
    return f"{untested}{rest}{_further_ones(report, estimate, needed, missed, 'the others' if few else 'them')}"


def _further_ones(report: EstimateReport, estimate: Estimate, needed: Sequence[int], missed: int, them: str) -> str:
    """What finds differences that need ``needed`` further queries or pairs, and ``missed`` ones that no number would
    find; ``them`` names both."""
    remaining, drawn = left(report, estimate), report.drawn
    whole = f"{drawn.queries if estimate.unit == 'queries' else drawn.pairs:,}"
    wanted = f"would find {smallest(estimate)} {POWER}"
    if not needed and remaining <= 0:
        unknown = ", and people could not judge some pairs" if drawn.not_judged else ""
        return f"no {_UNITS[estimate.unit][0]} is left to grade{unknown}"
    if not needed:
        return f"not even all {whole} {estimate.unit} {wanted}"
    known_then = estimate.target == "these-queries" and drawn.unit == estimate.unit and not drawn.not_judged
    if known_then and not missed and max(needed) == remaining:
        return f"{_rest(report, estimate)} would decide"
    more = counted(max(needed), *(f"more {unit}" for unit in _UNITS[estimate.unit]))
    if not missed:
        return f"{more} {wanted}"
    return f"{more} {wanted} for {len(needed):,} of {them}; for the rest not even all {whole} would"


def _rest(report: EstimateReport, estimate: Estimate) -> str:
    number, (one, many) = left(report, estimate), _UNITS[estimate.unit]
    return f"the remaining {one}" if number == 1 else f"all {number:,} remaining {many}"


def _decided(report: EstimateReport, estimate: Estimate) -> Iterator[str]:
    """How many of all differences are decided, unless the sentence on the best system has said so."""
    found = estimate.differences
    counts = Counter(one.verdict for one in found)
    unsure = [one for one in found if one.verdict == "inconclusive"]
    needed = f": {_needed(report, estimate, unsure)}" if unsure else ""
    tested = f"(Holm, {significance(estimate)}{f'; ties {margin(estimate)}' if estimate.delta else ''})"
    if known(report, estimate):
        tested = f"({_KNOWN}, as people graded all pairs)"
    if estimate.baseline is not None and found:
        parts = _parts((f"is {word}", f"are {word}", counts[verdict]) for verdict, word in _COUNTED.items())
        said = f"of {len(found):,} systems, {listed(parts)}"
        if len(parts) == 1:
            systems = wording.name(found[0].a) if len(found) == 1 else f"all {len(found):,} systems"
            said = f"{systems} {parts[0].partition(' ')[2]}"
        yield f"Compared with the baseline {wording.name(estimate.baseline)}, {said}{needed} {tested}."
    elif len(found) > 1:
        numbers = (counts["better"] + counts["worse"], counts["tie"], len(unsure))
        parts = _parts((*words, number) for words, number in zip(_DECIDED, numbers, strict=True))
        said = f"Of all {len(found):,} differences between systems, {listed(parts)}"
        if len(parts) == 1:
            said = f"All {len(found):,} differences between systems {parts[0].partition(' ')[2]}"
        yield f"{said}{needed} {tested}."


def _parts(words: Iterable[tuple[str, str, int]]) -> list[str]:
    """``17 are decided``, ``1 is open``: those that there are."""
    return [counted(number, one, many) for one, many, number in words if number]


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


def _further(report: EstimateReport, room: int) -> list[str]:
    """The best systems by further measures, and for the other target, in at most ``room`` lines."""
    others = report.estimates[1:]
    for number in range(min(len(others), _OTHERS), -1, -1):
        said = [f"{_best(report, one)}." for one in others[:number]]
        if len(others) > number:
            more = len(others) - number
            said.append(f"{counted(more, 'more estimate is', 'more estimates are')} in the tables.")
        if _lines(said) <= room:
            break
    return said


def _lines(sentences: Sequence[str]) -> int:
    """How many lines sentences have in a pipe."""
    return sum(len(wrapped_lines(one, PIPE)) for one in sentences)


def _doubts(report: EstimateReport) -> Iterator[str]:
    """What was drawn and does not count, and pairs without a grade."""
    drawn = report.drawn
    left_out = [f"{counted(count, 'query', 'queries')} {reason}" for reason, count in drawn.left_out.items() if count]
    if left_out:
        yield f"Drawn but not counted: {listed(left_out)}."
    if drawn.not_judged:
        clearly = drawn.not_judged - drawn.tied
        said = [f"People could not judge {counted(clearly, 'pair', 'pairs')}"] if clearly else []
        said += [drawn.without_majority] if drawn.without_majority else []
        if any(system.bounds for one in report.estimates for system in one.systems):
            said.append(BOUNDS)
        yield f"{'. '.join(said)}."
    if drawn.covered < drawn.pairs:
        missing = counted(drawn.pairs - drawn.covered, "pair, which counts", "pairs, which count")
        yield f"{wording.name(report.judge)} has not graded {missing} with the mean grade of the query."


def board(report: EstimateReport, estimate: Estimate) -> Table:
    """The systems with their intervals and verdicts, next to what people and judge alone give."""
    columns = [
        Column("System"),
        Column(estimate.measure, _DECIMALS),
        Column(interval(estimate), _DECIMALS),
        Column(f"vs {'baseline' if estimate.baseline else 'first'}"),
        Column("Lowest", _DECIMALS),
        Column("Highest", _DECIMALS),
        Column("People only", _DECIMALS),
        Column("Judge alone", _DECIMALS),
        Column(PEOPLES_INTERVAL, _DECIMALS),
        Column("λ", 2),
        Column("Effective queries", 1),
    ]
    reference = estimate.baseline or estimate.systems[0].run_tag
    verdicts = {one.a: one.verdict for one in estimate.differences if one.b == reference}
    verdicts |= {one.b: _FLIPPED[one.verdict] for one in estimate.differences if one.a == reference}
    rows = [_row(one, verdicts.get(one.run_tag)) for one in estimate.systems]
    kept = [place for place, column in enumerate(columns) if any(row[place] is not None for row in rows)]
    title = f"Estimates under the grades of {report.people} for {report.population(estimate)}"
    notes = [people_only(report, estimate), judge_alone(report), *wider_than_peoples(estimate)]
    return Table(
        title, [columns[place] for place in kept], [[row[place] for place in kept] for row in rows], " ".join(notes)
    )


def _row(one: SystemEstimate, verdict: Verdict | None) -> list[Cell]:
    return [
        one.run_tag,
        one.estimate,
        (one.low, one.high),
        verdict,
        *(one.bounds or (None, None)),
        one.people_only.estimate,
        one.judge_only,
        ends(one.people_only),
        one.judge_weight,
        one.effective_queries,
    ]
