"""What an audit says of a judge's grades next to people's: the verdict in words, and the table of both parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quati_pool.audit.grade_bounds import GradeLine, Position
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.figures import ends, interval, limit, pairs_of, share
from quati_pool.commands.audit.grade_lines import (
    ALIKE,
    DUPLICATES,
    KIN,
    LEVEL,
    LONGER,
    ORDER,
    OVERRATING,
    RANKER,
    SIGNIFICANCE,
    WORDING,
)
from quati_pool.commands.audit.grades import BY_NAME, DraftedQueries, Kinship
from quati_pool.commands.audit.near_duplicates import DuplicateAudit
from quati_pool.commands.audit.paraphrases import NOT_WANTED
from quati_pool.commands.audit.wordings import Kappa, Wordings
from quati_pool.evaluation.qrels_comparison import Correlation
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.stats.shares import Difference
from quati_pool.text.pluralize import counted, first_of

SHORT_NOTE = "Seen: fooled less controls; below them, how far grades are from people's."
"""The note of the fullest tables, in one line."""

_FEWEST, _MOST_DECIMALS = 2, 4


def headline(report: AuditReport) -> str:
    """What the judge can be used for by both parts, in one sentence; only for a report with grades."""
    found = report.grades
    assert found is not None
    lines = {line.danger: line for line in report.grade_lines}
    by_order = ORDER in lines
    clauses = [_ordering(lines[ORDER], _is_fooled(report)) if by_order else _how_far(lines[OVERRATING], "mean grade")]
    if LEVEL in lines:
        clauses.append(_how_far(lines[LEVEL], found.measure, ": use quati-pool estimate"))
    if RANKER in lines and lines[RANKER].position == "beyond":
        clauses.append("do not rank systems that rerank by it")
    if KIN in lines and lines[KIN].position == "beyond" and found.kinship is not None:
        clauses.append(f"do not rank {_names([*found.kinship.kin])} by it among the others")
    return f"{wording.name(report.judge)}: {'; '.join(clauses)}."


def _is_fooled(report: AuditReport) -> bool:
    return any(one.findings is not None and one.findings.verdict == "fooled" for one in report.probes)


def _ordering(line: GradeLine, fooled: bool) -> str:
    usable = {"within": "usable", "undecided": "not shown to be usable", "beyond": "not usable"}[line.position]
    interval = "" if line.position == "within" or line.low is None else f", {interval_of(line)}"
    unless = ", unless they do what fools it" if fooled and line.position == "within" else ""
    return f"{usable} for ordering systems (τ {figure(line)}{interval}){unless}"


def _how_far(line: GradeLine, what: str, remedy: str = "") -> str:
    """``its mean grade is within 0.2 of people's``; with the ``remedy`` where it is beyond its bound."""
    if line.position == "beyond":
        return f"its {what} is {_off(line)}{remedy}"
    if line.position == "within":
        return f"its {what} is within {line.bound:g} of people's"
    return f"its {what} may be off ({interval_of(line) or 'one query'})"


def _off(line: GradeLine) -> str:
    """``0.10 too high (0.06 to 0.14)``."""
    found = [_number(abs(end), line.bound) for end in (line.seen, line.low, line.high) if end is not None]
    low, high = found[1:] if line.seen > 0 else found[:0:-1]
    return f"{found[0]} too {'high' if line.seen > 0 else 'low'} ({low} to {high})"


def grade_sentences(report: AuditReport, detail: int) -> Iterator[str]:
    """What follows the headline, less of it with a lower ``detail``, from 3 to -1."""
    found = report.grades
    names = with_position(report, "beyond")
    beyond = [line for line in report.grade_lines if line.danger in names]
    if beyond:
        bounds = "its bound" if len(beyond) == 1 else "their bounds"
        yield f"Beyond {bounds}{' too' if found is not None else ''}: {_beyond(report, beyond, detail)}."
    if found is not None and found.oracle is not None and detail > 0:
        one = found.oracle
        yield (
            f"As a system that orders by its own grades it would be {_ordinal(one.rank_judge)} of {one.systems:,} "
            f"under itself and {_ordinal(one.rank_people)} under people."
        )
    if found is not None and found.kinship is not None and found.kinship.kin and detail >= 0:
        yield _kin(found.kinship, report.of_files, detail)
    if found is not None and found.drafted is not None and detail >= 0:
        yield _drafted(found.drafted)
    if report.wordings is not None and detail > 0:
        yield _band(report.wordings)
    if report.near_duplicates is not None and report.near_duplicates.found.apart and detail > 0:
        yield _duplicates(report.near_duplicates)
    open_still = with_position(report, "undecided")
    if open_still and detail > 0:
        yield f"Undecided of its grades: {', '.join(open_still)}."


