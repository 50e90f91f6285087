"""The answers of ``audit --anchors`` and ``audit --drift``: whether a judge still grades as it did."""

from __future__ import annotations

from collections.abc import Sequence

from quati_pool.audit.drift import ALPHA, PROBABILITY, SHARE, Drift, Server, Unfinished
from quati_pool.commands.audit.anchors import FixedAnchors
from quati_pool.commands.audit.drift import DriftReport
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.drift import anchors_table, day, grades_table
from quati_pool.stats.clustered_means import ClusteredMean
from quati_pool.text.characters import one_line
from quati_pool.text.pluralize import counted, listed

_MOST_SERVERS = 2


def anchors_answer(found: Sequence[FixedAnchors]) -> Answer:
    """How many anchors each judge has, and what checks of them can find."""
    said = []
    for one in found:
        name, number = wording.name(one.judge), len(one.drift.anchors)
        there = "" if one.added == number else f", {one.added:,} of them new" if one.added else ", as before"
        few = ""
        if number < one.wanted:
            few = f" ({one.wanted:,} were wanted; people and {name} graded no more pairs)"
        said.append(f"{name} has {counted(number, 'anchor', 'anchors')}{there}{few}: {_power(one.drift)}.")
    if len(found) == 1:
        (one,) = found
        rest = (
            "Nothing was asked. Ask about them later, and whenever the model may have changed: "
            f"quati-pool audit {one.judge} --drift\nThey are in audits/{one.judge}/anchors.jsonl.gz."
        )
        return Answer(said, anchors_table(one.judge, one.drift), rest)
    return Answer(said, None, "Nothing was asked. Ask about them later: quati-pool audit JUDGE --drift")


def _power(drift: Drift) -> str:
    """``a check finds one grade more on 10 % of the pairs with 79 % probability, …``."""
    noise = "" if not drift.noise else f", if it changes {_percent(drift.noise)} of its answers by chance"
    on = f"one grade more on {_percent(SHARE)} of the pairs"
    share = drift.smallest
    smallest = "" if share is None else f", and on {_percent(share)} with {_percent(PROBABILITY)}"
    return f"a check finds {on} with {_percent(drift.power)} probability{smallest}{noise}"


def _percent(share: float) -> str:
    shown = f"{100 * share:.0f}"
    return "> 99 %" if shown == "100" and share < 1 else f"{shown} %"


def answer(reports: Sequence[DriftReport]) -> Answer:
    """Whether each judge has moved."""
    said = [sentence for report in reports for sentence in _sentences(report)]
    asked, cost = sum(report.run.asked for report in reports), sum(_cost(report) for report in reports)
    unknown = any(report.run.calls is not None and report.run.calls.unknown for report in reports)
    money = "an unknown cost" if unknown and not cost else f"US$ {cost:.4f}{' at least' if unknown else ''}"
    paid = any(report.run.calls is not None for report in reports)
    run = f"This run asked about {counted(asked, 'anchor', 'anchors')}{f', for {money}' if paid else ', at no cost'}."
    rest = [run if asked else "This run asked nothing: the last check is shown; --max-age 0 begins another."]
    rest.append("--full prints the anchors whose grade differs, and who answered.")
    if len(reports) > 1:
        return Answer(said, _several(reports), "\n".join(rest))
    (report,) = reports
    return Answer(said, grades_table(report.judge, report.drift), "\n".join([*_more(report), *rest]))


def _cost(report: DriftReport) -> float:
    return 0.0 if report.run.calls is None else report.run.calls.cost


def _sentences(report: DriftReport) -> list[str]:
    name, drift = wording.name(report.judge), report.drift
    begun = [] if drift.unfinished is None else [f"A {_unfinished(drift.unfinished)}."]
    if drift.verdict == "not checked":
        anchors = counted(len(drift.anchors), "anchor", "anchors")
        return [f"Nothing is known of {name} yet: none of its {anchors} has a grade of this check.", *begun]
    server = [*begun, *server_line(drift)]
    if drift.verdict == "not cleared":
        said = [f"{name} cannot be cleared: {_lost(drift)}."]
        if drift.pairs:
            said.append(f"The others were not seen to move: {seen(drift)}.")
        return [*said, *server]
    if drift.verdict == "moved":
        advice = (
            "do not mix its new grades with the old ones. Pin the dated model if it is still served, or give "
            "what answers now a name of its own under judges: and let it grade everything."
        )
        return [f"{name} has moved: {seen(drift)}: {advice}", *server]
    return [
        f"{name} was not seen to move: {seen(drift)}.",
        f"With these anchors {_power(drift)}.",
        *server,
    ]


