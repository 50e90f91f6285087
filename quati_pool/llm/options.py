"""A request to a model: the messages of a call, and the parameters that all calls of a run share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from quati_pool.files.yaml_file import Model
from quati_pool.llm.secrets import REMEDY, literal_key

# o1, o3-mini, o4-mini, gpt-5, gpt-5-mini, openai/gpt-5.1, …; gpt-5-chat-latest is an ordinary model.
_REASONING = re.compile(r"(?:^|/)(?:o\d+|gpt-(?:[5-9]|\d\d)(?:\.\d+)?)(?:$|-(?!chat))")

_OWN = {
    "model", "messages", "stream", "n", "seed", "temperature", "top_p", "max_tokens", "max_completion_tokens",
    "reasoning_effort", "response_format", "logprobs", "top_logprobs",
}  # fmt: skip


def is_reasoning(model: str) -> bool:
    """Whether a model's name says that it is one of OpenAI's reasoning models."""
    return _REASONING.search(model) is not None


@dataclass(frozen=True)
class Request:
    """One call: chat messages, the JSON schema of the answer or None, and the number ``n`` of answers.

    ``estimated_tokens`` (input and output) are reserved under a limit of tokens per minute.
    """

    messages: Sequence[Mapping[str, str]]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "answer"
    n: int = 1
    seed: int | None = None
    estimated_tokens: int = 0


class Options(Model):
    """Parameters of every call of a run; all of them may change the answers."""

    temperature: Annotated[
        float | None, Field(ge=0, le=2, description="0: the likeliest answer; null, or a reasoning model: not sent")
    ] = 0.0
    top_p: Annotated[
        float | None, Field(gt=0, le=1, description="share of likely tokens to draw from; null: not sent")
    ] = None
    max_tokens: Annotated[int, Field(ge=1, description="the most tokens of one answer")] = 1024
    reasoning_tokens: Annotated[
        int, Field(ge=0, description="what a reasoning model may think on top of max_tokens")
    ] = 8192
    reasoning: Annotated[
        bool | None, Field(description="whether this is a reasoning model; null: inferred from its name")
    ] = None
    reasoning_effort: Annotated[
        str | None, Field(description="how hard a reasoning model thinks, such as low or high; null: not sent")
    ] = None
    output: Annotated[
        Literal["auto", "json_schema", "json_object", "text"],
        Field(description="how the form of answers is enforced; auto: the strictest that the server takes"),
    ] = "auto"
    logprobs: Annotated[bool, Field(description="ask for the likeliest tokens at each place of the answer")] = False
    extra_body: Annotated[
        dict[str, Any],
        Field(description="further keys of the request, such as a server's own parameters; ${NAME} is that variable"),
    ] = Field(default_factory=dict)

    @field_validator("extra_body")
    @classmethod
    def _not_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        own = sorted(_OWN & set(value))
        if own:
            raise ValueError(f"{own[0]!r} has a setting of its own or cannot be chosen; drop it here")
        found = literal_key(value, "extra_body")
        if found:
            raise ValueError(f"a key is written out in {found}; {REMEDY}")
        return value

    def thinks(self, model: str) -> bool:
        """Whether ``model`` is called as a reasoning model."""
        return is_reasoning(model) if self.reasoning is None else self.reasoning

    def most_tokens(self, model: str) -> int:
        """The most tokens that one answer of ``model`` may take, including thoughts."""
        return self.max_tokens + (self.reasoning_tokens if self.thinks(model) else 0)
