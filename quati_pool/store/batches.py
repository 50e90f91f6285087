"""Batches sent to a provider's batch service, and the requests in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from quati_pool.store.records import Batch, BatchRequest
from quati_pool.store.schema import batch_requests, batches

_OPEN = ("prepared", "submitted")
_BATCH = tuple(field.name for field in fields(Batch))
_REQUEST = tuple(field.name for field in fields(BatchRequest))
_COLLECT = (
    update(batch_requests)
    .where(
        batch_requests.c.batch_key == bindparam("key"),
        batch_requests.c.custom_id == bindparam("request"),
        batch_requests.c.collected.is_(False),
    )
    .values(collected=True)
)


def prepare(connection: Connection, batch: Batch, requests: Sequence[BatchRequest]) -> None:
    """Writes a batch, with the number of its requests, and the requests themselves."""
    values = {name: getattr(batch, name) for name in _BATCH}
    connection.execute(insert(batches), {**values, "requests": len(requests), "created_at": datetime.now(UTC)})
    if requests:
        rows = [{"batch_key": batch.key, **{name: getattr(one, name) for name in _REQUEST}} for one in requests]
        connection.execute(insert(batch_requests), rows)


def change(connection: Connection, key: str, values: Mapping[str, Any]) -> bool:
    """Sets columns of a batch; False if no batch has this key."""
    mine = batches.c.key == key
    if not values:
        return connection.execute(select(batches.c.key).where(mine)).first() is not None
    return connection.execute(update(batches).where(mine).values(**values)).rowcount == 1


def mark(connection: Connection, collected: Sequence[tuple[str, str]]) -> bool:
    """Marks requests (key, custom_id) as collected; False unless every one of them was open."""
    wanted = sorted(set(collected))
    done = connection.execute(_COLLECT, [{"key": key, "request": request} for key, request in wanted])
    return done.rowcount == len(wanted)


def listed(connection: Connection, collection: str, labeler_id: str | None, open_only: bool) -> list[Batch]:
    wanted = select(*(batches.c[name] for name in _BATCH)).where(batches.c.collection == collection)
    if labeler_id is not None:
        wanted = wanted.where(batches.c.labeler_id == labeler_id)
    if open_only:
        wanted = wanted.where(batches.c.status.in_(_OPEN))
    return [Batch(**row) for row in connection.execute(wanted.order_by(batches.c.created_at, batches.c.key)).mappings()]


def requests(connection: Connection, key: str) -> list[BatchRequest]:
    c = batch_requests.c
    wanted = select(*(c[name] for name in _REQUEST)).where(c.batch_key == key).order_by(c.custom_id)
    return [BatchRequest(**row) for row in connection.execute(wanted).mappings()]
