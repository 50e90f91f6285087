"""Label queries for the lead's pages: people's labels since the last read, and other labelers' labels of the same
pairs without reading everything a judge graded. Also writes labels that belong to no slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Select, case, func, or_, select, true, tuple_, type_coerce
from sqlalchemy.exc import IntegrityError

from quati_pool.store.database import Store
from quati_pool.store.errors import ConflictError
from quati_pool.store.label_resolution import resolved
from quati_pool.store.label_writer import write
from quati_pool.store.records import COUNTING, CurrentLabel, Entry, Label, Submitted
from quati_pool.store.rows import KEY, RESOLVING, current_of, of_version
from quati_pool.store.schema import IN_AUDITS, labels
from quati_pool.store.slots import looked_up
from quati_pool.store.statements import SEQ_OF_NONCE

_SEQS_A_STATEMENT = 500


class Extent(NamedTuple):
    """How far a collection's labels go: how many there are, and how many of those came after a given seq, without
    judges' answers in audits, which are no grades. ``last`` is the last seq of all, audits included; 0 if there is
    none. Labels are only ever appended, so equal counts mean the same labels."""

    last: int
    total: int
    newer: int


def extent(store: Store, collection: str, after: int) -> Extent:
    """A collection's last seq and number of labels, and how many labels have a seq above ``after``."""
    seq = labels.c.seq
    counts = func.count().label("total"), func.count().filter(seq > after).label("newer")
    of_it = labels.c.collection == collection
    # An index alone counts everything, and that of audits finds them. One statement sees one state.
    everything = select(func.max(seq).label("last"), *counts).where(of_it).subquery()
    audits = select(*counts).where(of_it, IN_AUDITS).subquery()
    wanted = select(
        everything.c.last, everything.c.total - audits.c.total, everything.c.newer - audits.c.newer
    ).select_from(everything.join(audits, true()))
    with store.reading() as connection:
        last, total, newer = connection.execute(wanted).one()
    return Extent(last or 0, total, newer)


def peoples_labels(store: Store, collection: str, version: str, after: int) -> dict[str, list[CurrentLabel]]:
    """The labels with a seq above ``after`` that people gave under a version, in the phases that count; by
    labeler_id, in order of seq. Labels that were replaced later are included."""
    c = labels.c
    wherever = (looked_up(c.collection) == collection, looked_up(c.version) == version)
    theirs = (*wherever, c.kind == "assessor", c.phase.in_(COUNTING), c.seq > after)
    wanted = select(*RESOLVING, c.labeler_id).where(*theirs).order_by(c.seq)
    found: dict[str, list[CurrentLabel]] = {}
    with store.reading() as connection:
        for row in connection.execute(wanted):
            found.setdefault(row[-1], []).append(current_of(row))
    return found


def labels_of_peoples_pairs(
    store: Store,
    collection: str,
    labeler_id: str,
    version: str,
    people: Mapping[str, str],
) -> list[CurrentLabel]:
    """The labels that count of one labeler's version, for the pairs that one of ``people`` (labeler_id to version)
    labelled, by query_id."""
    if not people:
        return []
    c = labels.c
    who = tuple_(c.labeler_id, c.version).in_([*people.items()])
    pairs = select(c.query_id, c.doc_id).where(c.collection == collection, who, c.phase.in_(COUNTING))
    wanted = of_version(collection, labeler_id, version, COUNTING).where(tuple_(c.query_id, c.doc_id).in_(pairs))
    with store.reading() as connection:
        rows = connection.execute(wanted).all()
    return [current_of(row) for row in resolved(rows, KEY)]


def rationales_of(store: Store, seqs: Iterable[int]) -> dict[int, str]:
    """The rationales of these labels, by seq. A shared grade has the rationale of the newest reading of the answer
    that it was shared from; a label without a rationale is absent."""
    wanted = sorted(set(seqs))
    c, origin, reading = labels.c, labels.alias(), labels.alias()
    newest = (
        select(reading.c.rationale)
        .where(reading.c.version == origin.c.version, reading.c.content_sha == origin.c.content_sha)
        .where(func.coalesce(reading.c.rereads, reading.c.seq) == origin.c.seq)
        .order_by(reading.c.seq.desc())
        .limit(1)
        .correlate(origin)
        .scalar_subquery()
    )
    # A sharer's own reading that found no rationale has none: the answer's former rationale may be thoughts.
    own = or_(c.rationale.is_not(None), c.rereads.is_not(None))
    reason = type_coerce(case((own, c.rationale), else_=newest), c.rationale.type).label("reason")
    joined = labels.outerjoin(origin, c.shared_from == origin.c.seq)
    chosen = select(c.seq, reason).select_from(joined).where(reason.is_not(None))
    found: dict[int, str] = {}
    with store.reading() as connection:
        for start in range(0, len(wanted), _SEQS_A_STATEMENT):
            some = wanted[start : start + _SEQS_A_STATEMENT]
            found.update({row.seq: row.reason for row in connection.execute(chosen.where(c.seq.in_(some)))})
    return found


def last_seq(store: Store, collection: str, labeler_id: str, query_id: str, doc_id: str) -> int | None:
    """The seq of a labeler's last label of a pair, of any version and state; None if there is none."""
    with store.reading() as connection:
        found: int | None = connection.execute(_last(collection, labeler_id, query_id, doc_id)).scalar()
    return found


def _last(collection: str, labeler_id: str, query_id: str, doc_id: str) -> Select[Any]:
    c = labels.c
    # Not restricted to a version: a decision under older guidelines counts too.
    pair = (c.collection == collection, c.labeler_id == labeler_id, c.query_id == query_id, c.doc_id == doc_id)
    return select(func.max(c.seq)).where(*pair)


def append_once(store: Store, label: Label, seen: int | None) -> Submitted:
    """Writes a label with a nonce unless the nonce is in the store. ``seen`` is the seq of the labeler's last
    label of the pair when the writer looked, None if there was none.

    Raises ConflictError, and writes nothing, if there is a newer one by now.
    """
    last = _last(label.collection, label.labeler_id, label.query_id, label.doc_id)
    try:
        with store.writing() as connection:
            known = connection.execute(SEQ_OF_NONCE, {"nonce": label.nonce}).scalar()
            if known is not None:
                return Submitted(known, True)
            if connection.execute(last).scalar() != seen:
                raise ConflictError(
                    "changed", f"{label.query_id} {label.doc_id} was decided meanwhile; look at it again"
                )
            try:
                (seq,) = write(connection, [Entry(label=label)])
            except IntegrityError:
                raise _SentTwiceError from None
            return Submitted(seq, False)
    except _SentTwiceError:
        with store.reading() as connection:
            return Submitted(connection.execute(SEQ_OF_NONCE, {"nonce": label.nonce}).scalar_one(), True)


class _SentTwiceError(Exception):
    """Another connection wrote the same nonce at the same moment."""
