"""The answer of ``audit``: what fools a judge, and what not to do with its grades."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from quati_pool.audit.outcomes import ProbeFindings, VariantResult, Verdict
from quati_pool.commands.audit.audit import AuditedProbe, AuditReport
from quati_pool.commands.audit.figures import (
    ends,
    fooling_variants,
    interval,
    limit,
    pairs_of,
    percent,
    seen,
    share,
    units,
    variant_name,
    worse_variant,
)
from quati_pool.registry import PROBES
from quati_pool.reporting.answers import audit_grades, drift, wording
from quati_pool.reporting.formats.answers import LINES, PIPE, Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.audit import problem, ungraded_controls
from quati_pool.reporting.tables.audit_grades import LEVEL
from quati_pool.text.display_width import wrapped_lines
from quati_pool.text.pluralize import counted, first_of, listed

# The most lines of sentences.
_LINES = 15
# How much sentences say of a danger: what the table does not, its name, up to all its figures.
_NOTHING, _NAME, _BRIEF, _SEEN, _ALL = range(-1, 4)


def answer(reports: Sequence[AuditReport], not_started: Sequence[str] = ()) -> Answer:
    """The card of one judge, or a verdict on each of several. ``not_started`` are judges to which a run that ended
    early did not come."""
    if len(reports) > 1:
        return _several(reports, not_started)
    (report,) = reports
    rest = [*grades_used(report), *audit_grades.grade_rest(report), *_repeated(report), *_ungraded(report)]
    rest += _drift(report)
    rest += [what_was_asked(reports), *_not_started(not_started), *_left_out(report), _more(report)]
    table = audit_grades.board(report) if report.grade_lines else board(report)
    said = sentences(report, room(table, rest))
    for text, shorter in _giving_way(report, table):
        if height(said) <= room(table, rest):
            break
        rest = [shorter if line == text else line for line in rest]
        table = replace(table, note=shorter) if table.note == text else table
        said = sentences(report, room(table, rest))
    return Answer(said, table, "\n".join(filter(None, rest)))


def height(texts: Sequence[str]) -> int:
    """How many lines of a pipe sentences fill, each beginning a new one."""
    return sum(len(wrapped_lines(text, PIPE)) for text in texts)


def room(table: Table, rest: Sequence[str]) -> int:
    """How many lines of sentences fit on the screen next to all rows of the table and the ``rest``."""
    # Two empty lines separate the three parts; the table has a title, a heading and a rule.
    return min(_LINES, LINES - height([*rest, table.note]) - len(table.rows) - 5)


def _giving_way(report: AuditReport, table: Table) -> Iterator[tuple[str, str]]:
    """What the fullest cards, of which no row is left out, go without, bit by bit, and what is there instead."""
    moved = _drift(report) if _alarm(report) else []
    compared = audit_grades.grade_rest(report)
    for line in (*_repeated(report), *grades_used(report), *compared[1:]):
        yield line, ""
    yield _more(report), "--full prints all."
    for line in (*_ungraded(report), *moved, *compared[:1]):
        yield line, ""
    yield table.note, audit_grades.SHORT_NOTE if report.grade_lines else ""


def _more(report: AuditReport) -> str:
    if report.of_files:
        return "--full prints all figures."
    unasked = ", and why a probe was not used" if _with(report, "not asked") else ""
    folder = f"audits/{wording.name(report.judge)}/"
    apart = report.near_duplicates is not None and report.near_duplicates.found.apart
    listed = ", near-duplicates for people to look at in near-duplicates.tsv there" if apart else ""
    return f"--full prints all figures and the worst examples{unasked}; the changed texts are in {folder}{listed}."


def _not_started(names: Sequence[str]) -> list[str]:
    return [f"The run ended before it came to {first_of([wording.name(one) for one in names])}."] if names else []


def sentences(report: AuditReport, room: int = _LINES) -> list[str]:
    """The verdict, what was cleared, what is undecided and what was not asked, as fully as ``room`` lines allow."""
    said: list[str] = []
    for first, others in (
        (_ALL, _SEEN),
        (_SEEN, _SEEN),
        (_SEEN, _BRIEF),
        (_BRIEF, _BRIEF),
        (_BRIEF, _NAME),
        (_NAME, _NAME),
        *(((_NAME, _NOTHING), (_NOTHING, _NOTHING)) if report.grade_lines else ()),
    ):
        said = [*verdict(report, first), *_others(report, others)] if report.probes else []
        if report.grades is not None:
            said = [audit_grades.headline(report), *said]
        said += audit_grades.grade_sentences(report, max(others, min(first, _NAME)))
        said = [*_alarm(report), *said]
        if height(said) <= room:
            break
    return said


def _alarm(report: AuditReport) -> list[str]:
    if report.drift is None or not report.drift.alarms:
        return []
    return [drift.card_alarm(report.judge, report.drift)]


def _drift(report: AuditReport) -> list[str]:
    return [] if report.drift is None else [drift.card_line(report.drift)]


def verdict(report: AuditReport, detail: int = _ALL) -> list[str]:
    """What fools the judge and what follows from it, or that nothing was seen to fool it."""
    name, fooled, cleared = wording.name(report.judge), _with(report, "fooled"), _with(report, "cleared")
    undecided = _with(report, "undecided")
    if len(fooled) == 1:
        return [f"{name} is fooled by {_danger(fooled[0], detail)}: do not {fooled[0].probe.advice}."]
    if fooled:
        dangers = listed([_danger(one, min(detail, _SEEN)) for one in fooled])
        advice = "; ".join(f"do not {one.probe.advice}" for one in fooled)
        if detail == _NOTHING:
            number = counted(len(fooled), "danger", "dangers")
            return [f"{name} is fooled by {number}; --full says what not to do with its grades for that."]
        return [f"{name} is fooled by {dangers}.", f"So {advice}."]
    if undecided:
        return [f"Nothing is shown to fool {name} yet, but {_of_all(len(undecided), len(undecided) + len(cleared))}."]
    if cleared:
        of_what = f"{cleared[0].probe.danger}, the one danger" if len(cleared) == 1 else _all_dangers(len(cleared))
        said = [f"{name} is cleared of {of_what} it was tested for: {_within(cleared)}."]
        right = "Whether its grades are right is another question: quati-pool agree compares them with people's."
        return said if report.grades is not None else [*said, right]
    return [f"Nothing is known of {name} yet: no changed pair has a grade."]


def _of_all(undecided: int, tested: int) -> str:
    """How many of the dangers are undecided."""
    if tested == 1:
        return "the one danger it was tested for is undecided"
    if undecided == tested:
        return f"{_all_dangers(tested)} it was tested for are undecided"
    return f"{undecided:,} of the {tested:,} dangers it was tested for {'is' if undecided == 1 else 'are'} undecided"


def _all_dangers(number: int) -> str:
    return "both dangers" if number == 2 else f"all {number:,} dangers"


def _with(report: AuditReport, verdict: Verdict) -> list[AuditedProbe]:
    return [one for one in report.probes if _verdict_of(one) == verdict]


def _verdict_of(one: AuditedProbe) -> Verdict:
    return "not asked" if one.findings is None else one.findings.verdict


def _found(one: AuditedProbe) -> ProbeFindings:
    assert one.findings is not None
    return one.findings


def _danger(one: AuditedProbe, detail: int) -> str:
    """A danger that fooled the judge, with its figures in brackets."""
    found = _found(one)
    variants = fooling_variants(found)
    if detail <= _NAME:
        return one.probe.danger
    shown = _of_variants(one, variants, detail) if variants else _of_all_pairs(one, detail)
    return f"{one.probe.danger} ({shown})"


def _of_all_pairs(one: AuditedProbe, detail: int) -> str:
    """``34 % of 100 irrelevant pairs were …, against 3 % of the controls; 95 % interval …, bound 10 %``."""
    found = _found(one)
    worst = worse_variant(one, found)
    most = f"; most of all {_variant(worst)}" if worst else ""
    if detail == _BRIEF:
        controls = "" if found.control is None else f", controls {share(found.control)}"
        return f"{share(found.fooled)} of {found.fooled.n:,}{controls}{most}"
    against = "" if found.control is None else f", against {share(found.control)} of the controls"
    shown = f"{share(found.fooled)} of {units(one, found)} {seen(one, found.fooled.n)}{against}{most}"
    return f"{shown}; {_level(found, found.bound)}" if detail == _ALL else shown


def _of_variants(one: AuditedProbe, variants: Sequence[VariantResult], detail: int) -> str:
    """``shuffled words: 26 of 26 relevant pairs were …; also empty query: 9 of 25``."""
    worst, *others = variants
    if detail == _BRIEF:
        more = f", and {counted(len(others), 'other way', 'other ways')}" if others else ""
        return f"{_variant(worst)}{_controls(worst)}{more}"
    shown = f"{variant_name(worst)}: {worst.fooled.hits:,} of {pairs_of(one, worst.fooled.n)} "
    shown += seen(one, worst.fooled.n)
    if worst.control is not None:
        shown += f", against {worst.control.hits:,} of {counted(worst.control.n, 'control', 'controls')}"
    if detail == _ALL:
        shown += f"; {_level(worst, _found(one).bound)}"
    return (
        f"{shown}; also {first_of([f'{_variant(each)}{_controls(each)}' for each in others], 2)}" if others else shown
    )


def _variant(result: VariantResult) -> str:
    return f"{variant_name(result)}: {result.fooled.hits:,} of {result.fooled.n:,}"


def _controls(result: VariantResult) -> str:
    return "" if result.control is None else f" against {result.control.hits:,} of {result.control.n:,}"


def _level(result: ProbeFindings | VariantResult, bound: float) -> str:
    """``95 % interval of the difference 22 to 40 %, bound 10 %``."""
    assert result.excess is not None
    difference = "" if result.control is None else " of the difference"
    return f"{LEVEL}{difference} {interval(result.excess, bound)}, bound {limit(bound)}"


def _others(report: AuditReport, detail: int) -> Iterator[str]:
    cleared, undecided = _with(report, "cleared"), _with(report, "undecided")
    if detail == _NOTHING:
        if undecided or any(line.position == "undecided" for line in report.grade_lines):
            yield "Where a verdict is undecided, do not rely on its grades."
        return
    if undecided:
        yield _undecided(undecided, detail)
    if cleared and (undecided or _with(report, "fooled")):
        yield f"Cleared: {_names(cleared)}; {_within(cleared)}."
    yield from _disturbed(report, detail)
    unasked = [f"{one.probe.danger} ({reason(one)})" for one in _with(report, "not asked")]
    if unasked:
        yield f"Not asked: {'; '.join(unasked)}."


def reason(one: AuditedProbe) -> str:
    """Why a probe has no answer, without what to do about it."""
    return (problem(one) or "").partition(": ")[0]


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
    return f"with these texts at most {limit(bounds.pop())} of the pairs{each}{controls} fooled it (95 % confidence)"


def _undecided(undecided: Sequence[AuditedProbe], detail: int) -> str:
    one_by_one = detail >= _SEEN and len(undecided) < 3
    if one_by_one:
        said = f"Undecided: {', '.join(_open(one) for one in undecided)}."
    elif detail > _NAME:
        listing = ", ".join(f"{one.probe.danger} ({_ends(one)})" for one in undecided)
        said = f"Undecided, by the {LEVEL if len(undecided) == 1 else f'{LEVEL}s'} of the excess: {listing}."
    else:
        said = f"Undecided: {_names(undecided)}."
    helped = [one for one in undecided if not _found(one).controls_move]
    intervals = "interval" if len(helped) == 1 else "intervals"
    more = f" More pairs (--pairs) or more queries narrow the {intervals}." if helped else ""
    return f"{said}{more} Until then, do not rely on its grades there."


def _open(one: AuditedProbe) -> str:
    found = _found(one)
    against = "" if found.control is None else f", against {share(found.control)} of the controls"
    shown = f"{share(found.fooled)} of {units(one, found)} {seen(one, found.fooled.n)}{against}"
    return f"{one.probe.danger} ({shown}; {_level(found, found.bound)}{_doubt(found)})"


def _ends(one: AuditedProbe) -> str:
    found = _found(one)
    assert found.excess is not None
    return f"{interval(found.excess, found.bound)}{_doubt(found)}"


def _doubt(found: ProbeFindings) -> str:
    """What keeps a danger undecided although the excess is within the bound; empty where the excess itself does."""
    if found.excess is None or found.excess.high > found.bound:
        return ""
    if not found.suspects:
        return ", but controls move"
    return f", but {_variant(found.suspects[0])}"


def _disturbed(report: AuditReport, detail: int) -> list[str]:
    """Says that the controls of a probe moved too, where more of them did than the bound allows."""
    moved = [one for one in report.probes if one.findings is not None and one.findings.controls_move]
    if not moved:
        return []
    shares = listed([f"{_controls_share(one)} ({one.probe.danger})" for one in moved])
    said = f"Other changes move its grades too: of the controls, which lack what the danger is about, {shares}"
    if detail == _NAME:
        said = f"Other changes move its grades too, in the controls of {counted(len(moved), 'probe', 'probes')}"
    unknown = [one.probe.danger for one in moved if _verdict_of(one) == "undecided"]
    return [f"{said}. So nothing can be said of {listed(unknown)}." if unknown else f"{said}."]


def _controls_share(one: AuditedProbe) -> str:
    control = _found(one).control
    return "–" if control is None else share(control)


def _left_out(report: AuditReport) -> list[str]:
    if report.of_files:
        return ["No probe was run: a file cannot be asked about changed passages."]
    here = {one.name for one in report.probes}
    left_out = [name for name in PROBES.names() if name not in here]
    if not left_out:
        return []
    return [f"Probes left out: {', '.join(left_out)}; without --probe all are run, and its grades compared."]


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
    if report.grade_lines and not by_people:
        return [f"Its own grades, not people's, chose the {pairs} (see --redraw)."]
    if report.grade_lines:
        return [f"People's grades chose {by_people:,} of the {number:,} {pairs} (see --redraw)."]
    if not by_people:
        return [f"{judge}'s own grades chose the {pairs}, as people graded none of them; {later}."]
    return [f"People's grades chose {by_people:,} of the {number:,} {pairs}, {judge}'s own the others; {later}."]


def _repeated(report: AuditReport) -> list[str]:
    """How consistent the judge is with itself."""
    one = report.repeat
    if one is None or one.findings is None or not one.findings.fooled.n:
        return []
    kappa = "undefined" if report.kappa is None else f"{report.kappa:.2f}"
    pairs = counted(one.pairs, "pair", "pairs")
    if report.grade_lines:
        return [f"Asked again about {pairs}, it has a κ of {kappa} with itself (first repetition)."]
    return [
        f"Asked again about {pairs}, it gave another grade in {share(one.findings.fooled)} of "
        f"{counted(one.findings.fooled.n, 'answer', 'answers')}; its κ with itself (first repetition) is {kappa}."
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
    if report.grade_lines:
        return [f"Without a grade: {listed(missing)}; the same command asks again."]
    verb = "is" if changed + controls == 1 else "are"
    return [f"Without a grade, and not counted, {verb} {listed(missing)}; the same command asks about them again."]


def what_was_asked(reports: Sequence[AuditReport]) -> str:
    if all(report.of_files for report in reports):
        return "Nothing was asked: label files were read."
    asked = sum(report.asked for report in reports)
    if not asked:
        left = sum(report.left for report in reports)
        return "This run asked nothing." if left else "This run asked nothing: all answers were there."
    cost, unknown = sum(report.cost for report in reports), sum(report.unknown_costs for report in reports)
    said = f"This run asked about {counted(asked, 'text', 'texts')}"
    if not any(run.calls is not None and run.calls.attempts for report in reports for run in report.runs):
        return f"{said}, at no cost."
    price = f"US$ {cost:.4f}" if cost or not unknown else "an unknown cost"
    return f"{said}, for {price}{' at least' if unknown and cost else ''}."


def board(report: AuditReport) -> Table:
    """The dangers with their verdicts."""
    columns = [*map(Column, ("Danger", "Verdict", "n", "Fooled", "Controls", "Excess", "Bound"))]
    note = (
        "Fooled: the share of n whose grade moved as it must not. Excess: fooled less controls, with its "
        f"{LEVEL}. Verdict: fooled if the interval is above the bound, or surely that of one way of changing pairs; "
        "cleared if it is within the bound; else undecided."
    )
    return Table(
        f"What {report.judge} was tested for (shares in %)", columns, [_row(one) for one in report.probes], note
    )


def _row(one: AuditedProbe) -> list[Cell]:
    found = one.findings
    if found is None or found.excess is None:
        return [one.probe.danger, "not asked", 0, None, None, None, f"{100 * one.probe.parameters.bound:g}"]
    control = None if found.control is None else percent(found.control)
    excess = f"{100 * found.excess.value:z.0f} ({ends(found.excess, found.bound)})"
    figures: list[Cell] = [found.fooled.n, percent(found.fooled), control, excess, f"{100 * found.bound:g}"]
    return [one.probe.danger, found.verdict, *figures]


def _several(reports: Sequence[AuditReport], not_started: Sequence[str]) -> Answer:
    """A sentence on each judge, and a table of dangers by judges."""
    said = [_brief(report) for report in reports]
    fooled = {one.name: one for report in reports for one in _with(report, "fooled")}
    advice = [f"Where {one.probe.danger} fools a judge, do not {one.probe.advice}." for one in fooled.values()]
    rest = [what_was_asked(reports), *_not_started(not_started)]
    of_files = all(report.of_files for report in reports)
    one = "the same with one --labels" if of_files else "quati-pool audit JUDGE"
    rest.append(f"The card of one, with intervals: {one}. --full prints all figures.")
    rest += [f"{wording.name(one.judge)} was not compared: {one.no_grades}." for one in reports if one.no_grades]
    if height([*said, *advice]) > _LINES:
        advice, rest = [], [*rest, "What not to do with the grades of each is there too."]
    names = list(dict.fromkeys(one.name for report in reports for one in report.probes))
    columns = [Column("Danger"), *(Column(report.judge) for report in reports)]
    rows: list[list[Cell]] = []
    for name in names:
        ones = [next((one for one in report.probes if one.name == name), None) for report in reports]
        dangers = [one.probe.danger for one in ones if one is not None]
        rows.append([dangers[0], *(_cell(one) for one in ones)])
    of_probes = (
        "In brackets: the share of changed pairs whose grade moved as it must not. The verdict is on its excess over "
        "the controls, of all pairs or of one way of changing them."
    )
    compared = [{line.danger: line for line in report.grade_lines} for report in reports]
    dangers = list(dict.fromkeys(danger for lines in compared for danger in lines))
    rows += [[danger, *(audit_grades.cell(lines.get(danger)) for lines in compared)] for danger in dangers]
    of_grades = "Beyond or within: how far grades, or what follows from them, are from people's; in brackets: how far."
    note = " ".join([of_probes] * bool(names) + [of_grades] * bool(dangers))
    title = "What fools which judge" if names else "How judges' grades differ from people's"
    return Answer([*said, *advice], Table(title, columns, rows, note), "\n".join(rest))


def _cell(one: AuditedProbe | None) -> str | None:
    if one is None:
        return None
    if one.findings is None or not one.findings.fooled.n:
        return "not asked"
    return f"{one.findings.verdict} ({share(one.findings.fooled)})"


def _brief(report: AuditReport) -> str:
    """The verdict on one of several judges."""
    if report.grades is not None:
        said = audit_grades.headline(report).removesuffix(".")
        fools = [one.probe.danger for one in _with(report, "fooled")]
        said += f"; fooled by {listed(fools)}" if fools else ""
        beyond = audit_grades.with_position(report, "beyond")
        return f"{said}; also beyond their bounds: {', '.join(beyond)}." if beyond else f"{said}."
    if not report.probes:
        return f"{wording.name(report.judge)}: nothing is known of its grades."
    fooled, undecided = _with(report, "fooled"), _with(report, "undecided")
    name = wording.name(report.judge)
    if fooled:
        said = f"{name} is fooled by {listed([f'{one.probe.danger} ({_worst_share(one)})' for one in fooled])}"
    else:
        said = verdict(report)[0].removesuffix(".")
    return f"{said}; undecided: {_names(undecided)}." if undecided else f"{said}."


def _worst_share(one: AuditedProbe) -> str:
    found = _found(one)
    variants = fooling_variants(found)
    return _variant(variants[0]) if variants else share(found.fooled)
