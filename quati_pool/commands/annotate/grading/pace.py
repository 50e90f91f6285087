"""How fast a person grades, how much they did today, and how their practice went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from quati_pool.commands.annotate.grading.training import ANSWERED
from quati_pool.commands.annotate.own_labels import offset
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.records import State
from quati_pool.store.assessor_queries import labels_since, last_labels, practice_labels

RECENT = 50
"""The labels whose times make the pace."""


class Practice(NamedTuple):
    """How many training pairs a person ``answered``: with the known grade (``right``), one step or more steps from it,
    or with "cannot judge"."""

    answered: int
    right: int
    off_by_one: int
    off_by_more: int
    cannot: int


@dataclass(frozen=True, slots=True)
class Pace:
    """``seconds`` is the median active time of the last RECENT first answers (``timed`` of them have a time), changes
    not included; None without any. ``today`` counts the pairs answered since midnight."""

    seconds: float | None
    timed: int
    today: int
    practice: Practice


def pace(session: AnnotationSession, token: str | None, utc_offset: int = 0) -> Pace:
    """This person's pace; their midnight is that of a clock ``utc_offset`` minutes ahead of UTC.

    Raises SignedOutError, and AnswerError for an impossible offset.
    """
    person = session.person(token)
    ahead = offset(utc_offset)
    store, name = session.store, session.config.name
    spent = [label.extra.get("active_seconds") for label in last_labels(store, name, person.name, RECENT)]
    times = [float(seconds) for seconds in spent if isinstance(seconds, (int, float))]
    return Pace(
        median(times) if times else None, len(times), _today(session, person, ahead), _practice(session, person)
    )


def _today(session: AnnotationSession, person: Person, ahead: timedelta) -> int:
    """How many pairs the person answered today and did not take back. Repeats and gold pairs count as any other: nobody
    can tell them by this number."""
    midnight = (datetime.now(UTC) + ahead).replace(hour=0, minute=0, second=0, microsecond=0) - ahead
    last: dict[tuple[str, str, str], State] = {}
    for label in labels_since(session.store, session.config.name, person.name, session.version, midnight):
        if label.phase in ("blind", "repeat", "training") and "changes" not in label.extra:
            last[label.phase, label.query_id, label.doc_id] = label.status
    return sum(status in ANSWERED for status in last.values())


def _practice(session: AnnotationSession, person: Person) -> Practice:
    """The last answer to each training pair, without gold ones, whose known grade is not shown."""
    shown = {one.training_id for one in session.training.all() if not one.gold and one.by != person.name}
    last = {
        label.extra.get("training_id"): label
        for label in practice_labels(session.store, session.config.name, person.name, session.version)
        if label.extra.get("training_id") in shown and label.status in ANSWERED
    }
    steps = [
        None if label.relevance is None else abs(label.relevance - int(label.extra["known"])) for label in last.values()
    ]
    return Practice(
        len(steps),
        steps.count(0),
        steps.count(1),
        sum(step is not None and step > 1 for step in steps),
        steps.count(None),
    )
