"""Who gave a judge's answers, and when."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select

from quati_pool.store.database import Store
from quati_pool.store.schema import attempts, labels

_SEQS_A_STATEMENT = 500


class AnswerSource(NamedTuple):
    """The model and its fingerprint as the server reported them with the last attempt, None if it did not or there is
    none, and when the answer was stored (UTC)."""

    model: str | None
    fingerprint: str | None
    at: datetime


def answer_sources(store: Store, seqs: Collection[int]) -> dict[int, AnswerSource]:
    """The source of the answers that the labels with these seqs hold, by seq."""
    columns = (labels.c.seq, labels.c.created_at, attempts.c.model, attempts.c.fingerprint)
    joined = labels.outerjoin(attempts, attempts.c.label_seq == labels.c.seq)
    wanted = select(*columns).select_from(joined).order_by(labels.c.seq, attempts.c.number)
    found: dict[int, AnswerSource] = {}
    ordered = sorted(seqs)
    with store.reading() as connection:
        for start in range(0, len(ordered), _SEQS_A_STATEMENT):
            some = ordered[start : start + _SEQS_A_STATEMENT]
            for seq, at, model, fingerprint in connection.execute(wanted.where(labels.c.seq.in_(some))):
                known = found.get(seq)
                if known is None or model is not None:
                    found[seq] = AnswerSource(model, fingerprint, at)
    return found
