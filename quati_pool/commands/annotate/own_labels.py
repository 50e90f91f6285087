"""A person's own labels: a list of them that can be filtered and searched, and all of their passages of one query.

Only what the person said themselves when they first graded a pair is listed: neither practice nor repeats, and nothing
of other people, judges or systems.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple

from quati_pool.annotation.evidence import EVIDENCE, evidence_in
from quati_pool.annotation.presentation_order import shuffled
from quati_pool.commands.annotate.annotation_pair import Ids, counting_shas, label_sha, shown_pair
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.grading.consistency import golds_for
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.judging.pair import Pair
from quati_pool.records import State
from quati_pool.store.assessor_queries import GivenLabel, OwnSlot, labels_given, own_slots
from quati_pool.text.sentences import Span

LISTED = 50
"""Labels on one page of the list."""

LONGEST_SEARCH = 200

START = 200
"""Characters of a passage in the list."""

_MINUTES_A_DAY = 24 * 60
_ACCENTS = re.compile("[\u0300-\u036f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFilter:
    """Which labels to list: those of a query, with a grade, with a status (``ok`` or ``unsure``), of a day, and those
    with every word of ``text`` in the query, the passage or the note, whatever their case and accents."""

    query_id: str | None = None
    grade: int | None = None
    status: State | None = None
    day: date | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLabel:
    """A person's current label of a pair with its current texts, whose hash is ``content_sha``. ``day`` is when it was
    given. ``assignment_id`` is the person's slot of the pair, None if there is none any more. ``fixed`` says why it
    cannot be changed: a judge's grade was ``revealed`` after it, or the pair is to be graded again (``open``); None if
    it can."""

    query_id: str
    doc_id: str
    content_sha: str
    query: str
    text_start: str
    assignment_id: int | None
    seq: int
    status: State
    relevance: int | None
    reason: str | None
    note: str | None
    evidence: tuple[Span, ...]
    day: date
    fixed: Literal["revealed", "open"] | None


class OwnQueryCount(NamedTuple):
    """How many of a person's labels of a query pass the filter's conditions other than the query."""

    query_id: str
    query: str
    labels: int


@dataclass(frozen=True, slots=True)
class OwnLabels:
    """One page of the list, newest first: ``labels`` starting at position ``start`` of ``total``. ``queries`` are in
    the pool's order."""

    labels: tuple[OwnLabel, ...]
    start: int
    total: int
    queries: tuple[OwnQueryCount, ...]


class OwnPassage(NamedTuple):
    """A passage with its text. ``assignment_id`` is the person's slot of it, None if there is none any more; ``label``
    is None if they have not graded it yet."""

    doc_id: str
    text: str
    content_sha: str
    label: OwnLabel | None
    assignment_id: int | None


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A query with the passages that a person has graded or is to grade, in the order in which they get them."""

    query_id: str
    query: str
    narrative: str | None
    passages: tuple[OwnPassage, ...]


class CurrentOwn(NamedTuple):
    """A pair with its current texts, and a person's label of it that counts."""

    pair: Pair
    given: GivenLabel

    @property
    def evidence(self) -> tuple[Span, ...]:
        """The evidence with the label."""
        return evidence_in(self.pair.text, self.given.label.extra.get(EVIDENCE))


