"""What is read from a completion's JSON, and what is no completion."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.answers import Choice, TokenLogprob, Usage, read_completion
from quati_pool.llm.faults import Fault


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
        (body(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab"),
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
        (b'{"error": "upstream"}', "upstream"),
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


KEYS = [
    *("choices", "message", "content", "logprobs", "usage", "refusal", "error", "code", "finish_reason", "token"),
    *("prompt_tokens", "prompt_tokens_details", "text"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)


def test_odd_counts_and_logprobs_do_not_spoil_an_answer() -> None:
    data = {
        "choices": [{"message": {"content": "2"}, "logprobs": {"tokens": ["2"], "content": [1]}}],
        "usage": {"prompt_tokens": "7", "completion_tokens": 3, "prompt_tokens_details": "none"},
    }
    made = read(data)
    assert made.choices == (Choice("2", None, None, None),)
    assert made.usage == Usage(None, None, 3, None)


@given(JSON)
def test_any_json_is_a_completion_or_a_fault(data: Any) -> None:
    try:
        made = read(data)
    except Fault:
        return
    assert all(choice.text is None or isinstance(choice.text, str) for choice in made.choices)