def _band(found: Wordings) -> str:
    """How far the figures of a judge spread over the wordings of its prompt."""
    spread: list[tuple[str, list[Kappa | Correlation | None]]] = [
        ("κ with its own prompt's grades {}", [one.kappa for one in found.others]),
        ("κ with people {}", [one.kappa_people for one in found.all]),
        ("τ with its own order of systems {}", [one.tau for one in found.others]),
        ("τ with people's order {}", [one.tau_people for one in found.all]),
    ]
    said = [words.format(_range(figures)) for words, figures in spread if _range(figures)]
    number = counted(len(found.others), "other wording", "other wordings")
    over = f"{counted(found.pairs, 'pair', 'pairs')} of {counted(found.queries, *_QUERIES)}"
    return f"Under {number} of its prompt, over {over}: {', '.join(said)}."


def _range(figures: Iterable[Kappa | Correlation | None]) -> str:
    """``0.20 to 0.35``: the lowest and the highest; empty without any."""
    values = [one.value for one in figures if one is not None and one.value is not None]
    ends = dict.fromkeys(f"{value:z.2f}" for value in (min(values), max(values))) if values else ()
    return " to ".join(ends)


def _beyond(report: AuditReport, lines: Sequence[GradeLine], detail: int) -> str:
    if detail < 0:
        return counted(len(lines), "danger of the table", "dangers of the table")
    if detail == 0:
        return ", ".join(line.danger for line in lines)
    said = [f"{line.danger} ({_words(report, line)})" if detail > 1 else line.danger for line in lines]
    return "; ".join(f"{one}: do not {line.advice}" for one, line in zip(said, lines, strict=True))


def _words(report: AuditReport, line: GradeLine) -> str:
    """What was seen, in words."""
    if line.danger == SIGNIFICANCE:
        return f"{figure(line)} of the differences that it finds significant are not so under people"
    if line.danger == OVERRATING:
        return f"its mean grade is {_off(line)}"
    if line.danger == WORDING:
        return f"{figure(line)} grades under the wording that moves it most"
    if line.danger == DUPLICATES:
        return f"{figure(line)} of the pairs are graded apart"
    if line.danger == ALIKE:
        return f"κ higher by {figure(line)} than with people"
    what = "for twice the length" if line.danger == LONGER else "for all words of the query instead of none"
    return f"{figure(line)} grades {what}"


def _kin(kinship: Kinship, of_files: bool, detail: int) -> str:
    reasons: dict[str, list[str]] = {}
    for run_tag, reason in kinship.kin.items():
        reasons.setdefault(reason, []).append(run_tag)
    said = "; ".join(f"{_names(tags)} ({reason})" for reason, tags in reasons.items())
    guessed = kinship.guessed or BY_NAME in reasons
    if not guessed or detail <= 0:
        return f"Kin to it: {said}{', a guess' if guessed else ''}."
    return f"Kin to it, by a guess from names: {said}; {_confirm(of_files)}."


def _drafted(found: DraftedQueries) -> str:
    was = "was" if found.queries == 1 else "were"
    of = counted(found.of, "judged query", "judged queries")
    family = wording.name(found.family)
    return (
        f"{found.queries:,} of {of} {was} drafted by its own model or family ({family}): figures on them may favour it."
    )


def _confirm(of_files: bool) -> str:
    if of_files:
        return "confirm it with --judge-family and --families"
    return "confirm it in pool.yaml by family: of the judge or uses: of the system"


def _names(run_tags: Sequence[str]) -> str:
    return first_of([wording.name(tag) for tag in run_tags], 2)


def grade_rest(report: AuditReport) -> list[str]:
    """Whose grades were compared, and what could not be."""
    unasked = report.no_wordings if report.grader == "llm" and report.no_wordings != NOT_WANTED else None
    return [
        *_taught(report),
        *_compared(report),
        *([f"Other wordings of its prompt were not compared: {unasked}."] if unasked else []),
    ]


def _taught(report: AuditReport) -> list[str]:
    """From whose grades a distilled judge learned, and that it is compared on other queries."""
    found = report.grades
    if found is None or not found.teachers:
        return []
    said = f"It was distilled from the grades of {_names(found.teachers)}"
    if not found.seen_queries:
        return [f"{said}, of other queries than these."]
    seen = counted(found.seen_queries, *_QUERIES)
    return [f"{said}; the {seen} here of which it saw grades {'is' if found.seen_queries == 1 else 'are'} left out."]


def _compared(report: AuditReport) -> list[str]:
    found = report.grades
    if found is None:
        if report.no_grades is None:
            return []
        return [f"Its grades were not compared with people's: {report.no_grades}."]
    by = "" if found.rankings is None else f", by {found.measure} over {counted(found.rankings.common, *_QUERIES)}"
    said = f"Its grades were compared with those of {wording.name(found.people)}{by}"
    if found.rankings is None:
        return [f"{said}.", "Systems were not compared: that needs two runs, and people's grades of 80 % of its pairs."]
    if found.kinship is None or found.kinship.kin:
        return [f"{said}."]
    family = f" ({found.kinship.family})" if found.kinship.family else ""
    declare = "; --judge-family and --families declare it" if report.of_files else ""
    return [f"{said}; no system is known as its kin{family}{declare}."]