def _lost(drift: Drift) -> str:
    return f"{drift.lost:,} of {len(drift.pairs) + drift.lost:,} anchors have no grade now, which all had one"


def _unfinished(check: Unfinished) -> str:
    return f"check begun on {day(check.begun)} is unfinished: {check.answered:,} of {check.anchors:,}"


def seen(drift: Drift) -> str:
    """``on 100 anchors its mean grade is +0.18 (0.10 to 0.26) from what it was (19 higher, 1 lower; p = 0.0001)``."""
    shift = drift.shift
    assert shift is not None
    return (
        f"on {counted(len(drift.pairs), 'anchor', 'anchors')} its mean grade is {_shift(shift)} from what it was "
        f"({drift.up:,} higher, {drift.down:,} lower; {wording.p_value(drift.test.p)}, alarm at {ALPHA:g})"
    )


def _shift(shift: ClusteredMean) -> str:
    ends = "" if shift.low is None else f" ({shift.low:z.2f} to {shift.high:z.2f})"
    return f"{shift.value:+z.2f}{ends}"


def server_line(drift: Drift) -> list[str]:
    """That another model or fingerprint answers now; nothing if none does, as far as is known."""
    if not drift.server_changed:
        return []
    then = {one[:2] for one in drift.servers_then}
    new = [one for one in drift.servers_now if one[:2] not in then]
    models = {one.model for one in drift.servers_then}
    what = "another model" if any(one.model not in models for one in new) else "another fingerprint"
    return [f"The server now answers with {what}: {_named(new)}; then: {_named(drift.servers_then)}."]


def _named(some: Sequence[Server]) -> str:
    """The last ones with their dates."""
    shown = [
        f"{_name(one.model, 'an unnamed model')}{'' if one.fingerprint is None else f' {_name(one.fingerprint)}'} "
        f"({day(one.last)})"
        for one in some[-_MOST_SERVERS:]
    ]
    more = len(some) - len(shown)
    return listed([*shown, f"{more:,} more"] if more else shown)


def _name(full: str | None, other: str = "") -> str:
    return other if full is None else wording.name(one_line(full))


def _more(report: DriftReport) -> list[str]:
    drift, said = report.drift, []
    if drift.pairs:
        kappas = [
            "undefined" if one is None else f"{one:.2f}" for one in (drift.kappa, drift.people_then, drift.people_now)
        ]
        said.append(f"Its κ with its former grades is {kappas[0]}; with people it was {kappas[1]}, and is {kappas[2]}.")
    left = drift.unasked - report.gone
    missing = [
        f"{number:,} {what}"
        for number, what in (
            (drift.ungraded, "got no grade"),
            (left, "were not asked about yet"),
            (report.gone, "are no longer in the pool as they were"),
        )
        if number > 0
    ]
    if missing:
        said.append(f"Of {counted(len(drift.anchors), 'anchor', 'anchors')}, {listed(missing)}.")
    return said


def _several(reports: Sequence[DriftReport]) -> Table:
    columns = [*map(Column, ("Judge", "Verdict", "Anchors", "Higher", "Lower", "Shift", "p"))]
    rows: list[list[Cell]] = []
    for report in reports:
        drift, shift = report.drift, report.drift.shift
        figures = [None] * 2 if shift is None else [_shift(shift), f"{drift.test.p:.2g}"]
        rows.append([report.judge, drift.verdict, len(drift.pairs), drift.up, drift.down, *figures])
    return Table("Which judges have moved", columns, rows)


def card_line(drift: Drift) -> str:
    """The last check, as an audit's card says it."""
    begun = "" if drift.unfinished is None else f" A {_unfinished(drift.unfinished)}."
    if drift.verdict == "not checked":
        there = counted(len(drift.anchors), "anchor is", "anchors are")
        return f"Drift: not checked; {there} there (audit --drift).{begun}"
    last = max(one.last for one in drift.servers_now)
    figures = (
        f"{drift.up:,} of {len(drift.pairs):,} anchors higher, {drift.down:,} lower; {wording.p_value(drift.test.p)}"
    )
    if drift.verdict == "not cleared":
        figures = _lost(drift)
    return f"Drift: {drift.verdict} on {day(last)} ({figures}).{begun}"


def card_alarm(judge: str, drift: Drift) -> str:
    """The sentence with which the card of a judge begins whose check alarms."""
    if drift.verdict == "not cleared":
        return f"{wording.name(judge)} may have moved since its anchors were fixed: {_lost(drift)}."
    return f"{wording.name(judge)} has moved since its anchors were fixed: do not mix its new grades with the old ones."
