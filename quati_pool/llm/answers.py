"""The JSON answer of a server: its choices, token counts, and the model that answered.

The content is read strictly: an answer that deviates from the API is rejected. Everything else is read defensively: a
field of the wrong type counts as absent, and a note says so.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quati_pool.llm.faults import Fault, of_status, one_line
from quati_pool.records import State

MOST_TOKENS = 10**9
"""A larger token count is treated as invalid."""

_MAY_BE_READ = frozenset({"", "stop", "eos", "end_turn", "stop_sequence", "complete"})
_CUT_OFF = frozenset(
    {"length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit",
     "model_context_window_exceeded", "incomplete"}
)  # fmt: skip
_DECLINED = frozenset(
    {"content_filter", "content_filtered", "safety", "refusal", "recitation", "blocklist", "prohibited_content",
     "spii", "sensitive", "moderation", "guardrail_intervened", "image_safety"}
)  # fmt: skip

# Kinds of content parts: those with the answer, and those with the model's thoughts before it.
_TEXT_PARTS = frozenset({"", "text", "output_text"})
_THOUGHT_PART = re.compile(r"reason|think|thought|summary", re.I)
_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking")
# The fields in which a part with thoughts may keep its text.
_WORDS = ("text", "thinking", "reasoning", "reasoning_content", "reasoning_text", "thought", "content", "summary")


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of the answer, its log-probability, and the likeliest tokens at its position with theirs."""

    token: str
    logprob: float
    top: list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer.

    ``text`` is the content the model wrote, including thoughts within it; None if there is none. ``thoughts`` are those
    sent separately from the content, ``refusal`` is the model's text if it declined, ``error`` the server's message if
    the choice ended in an error. ``notes`` has one line for each field that counts as absent.
    """

    text: str | None
    refusal: str | None
    finish_reason: str | None
    logprobs: list[TokenLogprob] | None
    thoughts: str | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the server; None: not reported. ``cached`` tokens are part of ``input``, ``reasoning``
    tokens of ``output``."""

    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Completion:
    """A call's answers. ``seconds`` is the duration of the attempt that succeeded, without waits; ``notes`` are like
    those of ``Choice``, for the fields of the whole answer."""

    choices: tuple[Choice, ...]
    model: str | None
    response_id: str | None
    fingerprint: str | None
    usage: Usage | None
    seconds: float
    retries: int
    output: str
    notes: tuple[str, ...] = ()


def withheld(refusal: str | None, finish_reason: str | None, error: str | None = None) -> tuple[State, str] | None:
    """The state and problem of a choice whose ending rules out an answer, whatever its text; None if it may hold one.

    Only endings known to be ordinary allow an answer; an unknown ending is ``failed``, with its name.
    """
    if error is not None:
        return State.failed, f"the answer ended in an error: {one_line(error)}"
    if refusal:
        return State.refused, f"the model refused: {one_line(refusal, most=200)}"
    end = _end(finish_reason)
    if end in _MAY_BE_READ:
        return None
    if end in _CUT_OFF:
        return State.truncated, "the answer was cut off at the token limit"
    if end in _DECLINED:
        words = "the content filter withheld the answer"
        return State.refused, words if end == "content_filter" else f"{words} ({one_line(finish_reason, most=80)})"
    return State.failed, f"the answer ended with {one_line(finish_reason, most=80)}, an unexpected finish_reason"


def _end(finish_reason: str | None) -> str:
    """The finish reason in a normalised spelling."""
    return (finish_reason or "").strip().lower().replace("-", "_").replace(" ", "_")