def own_labels(
    session: AnnotationSession,
    token: str | None,
    wanted: OwnFilter | None = None,
    start: int = 0,
    utc_offset: int = 0,
) -> OwnLabels:
    """One page of this person's labels; days are those of a clock ``utc_offset`` minutes ahead of UTC.

    Raises SignedOutError, AnswerError for a search that is too long or an impossible offset, InputError if there is no
    pool.
    """
    person = session.person(token)
    wanted = wanted or OwnFilter()
    words = _words(wanted.text)
    ahead = offset(utc_offset)
    with session.store.snapshot():
        slots = own_slots(session.store, session.config.name, person.name)
        labels = current_own(session, person)
    chosen = [
        own
        for own in sorted(labels.values(), key=lambda own: -own.given.label.seq)
        if wanted.grade in (None, own.given.label.relevance)
        and wanted.status in (None, own.given.label.status)
        and wanted.day in (None, _day(own.given, ahead))
        and (not words or _has(own, words))
    ]
    counts = Counter(own.pair.query_id for own in chosen)
    queries = {own.pair.query_id: own.pair.query for own in chosen}
    in_order = sorted(counts, key=lambda query_id: session.pool_view.query(query_id).start)
    here = [own for own in chosen if wanted.query_id in (None, own.pair.query_id)]
    start = max(0, min(start, (len(here) - 1) // LISTED * LISTED))
    return OwnLabels(
        tuple(_own_label(own, slots, ahead) for own in here[start : start + LISTED]),
        start,
        len(here),
        tuple(OwnQueryCount(query_id, queries[query_id], counts[query_id]) for query_id in in_order),
    )


def own_query(session: AnnotationSession, token: str | None, query_id: str, utc_offset: int = 0) -> OwnQuery:
    """A query with all passages that this person has graded, or holds to grade; those that they answered as gold pairs
    are neither.

    Raises SignedOutError, ForbiddenError if they have none of it, AnswerError for an impossible offset, InputError if
    there is no pool.
    """
    person = session.person(token)
    ahead = offset(utc_offset)
    if not has_query(session, query_id):
        raise ForbiddenError("you have no passages of this query; choose one of yours")
    with session.store.snapshot():
        slots = own_slots(session.store, session.config.name, person.name, query_id)
        labels = current_own(session, person, query_id)
    answered = golds_for(session, person, session.training.all()).answered
    pairs = {ids: own.pair for ids, own in labels.items()}
    for ids, slot in slots.items():
        pair = session.pair(*ids) if slot.state == "open" and ids not in pairs and ids not in answered else None
        if pair is not None:
            pairs[ids] = pair
    if not pairs:
        raise ForbiddenError("you have no passages of this query; choose one of yours")
    order = shuffled(session.config.seed, person.name, query_id, [doc_id for _, doc_id in pairs])
    passages = []
    for doc_id in order:
        ids = (query_id, doc_id)
        label = _own_label(labels[ids], slots, ahead) if ids in labels else None
        assignment_id = slots[ids].assignment_id if label is None else label.assignment_id
        passages.append(OwnPassage(doc_id, pairs[ids].text, label_sha(pairs[ids]), label, assignment_id))
    first = pairs[query_id, order[0]]
    return OwnQuery(query_id, first.query, first.narrative, tuple(passages))


def current_own(session: AnnotationSession, person: Person, query_id: str | None = None) -> dict[Ids, CurrentOwn]:
    """A person's blind labels that count for pairs with their current texts, of all queries or of one: grades and
    "cannot judge"."""
    pool, narratives = session.pool_view, session.narratives
    pairs: dict[Ids, Pair | None] = {}
    found: dict[Ids, CurrentOwn] = {}
    for given in labels_given(session.store, session.config.name, person.name, session.version, query_id):
        ids = (given.label.query_id, given.label.doc_id)
        if ids not in pairs:
            pairs[ids] = shown_pair(pool, narratives, *ids)
        pair = pairs[ids]
        if pair is not None and given.label.content_sha in counting_shas(pair):
            found[ids] = CurrentOwn(pair, given)
    return {ids: own for ids, own in found.items() if own.given.label.status in (State.ok, State.unsure)}


def has_query(session: AnnotationSession, query_id: object) -> bool:
    """Whether the pool has a query, as received from a page. Raises InputError if there is no pool."""
    return isinstance(query_id, str) and len(session.pool_view.doc_ids(query_id)) > 0


def offset(utc_offset: int) -> timedelta:
    """Minutes ahead of UTC as a time difference; raises AnswerError for an impossible one."""
    if type(utc_offset) is not int or abs(utc_offset) >= _MINUTES_A_DAY:
        raise AnswerError("the clock's offset from UTC must be minutes of less than a day; reload the page")
    return timedelta(minutes=utc_offset)


def _own_label(own: CurrentOwn, slots: Mapping[Ids, OwnSlot], ahead: timedelta) -> OwnLabel:
    pair, (label, note, _) = own
    reason = label.extra.get("reason")
    slot = slots.get((pair.query_id, pair.doc_id))
    done = slot is not None and slot.state == "done"
    return OwnLabel(
        query_id=pair.query_id,
        doc_id=pair.doc_id,
        content_sha=label_sha(pair),
        query=pair.query,
        text_start=pair.text[:START],
        assignment_id=None if slot is None else slot.assignment_id,
        seq=label.seq,
        status=label.status,
        relevance=label.relevance,
        reason=str(reason) if reason else None,
        note=note,
        evidence=own.evidence,
        day=_day(own.given, ahead),
        fixed="revealed" if "reveal" in label.extra else None if done else "open",
    )


def _day(given: GivenLabel, ahead: timedelta) -> date:
    return (given.created_at + ahead).date()


def _words(text: object) -> list[str]:
    if not isinstance(text, str):
        raise AnswerError("a search is not text; write some words")
    if len(text) > LONGEST_SEARCH:
        raise AnswerError(f"a search has at most {LONGEST_SEARCH} characters; shorten it", "search_long")
    return _plain(text).split()


def _has(own: CurrentOwn, words: Sequence[str]) -> bool:
    text = _plain("\n".join((own.pair.query, own.pair.text, own.given.note or "")))
    return all(word in text for word in words)


def _plain(text: str) -> str:
    """A text without case and accents."""
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).casefold()
