"""Which request parameters a server accepts, as learned from the requests it refuses.

Servers that call themselves OpenAI-compatible differ in the name of the token limit, in whether they accept a
temperature, and in how strictly they can constrain the format of an answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from quati_pool.llm.faults import Fault
from quati_pool.llm.options import Options, Request

Output = Literal["json_schema", "json_object", "text"]

MODES: tuple[Output, ...] = ("json_schema", "json_object", "text")
"""Output formats, strictest first."""

# The first of these names in a refusal is the refused parameter; any later ones are advice.
_NAMES = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|top_p|top_logprobs|response_format|json_schema|json_object)\b"
)
_UNSUPPORTED = re.compile(
    r"unsupported|n.t support|not support|unrecognized|unknown|unexpected|extra (?:input|field)"
    r"|not (?:permitted|allowed)",
    re.I,
)


@dataclass(frozen=True)
class Capabilities:
    """How a server accepts the parameters of ``Options``; determined by ``Client.prepare``."""

    output: Output
    tokens: Literal["max_tokens", "max_completion_tokens"]
    sampling: frozenset[str] = frozenset({"temperature", "top_p"})
    """The sampling parameters that are sent."""
    top_logprobs: int = 20

    @classmethod
    def of(cls, model: str, options: Options) -> Capabilities:
        """The initial guess, based on the model's name."""
        output: Output = "json_schema" if options.output == "auto" else options.output
        if options.thinks(model):
            return cls(output, "max_completion_tokens", frozenset())
        return cls(output, "max_tokens")

    def body(self, model: str, options: Options) -> dict[str, Any]:
        """The part of the request body that all calls share."""
        body: dict[str, Any] = {"model": model}
        for name, value in (("temperature", options.temperature), ("top_p", options.top_p)):
            if value is not None and name in self.sampling:
                body[name] = value
        body[self.tokens] = options.most_tokens(model)
        if options.reasoning_effort is not None:
            body["reasoning_effort"] = options.reasoning_effort
        if options.logprobs:
            body["logprobs"] = True
            body["top_logprobs"] = self.top_logprobs
        return body | options.extra_body

    def response_format(self, request: Request) -> dict[str, Any] | None:
        """The ``response_format`` of a request, or None if its answer is unconstrained."""
        if request.schema is None or self.output == "text":
            return None
        if self.output == "json_object":
            return {"type": "json_object"}
        schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
        return {"type": "json_schema", "json_schema": schema}

    def looser(self) -> Capabilities | None:
        """The capabilities with the next less strict output format, or None after text."""
        after = MODES.index(self.output) + 1
        return replace(self, output=MODES[after]) if after < len(MODES) else None

    def after(self, fault: Fault) -> Capabilities | None:
        """The capabilities to try after a refusal, or None if the refusal is not about how the request is written."""
        if fault.status in (404, 501):
            # Some servers have no route or handler for constrained output; a missing model stays fatal.
            return None if fault.about_model else self.looser()
        if fault.status not in (400, 422):
            return None
        found = _NAMES.search(fault.param) or _NAMES.search(fault.words)
        refused = found.group() if found else None
        if refused in ("response_format", "json_schema", "json_object"):
            return self.looser()
        if refused == "top_logprobs" and self.top_logprobs > 5:
            return replace(self, top_logprobs=5)
        if not (fault.code.startswith("unsupported") or _UNSUPPORTED.search(fault.words)):
            return None
        if refused == self.tokens:
            other: Literal["max_tokens", "max_completion_tokens"] = (
                "max_tokens" if self.tokens == "max_completion_tokens" else "max_completion_tokens"
            )
            return replace(self, tokens=other)
        if refused in self.sampling:
            return replace(self, sampling=self.sampling - {refused})
        return None

    def differs(self, other: Capabilities) -> str:
        """The difference from the capabilities assumed before, as a phrase for a message."""
        if self.output != other.output:
            return f"does not support {other.output}: using {self.output} instead"
        if self.tokens != other.tokens:
            return f"wants {self.tokens}"
        if self.top_logprobs != other.top_logprobs:
            return f"gives {self.top_logprobs} likeliest tokens at most"
        return f"takes no {', '.join(sorted(other.sampling - self.sampling))}: the server's own is used"
