"""What a user may set of a judge that asks a language model, and what follows from that: identity, prices, client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field

from quati_pool.llm.client import Client, Event
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options
from quati_pool.llm.prices import Price, price_of
from quati_pool.llm.thoughts import ThoughtMarks

# They change how answers are obtained or read, not what is asked.
_OPERATIONAL = {
    "api_key_env", "timeout", "concurrency", "rpm", "tpm", "max_wait", "max_passage_tokens", "prices", "thoughts",
}  # fmt: skip
# They enter an identity as what they come to.
_RESOLVED = {"base_url", "reasoning", "max_tokens", "reasoning_tokens", "temperature", "top_p", "prompt"}


class LlmParameters(Endpoint, Options, Limits):
    prompt: Annotated[str, Field(description="a prompt's id (quati-pool prompts), or its YAML file")]
    seed: Annotated[int | None, Field(description="sent with each call, one higher for each further sample")] = None
    together: Annotated[bool, Field(description="ask for all samples of a pair in one call (the API's n)")] = False
    max_passage_tokens: Annotated[int | None, Field(ge=1, description="cut longer passages to so many tokens")] = None
    prices: Annotated[str | None, Field(description="a YAML of your own prices, relative to pool.yaml")] = None
    thoughts: Annotated[
        ThoughtMarks, Field(description="{open: …, close: …}: further marks of thoughts in answers; none: none at all")
    ] = None


def model_identity(parameters: LlmParameters) -> dict[str, Any]:
    """All parameters that change what a model answers, whatever it is asked; none that only say how to reach it."""
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
    """What a token of ``model`` (by default the parameters') costs, from the user's price file, relative to
    ``folder``, or else from our list; None where neither has it."""
    prices = parameters.prices
    return price_of(model or parameters.model, folder / prices if prices else None)


def client_for(parameters: LlmParameters, on_event: Callable[[Event], None] | None = None) -> Client:
    """The client that asks as the parameters say."""
    endpoint, options, limits = (part_of(parameters, model) for model in (Endpoint, Options, Limits))
    return Client(endpoint, options, limits, on_event=on_event)


def part_of(parameters: LlmParameters, model: type[Any]) -> Any:
    """The parameters that belong to one of the models they inherit from, as that model."""
    fields: Mapping[str, Any] = {name: getattr(parameters, name) for name in model.model_fields}
    return cast("Any", model(**fields))
