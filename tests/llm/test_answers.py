"""What is read from a completion's JSON, and what is no completion."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.answers import Choice, TokenLogprob, Usage, read_completion, withheld
from quati_pool.llm.faults import Fault
from quati_pool.records import State


def body(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def read(data: Any) -> Any:
    return read_completion(json.dumps(data).encode(), 1.5, 2, "text")


def test_all_that_a_server_tells_is_kept() -> None:
    data = {
        "id": "c1",
        "model": "gpt-4o-2024-11-20",
        "system_fingerprint": "fp",
        "choices": [
            {
                "message": {"content": "2", "refusal": None},
                "finish_reason": "stop",
                "logprobs": {
                    "content": [
                        {
                            "token": "2",
                            "logprob": -0.1,
                            "top_logprobs": [{"token": "3", "logprob": -2.5, "bytes": [51]}],
                        }
                    ]
                },
            },
            {"message": {"content": None, "refusal": "No."}, "finish_reason": "content_filter"},
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }
    made = read(data)
    assert made.choices == (
        Choice("2", None, "stop", [TokenLogprob("2", -0.1, [("3", -2.5)])]),
        Choice(None, "No.", "content_filter", None),
    )
    assert (made.response_id, made.model, made.fingerprint) == ("c1", "gpt-4o-2024-11-20", "fp")
    assert made.usage == Usage(100, 64, 20, 5)
    assert (made.seconds, made.retries, made.output) == (1.5, 2, "text")


def test_what_a_server_leaves_out_is_none_and_not_zero() -> None:
    made = read(body(content="x"))
    assert (made.usage, made.model, made.response_id, made.fingerprint) == (None, None, None, None)
    assert read({**body(content="x"), "usage": {}}).usage == Usage(None, None, None, None)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (body(content=""), ""),
        (body(content=None), None),
        (body(), None),
        (body(content=[]), ""),
        (body(content=[{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}, {"text": "c"}]), "a\nb\nc"),
        # Two parts are never one number.
        (
            body(content=[{"type": "text", "text": '{"Pontuação": 1'}, {"type": "text", "text": "0}"}]),
            '{"Pontuação": 1\n0}',
        ),
        (body(content=[{"type": "text", "text": " a "}, {"type": "text", "text": " "}, {"type": "text"}]), " a "),
    ],
)
def test_the_text_of_an_answer(data: dict[str, Any], text: str | None) -> None:
    assert read(data).choices[0].text == text


def test_cached_tokens_as_deepseek_tells_them() -> None:
    data = {**body(content="x"), "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}}
    assert read(data).usage == Usage(9, 8, 1, None)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the body is not JSON: (empty)"),
        (b"<html>no</html>", "the body is not JSON: <html>no</html>"),
        (b'{"choices": [', 'the body is not JSON: {"choices": ['),
        (b"[" * 100_000, None),
        (b"\xff\xfe\x00", None),
        (b"{}", "the body holds no choices: {}"),
        (b"null", "the body holds no choices: null"),
        (b'{"choices": []}', 'the body holds no choices: {"choices": []}'),
        (b'{"choices": [{"message": null}]}', None),
        (b'{"choices": [{"message": {"content": 3}}]}', None),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": "error"}]}', None),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": "ERROR"}]}', "finish_reason is error"),
        (b'{"choices": {"0": {"message": {"content": "x"}}}}', None),
        (b'{"choices": ["x"]}', None),
        (b'{"choices": [{"message": "x"}]}', None),
        (b'{"choices": [{"message": {"content": ["x"]}}]}', None),
        (b'{"choices": [{"message": {"content": [{"type": "text", "text": 3}]}}]}', None),
        (b'{"choices": [{"message": {"content": {"text": "x"}}}]}', None),
        (b'{"error": "upstream"}', "upstream"),
        (b'{"error": {"code": 7}, "choices": [{"message": {"content": "x"}}]}', "an error without a message"),
        (b'{"choices": [{"message": {"content": "x"}, "error": {"message": "cut"}}]}', "cut"),
    ],
)
def test_what_is_no_completion_may_pass(data: bytes, words: str | None) -> None:
    with pytest.raises(Fault) as caught:
        read_completion(data, 0, 0, "text")
    assert (caught.value.kind, caught.value.passing) == ("protocol", True)
    assert words is None or caught.value.words == words


def test_an_error_inside_a_200_means_its_own_status() -> None:
    with pytest.raises(Fault) as caught:
        read({"error": {"message": "no credits", "code": 402}})
    assert (caught.value.status, caught.value.fatal) == (402, True)


@pytest.mark.parametrize("code", [402, 500])
def test_an_error_in_the_only_choice_means_its_own_status(code: int) -> None:
    answered = {"message": {"content": "2"}, "error": {"message": "upstream", "code": code}}
    for data in ({"choices": [answered]}, {**body(content="2"), "error": answered["error"]}):
        with pytest.raises(Fault) as caught:
            read(data)
        assert (caught.value.status, caught.value.words) == (code, "upstream")


@pytest.mark.parametrize("depth", [3, 700, 900, 950, 970, 100_000])
@pytest.mark.parametrize("where", ["refusal", "content", "reasoning", "error", "id"])
def test_no_depth_of_json_breaks_the_reading(depth: int, where: str) -> None:
    nested = "[" * depth + "]" * depth
    fields = {where: nested} if where in ("error", "id") else {}
    message = {} if fields else {where: nested}
    inner = ", ".join(f'"{name}": {value}' for name, value in message.items())
    outer = "".join(f', "{name}": {value}' for name, value in fields.items())
    with contextlib.suppress(Fault):
        read_completion(f'{{"choices": [{{"message": {{{inner}}}}}]{outer}}}', 0, 0, "text")


def test_an_error_in_one_of_several_choices_fails_that_one() -> None:
    failed = {"error": {"message": "upstream\n\x1b[31m", "code": 502}, "finish_reason": "error"}
    well, broken = read({"choices": [*body(content="2")["choices"], failed]}).choices
    assert (well.text, well.error) == ("2", None)
    assert broken == Choice(None, None, "error", None, error="upstream \\x1b[31m")
    assert withheld(well.refusal, well.finish_reason, well.error) is None
    assert withheld(broken.refusal, broken.finish_reason, broken.error) == (
        State.failed,
        "the answer ended in an error: upstream \\x1b[31m",
    )


ENDS = {
    None: (
        "stop",
        "STOP",
        " Stop ",
        "eos",
        "end_turn",
        "END-TURN",
        "stop_sequence",
        "stop sequence",
        "complete",
        "",
        None,
    ),
    State.truncated: (
        *("length", "LENGTH", "max_tokens", "MAX_TOKENS", "max-output-tokens", "max_length", "model_length"),
        *("token_limit", "model_context_window_exceeded", "incomplete"),
    ),
    State.refused: (
        *("content_filter", "content_filtered", "Content-Filter", "safety", "SAFETY", "refusal", "recitation"),
        *("blocklist", "PROHIBITED_CONTENT", "spii", "sensitive", "moderation", "guardrail_intervened", "image safety"),
    ),
    State.failed: ("abort", "tool_calls", "function_call", "error", "OTHER", "stopped", "non_stop", "null"),
}


@pytest.mark.parametrize(("state", "end"), [(state, end) for state, ends in ENDS.items() for end in ends])
def test_only_a_known_ordinary_end_lets_an_answer_be_read(state: State | None, end: str | None) -> None:
    found = withheld(None, end)
    assert (found and found[0]) == state
    if state is State.failed:
        assert found
        assert end
        assert end in found[1]


def test_the_name_of_an_end_is_cut() -> None:
    found = withheld(None, "\x1b[2J" + "é" * 10_000)
    assert found
    assert len(found[1]) < 150
    assert found[1].isprintable()


VERDICT = '{"Pontuação": 3}'


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": VERDICT},
        {"reasoning": VERDICT},
        {"thinking": VERDICT},
        {"reasoning": VERDICT, "reasoning_content": VERDICT, "content": None},
        *(
            {"content": [part]}
            for part in (
                {"type": "reasoning", "text": VERDICT},
                {"type": "Reasoning", "summary": [{"type": "summary_text", "text": VERDICT}]},
                {"type": "reasoning", "content": [{"type": "reasoning_text", "text": VERDICT}]},
                {"type": "reasoning_text", "text": VERDICT},
                {"type": "reasoning_content", "reasoning_content": VERDICT},
                {"type": "thinking", "thinking": VERDICT, "signature": "x"},
                {"type": "thinking", "thinking": [{"type": "text", "text": VERDICT}]},
                {"type": "thought", "text": VERDICT},
                {"type": "summary_text", "text": VERDICT},
                {"type": "redacted_thinking", "text": VERDICT, "data": "8ca"},
                {"type": "text", "text": VERDICT, "thought": True},
                {"text": VERDICT, "thought": True},
                {"thinking": VERDICT},
            )
        ),
    ],
)
def test_thoughts_are_kept_apart_from_the_content(message: dict[str, Any]) -> None:
    (choice,) = read(body(**message)).choices
    assert (choice.text, choice.thoughts, choice.notes) == (None, VERDICT, ())
    if isinstance(message.get("content"), list):
        (choice,) = read(body(content=[*message["content"], {"type": "text", "text": "0"}])).choices
        assert (choice.text, choice.thoughts) == ("0", VERDICT)


def test_parts_of_unknown_kinds_are_not_read_and_noted() -> None:
    parts = [{"type": kind, "text": VERDICT} for kind in ("tool_result", 7, ["text"], "texto\x1b" * 50)]
    (choice,) = read(body(content=[*parts, {"type": "text", "text": "0"}])).choices
    assert (choice.text, choice.thoughts) == ("0", None)
    assert [note[:23] for note in choice.notes] == [
        "a part of type tool_res",
        "a part of type 7 was no",
        "a part of type a list w",
        "a part of type texto\\x1",
    ]
    assert all(note.isprintable() and len(note) < 80 for note in choice.notes)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": [{"type": "text", "text": "3"}, {"type": "refusal", "refusal": "No."}]}, "No."),
        ({"content": [{"type": "refusal"}]}, "(without words)"),
        ({"content": "3", "refusal": {"why": 1}}, "{'why': 1}"),
        ({"content": "3", "refusal": True}, "True"),
    ],
)
def test_a_refusal_of_any_form_is_one(message: dict[str, Any], words: str) -> None:
    (choice,) = read(body(**message)).choices
    assert choice.refusal == words
    assert withheld(choice.refusal, choice.finish_reason) == (State.refused, f"the model refused: {words}")


@pytest.mark.parametrize("name", ["id", "model", "system_fingerprint", "usage", "finish_reason", "logprobs"])
@pytest.mark.parametrize("value", [7, True, 1.5, ["x"], {"x": 1}, "x"])
def test_a_field_of_another_type_counts_as_absent_and_is_noted(name: str, value: Any) -> None:
    data = body(content="2")
    (data["choices"][0] if name in ("finish_reason", "logprobs") else data)[name] = value
    made = read(data)
    (choice,) = made.choices
    fields = {
        "id": made.response_id,
        "model": made.model,
        "system_fingerprint": made.fingerprint,
        "finish_reason": choice.finish_reason,
        "logprobs": choice.logprobs,
    }
    if name == "usage" and value == {"x": 1}:
        assert made.usage == Usage(None, None, None, None)
        return
    if value == "x" and name not in ("usage", "logprobs"):
        assert fields[name] == "x"
        return
    assert fields.get(name) is None
    (note,) = (*made.notes, *choice.notes)
    assert note.startswith(name)
    assert choice.text == "2"


@pytest.mark.parametrize("value", [-1, 10**9 + 1, 10**30, 7.5, float("nan"), True, "7", [7], {}])
def test_a_count_that_can_be_none_is_absent_and_noted(value: Any) -> None:
    counts = {
        "prompt_tokens": value,
        "completion_tokens": 10**9,
        "completion_tokens_details": {"reasoning_tokens": value},
    }
    made = read({**body(content="2"), "usage": counts})
    assert made.usage == Usage(None, None, 10**9, None)
    assert [note.split(" is ")[0] for note in made.notes] == ["usage: prompt_tokens", "usage: reasoning_tokens"]


def test_more_cached_tokens_than_tokens_are_no_count() -> None:
    made = read({**body(content="2"), "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 10}}})
    assert made.usage == Usage(9, None, None, None)
    assert made.notes == ("usage: cached_tokens is 10, more than prompt_tokens",)


@pytest.mark.parametrize(
    "logprob", [0.1, float("nan"), float("inf"), float("-inf"), 10**400, -(10**400), "-1", None, False]
)
def test_what_is_no_log_probability_is_absent_and_noted(logprob: Any) -> None:
    good = {"token": "2", "logprob": -0.1}
    for tokens in ([{**good, "logprob": logprob}], [{**good, "top_logprobs": [{**good, "logprob": logprob}]}]):
        data = body(content="2")
        data["choices"][0]["logprobs"] = {"content": tokens}
        (choice,) = read(data).choices
        assert (choice.logprobs, choice.notes) == (None, ("logprobs are not log-probabilities of tokens",))


KEYS = [
    *("choices", "message", "content", "logprobs", "usage", "refusal", "error", "code", "finish_reason", "token"),
    *("prompt_tokens", "prompt_tokens_details", "text", "type", "thinking", "reasoning", "id", "model", "logprob"),
]
TEXT = st.text(st.characters() | st.characters(categories=["Cs", "Cc"])) | st.sampled_from(
    ["text", "thinking", "reasoning", "refusal", "stop", "length", "error", VERDICT]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)


def test_odd_counts_and_logprobs_do_not_spoil_an_answer() -> None:
    data = {
        "choices": [{"message": {"content": "2"}, "logprobs": {"tokens": ["2"], "content": [1]}}],
        "usage": {"prompt_tokens": "7", "completion_tokens": 3, "prompt_tokens_details": "none"},
    }
    made = read(data)
    (choice,) = made.choices
    assert (choice.text, choice.logprobs) == ("2", None)
    assert made.usage == Usage(None, None, 3, None)

    assert made.notes == (
        'usage: prompt_tokens_details is "none", not counts',
        'usage: prompt_tokens is "7", not a count',
    )


def odd(key: str, inner: st.SearchStrategy[Any], **more: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that hold something under ``key``, and anything beside."""
    beside = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3)
    return st.builds(lambda others, value: {**others, **more, key: value}, beside, inner)


