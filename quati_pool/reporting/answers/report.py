"""The first screen of a report: which system is best, how sure that is, whether labelers agree, what the pool rests on
and what to distrust."""

from __future__ import annotations

from quati_pool.commands.report import State
from quati_pool.reporting.answers import agree, build, evaluate, labels
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
)
from quati_pool.text.display_width import labels as shortened
from quati_pool.text.pluralize import counted, listed

ROWS, FINDINGS = 10, 6
"""The most rows of the leaderboard, and the most findings, that are shown at once."""


def opening(state: State, leaderboard: str, agreement: str) -> Opening:
    """The ids of the sections with the whole leaderboard and with the table of labelers are ``leaderboard`` and
    ``agreement``."""
    parts = [_systems(state, leaderboard), _agreement(state, agreement), _pool(state), _distrust(state)]
    return Opening("The result in short", parts)


def _systems(state: State, section: str) -> OpeningPart:
    evaluation = state.evaluation
    if evaluation is None:
        return OpeningPart("Systems", [Paragraph(state.missing["evaluation"])])
    best = [Paragraph(said) for said in evaluate.leaders(evaluation)]
    orders = [Paragraph(said) for said in evaluate.labelers(evaluation, kappa=False)]
    return OpeningPart("Systems", [*best, standings(state, section), *orders])


def standings(state: State, section: str) -> Standings:
    """The first rows of the leaderboard under the first labeler; the whole one is in the ``section``."""
    assert state.evaluation is not None
    condition, measure = state.evaluation.conditions[0], state.evaluation.measures[0]
    rows = condition.board.rows[:ROWS]
    named = dict(zip((row.run_tag for row in rows), shortened([row.run_tag for row in rows]), strict=True))
    shown = []
    for row in rows:
        found, href = row.measures[measure], links.system(row.run_tag, by=condition.source.name, measure=measure)
        low, high = found.interval.low, found.interval.high
        ends = None if low is None or high is None else (low, high)
        letters = " ".join(condition.letters[row.run_tag])
        shown.append(Standing(row.rank, Link(named[row.run_tag], href), found.mean, ends, letters))
    more = len(condition.board.rows) - len(rows)
    link = Link(f"and {more:,} more", f"#{section}") if more else None
    note = "Systems that share a letter do not differ significantly." if len(shown) > 1 else ""
    return Standings("Leaderboard", measure, shown, note, link)


def _agreement(state: State, section: str) -> OpeningPart:
    if state.agreement is None:
        return OpeningPart("Agreement", [Paragraph(state.missing["agreement"])])
    said = " ".join([*agree.main_result(state.agreement), *agree.together(state.agreement)])
    pairs = len(state.agreement.compared)
    more = (" ", Link(f"All {pairs:,} pairs of labelers", f"#{section}"), ".") if pairs > 1 else ()
    return OpeningPart("Agreement", [Paragraph((said, *more))])


def _pool(state: State) -> OpeningPart:
    said = [build.pooled(state.pool)]
    quality = state.evaluation.conditions[0].quality if state.evaluation else ""
    if not isinstance(quality, str) and quality.grades.relevant.pairs:
        said.append(build.relevant_alone(quality.grades))
    said += labels.graded(state.ledger) if state.ledger else []
    return OpeningPart("The pool", [Paragraph(" ".join(said))])


def _distrust(state: State) -> OpeningPart:
    title, found = "What to distrust", findings(state)
    if not found:
        return OpeningPart(title, [Paragraph(f"Nothing that was checked: {listed(checked())}.")])
    blocks: list[Listing | Details] = [Listing(found[:FINDINGS])]
    more = len(found) - FINDINGS
    if more > 0:
        blocks.append(Details(counted(more, "further doubt", "further doubts"), [Listing(found[FINDINGS:])]))
    return OpeningPart(title, blocks)
