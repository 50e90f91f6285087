"""A person's answer to an item: checked as it comes from a page, and turned into a label."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quati_pool.commands.annotate.annotation_pair import label_sha
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.errors import InputError
from quati_pool.judging.base import Pair
from quati_pool.records import State
from quati_pool.store.records import Label, Phase

LONGEST_NOTE = 10_000

REASONS = ("broken_text", "other_language", "needs_context", "other")
"""Why a pair cannot be judged; ``other`` needs a note."""

_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_LONGEST_SECONDS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person says of an item: ``status`` is ok with a grade, unsure with one of REASONS, or skipped.

    ``nonce`` is made up by the page, 16 to 64 letters, digits, ``-`` or ``_``; an answer that is sent twice keeps
    its nonce. Times are in seconds; ``active_seconds`` leaves out idle ones.
    """

    status: str
    relevance: int | None = None
    reason: str | None = None
    note: str | None = None
    nonce: str
    active_seconds: float = 0.0
    elapsed_seconds: float = 0.0
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer whose every field is valid; ``extra`` is what its label keeps besides."""

    status: State
    relevance: int | None
    note: str | None
    extra: Mapping[str, Any]


def check_answer(session: AnnotationSession, answer: Answer) -> CheckedAnswer:
    """Raises AnswerError for what no page of ours sends."""
    status = _checked_status(session, answer.status, answer.relevance)
    note = _checked_note(answer.note)
    _check_reason(status, answer.reason, note)
    check_nonce(answer.nonce)
    for seconds in (answer.active_seconds, answer.elapsed_seconds):
        if type(seconds) not in (int, float) or not (math.isfinite(seconds) and 0 <= seconds <= _LONGEST_SECONDS):
            raise AnswerError(f"{str(seconds)[:40]!r} is no length of time; reload the page")
    if not isinstance(answer.highlighted, bool):
        raise AnswerError("highlighting is on or off; reload the page")
    extra = {
        "reason": answer.reason,
        "active_seconds": round(float(answer.active_seconds), 3),
        "elapsed_seconds": round(float(answer.elapsed_seconds), 3),
        "highlighted": answer.highlighted,
        "guidelines": _guidelines_sha(session),
        "prompt": None if session.prompt is None else [session.prompt.id, session.prompt.version],
    }
    return CheckedAnswer(status, answer.relevance, note, extra)


def check_nonce(nonce: object) -> None:
    """Raises AnswerError for what no page makes up as a nonce."""
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        raise AnswerError("the answer has no proper nonce; reload the page")


def label_nonce(phase: Phase, number: int, person: Person, answer: Answer) -> str:
    """The nonce of an answer's label: the page's, bound to the item (its assignment_id or training_id) and the
    person, so that no other answer can have it."""
    return f"{phase}:{number}:{person.name}:{answer.nonce}"


def answer_label(
    session: AnnotationSession,
    person: Person,
    pair: Pair,
    answer: CheckedAnswer,
    phase: Phase,
    nonce: str,
    extra: Mapping[str, Any],
    assignment_id: int | None = None,
) -> Label:
    """The label that keeps an answer to a pair as it is shown now, with ``extra`` in place of the answer's own."""
    return Label(
        collection=session.config.name,
        labeler_id=person.name,
        kind="assessor",
        version=session.version,
        query_id=pair.query_id,
        doc_id=pair.doc_id,
        content_sha=label_sha(pair),
        status=answer.status,
        relevance=answer.relevance,
        phase=phase,
        rationale=answer.note,
        assignment_id=assignment_id,
        extra=extra,
        nonce=nonce,
    )


def _checked_status(session: AnnotationSession, status: str, relevance: object) -> State:
    if status not in (State.ok, State.unsure, State.skipped):
        raise AnswerError(f"there is no answer {str(status)[:40]!r}; expected ok, unsure or skipped")
    if status != State.ok:
        if relevance is not None:
            raise AnswerError(f"the answer {status} has no grade; leave the grade out")
    elif type(relevance) is not int or relevance not in session.config.grades:
        scale = ", ".join(map(str, sorted(session.config.grades)))
        raise AnswerError(f"the grade {str(relevance)[:40]!r} is not on the scale; choose one of {scale}")
    return State(status)


def _checked_note(note: object) -> str | None:
    """The note; None where it is blank."""
    if note is None:
        return None
    if not isinstance(note, str):
        raise AnswerError("the note is no text; write one, or leave it out")
    if not note.strip():
        return None
    if len(note) > LONGEST_NOTE:
        raise AnswerError(f"the note has {len(note)} characters; shorten it to {LONGEST_NOTE}")
    return note


def _check_reason(status: State, reason: object, note: str | None) -> None:
    if status is not State.unsure:
        if reason is not None:
            raise AnswerError(f"the answer {status} needs no reason; leave it out")
    elif reason not in REASONS:
        raise AnswerError(f"there is no reason {str(reason)[:40]!r}; choose one of {', '.join(REASONS)}")
    elif reason == "other" and note is None:
        raise AnswerError("the reason other says nothing by itself; write a note")


def _guidelines_sha(session: AnnotationSession) -> str | None:
    """The hash of the guidelines as they are now; a file that is gone must not keep an answer from being stored."""
    try:
        guidelines = session.guidelines
    except InputError:
        return None
    return None if guidelines is None else guidelines.sha
