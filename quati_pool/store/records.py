"""The records of the label database as plain values: labels and the attempts behind them, batches, people and
their sign-ins, assignments, and the questions that people write.

Nothing here uses SQL, so code that creates or reads labels needs no database package.
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
SlotPhase = Literal["blind", "repeat"]
QuestionAction = Literal["proposed", "revised", "accepted", "sent_back", "withdrawn"]
RemarkAction = Literal["asked", "answered", "read", "closed"]

ADJUDICATED = "adjudicated"
"""The labeler_id under which leads' decisions are stored."""

NO_SAMPLE: tuple[Method, ...] = ("imported", "repeats", "anchors")
"""Methods whose pairs were not drawn, so that their inclusion probability is not known: how another tool chose pairs
is not recorded; repeats and anchors are chosen for what they are."""

RANDOM: tuple[Method, ...] = ("all", "random", "stratified", "random-queries", "active")
"""Methods that draw pairs at random, with a known probability of each pair of the frame. Queries chosen by hand are no
sample of the others, although all of their pairs are selected."""

COUNTING: tuple[Phase, ...] = ("blind", "final")
"""The phases whose labels count; in the others people practise, or have seen another labeler's grade."""

AUDITING: tuple[Phase, ...] = ("repeat", "probe")
"""The phases of a judge's answers in audits, to pairs that were asked before or changed; never read as grades."""