PARTS = st.lists(odd("type", TEXT) | odd("text", TEXT), max_size=3)
CHOICES = st.lists(odd("message", odd("content", TEXT | PARTS | JSON)), min_size=1, max_size=3)


def read_or_fault(data: Any) -> Any:
    try:
        return read(data)
    except Fault as fault:
        return fault


@given(JSON | odd("choices", CHOICES))
def test_any_json_is_a_completion_or_a_fault(data: Any) -> None:
    made = read_or_fault(data)
    if isinstance(made, Fault):
        assert made.words.isprintable()
        return
    texts = [made.model, made.response_id, made.fingerprint]
    for choice in made.choices:
        texts += [choice.text, choice.thoughts, choice.finish_reason, choice.refusal, choice.error]
        found = withheld(choice.refusal, choice.finish_reason, choice.error)
        assert found is None or (found[0] is not State.ok and found[1].isprintable())
        assert all(math.isfinite(token.logprob) for token in choice.logprobs or ())
    assert all(text is None or isinstance(text, str) for text in texts)
    usage = made.usage or Usage(None, None, None, None)
    for count in (usage.input, usage.cached, usage.output, usage.reasoning):
        assert count is None or 0 <= count <= 10**9
    for note in (*made.notes, *(note for choice in made.choices for note in choice.notes)):
        assert note.isprintable()
        assert len(note) < 120
