"""The lines that ``judge``, ``batch collect`` and ``labels`` print about answers without a grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quati_pool.llm.thoughts import ANY, Marks, apart
from quati_pool.records import FAILURES, State
from quati_pool.store.failed_answers import FailedAnswer
from quati_pool.text.characters import one_line

# Characters of an answer that are shown.
_SHOWN = 200


def summary(judge: str, what: str, total: int, states: Mapping[State, int], unasked: int = 0) -> str | None:
    """A line such as ``fake: 465 of 467 pairs graded; 2 unparsed``; None if no answer failed. ``what`` is the noun for
    ``total``, of which ``unasked`` were not asked about."""
    failed = [f"{states[state]:,} {state.value}" for state in State if state in FAILURES and states.get(state)]
    if not failed:
        return None
    others = [f"{states[State.no_text]:,} without text"] if states.get(State.no_text) else []
    others += [f"{unasked:,} never asked"] if unasked else []
    return f"{judge}: {states.get(State.ok, 0):,} of {total:,} {what} graded; {', '.join([*failed, *others])}"


def example(judge: str, failed: FailedAnswer, written: Path | None = None) -> str:
    """One answer as a line, and where to find all of them: in the file ``written``, or by a command."""
    what = f"{failed.query_id} {failed.doc_id}, {failed.status.value}{_why(failed)}: {shown(failed)}"
    return f"such as {what}; all of them: {written or f'quati-pool labels {judge} --missing'}"


def _why(failed: FailedAnswer) -> str:
    return f" ({one_line(failed.problem)})" if failed.problem else ""


def without_thoughts(failed: FailedAnswer, marks: Sequence[Marks] = ANY) -> FailedAnswer:
    """The same with the model's thoughts separated from its answer; ``marks`` are those of its judge."""
    answer, thoughts = apart(failed.answer, failed.thoughts, marks)
    return replace(failed, answer=answer, thoughts=thoughts)


def shown(failed: FailedAnswer) -> str:
    """A model's answer for a terminal: quoted, on one line, with invisible characters escaped, and shortened."""
    if not failed.answer and failed.thoughts:
        return "no answer, only thoughts"
    return "no answer" if failed.answer is None else shortened(failed.answer)


def shortened(text: str) -> str:
    """The start of a text, quoted."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
