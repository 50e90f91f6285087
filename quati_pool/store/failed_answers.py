"""What a judge answered where its answer is no grade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import func, select

from quati_pool.records import FAILURES, State
from quati_pool.store.database import Store
from quati_pool.store.schema import attempts, labels

_IDS_A_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class FailedAnswer:
    """A pair's last answer that is no grade: ``problem`` says why, ``answer`` is the model's text as it came, None
    where there was none."""

    query_id: str
    doc_id: str
    status: State
    problem: str | None
    answer: str | None


def failed_answers(
    store: Store, collection: str, labeler_id: str, version: str, query_ids: Iterable[str]
) -> dict[tuple[str, str], FailedAnswer]:
    """By (query_id, doc_id) the last failure of each pair of these queries that ever failed under ``version``,
    whatever came after it; of a pair that shares another's answer, that answer."""
    c, a = labels.c, attempts.c
    made = labels.outerjoin(attempts, a.label_seq == func.coalesce(c.shared_from, c.seq))
    columns = (c.query_id, c.doc_id, c.status, c.rationale, a.problem, a.answer)
    mine = (c.collection == collection, c.labeler_id == labeler_id, c.version == version)
    failing = (*mine, c.status.in_([state.value for state in FAILURES]))
    wanted = select(*columns).select_from(made).where(*failing).order_by(c.seq, a.number)
    found: dict[tuple[str, str], FailedAnswer] = {}
    some = sorted(set(query_ids))
    with store.reading() as connection:
        for start in range(0, len(some), _IDS_A_STATEMENT):
            part = wanted.where(c.query_id.in_(some[start : start + _IDS_A_STATEMENT]))
            for query_id, doc_id, status, rationale, problem, answer in connection.execute(part):
                found[query_id, doc_id] = FailedAnswer(query_id, doc_id, State(status), problem or rationale, answer)
    return found
