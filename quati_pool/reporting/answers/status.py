"""The answer of ``status``: the state and the next command, what the pool lacks, what is in doubt, and one row for each
part."""

from __future__ import annotations

from quati_pool.commands.status.status import Status
from quati_pool.reporting.answers import completeness
from quati_pool.reporting.answers.wording import names
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables.status import depth_in_words, overview, writing_in_words
from quati_pool.text.pluralize import counted

_DOUBTS = 5


def answer(status: Status) -> Answer:
    """The first few doubts are named; all are in the full tables."""
    sentences = [f"{_standing(status)}; {_next(status)}."]
    sentences += completeness.sentences(status.state.labels.completeness, known=True)
    more = len(status.doubts) - _DOUBTS
    sentences += [f"In doubt: {doubt.words}." for doubt in status.doubts[:_DOUBTS]]
    rest = [f"There are {more:,} more doubts."] if more > 0 else []
    if status.next is not None:
        rest += [f"Next ({status.next.why}):", f"  {status.pasted(status.next.command)}"]
    rest.append("--full prints each system and labeler, and what helps against each doubt.")
    return Answer(sentences, overview(status), "\n".join(rest))


def _standing(status: Status) -> str:
    state = status.state
    if state.only_writing:
        return f"{state.config.name}: {writing_in_words(status)}"
    systems = state.systems
    built = sum(one.state in ("built", "not checked") for one in systems)
    are = "is" if built == 1 else "are"
    words = f"{state.config.name}: {built:,} of {counted(len(systems), 'system', 'systems')} {are} built"
    pool = state.pool
    if not pool.there:
        return f"{words}, and there is no pool yet"
    queries = counted(pool.queries or 0, "query", "queries")
    pairs, are = counted(pool.pairs or 0, "pair", "pairs"), "is" if pool.pairs == 1 else "are"
    words += f", {pairs} of {queries} {are} pooled{depth_in_words(status)}"
    return f"{words}, and {_graders(status)}"


def _graders(status: Status) -> str:
    labels = status.state.labels
    graded = [one for one in labels.with_grades if not one.members or one.grader == "distilled"]
    complete = [one for one in graded if one.graded == one.coverage.pairs]
    if status.state.database is not None and not graded:
        return "the labels cannot be read"
    if not graded:
        return "nobody has graded any of them"
    if len(complete) == len(graded):
        return f"{names([one.name for one in graded])} {'has' if len(graded) == 1 else 'have'} graded all of them"
    if len(graded) == 1:
        return f"{graded[0].name} has graded {graded[0].graded:,} of them"
    return f"{len(graded):,} labelers have graded, {len(complete) or 'none'} of them all pairs"


def _next(status: Status) -> str:
    return "nothing is left to do" if status.next is None else f"next: {status.pasted(status.next.command)}"