def read_completion(body: Any, seconds: float, retries: int, output: str) -> Completion:
    """Reads an answer given as bytes, text, or parsed JSON.

    Raises only Fault: if the answer is not what the API promises (``protocol``, passing), or is an error as a whole or
    in every choice.
    """
    data = parsed(body) if isinstance(body, (bytes, str)) else body
    try:
        if not isinstance(data, Mapping) or data.get("error"):
            raise ValueError
        listed = data.get("choices")
        if not isinstance(listed, list) or not listed:
            raise ValueError
        choices = tuple([_choice(choice) for choice in listed])
        if all(choice.error is not None for choice in choices):
            raise _fault(listed[0].get("error") or choices[0].error)
        notes: list[str] = []
        model, response_id, fingerprint = [_text(data, name, notes) for name in ("model", "id", "system_fingerprint")]
        usage = _usage(data.get("usage"), notes)
        return Completion(choices, model, response_id, fingerprint, usage, seconds, retries, output, tuple(notes))
    except ValueError:
        raise no_answer(data, "choices") from None
    except RecursionError:
        raise Fault("the JSON of the answer nests too deeply", "protocol", passing=True) from None


def parsed(body: bytes | str) -> Any:
    """The parsed JSON of an answer. Raises Fault (``protocol``, passing) if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Fault(f"the body is not JSON: {_shown(body)}", "protocol", passing=True) from None


def no_answer(data: Any, expected: str) -> Fault:
    """The fault for an answer without ``expected``: the error it holds instead, or that it is missing."""
    error = data.get("error") if isinstance(data, Mapping) else None
    if error:
        return _fault(error)
    try:
        shown = _shown(json.dumps(data))
    except RecursionError:
        shown = "(nested too deeply)"
    return Fault(f"the body holds no {expected}: {shown}", "protocol", passing=True)


def _fault(error: Any) -> Fault:
    """The fault for an error in an answer of status 200."""
    # OpenRouter and similar servers answer 200 and put the actual status into the body.
    code = error.get("code") if isinstance(error, Mapping) else None
    if type(code) is int and 400 <= code < 600:
        return of_status(code, {}, {"error": error})
    return Fault(_words_of(error), "protocol", passing=True)


def _words_of(error: Any) -> str:
    message = error.get("message") if isinstance(error, Mapping) else error
    return one_line(message) or "an error without a message"


def _shown(body: bytes | str) -> str:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    return one_line(text[:120]) or "(empty)"


def _choice(data: Any) -> Choice:
    """Raises ValueError if ``data`` is not a choice, or its content is neither text nor parts."""
    if not isinstance(data, Mapping):
        raise ValueError
    notes: list[str] = []
    error, finish_reason = data.get("error"), _text(data, "finish_reason", notes)
    if not error and _end(finish_reason) == "error":
        error = "finish_reason is error"
    message = data.get("message")
    if not isinstance(message, Mapping):
        if not error:
            raise ValueError
        message = {}
    thoughts = [_text(message, name, notes) for name in _THOUGHT_FIELDS]
    text, refusal = _content(message.get("content"), thoughts, notes)
    if declined := message.get("refusal"):
        refusal = declined if isinstance(declined, str) else one_line(declined)
    logprobs = _logprobs(data.get("logprobs"))
    if logprobs is None and data.get("logprobs"):
        notes.append("logprobs are not log-probabilities of tokens")
    return Choice(
        text,
        refusal,
        finish_reason,
        logprobs or None,
        # Some servers send the same thoughts under two names.
        "\n".join(dict.fromkeys(filter(None, thoughts))) or None,
        tuple(dict.fromkeys(notes)),
        _words_of(error) if error else None,
    )


def _content(content: Any, thoughts: list[str | None], notes: list[str]) -> tuple[str | None, str | None]:
    """The text and the refusal in a message's content; appends thoughts in its parts to ``thoughts``.

    Texts of several parts are separated by line feeds: without them two numbers could become one. Raises ValueError if
    the content is not what the API promises.
    """
    if content is None or isinstance(content, str):
        return content, None
    if not isinstance(content, list):
        raise ValueError
    if not content:
        return "", None
    texts: list[str] = []
    refusal: str | None = None
    for part in content:
        if not isinstance(part, Mapping):
            raise ValueError
        name, words = _type_of(part), part.get("text")
        if part.get("thought") or _THOUGHT_PART.search(name):
            thoughts.append(_words(part))
        elif name == "refusal":
            refusal = _words({"text": part.get("refusal"), "content": words}) or "(without words)"
        elif name not in _TEXT_PARTS:
            notes.append(f"a part of type {one_line(name, most=40)} was not read")
        elif isinstance(words, str):
            texts.append(words)
        elif words is not None:
            raise ValueError
        elif any(part.get(field) for field in _THOUGHT_FIELDS):
            thoughts.append(_words(part))
    return _joined_texts(texts), refusal


def _type_of(part: Mapping[str, Any]) -> str:
    """The type of a part, in lower case; empty if it has none."""
    kind = part.get("type")
    if kind is None:
        return ""
    return kind.strip().lower() if isinstance(kind, str) else _seen(kind)


def _joined_texts(texts: Sequence[str]) -> str | None:
    """The non-blank texts joined by line feeds; else the first text, or None if there are none."""
    said = [text for text in texts if text.strip()]
    return "\n".join(said) if said else next(iter(texts), None)


def _words(value: Any, depth: int = 4) -> str:
    """All text in a part with thoughts, however the server nests it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = [value.get(name) for name in _WORDS]
    if not isinstance(value, list) or not depth:
        return ""
    return "\n".join(filter(None, [_words(inner, depth - 1) for inner in value]))


