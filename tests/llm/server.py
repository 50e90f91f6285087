"""A local OpenAI-compatible server that answers well, or in any wrong way it is told to, and keeps a log.

Use it from a test as

    with ServerProcess() as server:
        server.script(shares={"429 0.1": 0.2, "refusal": 0.1}, latency=0.05)
        ...  # a client with base_url=server.url and any key
        log = server.log()

It runs in a process of its own, so that it outlives a client that is killed and shares no interpreter with one.

**What is served** (a *way*, see ``WAYS``) is decided for each call of ``/v1/chat/completions`` by the first of
  1. the capabilities: ``key`` (another one gets 401), ``model`` (another one gets 404), ``refuses`` (a list of
     ``json_schema``, ``response_format``, ``max_tokens``, ``max_completion_tokens``, ``temperature``,
     ``top_logprobs`` above 5), ``capacity`` (more calls in flight get 429);
  2. ``queue``: a list of ways, each served once, in the order in which calls arrive;
  3. a marker ``[[serve: WAY, WAY, …]]`` in the call's last user message that has one: the k-th call about the
     same pair gets the k-th way, the last one from then on;
  4. ``shares``: {way: share}, drawn by a hash of ``seed``, the pair and which call about it this is, so that
     the same calls are served the same in whatever order they arrive;
  5. ``default`` (``well``).
The client's first question (``PROBE``) is outside all this after 1: it gets the way ``probe`` (``well``).
A way is a name, with a number or word where it takes one: ``late 0.5``, ``429 2`` (Retry-After: 2), ``length``,
``end MAX_TOKENS`` (a good answer with that finish_reason), ``redirect 307`` (to ``/elsewhere/…?key=sk-elsewhere``,
which gives the grade 3 to whatever is sent there, and logs it under the id ``elsewhere``; in a batch an answer of that
status). What else is strange in an otherwise good answer is in ``patches``, and in a line of a batch's answers in
``lines``. In which state a way leaves its pair is in ``STATES``.

**The pair** of a call, its ``id`` in the log, is the last match of ``id_pattern`` (a regular expression with one group)
in its user messages, or else its last user message; a request that asks again within a conversation needs
``id_pattern`` to be known as the same pair. **The grade** is ``grade_of(id, seed, index of the choice, scale)``,
or that of the first of ``grades`` (regular expressions, each with a grade) found in its last user message, written as
JSON under the keys of the request's schema: a text key gets the reason, the other one the grade, on the scale of its
``enum``; numbers before it are aspects (``aspects_of``). Without a schema the keys are ``Razão`` and ``Pontuação``, the
scale 0 to 3.

**An answer** is given instead where the schema's only key is ``answer`` or ``answers`` (a string or strings, of an
``enum`` or free). It is that of the last marker ``[[answer: …]]`` in the user messages (several: ``[[answer: 2, 7]]``;
none: ``[[answer: ]]``), or else ``answer_of`` or ``answers_of`` the last user message that shows a question. Without
a schema, an answer is given where there is such a marker and the system message names the key.

**A draft** is given where the schema has other keys, all of them strings: under each key the text of the last marker
``[[KEY: …]]`` in the user messages, or else ``draft_of`` the first user message and the key. The text of a marker
``[[KEY<: …]]`` is read backwards, for a draft whose words its source does not have.

``/v1/files`` and ``/v1/batches`` work too: a batch is ``in_progress`` for ``polls`` retrievals, then its calls are
served as above. ``/control/script`` and ``/control/log`` are what ``ServerProcess`` talks to.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import email.parser
import email.policy
import hashlib
import http.client
import json
import math
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Self

from aiohttp import web

PROBE = 'Answer with the JSON object {"answer": 1} and nothing else.'
"""What ``quati_pool.llm.client`` asks first; repeated here, as the server's process does not import the package."""

ANSWER_MARKER = re.compile(r"\[\[answer: ?([^\]]*)\]\]")

MARKER = re.compile(r"\[\[serve: ([^\]]*)\]\]")

CONTENT_FILTER = {"message": "The prompt was filtered.", "type": None, "param": "prompt", "code": "content_filter"}

