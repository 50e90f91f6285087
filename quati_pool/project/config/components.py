"""Settings of registered components: which component, and the parameters that it declares."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from quati_pool.errors import ConfigError
from quati_pool.files.yaml_file import M, Place, YamlFile
from quati_pool.registry import NamedComponent, Registry, nearest


def read_component(
    file: YamlFile,
    place: Place,
    model: type[M],
    data: dict[Any, Any],
    key: str,
    registry: Registry,
    default: str | None = None,
) -> M:
    """Reads a ``model`` whose field ``key`` names the ``component``, with the ``parameters`` that it declares."""
    common = set(model.model_fields) - {key, "component", "parameters"}
    component, parameters, rest = split_component(file, place, data, key, registry, common, default)
    return file.model(place, model, {**rest, key: component.name, "component": component, "parameters": parameters})


def split_component(
    file: YamlFile,
    place: Place,
    data: dict[Any, Any],
    key: str,
    registry: Registry,
    common: set[str],
    default: str | None = None,
) -> tuple[NamedComponent, BaseModel, dict[Any, Any]]:
    """Splits settings into a component, its checked parameters, and those keys of ``common`` that are set."""
    name = data.get(key, default)
    if not isinstance(name, str):
        raise file.error((*place, key), f"expected a name; {nearest('', registry.names())}")
    try:
        component = registry.find(name, file.path.parent)
    except ConfigError as error:
        raise file.error((*place, key), str(error)) from None
    parameters: type[BaseModel] = component.cls.Parameters
    declared = set(parameters.model_fields)
    file.refuse_unknown(place, data, declared | common | {key})
    checked = file.model(place, parameters, {k: v for k, v in data.items() if k in declared})
    return component, checked, {k: v for k, v in data.items() if k in common}
