"""What a server answered, read from its JSON: choices, token counts, and who answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quati_pool.llm.faults import Fault, of_status, one_line
from quati_pool.records import State
from quati_pool.text.fencing import shortened


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of the answer, its log-probability, and the likeliest tokens at its place with theirs."""

    token: str
    logprob: float
    top: list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer. ``text`` is None where the model gave none; ``refusal`` holds its words where it declined."""

    text: str | None
    refusal: str | None
    finish_reason: str | None
    logprobs: list[TokenLogprob] | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None: it did not say. ``cached`` is a part of ``input``,
    ``reasoning`` one of ``output``."""

    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Completion:
    """A call's answers. ``seconds`` is the time of the attempt that succeeded, waits left out."""

    choices: tuple[Choice, ...]
    model: str | None
    response_id: str | None
    fingerprint: str | None
    usage: Usage | None
    seconds: float
    retries: int
    output: str


def withheld(refusal: str | None, finish_reason: str | None) -> tuple[State, str] | None:
    """Why a choice holds no answer whatever its text says, by how it ended; None where it may hold one."""
    if refusal:
        return State.refused, f"the model refused: {shortened(refusal, 200)}"
    if finish_reason == "content_filter":
        return State.refused, "the content filter withheld the answer"
    if finish_reason == "length":
        return State.truncated, "the answer was cut off at the token limit"
    return None


def read_completion(body: bytes | str | Mapping[str, Any], seconds: float, retries: int, output: str) -> Completion:
    """Reads an answer. Raises Fault (``protocol``, passing) where it is not what the API promises."""
    data = parsed(body) if isinstance(body, (bytes, str)) else body
    try:
        choices = data["choices"]
        if not choices:
            raise KeyError("choices")
        return Completion(
            tuple([_choice(choice) for choice in choices]),
            data.get("model"),
            data.get("id"),
            data.get("system_fingerprint"),
            _usage(data.get("usage")),
            seconds,
            retries,
            output,
        )
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        raise no_answer(data, "choices") from None


def parsed(body: bytes | str) -> Any:
    """An answer's JSON. Raises Fault (``protocol``, passing) where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Fault(f"the body is not JSON: {_shown(body)}", "protocol", passing=True) from None


def no_answer(data: Any, expected: str) -> Fault:
    """The fault of an answer whose JSON does not hold what is expected: an error in its place, or nothing."""
    # OpenRouter and its like answer 200 and put the true status into the body.
    error = data.get("error") if isinstance(data, Mapping) else None
    if error:
        code = error.get("code") if isinstance(error, Mapping) else None
        if isinstance(code, int) and 400 <= code < 600:
            return of_status(code, {}, data)
        message = error.get("message") if isinstance(error, Mapping) else error
        return Fault(one_line(message), "protocol", passing=True)
    return Fault(f"the body holds no {expected}: {_shown(json.dumps(data))}", "protocol", passing=True)


def _shown(body: bytes | str) -> str:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    return one_line(text[:120]) or "(empty)"


def _choice(data: Mapping[str, Any]) -> Choice:
    message = data["message"]
    finish_reason = data.get("finish_reason")
    if finish_reason == "error":
        raise ValueError
    text = message.get("content")
    if isinstance(text, list):
        text = "".join(part.get("text") or "" for part in text)
    if text is not None and not isinstance(text, str):
        raise ValueError
    refusal = message.get("refusal")
    logprobs = data.get("logprobs")
    return Choice(
        text,
        str(refusal) if refusal else None,
        finish_reason,
        _logprobs(logprobs) if logprobs else None,
    )


def _logprobs(data: Any) -> list[TokenLogprob] | None:
    """The tokens' log-probabilities, or None in a form that is not the API's."""
    try:
        return [
            TokenLogprob(
                token["token"],
                token["logprob"],
                [(top["token"], top["logprob"]) for top in token.get("top_logprobs") or ()],
            )
            for token in data["content"]
        ]
    except (KeyError, TypeError, AttributeError):
        return None


def _usage(data: Any) -> Usage | None:
    if not isinstance(data, Mapping):
        return None
    entered, left = data.get("prompt_tokens_details"), data.get("completion_tokens_details")
    cached = entered.get("cached_tokens") if isinstance(entered, Mapping) else data.get("prompt_cache_hit_tokens")
    reasoning = left.get("reasoning_tokens") if isinstance(left, Mapping) else None
    counts = (data.get("prompt_tokens"), cached, data.get("completion_tokens"), reasoning)
    return Usage(*[count if isinstance(count, int) else None for count in counts])
