"""Lists the registered components with their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.registry import FUSIONS, JUDGES, PREPARATIONS, RERANKERS, RETRIEVERS, Registry


@dataclass(frozen=True)
class Parameter:
    """A parameter of a component; ``default`` is written as in YAML, or "required"."""

    name: str
    default: str
    description: str


@dataclass(frozen=True)
class ComponentListing:
    """A component; ``problem`` says why it cannot run here, and is None if it can."""

    kind: str
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    problem: str | None


def components() -> list[ComponentListing]:
    """Every retriever, reranker, fusion and judge; a broken plug-in is listed with its error."""
    return _listings(RETRIEVERS, RERANKERS, FUSIONS, JUDGES)


def preparation_steps() -> list[ComponentListing]:
    """All preparation steps."""
    return _listings(PREPARATIONS)


def _listings(*registries: Registry) -> list[ComponentListing]:
    return [_listing(registry, name) for registry in registries for name in registry.names()]


def _listing(registry: Registry, name: str) -> ComponentListing:
    kind = registry.kind[:-1]
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
    return ComponentListing(kind, name, component.summary, parameters, problem)


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
