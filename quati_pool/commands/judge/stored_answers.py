"""Converts a judge's answers for the store: the details of a label, and an attempt for each call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quati_pool.judging.prompted_model import Answer, Try
from quati_pool.judging.verdict import Verdict
from quati_pool.labels.labelers import SHOWN_CHARACTERS
from quati_pool.store.records import Attempt


def label_extra(cut: int | None, details: Mapping[str, Any]) -> dict[str, Any]:
    """The ``extra`` of a label: the details of its grade and, if its passage was cut, the number of characters
    shown."""
    return dict(details) if cut is None else {SHOWN_CHARACTERS: cut, **details}


def program_answer(verdict: Verdict) -> list[Answer]:
    """A program's verdict as the answer for its only sample, without any call."""
    return [Answer(1, verdict, (), verdict.details)]


def attempts_of(answer: Answer, endpoint: str | None) -> tuple[Attempt, ...]:
    """The calls behind an answer, in order."""
    return tuple(attempt_of(number, attempt, endpoint) for number, attempt in enumerate(answer.tries, 1))


def attempt_of(number: int, attempt: Try, endpoint: str | None) -> Attempt:
    """A call and its outcome, as stored."""
    completion, choice, usage, fault = attempt.completion, attempt.choice, attempt.usage, attempt.fault
    # The time and retries of a call with several choices are recorded with its first.
    source = completion if completion and choice is completion.choices[0] else fault
    return Attempt(
        number=number,
        status=attempt.verdict.status,
        answer=(choice.text if choice.text is not None else choice.refusal) if choice else None,
        problem=attempt.verdict.problem,
        finish_reason=choice.finish_reason if choice else None,
        output=completion.output if completion else None,
        model=completion.model if completion else None,
        endpoint=endpoint,
        response_id=completion.response_id if completion else None,
        fingerprint=completion.fingerprint if completion else None,
        input_tokens=usage.input if usage else None,
        cached_tokens=usage.cached if usage else None,
        output_tokens=usage.output if usage else None,
        reasoning_tokens=usage.reasoning if usage else None,
        cost=attempt.cost,
        seconds=source.seconds if source else None,
        retries=source.retries if source else 0,
        extra={"notes": list(attempt.notes)} if attempt.notes else {},
        thoughts=choice.thoughts if choice else None,
    )
