"""A judge's answers that were parsed by older rules, with everything needed to parse them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, or_, select

from quati_pool.records import FAILURES, State
from quati_pool.store.database import Store
from quati_pool.store.records import CurrentLabel
from quati_pool.store.rows import RESOLVING, current_of
from quati_pool.store.schema import attempts, labels

_LABELS_A_CHUNK = 2000  # a query with more labels is a chunk by itself
_SEQS_A_STATEMENT = 500
_ANSWERED = [state.value for state in (State.ok, *FAILURES)]


class StoredTry(NamedTuple):
    """The parts of an attempt that are parsed again; ``cost`` in US dollars, None if unknown, ``extra`` as in
    ``Attempt``."""

    status: State
    answer: str | None
    problem: str | None
    finish_reason: str | None
    cost: float | None
    thoughts: str | None
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of a label: collection and labeler."""

    collection: str
    labeler_id: str


class OwnedLabel(NamedTuple):
    """A label with its owner."""

    owner: Owner
    label: CurrentLabel


class Unread(NamedTuple):
    """All labels of some queries by one judge, in order of seq, and those of them whose answers are ``waiting`` to be
    parsed again; ``done`` of ``queries`` queries are finished after this chunk."""

    labels: list[OwnedLabel]
    waiting: list[OwnedLabel]
    done: int
    queries: int


def unread(store: Store, owner: Owner, version: str, reading: str) -> Iterator[Unread]:
    """Yields, some queries at a time, the labels of ``owner`` under ``version`` for the queries with an answer whose
    newest reading is not ``reading``."""
    c, mine = labels.c, _of(owner, version)
    waiting = select(c.query_id).where(*_waiting(owner, version, reading))
    sizes = select(c.query_id, func.count()).where(*mine, c.query_id.in_(waiting)).group_by(c.query_id)
    with store.reading() as connection:
        queries = sorted((query_id, size) for query_id, size in connection.execute(sizes))
    done = 0
    for some in _chunks(queries):
        found = _owned(store, [*mine, c.query_id.in_(some)])
        waits = [one for one in _newest(found) if _waits(one, reading)]
        done += len(some)
        yield Unread(found, waits, done, len(queries))


def _chunks(queries: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Groups queries, given with their numbers of labels, into chunks of at most _LABELS_A_CHUNK labels."""
    some: list[str] = []
    labelled = 0
    for query_id, size in queries:
        if some and labelled + size > _LABELS_A_CHUNK:
            yield some
            some, labelled = [], 0
        some.append(query_id)
        labelled += size
    if some:
        yield some


def count_unread(store: Store, owner: Owner, version: str, reading: str) -> int:
    """How many answers ``unread`` would yield as waiting."""
    with store.reading() as connection:
        found = connection.execute(select(func.count()).where(*_waiting(owner, version, reading)))
        return found.scalar_one()


def followers(store: Store, owner: Owner, version: str, reading: str) -> Mapping[int, Sequence[OwnedLabel]]:
    """Labels of other owners that share an answer of this version and whose newest reading is not ``reading``, by the
    seq of the label that holds the answer."""
    c = labels.c
    others = or_(c.collection != owner.collection, c.labeler_id != owner.labeler_id)
    found: dict[int, list[OwnedLabel]] = {}
    for one in _newest(_owned(store, [c.version == version, c.shared_from.is_not(None), others])):
        if _waits(one, reading):
            found.setdefault(one.label.origin, []).append(one)
    return found


def stored_tries(store: Store, seqs: Collection[int]) -> dict[int, list[StoredTry]]:
    """The attempts behind the labels with these seqs, by seq, each list in order of attempt."""
    a = attempts.c
    columns = (a.label_seq, a.status, a.answer, a.problem, a.finish_reason, a.cost, a.thoughts, a.extra)
    wanted = select(*columns).order_by(a.label_seq, a.number)
    found: dict[int, list[StoredTry]] = {}
    ordered = sorted(seqs)
    with store.reading() as connection:
        for start in range(0, len(ordered), _SEQS_A_STATEMENT):
            some = ordered[start : start + _SEQS_A_STATEMENT]
            for seq, status, *rest in connection.execute(wanted.where(a.label_seq.in_(some))):
                found.setdefault(seq, []).append(StoredTry(State(status), *rest))
    return found


def _waiting(owner: Owner, version: str, reading: str) -> list[ColumnElement[bool]]:
    c, mine = labels.c, _of(owner, version)
    newest = select(func.max(c.seq)).where(*mine).group_by(func.coalesce(c.rereads, c.seq))
    other = or_(c.reading.is_(None), c.reading != reading)
    return [*mine, c.status.in_(_ANSWERED), other, c.seq.in_(newest)]


def _of(owner: Owner, version: str) -> list[ColumnElement[bool]]:
    c = labels.c
    return [c.collection == owner.collection, c.labeler_id == owner.labeler_id, c.version == version]


def _owned(store: Store, conditions: Iterable[ColumnElement[bool]]) -> list[OwnedLabel]:
    c = labels.c
    wanted = select(*RESOLVING, c.collection, c.labeler_id).where(*conditions).order_by(c.seq)
    with store.reading() as connection:
        return [
            OwnedLabel(Owner(row.collection, row.labeler_id), current_of(row)) for row in connection.execute(wanted)
        ]


def _newest(found: Iterable[OwnedLabel]) -> list[OwnedLabel]:
    """The newest reading of each answer; ``found`` must be in order of seq."""
    return list({one.label.answer: one for one in found}.values())


def _waits(one: OwnedLabel, reading: str) -> bool:
    return one.label.reading != reading and one.label.status.value in _ANSWERED
