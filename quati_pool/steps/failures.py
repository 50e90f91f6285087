"""What ``judge``, ``batch collect`` and ``labels`` say of answers that are no grade."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quati_pool.records import FAILURES, State
from quati_pool.render.characters import one_line
from quati_pool.store.failed_answers import FailedAnswer

# Characters of a raw answer that are shown.
_SHOWN = 200


def summary(judge: str, what: str, total: int, states: Mapping[State, int], unasked: int = 0) -> str | None:
    """``fake: 465 of 467 pairs graded; 2 unparsed``; None where no answer failed. ``what`` is the noun of
    ``total``, of which ``unasked`` were not asked about."""
    failed = [f"{states[state]:,} {state.value}" for state in State if state in FAILURES and states.get(state)]
    if not failed:
        return None
    others = [f"{unasked:,} never asked"] if unasked else []
    return f"{judge}: {states.get(State.ok, 0):,} of {total:,} {what} graded; {', '.join([*failed, *others])}"


def example(judge: str, failed: FailedAnswer) -> str:
    """One answer in a line, and how to see all of them."""
    what = f"{failed.query_id} {failed.doc_id}, {failed.status.value}{_why(failed)}: {shown(failed.answer)}"
    return f"such as {what}; all of them: quati-pool labels {judge} --missing"


def _why(failed: FailedAnswer) -> str:
    return f" ({one_line(failed.problem)})" if failed.problem else ""


def shown(answer: str | None) -> str:
    """A model's answer for a terminal: quoted, on one line, with what cannot be seen escaped, and shortened."""
    if answer is None:
        return "no answer"
    return repr(answer if len(answer) <= _SHOWN else answer[: _SHOWN - 3] + "...")


def as_data(failed: FailedAnswer | None) -> dict[str, Any] | None:
    """``answer`` is as ``shown``."""
    if failed is None:
        return None
    return {
        "query_id": failed.query_id,
        "doc_id": failed.doc_id,
        "state": failed.status.value,
        "problem": failed.problem,
        "answer": None if failed.answer is None else shown(failed.answer),
    }
