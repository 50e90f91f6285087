"""The first screen of a report: which system is best, how sure that is, whether labelers agree, what the pool rests on
and what to distrust."""

from __future__ import annotations

from itertools import accumulate

from quati_pool.commands.estimates.estimate import EstimateReport
from quati_pool.commands.report import State
from quati_pool.reporting.answers import agree, build, estimate, evaluate, labels, wording
from quati_pool.reporting.answers.findings import checked, findings
from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.document import (
    Details,
    Link,
    Listing,
    Opening,
    OpeningPart,
    Paragraph,
    Standing,
    Standings,
    Words,
    plain,
)
from quati_pool.reporting.tables.estimate import interval
from quati_pool.text.pluralize import counted, listed

ROWS, FINDINGS = 10, 6
"""The most rows of the leaderboard, and the most findings, that are shown at once."""

# The right column of the first screen has room for about so many lines of so many characters.
_LINES, _LINE = 22, 72
# A name of this many columns leaves room for its interval on the same line.
_NAME = 24


def opening(state: State, leaderboard: str, agreement: str) -> Opening:
    """The ids of the sections with the whole leaderboard and with the table of labelers are ``leaderboard`` and
    ``agreement``."""
    agreed, pooled = _agreement(state, agreement), _pool(state)
    parts = [
        _systems(state, leaderboard),
        OpeningPart("Agreement", [Paragraph(agreed)]),
        OpeningPart("The pool", [Paragraph(pooled)]),
        _distrust(state, _LINES - _lines(agreed) - _lines(pooled)),
    ]
    return Opening("The result in short", parts)


def _systems(state: State, section: str) -> OpeningPart:
    evaluation = state.evaluation
    if evaluation is None:
        return OpeningPart("Systems", [Paragraph(state.missing["evaluation"])])
    orders = [Paragraph(said) for said in evaluate.labelers(evaluation, kappa=False)]
    if state.estimates is not None:
        best = Paragraph(estimate.leader(state.estimates, state.estimates.estimates[0]))
        return OpeningPart("Systems", [best, estimated(state.estimates, section), *orders])
    leaders = [Paragraph(said) for said in evaluate.leaders(evaluation)]
    return OpeningPart("Systems", [*leaders, standings(state, section), *orders])


def estimated(report: EstimateReport, section: str) -> Standings:
    """The first systems by their estimates under people's grades; all, and what they hold for, are in the
    ``section``."""
    found = report.estimates[0]
    values = [one.estimate for one in found.systems]
    rows = [
        Standing(
            1 + sum(value > one.estimate for value in values),
            Link(wording.name(one.run_tag, _NAME), links.system(one.run_tag, measure=found.measure)),
            one.estimate,
            (one.low, one.high),
        )
        for one in found.systems[:ROWS]
    ]
    note = f"Estimates of {report.population(found)} from {counted(report.drawn.labels, 'grade', 'grades')} of people."
    link = Link("What they hold for", f"#{section}")
    return Standings("Estimates under people's grades", found.measure, rows, note, link, interval(found))


def standings(state: State, section: str) -> Standings:
    """The first rows of the leaderboard under the first labeler; the whole one is in the ``section``."""
    assert state.evaluation is not None
    condition, measure = state.evaluation.conditions[0], state.evaluation.measures[0]
    rows = condition.board.rows[:ROWS]
    shown = []
    for row in rows:
        found, href = row.measures[measure], links.system(row.run_tag, by=condition.source.name, measure=measure)
        low, high = found.interval.low, found.interval.high
        ends = None if low is None or high is None else (low, high)
        letters = " ".join(condition.letters[row.run_tag])
        shown.append(Standing(row.rank, Link(wording.name(row.run_tag, _NAME), href), found.mean, ends, letters))
    more = len(condition.board.rows) - len(rows)
    link = Link(f"and {more:,} more", f"#{section}") if more else None
    notes = ["Systems that share a letter do not differ significantly."] if len(shown) > 1 else []
    if state.alone(condition.source):
        notes.insert(0, f"Under the grades of {wording.name(condition.source.name)} alone.")
    return Standings("Leaderboard", measure, shown, " ".join(notes), link)


def _agreement(state: State, section: str) -> Words:
    if state.agreement is None:
        return state.missing["agreement"]
    said = " ".join([*agree.main_result(state.agreement), *agree.together(state.agreement)])
    pairs = len(state.agreement.compared)
    more = (" ", Link(f"All {pairs:,} pairs of labelers", f"#{section}"), ".") if pairs > 1 else ()
    return said, *more


def _pool(state: State) -> str:
    said = [build.pooled(state.pool)]
    first = state.evaluation.conditions[0] if state.evaluation else None
    if first and not isinstance(first.quality, str) and first.quality.grades.relevant.pairs:
        said.append(build.relevant_alone(first.quality.grades, wording.name(first.source.name)))
    said += labels.graded(state.ledger) if state.ledger else []
    return " ".join(said)


def _distrust(state: State, lines: int) -> OpeningPart:
    """The most important findings in about so many ``lines``, and the others folded."""
    title, found = "What to distrust", findings(state)
    if not found:
        return OpeningPart(title, [Paragraph(f"Nothing that was checked: {listed(checked(state))}.")])
    ends = accumulate(map(_lines, found))
    shown = min(FINDINGS, max(1, sum(end <= lines for end in ends)))
    blocks: list[Listing | Details] = [Listing(found[:shown])]
    more = len(found) - shown
    if more > 0:
        blocks.append(Details(counted(more, "further doubt", "further doubts"), [Listing(found[shown:])]))
    return OpeningPart(title, blocks)


def _lines(words: Words) -> int:
    return -(-len(plain(words)) // _LINE)
