"""Judge answers that contain no grade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from quati_pool.records import FAILURES, State
from quati_pool.store.database import Store
from quati_pool.store.records import COUNTING, Attempt
from quati_pool.store.rereading import StoredTry, stored_tries
from quati_pool.store.schema import labels

_IDS_A_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class FailedAnswer:
    """A pair's last answer without a grade: ``problem`` says why, ``answer`` is the text the model wrote (None if it
    wrote nothing), ``thoughts`` its separate reasoning, and ``notes`` list oddities of the server's response."""

    query_id: str
    doc_id: str
    status: State
    problem: str | None
    answer: str | None
    thoughts: str | None = None
    notes: tuple[str, ...] = ()


def failed_answer(
    query_id: str, doc_id: str, status: State, rationale: str | None, last: Attempt | StoredTry | None
) -> FailedAnswer:
    """Builds a FailedAnswer from a label without a grade and the last attempt behind it. The label's rationale takes
    precedence over the attempt's problem, because it may come from a newer reading."""
    if last is None:
        return FailedAnswer(query_id, doc_id, status, rationale, None)
    notes = tuple(last.extra.get("notes", ()))
    return FailedAnswer(query_id, doc_id, status, rationale or last.problem, last.answer, last.thoughts, notes)


def failed_answers(
    store: Store, collection: str, labeler_id: str, version: str, query_ids: Iterable[str]
) -> dict[tuple[str, str], FailedAnswer]:
    """The last failure of each pair of these queries that ever failed under ``version``, by (query_id, doc_id), even
    if the pair was graded later. Each answer counts by its newest reading; a pair that shares the answer of another
    pair has that answer."""
    c = labels.c
    answer = func.coalesce(c.rereads, c.seq)
    mine = (
        c.collection == collection, c.labeler_id == labeler_id, c.version == version, c.phase.in_(COUNTING),
    )  # fmt: skip
    columns = (c.query_id, c.doc_id, c.status, c.rationale, func.coalesce(c.shared_from, answer).label("origin"))
    last: dict[tuple[str, str], Any] = {}
    some = sorted(set(query_ids))
    with store.reading() as connection:
        for start in range(0, len(some), _IDS_A_STATEMENT):
            theirs = (*mine, c.query_id.in_(some[start : start + _IDS_A_STATEMENT]))
            newest = select(func.max(c.seq)).where(*theirs).group_by(answer)
            failing = (c.seq.in_(newest), c.status.in_([state.value for state in FAILURES]))
            for row in connection.execute(select(*columns).where(*failing).order_by(answer)):
                last[row.query_id, row.doc_id] = row
    tries = stored_tries(store, {row.origin for row in last.values()})
    return {
        ids: failed_answer(
            *ids, State(row.status), row.rationale, tries[row.origin][-1] if row.origin in tries else None
        )
        for ids, row in last.items()
    }