def _text(data: Mapping[str, Any], name: str, notes: list[str]) -> str | None:
    value = data.get(name)
    if value is None or isinstance(value, str):
        return value
    notes.append(f"{name} is {_seen(value)}, not text")
    return None


def _seen(value: Any) -> str:
    """A value of the wrong type, described for a note."""
    if isinstance(value, (Mapping, list)):
        return "an object" if isinstance(value, Mapping) else "a list"
    return one_line(json.dumps(value), most=40)


def _logprobs(data: Any) -> list[TokenLogprob] | None:
    """The tokens' log-probabilities, or None if they do not have the API's format."""
    try:
        return [
            TokenLogprob(
                *_likely(token),
                [_likely(top) for top in token.get("top_logprobs") or ()],
            )
            for token in data["content"] or ()
        ]
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _likely(data: Any) -> tuple[str, float]:
    """A token and its log-probability. Raises ValueError if it has no valid one."""
    token, logprob = data["token"], data["logprob"]
    # The comparison is False for NaN and infinities.
    if not isinstance(token, str) or isinstance(logprob, bool) or not -sys.float_info.max <= logprob <= 0:
        raise ValueError
    return token, logprob


def count(value: Any) -> int | None:
    """A server's token count, or None if it is not a plausible one."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _usage(data: Any, notes: list[str]) -> Usage | None:
    if not isinstance(data, Mapping):
        if data is not None:
            notes.append(f"usage is {_seen(data)}, not counts")
        return None
    details: dict[str, Mapping[str, Any]] = {}
    for name in ("prompt_tokens_details", "completion_tokens_details"):
        inner = data.get(name)
        details[name] = inner if isinstance(inner, Mapping) else {}
        if inner is not None and not isinstance(inner, Mapping):
            notes.append(f"usage: {name} is {_seen(inner)}, not counts")
    entered, left = details.values()
    counts = {
        "prompt_tokens": data.get("prompt_tokens"),
        # DeepSeek uses another name for them.
        "cached_tokens": entered.get("cached_tokens") if entered else data.get("prompt_cache_hit_tokens"),
        "completion_tokens": data.get("completion_tokens"),
        "reasoning_tokens": left.get("reasoning_tokens"),
    }
    found = {name: count(value) for name, value in counts.items()}
    for name, value in counts.items():
        if value is not None and found[name] is None:
            notes.append(f"usage: {name} is {_seen(value)}, not a count")
    entering, cached = found["prompt_tokens"], found["cached_tokens"]
    if cached is not None and entering is not None and cached > entering:
        notes.append(f"usage: cached_tokens is {cached}, more than prompt_tokens")
        found["cached_tokens"] = None
    return Usage(*found.values())
