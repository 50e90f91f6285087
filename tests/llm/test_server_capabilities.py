"""How requests are written for different servers, and what refusals teach."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from quati_pool.llm.faults import of_status
from quati_pool.llm.options import Options, Request, is_reasoning
from quati_pool.llm.server_capabilities import Capabilities


@pytest.mark.parametrize(
    ("model", "reasoning"),
    [
        ("o1", True),
        ("o3-mini", True),
        ("o4-mini-2025-04-16", True),
        ("gpt-5", True),
        ("gpt-5.1", True),
        ("gpt-5-nano-2025-08-07", True),
        ("openai/gpt-5.4-mini", True),
        ("gpt-5-chat-latest", False),
        ("gpt-5.1-chat-latest", False),
        ("gpt-4o", False),
        ("gpt-4.1", False),
        ("gpt-oss-20b", False),
        ("phi-o1-like", False),
        ("qwen3:8b", False),
        ("o200", True),
    ],
)
def test_reasoning_models_are_told_by_their_names(model: str, reasoning: bool) -> None:
    assert is_reasoning(model) == reasoning


def body(model: str, options: Options) -> dict[str, Any]:
    return Capabilities.of(model, options).body(model, options)


def test_the_body_of_an_ordinary_model() -> None:
    assert body("gpt-4o", Options()) == {"model": "gpt-4o", "temperature": 0.0, "max_tokens": 1024}
    assert body("m", Options(temperature=None, top_p=0.9, max_tokens=5, logprobs=True)) == {
        "model": "m", "top_p": 0.9, "max_tokens": 5, "logprobs": True, "top_logprobs": 20,
    }  # fmt: skip


def test_the_body_of_a_reasoning_model_leaves_room_to_think() -> None:
    options = Options(max_tokens=1000, reasoning_tokens=500, reasoning_effort="high")
    assert body("o3", options) == {"model": "o3", "max_completion_tokens": 1500, "reasoning_effort": "high"}
    assert options.most_tokens("o3") == 1500
    assert options.most_tokens("gpt-4o") == 1000


def test_what_the_user_says_of_a_model_counts_more_than_its_name() -> None:
    assert "max_completion_tokens" in body("my-deployment", Options(reasoning=True))
    assert body("o3", Options(reasoning=False)) == {"model": "o3", "temperature": 0.0, "max_tokens": 1024}


@pytest.mark.parametrize("key", ["model", "messages", "stream", "max_tokens", "response_format", "n"])
def test_extra_keys_cannot_replace_ours(key: str) -> None:
    with pytest.raises(ValidationError, match="has a setting of its own or cannot be chosen; drop it here"):
        Options(extra_body={key: 1})


def test_every_option_says_what_it_does() -> None:
    assert all(field.description for field in Options.model_fields.values())


def test_no_form_is_asked_for_without_a_schema() -> None:
    assert Capabilities.of("m", Options()).response_format(Request([])) is None


def refusal(message: str, status: int = 400, **more: Any) -> Any:
    return of_status(status, {}, {"error": {"message": message, **more}})


def of_fields(*loc: str) -> Any:
    """A refusal as FastAPI writes it."""
    return of_status(422, {}, {"detail": [{"loc": loc, "msg": "Extra inputs are not permitted"}]})


ORDINARY = Capabilities.of("m", Options())
REASONING = Capabilities.of("o1", Options())


@pytest.mark.parametrize(
    ("capabilities", "fault", "learnt"),
    [
        (
            ORDINARY,
            refusal(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
                param="max_tokens",
                code="unsupported_parameter",
            ),
            "wants max_completion_tokens",
        ),
        (REASONING, refusal("Unrecognized request argument supplied: max_completion_tokens"), "wants max_tokens"),
        (
            REASONING,
            of_fields("body", "max_completion_tokens"),
            "wants max_tokens",
        ),
        (
            ORDINARY,
            refusal(
                "Unsupported value: 'temperature' does not support 0.0 with this model.",
                param="temperature",
                code="unsupported_value",
            ),
            "takes no temperature: the server's own is used",
        ),
        (
            ORDINARY,
            refusal("'response_format' of type 'json_schema' is not supported", param="response_format"),
            "does not support json_schema: using json_object instead",
        ),
        (
            ORDINARY,
            refusal("json_schema is unknown here", status=422),
            "does not support json_schema: using json_object instead",
        ),
        (ORDINARY, refusal("no handler", status=501), "does not support json_schema: using json_object instead"),
        (ORDINARY, refusal("nothing", status=404), "does not support json_schema: using json_object instead"),
        (ORDINARY, refusal("top_logprobs must be at most 5"), "gives 5 likeliest tokens at most"),
        # These are no questions of style.
        (ORDINARY, refusal("max_tokens is too large: 9999", param="max_tokens"), None),
        (ORDINARY, refusal("The model `m` does not exist", status=404, code="model_not_found"), None),
        (ORDINARY, refusal('model "m" not found, try pulling it first', status=404), None),
        (ORDINARY, refusal("maximum context length", code="context_length_exceeded"), None),
        (ORDINARY, refusal("The server had an error about response_format", status=500), None),
    ],
)  # fmt: skip
def test_what_a_refusal_teaches(capabilities: Capabilities, fault: Any, learnt: str | None) -> None:
    found = capabilities.after(fault)
    assert (found and found.differs(capabilities)) == learnt


def test_forms_become_looser_until_text() -> None:
    capabilities: Capabilities | None = ORDINARY
    found = []
    while capabilities is not None:
        found.append(capabilities.output)
        capabilities = capabilities.looser()
    assert found == ["json_schema", "json_object", "text"]
