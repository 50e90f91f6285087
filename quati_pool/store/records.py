"""What the label database holds, as plain values: labels, the attempts behind them, and batches.

Nothing here knows SQL, so whoever makes or reads labels needs no database package for it.
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
Phase = Literal["training", "blind", "revealed", "final"]
BatchStatus = Literal["prepared", "submitted", "collected", "abandoned"]

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
    """What one labeler made of one pair, once. The store sets ``seq`` and ``created_at`` (UTC).

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

    def __post_init__(self) -> None:
        if self.relevance is not None and type(self.relevance) is not int:
            raise ValueError(f"{self.query_id} {self.doc_id}: the grade {self.relevance!r} is no int")
        if (self.status == State.ok) == (self.relevance is None):
            problem = "an ok label needs a grade" if self.relevance is None else f"{self.status} cannot have a grade"
            raise ValueError(f"{self.query_id} {self.doc_id}: {problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a model for one label; ``number`` counts from 1. None is unknown, never 0.

    ``cost`` is in US dollars, ``output`` how an answer was asked for (json_schema, json_object or
    text), ``model`` and ``fingerprint`` what the server called itself.
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
    phase: str
    sample: int
    seq: int
    status: State
    relevance: int | None
    extra: Mapping[str, Any]


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
