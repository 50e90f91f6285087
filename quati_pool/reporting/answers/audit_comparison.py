"""The answer of ``audit --compare``: which of two judges to take, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from quati_pool.audit.grade_bounds import GradeLine
from quati_pool.commands.audit.audit import AuditReport
from quati_pool.commands.audit.comparison import AuditComparison, DangerContrast, shown
from quati_pool.commands.audit.grade_lines import LEVEL, ORDER
from quati_pool.reporting.answers import audit_grades, wording
from quati_pool.reporting.answers.audit import height, room, what_was_asked
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.stats.bootstrap import Contrast
from quati_pool.text.pluralize import counted, first_of, listed

_MOST = 2
_FEWEST_DECIMALS, _MOST_DECIMALS = 2, 4


def answer(found: AuditComparison, reports: Sequence[AuditReport]) -> Answer:
    """Which judge to take and why, what else is known of both, and the table of all that was compared."""
    rest = [*_how(found), what_was_asked(reports)]
    left = sum(report.left for report in reports)
    if left and not found.unfinished:
        rest.append(f"{counted(left, 'text is', 'texts are')} still to be asked about; the same command asks the rest.")
    one = "the same with one --labels" if all(report.of_files for report in reports) else "quati-pool audit JUDGE"
    rest.append(f"The card of one: {one}. --full prints all figures of both.")
    said, table = [*_verdict(found), *_more(found)], board(found, reports)
    # What the fullest answers, of which no row is left out, go without, bit by bit; most of it is in the table.
    for spare in (*_more(found), *_how(found), table.note):
        if height(said) <= room(table, rest):
            break
        said, rest = ([line for line in lines if line != spare] for lines in (said, rest))
        table = replace(table, note=_star(found)) if table.note == spare else table
    return Answer(said, table, "\n".join(rest))


def _verdict(found: AuditComparison) -> list[str]:
    if not found.unfinished:
        return [_recommendation(found)]
    one, other = (wording.name(name) for name in found.judges)
    left = counted(found.unfinished, "text is", "texts are")
    figures = _figures(found, 0, f"{one}'s ")
    return [
        f"Not finished: {left} still to be asked about, so neither {one} nor {other} is recommended yet; the same "
        "command asks the rest.",
        *([f"By the grades that there are: {'; '.join(figures)}."] if figures else []),
    ]


def _recommendation(found: AuditComparison) -> str:
    names = [wording.name(name) for name in found.judges]
    take = found.take
    if found.unusable:
        taus = listed([f"{tau:.2f}" for one in found.dangers if one.danger == ORDER for tau in one.seen])
        said = [f"neither orders systems as {wording.name(found.people or '')} does (τ {taus})"]
        said += _figures(found, 0, f"{names[0]}'s ")
        return f"Take neither {names[0]} nor {names[1]}: {'; '.join(said)}."
    if found.split:
        of_each = [f"{names[place]} {_bad(found.against[place], place)}" for place in (0, 1) if found.against[place]]
        of_each += _figures(found, 0, f"{names[0]}'s ")
        return f"Which of {listed(names)} to take depends on the use: {'; '.join(of_each)}."
    if take is None or found.basis in ("cost", "time"):
        clauses = [*_figures(found, 0, ""), *(["in no danger are they shown to differ"] if _both(found) else [])]
        clauses += [] if take is None else [f"take {names[take]}, {_expense(found, take)}"]
        return f"Neither {names[0]} nor {names[1]} is shown to be better{': ' * bool(clauses)}{'; '.join(clauses)}."
    mine, theirs = names[take], names[1 - take]
    clauses = _figures(found, take, "its ")
    if found.basis == "dangers":
        clauses.insert(0, f"{theirs} {_bad(found.against[1 - take], 1 - take)}, which is not shown of {mine}")
    worse = [one for one in _both(found) if _alone(one, take)]
    if worse:
        clauses.append(f"but it {_bad(worse, take)}, and {theirs} is not")
    elif any(one.probe for one in _both(found)):
        clauses.append(f"it is fooled by nothing that {theirs} is not")
    elif _both(found):
        clauses.append(f"it is beyond no bound that {theirs} is within")
    return f"Take {mine} rather than {theirs}: {'; '.join(clauses)}."


def _figures(found: AuditComparison, place: int, whose: str) -> list[str]:
    """How much higher τ and κ of the judge at ``place`` are, or that no difference is shown; the first with the level
    of the intervals."""
    people = wording.name(found.people or "")
    named = []
    if found.systems is not None:
        named.append((f"{whose}τ with the order of systems under {people}", found.systems.tau))
    if found.kappa is not None:
        named.append((f"{whose}κ with {people}", found.kappa.kappa))
    if found.basis == "kappa":
        named.reverse()
    said = []
    for name, one in named:
        if one.difference is None:
            said.append(f"{name} is undefined for one of them")
            continue
        level = "" if said else "95 % interval "
        sign = 1 if place == 0 else -1
        value, ends = sign * one.difference, _ends(one, sign)
        if shown(one) is None:
            said.append(
                f"no difference of {name} is shown ({_number(value, one, signed=True)}{ends and f', {level}{ends}'})"
            )
        elif value > 0:
            said.append(f"{name} is {_number(value, one)} higher ({level}{ends})")
        else:
            said.append(f"{name} is {_number(-value, one)} lower ({level}{_ends(one, -sign)})")
    return said


def _bad(dangers: Sequence[DangerContrast], place: int) -> str:
    """``is fooled by keyword stuffing (34 % against 2 %) and beyond its bound of kinship``."""
    fooled = [f"{one.danger}{_shares(one, place)}" for one in dangers if one.probe]
    beyond = [one.danger for one in dangers if not one.probe]
    said = [f"fooled by {first_of(fooled, _MOST)}"] if fooled else []
    said += [f"beyond its bound{'s' * (len(beyond) > 1)} of {first_of(beyond, _MOST)}"] if beyond else []
    return f"is {' and '.join(said)}"


def _shares(one: DangerContrast, place: int) -> str:
    mine, theirs = one.seen[place], one.seen[1 - place]
    return "" if mine is None or theirs is None else f" ({100 * mine:.0f} % against {100 * theirs:.0f} %)"


def _both(found: AuditComparison) -> list[DangerContrast]:
    """The dangers of which something is known of both judges."""
    return [one for one in found.dangers if None not in one.verdicts and "not asked" not in one.verdicts]


def _alone(one: DangerContrast, place: int) -> bool:
    """Whether a verdict is against one judge and not against the other, whether or not they surely differ."""
    mine, theirs = (one.verdicts[each] in ("fooled", "beyond") for each in (place, 1 - place))
    return mine and not theirs


def _expense(found: AuditComparison, take: int) -> str:
    """``the cheaper (US$ 0.50 per 1,000 pairs against 1.20)``."""
    mine, theirs = found.expenses[take], found.expenses[1 - take]
    if found.basis == "cost":
        return f"the cheaper (US$ {_dollars(mine.cost)} per 1,000 pairs against {_dollars(theirs.cost)})"
    return f"the faster ({mine.minutes:,.1f} minutes per 1,000 pairs against {theirs.minutes:,.1f})"


def _dollars(cost: float | None) -> str:
    return "–" if cost is None else f"{cost:,.2f}" if cost >= 0.01 or not cost else "< 0.01"


def _more(found: AuditComparison) -> Iterator[str]:
    """The level of the measure, what both cost, and whether they err alike."""
    names = [wording.name(name) for name in found.judges]
    level = None if found.systems is None else found.systems.level
    if level is not None and level.difference is not None:
        ends = _ends(level, 1)
        differ = f"{_number(level.difference, level, signed=True)}{f', {ends}' if ends else ''}"
        yield (
            f"{found.measure} is {level.one:.2f} off with {names[0]} and {level.other:.2f} with {names[1]}"
            f" (difference {differ})."
        )
    costs = [one.cost for one in found.expenses]
    if found.basis != "cost" and None not in costs and any(costs):
        yield f"Per 1,000 pairs {names[0]} costs US$ {_dollars(costs[0])}, {names[1]} {_dollars(costs[1])}."
    if found.between is not None and found.kappa is not None:
        known = [one for one in found.kappa.kappa[:2] if one is not None]
        people = wording.name(found.people or "")
        with_people = listed(["undefined" if one is None else f"{one:.2f}" for one in found.kappa.kappa[:2]])
        more = known and found.between > max(known)
        alike = ", so that neither confirms the other's grades" if more else ""
        yield f"Their κ with each other is {found.between:.2f}, with {people} {with_people}{alike}."


def _how(found: AuditComparison) -> Iterator[str]:
    """Over what both were compared, and what could not be."""
    if found.kappa is not None:
        pairs = counted(found.kappa.n, "pair", "pairs")
        said = f"κ is over {pairs} that both and {wording.name(found.people or '')} graded"
        if found.systems is not None:
            queries = counted(found.systems.queries, "query", "queries")
            said += f", τ and level over {found.systems.systems:,} systems and {queries}"
        yield f"{said}; the intervals draw the same queries for both."
    if found.problem is not None:
        yield f"{found.problem[0].upper()}{found.problem[1:]}."


def board(found: AuditComparison, reports: Sequence[AuditReport]) -> Table:
    """All that was compared, with the differences that have an interval."""
    rows: list[list[Cell]] = []
    if found.kappa is not None:
        one = found.kappa.kappa
        rows.append([f"κ with {found.people}", *(_value(each) for each in one[:2]), _difference(one)])
    costs = [one.cost for one in found.expenses]
    minutes = [one.minutes for one in found.expenses]
    if any(cost is not None for cost in costs):
        rows.append(["US$ per 1,000 pairs", *map(_dollars, costs), None])
    if any(one is not None for one in minutes):
        rows.append(["minutes, likewise", *("–" if one is None else f"{one:,.1f}" for one in minutes), None])
    lines = [{line.danger: line for line in report.grade_lines} for report in reports]
    contrasts = {} if found.systems is None else {ORDER: found.systems.tau, LEVEL: found.systems.level}
    for danger in found.dangers:
        if danger.probe is None:
            cells = [_cell(each.get(danger.danger)) for each in lines]
            rows.append([danger.danger, *cells, _difference(contrasts.get(danger.danger))])
        else:
            rows.append([danger.danger, *(_share(danger, place) for place in (0, 1)), _of_shares(danger)])
    notes = []
    if any(one.probe is None for one in found.dangers):
        notes.append("Order: τ with people's order. Level: how far it is off.")
    notes += filter(None, [_star(found)])
    if any(one.same is False for one in found.dangers):
        notes.append("Without *, shares are of the texts of each, compared as independent.")
    columns = [Column("What"), *map(Column, found.judges), Column("Difference (95 %)")]
    return Table(f"{found.judges[0]} and {found.judges[1]}", columns, rows, " ".join(notes))


def _star(found: AuditComparison) -> str:
    return "*: over the changed texts that both were asked about." if any(one.same for one in found.dangers) else ""


def _value(value: float | None) -> str | None:
    return None if value is None else f"{value:z.2f}"


def _difference(one: Contrast | None) -> str | None:
    if one is None or one.difference is None:
        return None
    ends = _ends(one, 1)
    return f"{_number(one.difference, one, signed=True)}{f' ({ends})' if ends else ''}"


def _share(one: DangerContrast, place: int) -> str | None:
    verdict, seen = one.verdicts[place], one.seen[place]
    return verdict if seen is None else f"{verdict} {100 * seen:.0f} %"


def _cell(line: GradeLine | None) -> str | None:
    return None if line is None else f"{line.position} {audit_grades.figure(line)}"


def _of_shares(one: DangerContrast) -> str | None:
    if one.difference is None:
        return None
    value, low, high = (100 * each for each in one.difference)
    return f"{value:+z.0f} % ({low:z.0f} to {high:z.0f}){'*' if one.same else ''}"


def _ends(one: Contrast, sign: int) -> str:
    """``0.02 to 0.15``, of the difference or of its negative; empty without an interval."""
    low, high = one.interval.low, one.interval.high
    if low is None or high is None:
        return ""
    return " to ".join(_number(end, one) for end in sorted((sign * low, sign * high)))


def _number(value: float, one: Contrast, *, signed: bool = False) -> str:
    """With decimals enough to show on which side of 0 the ends of the interval are."""
    ends = [abs(end) for end in (one.interval.low, one.interval.high) if end]
    decimals = _FEWEST_DECIMALS
    while decimals < _MOST_DECIMALS and any(round(end, decimals) == 0 for end in ends):
        decimals += 1
    return f"{value:+z.{decimals}f}" if signed else f"{value:z.{decimals}f}"