STATUSES: dict[str, tuple[int, dict[str, Any]]] = {
    "400": (400, {"message": "This value is not allowed.", "type": "invalid_request_error", "code": None}),
    "401": (
        401,
        {"message": "Incorrect API key provided.", "type": "invalid_request_error", "code": "invalid_api_key"},
    ),
    "404": (404, {"message": "The model does not exist.", "type": "invalid_request_error", "code": "model_not_found"}),
    "408": (408, {"message": "Request timeout.", "type": "timeout", "code": None}),
    "429": (429, {"message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded"}),
    "500": (500, {"message": "The server had an error.", "type": "server_error", "code": None}),
    "503": (503, {"message": "The engine is overloaded.", "type": "server_error", "code": None}),
    "insufficient_quota": (
        429,
        {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"},
    ),
    "no_money": (402, {"message": "Insufficient credits.", "code": 402}),
    "filtered_prompt": (400, CONTENT_FILTER),
    "too_long": (
        400,
        {
            "message": "This model's maximum context length is 8192 tokens.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        },
    ),
}
"""Ways that are an HTTP status with an error body."""

USAGES: dict[str, dict[str, Any] | None] = {
    "usage_none": None,
    "usage_negative": {"prompt_tokens": -1000, "completion_tokens": -1000, "total_tokens": -2000},
    "usage_low": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "prompt_tokens_details": None},
    "usage_cached": {"prompt_tokens_details": {"cached_tokens": 10**9}},
    "usage_absurd": {"prompt_tokens": 10**30, "completion_tokens": 10**30},
}
"""Ways that are a good answer with another count of its tokens; keys that are not there are as in a good one."""

TEXTS = (
    *USAGES, "well", "late", "end", "length", "refusal", "filtered_answer", "prose", "two_objects", "fenced",
    "wrong_keys", "off_scale", "negative", "half_grade", "empty", "bare", "null", "think", "think_tail", "think_open",
    "think_alone", "channels", "channel_open", "two_alike", "next_pair", "quotation", "remark", "nested", "array",
    "open_json",
)  # fmt: skip
"""Ways that are a completion."""

BROKEN = ("half_body", "cut_chunks", "drop", "not_json", "no_choices", "error_in_200", "hang", "redirect")
"""Ways that are no valid answer."""

ERROR = {"message": "Provider returned error", "code": 502}

THOUGHT = 'Seria {"Razão": "um rascunho", "Pontuação": 3}?'
"""What a model thinks in the ways below, which is never its verdict."""


def patches(text: str) -> dict[str, dict[str, Any]]:
    """What is merged into a good answer by the name of its way: into the answer, into each of its ``choices``, or into
    its first ``choice`` alone. ``text`` is the content of the good answer."""

    def content(*parts: Any) -> dict[str, Any]:
        return {"choices": {"message": {"content": list(parts)}}}

    spoken = {"type": "text", "text": text}
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    return {
        # Errors
        "error_beside": {"error": ERROR},
        "error_in_choices": {"choices": {"error": ERROR, "finish_reason": "error"}},
        "error_in_first": {"choice": {"error": ERROR}},
        # Thoughts that come apart from the content
        "thought_field": {"choices": {"message": {"reasoning_content": THOUGHT}}},
        "thought_parts": content({"type": "reasoning", "text": THOUGHT}, spoken),
        "thinking_parts": content(thinking, {"type": "redacted_thinking", "data": "c2VjcmV0"}, spoken),
        "thought_alone": content({"type": "reasoning", "text": THOUGHT}),
        # Parts
        "split_number": content({"type": "text", "text": "1"}, {"type": "text", "text": "0"}),
        "refusal_part": content(spoken, {"type": "refusal", "refusal": "I cannot help with that."}),
        "unknown_part": content({"type": "quotation", "text": text}),
        # Half a surrogate pair, which JSON can spell and UTF-8 cannot hold
        "half_pair_thought": {"choices": {"message": {"reasoning_content": f"{THOUGHT} \ud83d"}}},
        "half_pair_text": content({"type": "text", "text": "<think>\ud83d\0</think>\udfff hm"}),
        # Types
        "odd_types": {"id": 7, "model": ["m"], "system_fingerprint": {}, "usage": "none",
                      "choices": {"finish_reason": 5, "logprobs": "none"}},
        "odd_counts": {"usage": {"prompt_tokens": -5, "completion_tokens": 10**30,
                                 "prompt_tokens_details": {"cached_tokens": True}, "completion_tokens_details": [1]}},
        "odd_logprobs": {"choices": {"logprobs": {"content": [{"token": "x", "logprob": math.nan}]}}},
        "odd_refusal": {"choices": {"message": {"refusal": {"why": ["no"]}}}},
        "odd_content": {"choices": {"message": {"content": 3}}},
        "odd_message": {"choices": {"message": "2"}},
        "odd_choices": {"choices": None},
        "long_names": {"id": "i" * 10_000, "model": "\x1b[31mm\n" + "m" * 10_000, "system_fingerprint": "\ud83d\0"},
        "long_error": {"error": {"message": "\x1b[2J" + "no " * 10_000, "code": 400}},
        "deep": {"choices": {"message": {"content": _nested(500), "reasoning": _nested(500)}}},
    }  # fmt: skip


def _nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def lines(line: dict[str, Any]) -> dict[str, Any]:
    """Lines of a batch's answers that stand for a good one by the name of their way; a string is written as it is."""
    response = line["response"]
    return {
        "line_not_json": "<html>upstream said no</html>",
        "line_list": [line],
        "line_without_id": {"id": "x", "response": response, "error": None},
        "line_of_another": {**line, "custom_id": "nobody"},
        "line_twice": json.dumps(line) + "\n" + json.dumps(line),
        "line_with_error": {**line, "error": ERROR},
        "line_odd_status": {**line, "response": {**response, "status_code": "200"}},
        "line_without_body": {**line, "response": {"status_code": 200}},
        "line_odd_response": {**line, "response": [200]},
    }


PATCHES = tuple(patches(""))
LINES = tuple(lines({"response": {}}))

ECHOES = ("echo_400", "echo_500", "echo_answer", "echo_refusal", "echo_html")
"""Ways that repeat the key, query and parameters that they were sent: as an error, in an answer, as no JSON."""

WAYS = (*STATUSES, *TEXTS, *BROKEN, *PATCHES, *LINES, *ECHOES)

STATES = {
    **dict.fromkeys((*USAGES, "well", "late", "prose", "fenced", "bare", "two_alike"), "ok"),
    **dict.fromkeys(("think", "think_tail", "channels", "thought_field", "thought_parts", "thinking_parts"), "ok"),
    **dict.fromkeys(("odd_types", "odd_counts", "odd_logprobs", "long_names", "half_pair_thought"), "ok"),
    **dict.fromkeys(("wrong_keys", "half_grade", "empty", "null", "split_number", "unknown_part"), "unparsed"),
    **dict.fromkeys(("two_objects", "next_pair", "quotation", "remark", "nested", "array", "open_json"), "unparsed"),
    **dict.fromkeys(("think_alone", "thought_alone", "half_pair_text"), "unparsed"),
    **dict.fromkeys(("off_scale", "negative"), "off_scale"),
    **dict.fromkeys(("refusal", "filtered_answer", "filtered_prompt", "refusal_part", "odd_refusal"), "refused"),
    **dict.fromkeys(("length", "think_open", "channel_open"), "truncated"),
    **dict.fromkeys(("400", "too_long", "long_error"), "failed"),
    **{f"redirect {status}": "failed" for status in (301, 302, 303, 307, 308)},
    **{f"end {end}": "ok" for end in ("STOP", "eos", "end_turn", "END-TURN", "stop sequence", "complete")},
    **{f"end {end}": "truncated" for end in ("max_tokens", "MAX_TOKENS", "LENGTH", "model_length", "incomplete")},
    **{f"end {end}": "refused" for end in ("safety", "SAFETY", "refusal", "Content-Filtered", "recitation")},
    **{f"end {end}": "failed" for end in ("abort", "tool_calls", "function_call", "other")},
}
"""The state in which a judge must find a pair by a way of answering that is not tried again at once."""


def state_of(way: str) -> str:
    """The state in which the last way of answering leaves a pair; ``failed`` for what is no answer at all."""
    return STATES.get(way) or STATES.get(way.split(" ")[0], "failed")


def _merge(into: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(into, dict):
        return patch
    return {**into, **{name: _merge(into.get(name), value) for name, value in patch.items()}}


def patched(answer: dict[str, Any], way: str) -> dict[str, Any]:
    """A good answer as one of ``PATCHES``."""
    choices = answer["choices"]
    patch = patches(choices[0]["message"]["content"])[way]
    if patch.get("choices"):
        choices = [_merge(choice, patch["choices"]) for choice in choices]
    if "choice" in patch:
        choices = [_merge(choices[0], patch["choice"]), *choices[1:]]
    if patch.get("choices", ...) is None:
        choices = {"0": choices[0]}
    beside = {name: value for name, value in patch.items() if name not in ("choice", "choices")}
    return {**_merge(answer, beside), "choices": choices}


def grade_of(pair: str, seed: int | None = None, index: int = 0, scale: Sequence[int] = (0, 1, 2, 3)) -> int:
    """The grade that the server gives to a pair; ``index`` is that of the choice among ``n``."""
    return scale[_hash("grade", pair, seed, index) % len(scale)]


def answer_of(message: str, labels: Sequence[str] = ()) -> str:
    """What the server answers to a message by default: one of the labels, or where there are none a text."""
    place = _hash("answer", message)
    return labels[place % len(labels)] if labels else f"answer {place % 1000}"


def answers_of(message: str, labels: Sequence[str] = ()) -> list[str]:
    """Those that the server gives by default where several are asked for: some of the labels, or two texts."""
    if not labels:
        return [answer_of(f"{message}{number}") for number in (1, 2)]
    return [label for label in labels if _hash("answers", message, label) % 2]


def draft_of(message: str, key: str) -> str:
    """What the server writes under a key of a draft by default: a question of eight made-up words, which no other
    message leads to."""
    drawn = hashlib.sha256(repr(("draft", message, key)).encode()).digest()
    words = ("".join("bcdfgklmnprstvxz"[byte & 15] + "aeiou"[byte >> 4 & 3] for byte in drawn[at : at + 4])
             for at in range(0, len(drawn), 4))  # fmt: skip
    return f"{' '.join(words).capitalize()}?"


def way_of(pair: str, call: int, shares: dict[str, float], seed: int = 0, default: str = "well") -> str:
    """The way that ``shares`` draws for the ``call``-th call (from 0) about a pair."""
    place = _hash("way", seed, pair, call) / 2**64
    for way, share in shares.items():
        if place < share:
            return way
        place -= share
    return default


def _hash(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big")


@dataclass
class Script:
    """What the server does; ``script`` of ``ServerProcess`` takes the same names."""

    latency: float = 0.0
    default: str = "well"
    probe: str = "well"
    queue: tuple[str, ...] = ()
    shares: dict[str, float] | None = None
    seed: int = 0
    id_pattern: str | None = None
    grades: tuple[tuple[str, int], ...] = ()
    key: str | None = None
    model: str | None = None
    refuses: tuple[str, ...] = ()
    capacity: int | None = None
    polls: int = 1
    keep_bodies: bool = False
    date_offset: float = 0.0
    """Seconds that the server's clock, in its Date header and Retry-After dates, runs ahead."""
    retry_after: str = "seconds"
    """``seconds``, ``date`` or ``ms``: how Retry-After is written."""
    moves_after: int | None = None
    """After so many calls, counted since the log was cleared, its weights change: a third of the pairs get one grade
    more, where there is one, and its fingerprint is another."""


class Server:
    """The state of the server and its answers."""

    def __init__(self) -> None:
        self.script = Script()
        self.entries: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.calls: Counter[str] = Counter()
        self.queue: list[str] = []
        self.in_flight = 0
        self.peak = 0
        self.files: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.polls: Counter[str] = Counter()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if not path.startswith("/control"):
            self.paths.append(request.path_qs)
        if path.endswith("/chat/completions"):
            return await self.chat(request)
        if path == "/control/script":
            settings = await request.json()
            self.script = Script(**settings)
            self.queue = list(self.script.queue)
            _rules[:] = [(re.compile(pattern), grade) for pattern, grade in self.script.grades]
            _moved.clear()
            return web.json_response({})
        if path == "/control/log":
            state = {"entries": self.entries, "paths": self.paths, "peak": self.peak, "in_flight": self.in_flight}
            return web.json_response(state)
        if path == "/control/clear":
            self.entries, self.paths, self.peak = [], [], 0
            self.calls.clear()
            return web.json_response({})
        if path.startswith("/elsewhere/"):
            self.entries.append({"id": "elsewhere", "way": request.method, "status": 200, "done": True})
            answer = {"role": "assistant", "content": '{"Razão": "x", "Pontuação": 3}'}
            return web.json_response({"choices": [{"message": answer, "finish_reason": "stop"}]})
        if path.startswith("/v1/files"):
            return await self.file(request)
        if path.startswith("/v1/batches"):
            return await self.batch(request)
        if path == "/v1/models":
            return web.json_response(
                {"object": "list", "data": [{"id": self.script.model or "any", "object": "model"}]}
            )
        return web.json_response({"error": {"message": f"no route {path}"}}, status=404)

    # -- chat completions --------------------------------------------------------------------------------

    async def chat(self, request: web.BaseRequest) -> web.StreamResponse:
        script = self.script
        body = json.loads(await request.read())
        pair = self.pair(body)
        call = self.calls[pair]
        self.calls[pair] += 1
        if script.moves_after is not None and self.calls.total() - self.calls[PROBE] > script.moves_after:
            _moved.add(True)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        entry = {"time": time.time(), "id": pair, "call": call, "way": "", "status": 0, "done": False, "grade": None}
        if script.keep_bodies:
            entry["body"] = body
            entry["path"] = request.path_qs
        self.entries.append(entry)
        try:
            status, answer, way = self.decide(body, pair, call, request)
            entry["way"] = way
            name, _, number = way.partition(" ")
            if name == "redirect":
                entry["status"], entry["done"] = int(number), True
                location = f"/elsewhere/v1/chat/completions?key=sk-elsewhere&way={request.path}"
                return web.Response(status=int(number), headers={"Location": location})
            latency = float(number or 0) if name == "late" else script.latency
            if latency:
                await asyncio.sleep(latency)
            if name == "echo_html":
                return web.Response(text=f"<html>{echo(body, request)}</html>", content_type="text/html")
            if name in BROKEN:
                entry["done"] = True
                return await self.broken(request, name, body, pair)
            headers = {"Date": formatdate(time.time() + script.date_offset, usegmt=True)}
            if status in (429, 503) and number:
                headers |= self.wait(float(number))
            entry["status"] = status
            if status == 200:
                entry["grade"] = _grade(body, pair)
            # A patch may hold half a character, which only an escape can send.
            data = json.dumps(answer, ensure_ascii=name in PATCHES).encode()
            entry["done"] = True
            return web.Response(body=data, status=status, headers=headers, content_type="application/json")
        finally:
            self.in_flight -= 1

    def pair(self, body: dict[str, Any]) -> str:
        texts = [message["content"] for message in body["messages"] if message["role"] == "user"]
        if self.script.id_pattern:
            for text in reversed(texts):
                found = re.findall(self.script.id_pattern, text)
                if found:
                    return str(found[-1])
        return str(texts[-1])

    def wait(self, seconds: float) -> dict[str, str]:
        if self.script.retry_after == "ms":
            return {"retry-after-ms": str(int(seconds * 1000))}
        if self.script.retry_after == "date":
            return {"Retry-After": formatdate(time.time() + self.script.date_offset + seconds, usegmt=True)}
        return {"Retry-After": f"{seconds:g}"}

    def decide(
        self, body: dict[str, Any], pair: str, call: int, request: web.BaseRequest | None
    ) -> tuple[int, Any, str]:
        """HTTP status, body and the name of the way."""
        script = self.script
        if request is not None and script.key is not None:
            given = request.headers.get("Authorization", request.headers.get("api-key", "")).removeprefix("Bearer ")
            if given != script.key:
                error = {**STATUSES["401"][1], "message": f"Incorrect API key provided: {given}."}
                return 401, {"error": error}, "401"
        if script.model is not None and body["model"] != script.model:
            return 404, {"error": STATUSES["404"][1]}, "404"
        refusal = self.refusal(body)
        if refusal is not None:
            return 400, {"error": refusal}, f"no_{refusal['refused']}"
        if script.capacity is not None and self.in_flight > script.capacity:
            return 429, {"error": STATUSES["429"][1]}, "429"
        way = self.way(body, pair, call)
        name = way.split(" ")[0]
        if name in STATUSES:
            status, error = STATUSES[name]
            return status, {"error": error}, way
        if name not in WAYS:
            return 500, {"error": {"message": f"the test server knows no way {name!r}"}}, way
        if name in PATCHES:
            return 200, patched(completion(body, pair, "well"), name), way
        answer = completion(body, pair, way)
        if name.startswith("echo"):
            words = echo(body, request)
            if name in ("echo_400", "echo_500"):
                return int(name[-3:]), {"error": {"message": words}}, way
            for choice in answer["choices"]:
                choice["message"]["content" if name == "echo_answer" else "refusal"] = words
        return 200, answer, way

    def way(self, body: dict[str, Any], pair: str, call: int) -> str:
        if pair == PROBE:
            return self.script.probe
        if self.queue:
            return self.queue.pop(0)
        for message in reversed(body["messages"]):
            found = MARKER.findall(message["content"]) if message["role"] == "user" else []
            if found:
                ways = [way.strip() for way in found[-1].split(",")]
                return ways[min(call, len(ways) - 1)]
        if self.script.shares:
            return way_of(pair, call, self.script.shares, self.script.seed, self.script.default)
        return self.script.default

    def refusal(self, body: dict[str, Any]) -> dict[str, Any] | None:
        form = body.get("response_format")
        for name in self.script.refuses:
            if (name == "response_format" and form) or (
                name == "json_schema" and form and form["type"] == "json_schema"
            ):
                message = f"Invalid parameter: 'response_format' of type '{form['type']}' is not supported."
                return {"message": message, "param": "response_format", "code": None, "refused": name}
            if name == "top_logprobs" and body.get("top_logprobs", 0) > 5:
                message = "Invalid value for 'top_logprobs': must be at most 5."
                return {"message": message, "param": None, "code": None, "refused": name}
            if name in ("max_tokens", "max_completion_tokens", "temperature") and name in body:
                other = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                if name != "temperature":
                    message += f" Use '{other}' instead."
                return {"message": message, "param": name, "code": "unsupported_parameter", "refused": name}
        return None

    async def broken(self, request: web.BaseRequest, way: str, body: dict[str, Any], pair: str) -> web.StreamResponse:
        if way == "drop":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if way == "hang":
            await asyncio.sleep(3600)
        if way == "not_json":
            return web.Response(text="<html>upstream said no</html>", content_type="text/html")
        if way == "no_choices":
            return web.json_response({"id": "chatcmpl-0", "choices": []})
        if way == "error_in_200":
            return web.json_response({"error": {"message": "Provider returned error", "code": 502}})
        data = json.dumps(completion(body, pair, "well")).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if way == "half_body":
            response.content_length = len(data)
        else:
            response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(data[: len(data) // 2])
        assert request.transport is not None
        request.transport.close()
        return response

    # -- files and batches -------------------------------------------------------------------------------

    async def file(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.split("/")[3:]
        if request.method == "POST":
            fields = _multipart(request.headers["Content-Type"], await request.read())
            filename, data = fields["file"]
            return web.json_response(self.keep(filename, data, fields["purpose"][1].decode()))
        if not parts:
            found = list(self.files.values())
            return web.json_response(_page(found, request))
        if parts[0] not in self.files:
            return web.json_response({"error": {"message": "No such File object", "code": None}}, status=404)
        if parts[1:] == ["content"]:
            return web.Response(body=self.contents[parts[0]], content_type="application/octet-stream")
        return web.json_response(self.files[parts[0]])

    def keep(self, filename: str, data: bytes, purpose: str) -> dict[str, Any]:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = {
            "id": name,
            "object": "file",
            "bytes": len(data),
            "created_at": int(time.time()),
            "filename": filename,
            "purpose": purpose,
            "status": "processed",
        }
        self.contents[name] = data
        return self.files[name]

    async def batch(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.split("/")[3:]
        if request.method == "POST" and not parts:
            asked = json.loads(await request.read())
            way = self.queue.pop(0) if self.queue else "well"
            if way in STATUSES:
                status, error = STATUSES[way]
                return web.json_response({"error": error}, status=status)
            if asked["input_file_id"] not in self.files:
                return web.json_response({"error": {"message": "Invalid input_file_id"}}, status=400)
            name = f"batch_{len(self.batches) + 1}"
            lines = self.contents[asked["input_file_id"]].splitlines()
            counts = {"total": len(lines), "completed": 0, "failed": 0}
            self.batches[name] = {
                "id": name,
                "object": "batch",
                "created_at": int(time.time()),
                "status": "in_progress",
                "output_file_id": None,
                "error_file_id": None,
                "request_counts": counts,
                **asked,
            }
            if way == "drop":
                # The batch is made, and the client never hears of it.
                assert request.transport is not None
                request.transport.abort()
            return web.json_response(self.batches[name])
        if not parts:
            return web.json_response(_page(list(reversed(self.batches.values())), request))
        if parts[0] not in self.batches:
            return web.json_response({"error": {"message": "No such batch"}}, status=404)
        batch = self.batches[parts[0]]
        if parts[1:] == ["cancel"]:
            batch["status"] = "cancelled"
        self.polls[parts[0]] += 1
        if batch["status"] == "in_progress" and self.polls[parts[0]] > self.script.polls:
            self.finish(batch)
        return web.json_response(batch)

    def finish(self, batch: dict[str, Any]) -> None:
        output, errors = [], []
        for line in self.contents[batch["input_file_id"]].splitlines():
            asked = json.loads(line)
            body = asked["body"]
            pair = self.pair(body)
            call = self.calls[pair]
            self.calls[pair] += 1
            status, answer, way = self.decide(body, pair, call, None)
            entry = {"time": time.time(), "id": pair, "call": call, "way": way, "status": status, "done": True}
            entry["grade"] = _grade(body, pair) if status == 200 else None
            if self.script.keep_bodies:
                entry["body"] = body
            self.entries.append({**entry, "batch": batch["id"]})
            if way == "drop":
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                errors.append({"id": "x", "custom_id": asked["custom_id"], "response": None, "error": error})
                continue
            if way.startswith("redirect"):
                status, answer = int(way.split()[1]), None
            response = {"status_code": status, "request_id": "r", "body": answer}
            answered = {"id": "x", "custom_id": asked["custom_id"], "response": response, "error": None}
            (output if status == 200 else errors).append(lines(answered).get(way, answered))
        # As with the provider, the order of the answers is not that of the questions.
        for name, answers in (("output_file_id", output[::-1]), ("error_file_id", errors)):
            if answers:
                written = (line if isinstance(line, str) else json.dumps(line) for line in answers)
                data = "".join(f"{line}\n" for line in written).encode()
                batch[name] = self.keep(f"{batch['id']}_{name}.jsonl", data, "batch_output")["id"]
        batch["status"] = "completed"
        batch["request_counts"] |= {"completed": len(output), "failed": len(errors)}


def _page(items: list[dict[str, Any]], request: web.BaseRequest) -> dict[str, Any]:
    limit = int(request.query.get("limit", "20"))
    names = [item["id"] for item in items]
    start = names.index(request.query["after"]) + 1 if "after" in request.query else 0
    page = items[start : start + limit]
    return {
        "object": "list",
        "data": page,
        "has_more": start + limit < len(items),
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
    }


def _multipart(content_type: str, body: bytes) -> dict[str, tuple[str, bytes]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = (part.get_filename() or "", part.get_payload(decode=True))
    return fields


# -- completions ---------------------------------------------------------------------------------------------

_REASON = (
    "O trecho trata do assunto da pergunta e traz parte do que ela pede, embora não diga tudo com clareza; "
    "por isso recebe esta nota e não outra da escala."
)


def form_of(body: dict[str, Any]) -> tuple[str, str, Sequence[int]]:
    """The names of reason and grade in the schema of a request, and the scale."""
    form = body.get("response_format") or {}
    properties = form.get("json_schema", {}).get("schema", {}).get("properties")
    if not properties:
        return "Razão", "Pontuação", (0, 1, 2, 3)
    texts = [key for key, value in properties.items() if value.get("type") == "string"]
    grades = [key for key in properties if key not in texts]
    # The grade comes last; those before it are aspects.
    scale = properties[grades[-1]].get("enum") if grades else None
    return texts[0] if texts else "", grades[-1] if grades else "Pontuação", scale or (0, 1, 2, 3)


def aspects_of(body: dict[str, Any], pair: str, index: int) -> dict[str, int]:
    """The further numbers that a request's schema asks for, each as ``grade_of`` gives it for ``PAIR ASPECT``."""
    form = body.get("response_format") or {}
    properties = form.get("json_schema", {}).get("schema", {}).get("properties", {})
    numbers = [(key, value.get("enum")) for key, value in properties.items() if value.get("type") == "integer"]
    return {key: grade_of(f"{pair} {key}", body.get("seed"), index, scale or range(4)) for key, scale in numbers[:-1]}


_rules: list[tuple[re.Pattern[str], int]] = []
"""``grades`` of the script, compiled."""


_moved: set[bool] = set()
"""Not empty once the weights have changed."""


def _grade(body: dict[str, Any], pair: str, index: int = 0) -> int | None:
    """The grade that is meant, whatever the way in which it is given; None where none is asked for."""
    if answering_form(body) is not None or draft_form(body) is not None:
        return None
    if _rules:
        last = next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user")
        for pattern, grade in _rules:
            if pattern.search(last):
                return grade
    scale = form_of(body)[2]
    grade = grade_of(pair, body.get("seed"), index, scale)
    if _moved and _hash("moved", pair) % 3 == 0:
        return scale[min(scale.index(grade) + 1, len(scale) - 1)]
    return grade


def completion(body: dict[str, Any], pair: str, way: str) -> dict[str, Any]:
    """A completion in one of the ways of ``TEXTS``, or a good one."""
    choices = [_choice(body, way, pair, index) for index in range(body.get("n") or 1)]
    entered = sum(len(message["content"]) for message in body["messages"]) // 4 + 1
    left = sum(len(choice["message"]["content"] or "") for choice in choices) // 4 + 1
    usage: dict[str, Any] | None = {
        "prompt_tokens": entered,
        "completion_tokens": left,
        "total_tokens": entered + left,
        "prompt_tokens_details": {"cached_tokens": entered // 2},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    if way in USAGES:
        other = USAGES[way]
        usage = None if other is None else {**usage, **other}
    return {
        "id": f"chatcmpl-{_hash(pair):x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "system_fingerprint": "fp_moved" if _moved else "fp_test",
        "choices": choices,
        "usage": usage,
    }


def echo(body: dict[str, Any], request: web.BaseRequest | None) -> str:
    """The key, query and own parameters of a request, as a server may quote them."""
    key = request.headers.get("Authorization", "") if request is not None else ""
    query = request.path_qs if request is not None else ""
    return json.dumps([key, query, {name: value for name, value in body.items() if name not in ("model", "messages")}])


def answering_form(body: dict[str, Any]) -> tuple[str, Sequence[str]] | None:
    """The key and labels of the answer that a request asks for; None where it asks for a grade."""
    form = body.get("response_format") or {}
    properties = form.get("json_schema", {}).get("schema", {}).get("properties")
    if not properties:
        system = " ".join(message["content"] for message in body["messages"] if message["role"] == "system")
        keys = [key for key in ("answers", "answer") if f'{{"{key}": ' in system and _marked(body) is not None]
        return (keys[0], ()) if keys else None
    if list(properties) == ["answer"] and properties["answer"]["type"] == "string":
        return "answer", properties["answer"].get("enum", ())
    if list(properties) == ["answers"] and properties["answers"]["type"] == "array":
        return "answers", properties["answers"]["items"].get("enum", ())
    return None


def draft_form(body: dict[str, Any]) -> list[str] | None:
    """The keys of the draft that a request asks for; None where it asks for something else."""
    form = body.get("response_format") or {}
    properties = form.get("json_schema", {}).get("schema", {}).get("properties")
    if not properties or answering_form(body) is not None:
        return None
    return list(properties) if all(value == {"type": "string"} for value in properties.values()) else None


def _draft(body: dict[str, Any], keys: Sequence[str]) -> dict[str, str]:
    texts = [message["content"] for message in body["messages"] if message["role"] == "user"]
    marked = {key: re.findall(rf"\[\[{key}(<?): ?([^\]]*)\]\]", "\n".join(texts)) for key in keys}
    return {
        key: found[-1][1][:: -1 if found[-1][0] else 1] if found else draft_of(texts[0], key)
        for key, found in marked.items()
    }


def _marked(body: dict[str, Any]) -> str | None:
    for message in reversed(body["messages"]):
        found = ANSWER_MARKER.findall(message["content"]) if message["role"] == "user" else []
        if found:
            return str(found[-1]).strip()
    return None


def _answer(body: dict[str, Any], key: str, labels: Sequence[str]) -> str | list[str]:
    marked = _marked(body)
    if marked is not None:
        return marked if key == "answer" else [part.strip() for part in marked.split(",") if part.strip()]
    texts = [message["content"] for message in body["messages"] if message["role"] == "user"]
    shown = next((text for text in reversed(texts) if "<question>" in text or "<options>" in text), texts[-1])
    return answer_of(shown, labels) if key == "answer" else answers_of(shown, labels)


def _choice(body: dict[str, Any], way: str, pair: str, index: int) -> dict[str, Any]:
    asked, keys = answering_form(body), draft_form(body)
    aspects: dict[str, int] = {}
    grade: Any
    if keys is not None:
        reason_key, grade_key, scale = "", "", ()
        grade = _draft(body, keys)
    elif asked is None:
        reason_key, grade_key, scale = form_of(body)
        grade = _grade(body, pair, index)
        aspects = aspects_of(body, pair, index)
    else:
        reason_key, grade_key, scale = "", asked[0], ()
        grade = _answer(body, *asked)

    def answer(value: Any) -> str:
        named = ({reason_key: _REASON} if reason_key else {}) | aspects | {grade_key: value}
        return json.dumps(value if isinstance(value, dict) else named, ensure_ascii=False)

    other = scale[(scale.index(grade) + 1) % len(scale)] if scale else "another"
    text: str | None = _variants(answer(grade), answer(other)).get(way, answer(grade))
    finish_reason, refusal = "stop", None
    if way.startswith("end "):
        finish_reason = way.removeprefix("end ")
    elif way == "length":
        text, finish_reason = answer(grade)[:40], "length"
    elif way == "refusal":
        text, refusal = None, "I cannot help with that."
    elif way == "filtered_answer":
        text, finish_reason = None, "content_filter"
    elif way == "prose":
        text = f"Numa escala de 0 a 3, este trecho responde em parte. {grade_key}: {grade}"
    elif way == "fenced":
        text = f"```json\n{answer(grade)}\n```"
    elif way == "wrong_keys":
        text = json.dumps({"opinion": "good", "stars": grade})
    elif way == "off_scale":
        text = answer(7)
    elif way == "negative":
        text = answer(-1)
    elif way == "half_grade":
        text = answer(2.5)
    elif way == "empty":
        text = ""
    elif way == "bare":
        text = str(grade)
    elif way == "null":
        text = None
    choice: dict[str, Any] = {
        "index": index,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": text, "refusal": refusal},
        "logprobs": None,
    }
    if body.get("logprobs") and text:
        choice["logprobs"] = {"content": _logprobs(text, body.get("top_logprobs", 0)), "refusal": None}
    return choice


def _variants(answer: str, other: str) -> dict[str, str]:
    """The texts of the ways that think first, with a draft of another grade, or that leave a doubt."""
    thought = f"Talvez seja assim: {other} Relendo o trecho, não."
    analysis = f"<|channel|>analysis<|message|>{thought}"
    return {
        "think": f"<think>\n{thought}\n</think>\n\n{answer}",
        "think_tail": f"{thought}\n</think>\n\n{answer}",
        "think_open": f"<think>\n{thought}\n{answer}",
        "think_alone": f"<think>\n{answer}\n</think>\n\nDesculpe, não consigo avaliar.",
        "channels": f"{analysis}<|end|><|start|>assistant<|channel|>final<|message|>{answer}",
        "channel_open": f"{analysis}\n{answer}",
        "two_objects": f"{other}\n\nPensando melhor:\n\n{answer}",
        "two_alike": f"{answer}\n\nConfirmo:\n\n{answer}",
        "next_pair": f"{answer}\n\nPergunta: e agora?\nPassagem: outra.\n\n{other}",
        "quotation": f"{answer}\n\nA passagem traz: {other}",
        "remark": f"{answer} (quem sabe)",
        "nested": f'{{"resultado": {answer}}}',
        "array": f"[{other}, {answer}]",
        "open_json": answer.removesuffix("}"),
    }


def _logprobs(text: str, top: int) -> list[dict[str, Any]]:
    """Tokens of at most four characters, digits alone; at a digit the next grade is half as likely."""
    tokens = []
    for token in re.findall(r"\d|[^\d]{1,4}", text):
        likely = [{"token": token, "logprob": -0.4}]
        if token.isdigit():
            likely.append({"token": str((int(token) + 1) % 4), "logprob": -1.1})
        tokens.append({"token": token, "logprob": -0.4, "top_logprobs": likely[:top]})
    return tokens


# -- the process ---------------------------------------------------------------------------------------------


class ServerProcess:
    """The server in a process of its own; a context manager that starts and stops it."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.port = 0

    @property
    def url(self) -> str:
        """The ``base_url`` for a client."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self, port: int = 0) -> Self:
        """Starts the server and waits until it listens."""
        command = [sys.executable, __file__, "--port", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        if self._settings:
            self.script(**self._settings)
        return self

    def stop(self) -> None:
        """Ends the process; the log goes with it."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def script(self, **settings: Any) -> None:
        """Replaces all settings (the fields of ``Script``); those not named get their defaults."""
        for way in (*settings.get("queue", ()), *settings.get("shares", ()), settings.get("default", "well")):
            assert way.split(" ")[0] in WAYS, f"no such way: {way}"
        self._control("script", settings)

    def clear(self) -> None:
        """Empties the log and forgets which pairs were asked."""
        self._control("clear", {})

    def state(self) -> dict[str, Any]:
        """``entries``, ``paths`` (of all requests, with their query), ``peak`` (most calls in flight at once) and
        ``in_flight``."""
        return self._control("log")

    def log(self) -> list[dict[str, Any]]:
        """One entry a call, in order of arrival: time, id (``PROBE`` for the client's first question), call
        (which one about this id, from 0), way, status (0 while none was sent), done (served, though perhaps not
        received), grade (the one that a completion means, in whatever way it is given; else None); with
        ``keep_bodies`` also body and path."""
        entries: list[dict[str, Any]] = self.state()["entries"]
        return entries

    def _control(self, name: str, settings: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            body = None if settings is None else json.dumps(settings)
            connection.request("GET" if body is None else "POST", f"/control/{name}", body)
            return json.loads(connection.getresponse().read())


async def _serve(port: int) -> None:
    server = web.Server(Server().handle, access_log=None, keepalive_timeout=75, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A scriptable OpenAI-compatible test server.")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(_serve(parser.parse_args().port))
