"""The parameters of a judge that asks a language model, and what is derived from them: identity, prices, client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options
from quati_pool.llm.prices import Price, price_of
from quati_pool.llm.server_capabilities import Capabilities
from quati_pool.llm.thoughts import ThoughtMarks

# They change how answers are obtained or read, not what is asked.
_OPERATIONAL = {
    "api_key_env", "timeout", "concurrency", "rpm", "tpm", "max_wait", "max_passage_tokens", "prices", "thoughts",
}  # fmt: skip
# They enter an identity in resolved form.
_RESOLVED = {"base_url", "reasoning", "max_tokens", "reasoning_tokens", "temperature", "top_p", "prompt"}


class LlmParameters(Endpoint, Options, Limits):
    prompt: Annotated[str, Field(description="a prompt's id (quati-pool prompts), or its YAML file")]
    seed: Annotated[int | None, Field(description="sent with each call, one higher for each further sample")] = None
    together: Annotated[bool, Field(description="ask for all samples of a pair in one call (the API's n)")] = False
    max_passage_tokens: Annotated[int | None, Field(ge=1, description="cut longer passages to this many tokens")] = None
    prices: Annotated[str | None, Field(description="a YAML of your own prices, relative to pool.yaml")] = None
    thoughts: Annotated[
        ThoughtMarks, Field(description="{open: …, close: …}: further marks of thoughts in answers; none: none at all")
    ] = None


def model_identity(parameters: LlmParameters) -> dict[str, Any]:
    """All parameters that may change a model's answers to the same prompt; none that only say how to reach it."""
    parts = parameters.model_dump(exclude={*_OPERATIONAL, *_RESOLVED})
    thinks = parameters.thinks(parameters.model)
    return {
        **parts,
        "base_url": parameters.base_url.rstrip("/") if parameters.base_url else None,
        "thinks": thinks,
        "most_tokens": parameters.most_tokens(parameters.model),
        # They are not sent to a model that thinks.
        "temperature": None if thinks else parameters.temperature,
        "top_p": None if thinks else parameters.top_p,
    }


def price_for(parameters: LlmParameters, folder: Path, model: str | None = None) -> Price | None:
    """The price of ``model`` (by default that of the parameters), from the user's price file, whose path is relative to
    ``folder``, or else from the bundled list; None if neither has it."""
    prices = parameters.prices
    return price_of(model or parameters.model, folder / prices if prices else None)


def client_for(
    parameters: LlmParameters,
    on_event: Callable[[Event], None] | None = None,
    capabilities: Capabilities | None = None,
) -> Client:
    """The client with the parameters' endpoint, options and limits; ``capabilities`` as of ``Client``."""
    endpoint, options, limits = (part_of(parameters, model) for model in (Endpoint, Options, Limits))
    return Client(endpoint, options, limits, on_event=on_event, capabilities=capabilities)


def part_of(parameters: LlmParameters, model: type[Any]) -> Any:
    """The parameters that belong to ``model``, one of the classes they inherit from, as an instance of it."""
    fields: Mapping[str, Any] = {name: getattr(parameters, name) for name in model.model_fields}
    return cast("Any", model(**fields))
