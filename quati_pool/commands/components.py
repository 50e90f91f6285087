"""Lists the registered components with their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.registry import (
    AUTHORING,
    FUSIONS,
    JUDGES,
    POOL_METHODS,
    PREPARATIONS,
    PROBES,
    RERANKERS,
    RETRIEVERS,
    Registry,
    nearest,
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a component; ``default`` is written as in YAML, or "required"."""

    name: str
    default: str
    description: str


@dataclass(frozen=True)
class ComponentListing:
    """A component; ``problem`` says why it cannot run here, and is None if it can. ``example`` is a part of a pool.yaml
    that names it."""

    kind: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    problem: str | None
    example: str = ""


@dataclass(frozen=True)
class ProbeListing(ComponentListing):
    """A probe; ``paper`` says where its danger was shown, and is empty for a broken plug-in."""

    paper: str = ""


_EXAMPLES = {
    "retriever": "systems:\n  my-{name}:\n    {{retriever: {name}{parameters}}}",
    "reranker": "systems:\n  bm25-{name}:\n    first: bm25\n    rerank: {{with: {name}{parameters}, depth: 100}}",
    "fusion": "systems:\n  all-{name}:\n    {{fuse: [bm25, lsa], method: {name}{parameters}}}",
    "pool method": "pool:\n  {{method: {name}{parameters}}}",
    "authoring design": "authoring:\n  {{design: {name}{parameters}}}",
    "judge": "judges:\n  my-{name}:\n    {{judge: {name}{parameters}}}",
}


def components() -> list[ComponentListing]:
    """Every retriever, reranker, fusion, pool method, judge and authoring design; a broken plug-in is listed with its
    error."""
    return _listings(RETRIEVERS, RERANKERS, FUSIONS, POOL_METHODS, JUDGES, AUTHORING)


def named(found: Sequence[ComponentListing], name: str) -> list[ComponentListing]:
    """The components of that name, of all kinds. Raises ConfigError if there is none."""
    chosen = [item for item in found if item.name == name]
    if not chosen:
        raise ConfigError(f"there is no component {name!r}; {nearest(name, {item.name for item in found})}")
    return chosen


def preparation_steps() -> list[ComponentListing]:
    """All preparation steps."""
    return _listings(PREPARATIONS)


def probes() -> list[ProbeListing]:
    """All probes of judges; a broken plug-in is listed with its error."""
    return [_probe(one) for one in _listings(PROBES)]


def _probe(one: ComponentListing) -> ProbeListing:
    try:
        paper = PROBES.get(one.name).paper
    except ConfigError:
        paper = ""
    return ProbeListing(one.kind, one.name, one.summary, one.parameters, one.problem, one.example, paper)


def _listings(*registries: Registry) -> list[ComponentListing]:
    return [_listing(registry, name) for registry in registries for name in registry.names()]


def _listing(registry: Registry, name: str) -> ComponentListing:
    kind = registry.noun
    try:
        component = registry.get(name)
    except ConfigError as error:
        return ComponentListing(kind, name, "", (), str(error))
    problem = None
    try:
        component.require()
    except MissingExtraError as error:
        problem = str(error)
    except Exception as error:  # an error of a plug-in must not hide the other components
        problem = f"cannot be checked ({type(error).__name__}: {error})"
    parameters = tuple(_parameter(field, info) for field, info in component.Parameters.model_fields.items())
    required = ", ".join(f"{p.name}: …" for p in parameters if p.default == "required")
    given = getattr(component, "example", "") or required
    example = _EXAMPLES.get(kind, "").format(name=name, parameters=f", {given}" if given else "")
    return ComponentListing(kind, name, component.summary, parameters, problem, example)


def _parameter(name: str, info: Any) -> Parameter:
    value = info.get_default(call_default_factory=True)
    default = "required" if value is PydanticUndefined else _as_yaml(value)
    choices = [choice for choice in get_args(info.annotation) if isinstance(choice, str)]
    among = f" ({', '.join(choices)})" if choices else ""
    return Parameter(name, default, f"{info.description or ''}{among}")


def _as_yaml(value: Any) -> str:
    """A default value as written in YAML."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_as_yaml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_as_yaml, value)) + "]"
    return str(value)