_QUERIES = ("query", "queries")


def _duplicates(audited: DuplicateAudit) -> str:
    """How many near-duplicates are graded apart, next to people's."""
    found, judge = audited.found, audited.found.judge
    across = f", {judge.across:,} across grade {audited.answers_from}" if judge.across else ""
    people = ""
    if found.people is not None and found.there is not None:
        there = f"{share(found.there.share)} of those that people graded too, people {share(found.people.share)}"
        people = f" ({there})"
    of = counted(judge.share.n, "pair", "pairs")
    return f"It grades {judge.share.hits:,} of {of} of near-duplicates apart{across}{people}."


def board(report: AuditReport) -> Table:
    """The dangers of both parts with their verdicts."""
    columns = [*map(Column, ("Danger", "Verdict", "Seen", "95 % interval", "Bound", "n"))]
    rows = [*map(_probe_row, report.probes), *map(_grade_row, report.grade_lines)]
    grades = "Seen: how far its grades, or what follows from them, are from people's (order: τ with people's)."
    if not report.probes:
        note = f"{grades} Beyond or within: by the whole interval; significance has none."
        return Table(f"How {report.judge}'s grades differ from people's", columns, rows, note)
    note = (
        "Seen: fooled pairs less controls; below them, how far its grades are from people's (order: τ). Fooled or "
        "beyond: the interval is past the bound, or surely that of one way of changing pairs; cleared or within: "
        "inside it."
    )
    return Table(f"What {report.judge} was tested for", columns, rows, note)


def _probe_row(one: AuditedProbe) -> list[Cell]:
    found = one.findings
    if found is None or found.excess is None:
        return [one.probe.danger, "not asked", None, None, limit(one.probe.parameters.bound), None]
    excess = f"{100 * found.excess.value:z.0f} %"
    n = "answers" if one.probe.every_variant and one.pairs < len(one.cases) else "pairs"
    shown = f"{found.fooled.n:,} {n}" if found.fooled.n != 1 else pairs_of(one, 1)
    return [one.probe.danger, found.verdict, excess, f"{ends(found.excess, found.bound)} %", limit(found.bound), shown]


def _grade_row(line: GradeLine) -> list[Cell]:
    n = counted(line.n, *(_QUERIES if line.of == "queries" else ("pair", "pairs")))
    return [line.danger, line.position, figure(line), interval_of(line) or None, bound_of(line), n]


def cell(line: GradeLine | None) -> str | None:
    """``beyond (+0.10)``: a danger in a table of several judges."""
    return None if line is None else f"{line.position} ({figure(line)})"


def with_position(report: AuditReport, position: Position) -> list[str]:
    """The dangers of grades at a position, without those that the headline has there."""
    named = {ORDER, LEVEL, RANKER, KIN} if position == "beyond" else {ORDER, LEVEL}
    dangers = [one.danger for one in report.grade_lines if one.position == position and one.danger not in named]
    return dangers if _orders(report) else [danger for danger in dangers if danger != OVERRATING]


def _orders(report: AuditReport) -> bool:
    """Whether the headline is on the order of systems; else it is on the mean grade."""
    return any(line.danger == ORDER for line in report.grade_lines)


def figure(line: GradeLine) -> str:
    """What was seen: ``0.94``, ``+0.10``, ``15 %``."""
    return _percent(line.seen) if _is_share(line) else _number(line.seen, line.bound, signed=line.side != "least")


def interval_of(line: GradeLine) -> str:
    """``0.06 to 0.14``; empty without an interval."""
    if line.low is None or line.high is None:
        return ""
    if _is_share(line):
        return interval(Difference(line.seen, line.low, line.high), line.bound)
    return " to ".join(_number(end, line.bound) for end in (line.low, line.high))


def bound_of(line: GradeLine) -> str:
    """``≥ 0.87``, ``±0.02``, ``≤ 10 %``."""
    bound = limit(line.bound) if _is_share(line) else f"{line.bound:g}"
    return {"least": f"≥ {bound}", "most": f"≤ {bound}", "both": f"±{bound}"}[line.side]


def _is_share(line: GradeLine) -> bool:
    return line.danger in (SIGNIFICANCE, DUPLICATES)


def _percent(value: float) -> str:
    return "< 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


def _number(value: float, bound: float, *, signed: bool = False) -> str:
    """A number with decimals enough for it to be seen on its side of the bound."""
    shown = ""
    for decimals in range(_FEWEST, _MOST_DECIMALS + 1):
        shown = f"{value:+z.{decimals}f}" if signed else f"{value:z.{decimals}f}"
        if all((float(shown) > end) == (value > end) for end in (bound, -bound)):
            break
    return shown


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
