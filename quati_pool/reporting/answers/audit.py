"""The answers of ``audit`` and ``audit --dry-run``: what fools a judge, and what not to do with its grades."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from quati_pool.audit.outcomes import ProbeFindings, Verdict
from quati_pool.commands.audit.audit import REPEAT, AuditedProbe, AuditReport
from quati_pool.commands.audit.plan import AuditPlan
from quati_pool.registry import PROBES
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import PIPE, Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.audit import LEVEL, plans_table, problem, ungraded_controls
from quati_pool.reporting.tables.plan import dollars
from quati_pool.stats.shares import Difference, Share
from quati_pool.text.display_width import wrapped_lines
from quati_pool.text.pluralize import counted, listed

# The most lines of sentences that are printed.
_LINES = 15
# How many times as many pairs as were asked about may be recommended.
_MOST_TIMES = 10
_DRAWN = {"irrelevant": "irrelevant ", "relevant": "relevant ", "any": ""}


def answer(reports: Sequence[AuditReport]) -> Answer:
    """The card of one judge, or a verdict on each of several."""
    if len(reports) > 1:
        return _several(reports)
    (report,) = reports
    rest = [*grades_used(report), *_repeated(report), *_ungraded(report), _asked(reports), *_left_out(report)]
    folder = f"audits/{wording.name(report.judge)}/"
    rest.append(f"--full prints all figures and the worst examples; the changed texts are in {folder}.")
    return Answer(sentences(report), board(report), "\n".join(rest))


def sentences(report: AuditReport) -> list[str]:
    """The verdict, what was cleared, what is undecided and what was not asked, in words that fit a screen."""
    for first, others in ((True, True), (True, False), (False, False)):
        said = [*verdict(report, at_length=first), *_others(report, at_length=others)]
        if sum(len(wrapped_lines(one, PIPE)) for one in said) <= _LINES:
            break
    return said


def verdict(report: AuditReport, *, at_length: bool = True) -> list[str]:
    """What fools the judge and what follows from it, or that nothing was seen to fool it."""
    name, fooled, cleared = wording.name(report.judge), _with(report, "fooled"), _with(report, "cleared")
    undecided = _with(report, "undecided")
    if len(fooled) == 1 and at_length:
        (one,) = fooled
        return [f"{name} is fooled by {one.probe.danger} ({_evidence(one)}): do not {one.probe.advice}."]
    if fooled:
        dangers = listed([f"{one.probe.danger} ({_short(one, at_length=at_length)})" for one in fooled])
        advice = "; ".join(f"do not {one.probe.advice}" for one in fooled)
        return [f"{name} is fooled by {dangers}.", f"So {advice}."]
    if undecided:
        number, all_of_them = len(undecided), len(undecided) + len(cleared)
        if all_of_them == 1:
            return [f"Nothing is shown to fool {name} yet, but the one danger that it was asked about is undecided."]
        some = f"{number:,} of {all_of_them:,}" if cleared else f"all {number:,}"
        verb = "is" if number == 1 else "are"
        return [f"Nothing is shown to fool {name} yet, but {some} dangers that it was asked about {verb} undecided."]
    if cleared:
        cleared_of = (
            f"the danger of {cleared[0].probe.danger}" if len(cleared) == 1 else f"all {_dangers(len(cleared))}"
        )
        return [
            f"{name} is cleared of {cleared_of} that it was asked about: {_within(cleared)}.",
            "Whether its grades are right is another question: quati-pool agree compares them with people's.",
        ]
    return [f"Nothing is known of {name} yet: no changed pair has a grade."]


def _dangers(number: int) -> str:
    return counted(number, "danger", "dangers")


def _with(report: AuditReport, verdict: Verdict) -> list[AuditedProbe]:
    return [one for one in report.probes if _verdict_of(one) == verdict]


def _verdict_of(one: AuditedProbe) -> Verdict:
    return "not asked" if one.findings is None else one.findings.verdict


def _evidence(one: AuditedProbe) -> str:
    """``34 % of 100 irrelevant pairs were …, against 3 % of the controls; 95 % interval …, bound 10 %``."""
    found = _found(one)
    difference = "" if found.control is None else " of the difference"
    assert found.excess is not None
    return f"{_seen(one)}; {LEVEL}{difference} {interval(found.excess, found.bound)}, bound {_bound(found.bound)}"


def _seen(one: AuditedProbe) -> str:
    found = _found(one)
    against = "" if found.control is None else f", against {_share(found.control)} of the controls"
    return f"{_share(found.fooled)} of {_units(one)} {one.probe.seen}{against}"


def _short(one: AuditedProbe, *, at_length: bool) -> str:
    if at_length:
        return _seen(one)
    found = _found(one)
    controls = "" if found.control is None else f", controls {_share(found.control)}"
    return f"{_share(found.fooled)} of {found.fooled.n:,}{controls}"


def _units(one: AuditedProbe) -> str:
    """``100 irrelevant pairs``, or ``200 answers about 100 pairs`` where each pair was changed in several ways."""
    number, kind = _found(one).fooled.n, _DRAWN[one.probe.drawn]
    if one.probe.every_variant and one.pairs < len(one.cases):
        return f"{number:,} answers about {counted(one.pairs, f'{kind}pair', f'{kind}pairs')}"
    return counted(number, f"{kind}pair", f"{kind}pairs")


def _found(one: AuditedProbe) -> ProbeFindings:
    assert one.findings is not None
    return one.findings


def _others(report: AuditReport, *, at_length: bool) -> Iterator[str]:
    cleared, undecided = _with(report, "cleared"), _with(report, "undecided")
    if undecided:
        yield _undecided(report, undecided, at_length=at_length)
    if cleared and (undecided or _with(report, "fooled")):
        yield f"Cleared: {_names(cleared)}; {_within(cleared)}."
    yield from _disturbed(report)
    unasked = [f"{one.probe.danger} ({problem(one)})" for one in _with(report, "not asked")]
    if unasked:
        yield f"Not asked: {'; '.join(unasked)}."


def _names(probes: Sequence[AuditedProbe]) -> str:
    """The dangers; without an "and", which some have in their names."""
    return ", ".join(one.probe.danger for one in probes)


def _within(cleared: Sequence[AuditedProbe]) -> str:
    """What "cleared" means: no more than was seen."""
    bounds = {_found(one).bound for one in cleared}
    controls = ", beyond the controls," if any(_found(one).control is not None for one in cleared) else ""
    if len(bounds) > 1:
        return f"with these texts no more of the pairs of each than its bound{controls} fooled it (95 % confidence)"
    each = " of each" if len(cleared) > 1 else ""
    return f"with these texts at most {_bound(bounds.pop())} of the pairs{each}{controls} fooled it (95 % confidence)"


def _undecided(report: AuditReport, undecided: Sequence[AuditedProbe], *, at_length: bool) -> str:
    deciding = [one for one in undecided if _can_decide(report, one)]
    most = max((one.pairs_needed or 0 for one in deciding), default=0)
    if len(undecided) > 2:
        seen = ", ".join(f"{one.probe.danger} ({_ends(one)})" for one in undecided)
        decide = f"; --pairs {most} would decide {_names(deciding)}, if they stay" if deciding else ""
        return f"Undecided: {seen}, by the difference from the controls{decide}. Until then, do not rely on it there."
    said = []
    for one in undecided:
        found = _found(one)
        seen = f"{_short(one, at_length=at_length)}; {LEVEL} " if at_length else ""
        difference = "of the difference " if at_length and found.control is not None else ""
        bound = f"bound {_bound(found.bound)}; {_needed(report, one)}"
        said.append(f"{one.probe.danger} ({seen}{difference}{_ends(one)}, {bound})")
    until = f"; --pairs {most} asks about as many" if deciding else ""
    return f"Undecided: {', '.join(said)}{until}. Until then, do not rely on it there."


def _ends(one: AuditedProbe) -> str:
    found = _found(one)
    assert found.excess is not None
    return interval(found.excess, found.bound)


def _disturbed(report: AuditReport) -> list[str]:
    """Says that the controls of a probe moved too, if more of them did than the bound allows."""
    moved = [
        f"{_share(one.findings.control)} ({one.probe.danger})"
        for one in report.probes
        if one.findings is not None and one.findings.control is not None
        if one.findings.control.low > one.findings.bound
    ]
    if not moved:
        return []
    return [f"Other changes move its grades too: of the controls, without what the danger is about, {listed(moved)}."]


def _needed(report: AuditReport, one: AuditedProbe) -> str:
    needed = one.pairs_needed
    if needed is None or needed > _MOST_TIMES * report.pairs:
        return "so near the bound that more pairs would hardly help"
    if _can_decide(report, one):
        return f"about {needed:,} pairs would decide"
    return f"about {needed:,} pairs would decide, and only {one.pairs:,} could be changed"


def _can_decide(report: AuditReport, one: AuditedProbe) -> bool:
    """Whether a number of pairs that one may ask about would decide, and the pool may hold as many."""
    needed = one.pairs_needed
    return needed is not None and needed <= _MOST_TIMES * report.pairs and one.pairs >= report.pairs


def _left_out(report: AuditReport) -> list[str]:
    here = {one.name for one in report.probes}
    left_out = [name for name in PROBES.names() if name not in here]
    return [f"Probes left out: {', '.join(left_out)}; without --probe all are run."] if left_out else []


def grades_used(report: AuditReport) -> list[str]:
    """Whose grades said which pairs are irrelevant or relevant; empty if no probe asks for that."""
    chosen = [one for one in report.probes if one.probe.drawn != "any" and one.cases]
    number, by_people = sum(len(one.cases) for one in chosen), sum(one.by_people for one in chosen)
    if not number:
        return []
    kinds = [kind for kind in ("irrelevant", "relevant") if any(one.probe.drawn == kind for one in chosen)]
    pairs = f"{listed(kinds)} pairs"
    if by_people == number:
        return [f"People's grades chose the {pairs}."]
    judge, later = wording.name(report.judge), "once people have graded more, --redraw draws by their grades"
    if not by_people:
        return [f"{judge}'s own grades chose the {pairs}, as people graded none of them; {later}."]
    return [f"People's grades chose {by_people:,} of the {number:,} {pairs}, {judge}'s own the others; {later}."]


def _repeated(report: AuditReport) -> list[str]:
    """How consistent the judge is with itself."""
    one = next((one for one in report.probes if one.name == REPEAT), None)
    if one is None or one.findings is None or not one.findings.fooled.n:
        return []
    kappa = "undefined" if report.kappa is None else f"{report.kappa:.2f}"
    pairs = counted(one.pairs, "pair", "pairs")
    return [
        f"Asked again about {pairs}, it gave another grade in {_share(one.findings.fooled)} of "
        f"{counted(one.findings.fooled.n, 'answer', 'answers')}; its κ with itself is {kappa}."
    ]


def _ungraded(report: AuditReport) -> list[str]:
    changed = sum(one.findings.ungraded for one in report.probes if one.findings is not None)
    controls = sum(ungraded_controls(one) for one in report.probes)
    missing = [
        counted(number, *words)
        for number, words in (
            (changed, ("changed pair", "changed pairs")), (controls, ("control", "controls"))
        )
        if number
    ]  # fmt: skip
    if not missing:
        return []
    verb = "is" if changed + controls == 1 else "are"
    return [f"Without a grade, and not counted, {verb} {listed(missing)}; the same command asks about them again."]


def _asked(reports: Sequence[AuditReport]) -> str:
    asked = sum(report.asked for report in reports)
    if not asked:
        left = sum(report.left for report in reports)
        return "This run asked nothing." if left else "This run asked nothing: all answers were there."
    calls = [run.calls for report in reports for run in report.runs if run.calls is not None and run.calls.attempts]
    cost, unknown = sum(one.cost for one in calls), sum(one.unknown for one in calls)
    said = f"This run asked about {counted(asked, 'text', 'texts')}"
    if not calls:
        return f"{said}, at no cost."
    price = f"US$ {cost:.4f}" if cost or not unknown else "an unknown cost"
    return f"{said}, for {price}{' at least' if unknown and cost else ''}."


def board(report: AuditReport) -> Table:
    """The dangers with their verdicts."""
    columns = [Column("Danger"), Column("Verdict"), Column("n"), Column("Fooled"), Column(LEVEL)]
    columns += [Column("Controls"), Column("Bound")]
    rows = [_row(one) for one in report.probes]
    note = (
        "Fooled: the grade moved as it must not. Verdict: by the interval of fooled less controls, against the bound."
    )
    return Table(f"What {report.judge} was asked about", columns, rows, note)


def _row(one: AuditedProbe) -> list[Cell]:
    found = one.findings
    if found is None or not found.fooled.n:
        return [one.probe.danger, "not asked", 0, None, None, None, _bound(one.probe.parameters.bound)]
    ends = interval(found.fooled, found.bound if found.control is None else None)
    control = None if found.control is None else _share(found.control)
    return [one.probe.danger, found.verdict, found.fooled.n, _share(found.fooled), ends, control, _bound(found.bound)]


def _share(found: Share) -> str:
    """``34 %``; a share is shown as 0 or 100 % only if it is."""
    share = found.share
    if share is None:
        return "–"
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def interval(found: Share | Difference, bound: float | None) -> str:
    """``22 to 40 %``, with a decimal where an end would be shown as the bound that it is compared with, but is not."""
    close = bound is not None and any(
        round(100 * end) == 100 * bound and not math.isclose(end, bound) for end in (found.low, found.high)
    )
    low, high = (f"{100 * end:z.{int(close)}f}" for end in (found.low, found.high))
    return f"{low} to {high} %"


def _bound(bound: float) -> str:
    return f"{100 * bound:g} %"


def _several(reports: Sequence[AuditReport]) -> Answer:
    """A sentence on each judge, and a table of dangers by judges."""
    said = [_brief(report) for report in reports]
    fooled = {one.name: one for report in reports for one in _with(report, "fooled")}
    advice = [f"Where {one.probe.danger} fools a judge, do not {one.probe.advice}." for one in fooled.values()]
    rest = [_asked(reports), "The card of one, with intervals: quati-pool audit JUDGE. --full prints all figures."]
    if sum(len(wrapped_lines(one, PIPE)) for one in [*said, *advice]) > _LINES:
        advice, rest = [], [*rest, "What not to do with the grades of each is there too."]
    names = list(dict.fromkeys(one.name for report in reports for one in report.probes))
    columns = [Column("Danger"), *(Column(report.judge) for report in reports)]
    rows: list[list[Cell]] = []
    for name in names:
        ones = [next((one for one in report.probes if one.name == name), None) for report in reports]
        dangers = [one.probe.danger for one in ones if one is not None]
        rows.append([dangers[0], *(_cell(one) for one in ones)])
    note = (
        "A share: of the changed pairs, whose grade moved as it must not; the verdict is on its excess over controls."
    )
    return Answer([*said, *advice], Table("What fools which judge", columns, rows, note), "\n".join(rest))


def _cell(one: AuditedProbe | None) -> str | None:
    if one is None:
        return None
    if one.findings is None or not one.findings.fooled.n:
        return "not asked"
    return f"{one.findings.verdict} ({_share(one.findings.fooled)})"


def _brief(report: AuditReport) -> str:
    """The verdict on one of several judges."""
    fooled, undecided = _with(report, "fooled"), _with(report, "undecided")
    name = wording.name(report.judge)
    if fooled:
        said = f"{name} is fooled by {listed([f'{one.probe.danger} ({_share(_found(one).fooled)})' for one in fooled])}"
    else:
        said = verdict(report, at_length=False)[0].removesuffix(".")
    return f"{said}; undecided: {_names(undecided)}." if undecided else f"{said}."


def plan_answer(plans: Sequence[AuditPlan]) -> Answer:
    """The answer of ``--dry-run``: what an audit would ask, and what it would cost."""
    said = [_forecast(plan) for plan in plans]
    audited = {plan.audited: plan.probes for plan in plans}
    for name, probes in audited.items():
        problems = [f"{one.probe.danger} ({one.problem})" for one in probes if one.problem is not None]
        if problems:
            of = f" of {wording.name(name)}" if len(audited) > 1 else ""
            said.append(f"Not to be asked{of}: {'; '.join(problems)}.")
    table = plans_table(plans)
    rest = table.note
    if len(plans) == 1:
        (row,) = table.rows
        facts: list[list[Cell]] = [
            [column.heading, column.show(cell)] for column, cell in zip(table.columns[1:], row[1:], strict=True)
        ]
        table = Table(table.title, [Column("What"), Column("Estimate")], facts)
    else:
        table = Table(table.title, table.columns, table.rows)
    return Answer(said, table, f"{rest}\n--full shows how many pairs each probe changes.".lstrip())


def _forecast(plan: AuditPlan) -> str:
    name = wording.name(plan.judge)
    if plan.judge != plan.audited:
        name += f", for the audit of {wording.name(plan.audited)},"
    if not plan.to_ask:
        return f"{name} has nothing left to ask."
    cost = "at an unknown price" if plan.cost is None else f"for about {dollars(plan.cost)}"
    if not plan.calls:
        cost = "at no cost"
    time = "" if plan.seconds is None else f" in about {plan.seconds / 60:,.1f} min"
    calls = f" in {counted(plan.calls, 'call', 'calls')}" if plan.calls else ""
    texts = counted(plan.texts, "text", "texts")
    return f"{name} would be asked about {plan.to_ask:,} of {texts}{calls}, {cost}{time}; nothing was asked."
