"""What commands list of people and of their slots, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from sqlalchemy import func, select

from quati_pool.store.database import Store
from quati_pool.store.records import Slot
from quati_pool.store.schema import assignments, labels, sessions
from quati_pool.store.slots import SLOT, slot_of

_NONCES_A_STATEMENT = 500


def slots(store: Store, collection: str, holder: str | None = None) -> list[Slot]:
    """All slots of a collection, withdrawn ones too, or those that somebody holds or did, in the order in
    which they were made."""
    c = assignments.c
    wanted = select(*SLOT).where(c.collection == collection).order_by(c.assignment_id)
    if holder is not None:
        wanted = wanted.where(c.holder == holder)
    with store.reading() as connection:
        return [slot_of(row) for row in connection.execute(wanted)]


def last_seen(store: Store, collection: str) -> dict[str, datetime]:
    """When each person who ever signed in was last there, in UTC, to the minute."""
    c = sessions.c
    wanted = select(c.name, func.max(c.seen_at).label("seen_at")).where(c.collection == collection).group_by(c.name)
    with store.reading() as connection:
        return {row.name: datetime.fromtimestamp(row.seen_at, UTC) for row in connection.execute(wanted)}


def sent(store: Store, nonces: Iterable[str]) -> set[str]:
    """Those of the nonces that labels in the store have."""

    def parts() -> Iterator[list[str]]:
        wanted = sorted(set(nonces))
        for start in range(0, len(wanted), _NONCES_A_STATEMENT):
            yield wanted[start : start + _NONCES_A_STATEMENT]

    with store.reading() as connection:
        asked = select(labels.c.nonce)
        return {str(row.nonce) for some in parts() for row in connection.execute(asked.where(labels.c.nonce.in_(some)))}
