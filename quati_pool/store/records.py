"""What the label database holds, as plain values: labels and the attempts behind them, batches, people
and their sessions, what they are assigned, and the questions they write.

Nothing here knows SQL, so code that creates or reads labels needs no database package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.records import State

Kind = Literal["judge", "assessor"]
Phase = Literal["training", "blind", "revealed", "final", "repeat", "probe"]
BatchStatus = Literal["prepared", "submitted", "collected", "abandoned"]
Role = Literal["assessor", "lead"]
Method = Literal["all", "random", "stratified", "queries", "imported", "random-queries", "active", "repeats", "anchors"]
SlotState = Literal["open", "done", "withdrawn"]
QuestionAction = Literal["proposed", "revised", "accepted", "sent_back", "withdrawn"]

ADJUDICATED = "adjudicated"
"""The labeler that leads' decisions are stored under."""

COUNTING: tuple[Phase, ...] = ("blind", "final")
"""The phases whose labels count; the others are practice, or given in sight of another's grade."""


def content_sha(query: str, text: str, narrative: str | None = None) -> str:
    """The SHA-256 (hex) of a pair as it was shown; no narrative differs from an empty one."""
    parts = (query, text) if narrative is None else (query, text, narrative)
    # Lengths part the texts, so that no two pairs read alike; far cheaper than JSON, once for every pair.
    shown = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One labeler's answer to one pair. The store sets ``seq`` and ``created_at`` (UTC).

    ``nonce`` is made up by the sender of the label, unique in the store: a label that is sent twice is written once.
    ``reading`` is the version of the rules by which a model's answer was read. A label with ``rereads`` is another
    reading of the answer that the label of that seq holds, and replaces it whatever it says; ``shared_from`` always
    names the label that holds the answer itself.

    Raises ValueError for a grade in any state but ``ok``, and for ``ok`` without a grade.
    """

    collection: str
    labeler_id: str
    kind: Kind
    version: str
    query_id: str
    doc_id: str
    content_sha: str
    status: State
    relevance: int | None = None
    phase: Phase = "blind"
    sample: int = 1
    rationale: str | None = None
    shared_from: int | None = None
    assignment_id: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    seq: int | None = None
    created_at: datetime | None = None
    nonce: str | None = None
    reading: str | None = None
    rereads: int | None = None

    def __post_init__(self) -> None:
        if self.relevance is not None and type(self.relevance) is not int:
            raise ValueError(f"{self.query_id} {self.doc_id}: the grade {self.relevance!r} is no int")
        if (self.status == State.ok) == (self.relevance is None):
            problem = "an ok label needs a grade" if self.relevance is None else f"{self.status} cannot have a grade"
            raise ValueError(f"{self.query_id} {self.doc_id}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a model for one label; ``number`` counts from 1. None is unknown, never 0.

    ``answer`` is what the model wrote, whole; ``thoughts`` are what came apart from it. ``cost`` is in US dollars,
    ``output`` how an answer was asked for (json_schema, json_object or text), ``model`` and ``fingerprint`` what the
    server called itself. ``extra`` holds under ``notes`` what was wrong with the rest of the server's answer.
    """

    number: int
    status: State
    answer: str | None = None
    problem: str | None = None
    finish_reason: str | None = None
    output: str | None = None
    model: str | None = None
    endpoint: str | None = None
    response_id: str | None = None
    fingerprint: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    retries: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    thoughts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A label with its attempts, and the labels of other pairs that take its grade over: those are
    written with it and point to it by ``shared_from``."""

    label: Label
    attempts: tuple[Attempt, ...] = ()
    sharers: tuple[Label, ...] = ()


class CurrentLabel(NamedTuple):
    """The label that counts for one key: ``labels`` of one labeler and version, resolved."""

    query_id: str
    doc_id: str
    content_sha: str
    phase: Phase
    sample: int
    seq: int
    status: State
    relevance: int | None
    shared_from: int | None
    rereads: int | None
    reading: str | None
    extra: Mapping[str, Any]

    @property
    def answer(self) -> int:
        """The seq of the label that was written when the answer came, whose place in time this one has."""
        return self.rereads or self.seq

    @property
    def origin(self) -> int:
        """The seq of the label that holds the answer's attempts."""
        return self.shared_from or self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Labeler:
    """One version of a labeler in a collection; ``rows`` counts all its labels, replaced ones too."""

    labeler_id: str
    kind: Kind
    version: str
    first_seq: int
    last_seq: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Usage:
    """What a labeler's attempts have used. A sum is over the calls that named the figure, and None
    where there were calls but none named it; ``unknown_cost`` counts the calls without a cost (US dollars).

    ``answers`` counts the attempts that had one, of which ``seconds`` holds the latencies, float64 of shape
    (answers with a time,); ``models`` and ``states`` count attempts.
    """

    attempts: int
    answers: int
    retries: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None
    unknown_cost: int
    seconds: npt.NDArray[np.float64]
    models: Mapping[str, int]
    states: Mapping[State, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One submission to a provider's batch service. ``key`` is ours, stored before anything is sent;
    ``file_id`` and ``batch_id`` are the provider's. The store sets ``created_at`` and ``requests``."""

    key: str
    collection: str
    labeler_id: str
    version: str
    endpoint: str
    status: BatchStatus = "prepared"
    file_id: str | None = None
    batch_id: str | None = None
    requests: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One pair within a batch; ``collected`` once its label is stored."""

    custom_id: str
    query_id: str
    doc_id: str
    content_sha: str
    sample: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    collected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessor:
    """A person: ``handle`` is the public part of their access code, ``code_hash`` the hash of the whole;
    ``revoked_at`` is None while the code is good. Those who never had a code are kept as revoked, with
    ``people.NO_CODE`` for a hash."""

    name: str
    role: Role
    handle: str
    code_hash: str
    settings: Mapping[str, Any]
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A person's being signed in; all times are the database's, in UTC."""

    name: str
    role: Role
    settings: Mapping[str, Any]
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How pairs were chosen for people to grade. ``frame_sha`` is the hash of the ``frame_pairs`` pairs they
    were chosen among; ``strata`` says of each stratum what it held and gave; ``parameters`` is all else that
    was asked for. The store sets ``design_id`` and ``created_at``."""

    method: Method
    seed: int
    frame_sha: str
    frame_pairs: int
    strata: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    design_id: int | None = None
    created_at: datetime | None = None


class Selection(NamedTuple):
    """A chosen pair: its stratum, the probability with which it was to be chosen (0 to 1), and how many
    people are to grade it."""

    query_id: str
    doc_id: str
    stratum: str
    inclusion: float
    replicates: int


class NewSlot(NamedTuple):
    """A pair to be graded once by one person. ``replicate`` counts the pair's slots from 1, ``query_order`` is
    the query's place in the queue. With a ``holder`` the slot is that person's for good: ``query_turn`` then
    orders the person's queries and ``turn`` the slots within one (None: as ``query_order``, and as given)."""

    query_id: str
    doc_id: str
    replicate: int
    query_order: int
    holder: str | None = None
    query_turn: int | None = None
    turn: int | None = None


class Slot(NamedTuple):
    """A slot now. ``leased_until`` is in seconds since 1970 by the database's clock; None with a holder means
    that it is theirs for good. ``skips`` counts the holder's "later", ``label_seq`` is the holder's last label;
    ``line`` is below 0 for what was undone, 1 for what was skipped twice or more, else 0."""

    assignment_id: int
    design_id: int
    query_id: str
    doc_id: str
    replicate: int
    query_order: int
    state: SlotState
    holder: str | None
    leased_until: float | None
    query_turn: int | None
    turn: int | None
    skips: int
    line: int
    label_seq: int | None


class OpenQuery(NamedTuple):
    """A query with pairs that a person could still be given, and how many those are."""

    query_id: str
    query_order: int
    free: int


class Submitted(NamedTuple):
    """A label in the store; ``again``: it was there already, by its nonce."""

    seq: int
    again: bool


class QueryProgress(NamedTuple):
    """A person's slots of one query; those without a holder have None. ``skipped`` are among the open."""

    holder: str | None
    query_id: str
    open: int
    done: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A pair of known grade that assessors do first; ``explanation`` is shown after their answer, ``by`` is
    the lead who gave it."""

    training_id: int
    query_id: str
    doc_id: str
    relevance: int
    explanation: str
    by: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEvent:
    """Something that happened to a question that people write; ``by`` is who did it. A new question has no
    ``question_id`` yet. Where ``query`` is None the question stays as it was: the store then fills in all of
    ``query`` to ``query_id`` that is None from the question's last event. ``doc_id`` is the passage it was written
    from, ``query_id`` its id in the collection once it has one. The store sets ``seq`` and ``created_at``."""

    by: str
    action: QuestionAction
    question_id: int | None = None
    query: str | None = None
    narrative: str | None = None
    theme: str | None = None
    scope: str | None = None
    type: str | None = None
    doc_id: str | None = None
    query_id: str | None = None
    comment: str | None = None
    nonce: str | None = None
    seq: int | None = None
    created_at: datetime | None = None


class Question(NamedTuple):
    """A question now: who proposed it, and its last event, which has the whole text."""

    question_id: int
    author: str
    last: QuestionEvent