def content_sha(query: str, text: str, narrative: str | None = None) -> str:
    """The SHA-256 (hex) of a pair's texts as shown; no narrative and an empty one have different hashes."""
    parts = (query, text) if narrative is None else (query, text, narrative)
    # Length prefixes separate the texts, so that no two pairs encode alike; far cheaper than JSON, per pair.
    shown = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One labeler's answer to one pair. The store sets ``seq`` and ``created_at`` (UTC).

    ``nonce`` is chosen by the sender and unique in the store, so that a label sent twice is written once.
    ``reading`` is the version of the rules by which a model's answer was parsed. ``rereads`` is the seq of an earlier
    label whose answer this label parses again; it replaces that label, whatever the result. ``shared_from`` is always
    the seq of the label that holds the answer itself.

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
            raise ValueError(f"{self.query_id} {self.doc_id}: the grade {self.relevance!r} is not an integer")
        if (self.status == State.ok) == (self.relevance is None):
            problem = "an ok label needs a grade" if self.relevance is None else f"{self.status} cannot have a grade"
            raise ValueError(f"{self.query_id} {self.doc_id}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a model for one label; ``number`` counts from 1. None means unknown, never 0.

    ``answer`` is the model's complete text, ``thoughts`` the reasoning that the server returned separately. ``cost``
    is in US dollars, ``output`` the requested format (json_schema, json_object or text), ``model`` and ``fingerprint``
    are as reported by the server. ``notes`` in ``extra`` lists what was wrong with the rest of the server's response.
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
    """A label with its attempts, and the labels of other pairs that share its grade: these are written together
    with it and refer to it by ``shared_from``."""

    label: Label
    attempts: tuple[Attempt, ...] = ()
    sharers: tuple[Label, ...] = ()


class CurrentLabel(NamedTuple):
    """The label that counts for one key, among the labels of one labeler and version."""

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
        """The seq of the label that was written when the answer arrived; this label takes its place in time."""
        return self.rereads or self.seq

    @property
    def origin(self) -> int:
        """The seq of the label that holds the answer's attempts."""
        return self.shared_from or self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Labeler:
    """One version of a labeler in a collection; ``rows`` counts all its labels, including replaced ones, without a
    judge's answers in audits."""

    labeler_id: str
    kind: Kind
    version: str
    first_seq: int
    last_seq: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Usage:
    """The total usage of a labeler's attempts. A sum covers the calls that reported the figure; it is None if there
    were calls but none reported it. ``cost`` is in US dollars; ``unknown_cost`` counts the calls without a cost.

    ``answers`` counts the attempts with an answer and ``seconds`` holds their latencies, float64 of shape
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
    """One submission to a provider's batch service. ``key`` is our id, stored before anything is sent;
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
    """One pair within a batch; ``collected`` is True once its label is stored."""

    custom_id: str
    query_id: str
    doc_id: str
    content_sha: str
    sample: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    collected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessor:
    """A person: ``handle`` is the public part of their access code, ``code_hash`` the hash of the whole code;
    ``revoked_at`` is None while the code is valid. People who never had a code are stored as revoked, with the
    hash ``people.NO_CODE``."""

    name: str
    role: Role
    handle: str
    code_hash: str
    settings: Mapping[str, Any]
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A person's sign-in; all times are by the database's clock, in UTC."""

    name: str
    role: Role
    settings: Mapping[str, Any]
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How pairs were chosen for people to grade. ``frame_sha`` is the hash of the ``frame_pairs`` pairs they
    were chosen from; ``strata`` says how many pairs each stratum has and how many were selected; ``parameters``
    are all other options. The store sets ``design_id`` and ``created_at``."""

    method: Method
    seed: int
    frame_sha: str
    frame_pairs: int
    strata: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    design_id: int | None = None
    created_at: datetime | None = None

    @property
    def is_random(self) -> bool:
        """Whether the pairs were drawn at random, each pair of the frame with a known probability."""
        return self.method in RANDOM

    @property
    def poisson(self) -> bool:
        """Whether pairs were drawn independently of each other (Poisson sampling); any other random design has fixed
        sizes: simple random sampling without replacement within strata, of queries or of pairs. A stratified design
        without a minimum has fixed sizes up to rounding at random."""
        return self.method == "active" or (self.method == "random" and "rate" in self.parameters)


class DesignOutline(NamedTuple):
    """What decides how a design's slots are given out."""

    design_id: int
    method: Method
    parameters: Mapping[str, Any]

    @property
    def in_stored_order(self) -> bool:
        """Whether everybody gets the queries in the order of the slots' ``query_order``: always for designs that serve
        estimates, so that the queries completed at any time are a random sample."""
        return self.method in ("random-queries", "active") or self.parameters.get("order") == "stored"


class Selection(NamedTuple):
    """A selected pair: its stratum, its inclusion probability (0 to 1), and how many people are to grade it."""

    query_id: str
    doc_id: str
    stratum: str
    inclusion: float
    replicates: int


class FramePair(NamedTuple):
    """A pair that a random design could select: its stratum, and the probability of selecting it (above 0, at most
    1)."""

    query_id: str
    doc_id: str
    stratum: str
    inclusion: float


class NewSlot(NamedTuple):
    """A pair to be graded once by one person. ``replicate`` counts the pair's slots from 1; ``query_order`` is
    the query's place in the queue. With a ``holder`` the slot is that person's for good; ``query_turn`` then
    orders the person's queries (None: by ``query_order``) and ``turn`` the slots of a query (None: as given)."""

    query_id: str
    doc_id: str
    replicate: int
    query_order: int
    holder: str | None = None
    query_turn: int | None = None
    turn: int | None = None


class Slot(NamedTuple):
    """The current state of a slot. ``leased_until`` is in seconds since 1970 by the database's clock; if it is None
    and there is a holder, the slot is theirs for good. ``skips`` counts how often the holder chose "later";
    ``label_seq`` is the holder's last label; ``line`` is below 0 after an undo, 1 after two or more skips, else 0.
    ``phase`` is that of the labels it gets: ``repeat`` if the holder has graded the pair before."""

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
    phase: SlotPhase = "blind"


class OpenQuery(NamedTuple):
    """A query with pairs that a person could still be given; ``free`` is the number of those pairs."""

    query_id: str
    query_order: int
    free: int


class Submitted(NamedTuple):
    """A label in the store; ``again`` if a label with its nonce had already been stored."""

    seq: int
    again: bool


class QueryProgress(NamedTuple):
    """Counts of a person's slots of one query (``holder`` None: slots without a holder). ``open`` includes
    ``skipped``."""

    holder: str | None
    query_id: str
    open: int
    done: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A pair with a known grade that assessors do first; ``explanation`` is shown after their answer, ``by`` is
    the lead who wrote it. A ``gold`` pair comes among the others instead, and nothing is shown after the answer."""

    training_id: int
    query_id: str
    doc_id: str
    relevance: int
    explanation: str
    by: str
    created_at: datetime
    gold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEvent:
    """An event in the life of a question that people write, caused by ``by``. A new question has no ``question_id``
    yet. If ``query`` is None the question is unchanged: the store then fills every field from ``query`` to
    ``query_id`` that is None from the question's last event. ``doc_id`` is the passage it was written from,
    ``query_id`` its id in the collection once it has one. ``drafted_by`` is the version of the program that wrote a
    new question, in whose name ``by`` is empty; every later event of the question keeps it. The store sets ``seq`` and
    ``created_at``."""

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
    drafted_by: str | None = None
    seq: int | None = None
    created_at: datetime | None = None


class Question(NamedTuple):
    """The current state of a question: who proposed it ("" for a program), and its last event, which has the complete
    text."""

    question_id: int
    author: str
    last: QuestionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """An event in the conversation of an assessor, ``thread``, with the leads about a pair, caused by ``by``; only
    ``asked`` and ``answered`` have a ``text``. The store sets ``seq`` and ``created_at``."""

    query_id: str
    doc_id: str
    thread: str
    by: str
    action: RemarkAction
    text: str | None = None
    nonce: str | None = None
    seq: int | None = None
    created_at: datetime | None = None
