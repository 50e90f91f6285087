"""The modules of a model in sentence-transformers' format, and the JSON files that describe them.

A model with routes processes queries and documents with different modules; its first module is a router.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quati_pool.models.errors import ModelError


def modules_of(folder: Path) -> list[dict[str, Any]] | None:
    """The entries of ``modules.json``, at least one; None for a plain transformer, which has no such file.

    Raises ModelError if the file cannot be read or is not a list of modules."""
    file = folder / "modules.json"
    if not file.is_file():
        return None
    modules = _read_json(file)
    if not isinstance(modules, list) or not modules or not all(isinstance(module, dict) for module in modules):
        raise ModelError(f"{file} is not a list of modules; download the model again, or name another")
    return modules


def module_types(folder: Path) -> list[str]:
    """The Python class names of a model's modules and of those on its routes; empty for a plain transformer."""
    modules = modules_of(folder) or []
    types = [str(module.get("type", "")) for module in modules]
    if modules and is_router(modules):
        types += map(str, router_of(folder, modules)["types"].values())
    return types


def transformer_folder(folder: Path) -> Path:
    """The folder of the transformer (or static embedding) that reads passages: that of the first module or, in a model
    with routes, that of the first module on the document route.

    Raises ModelError if the routes cannot be read.
    """
    modules = modules_of(folder)
    if not modules:
        return folder
    place = folder / str(modules[0].get("path", ""))
    return place / _routes(folder, modules)["document"] if is_router(modules) else place


def text_readers(folder: Path, modules: Sequence[dict[str, Any]]) -> dict[Path, str]:
    """The types of the modules that read texts, one per route, by folder."""
    top = folder / str(modules[0].get("path", ""))
    if not is_router(modules):
        return {top: str(modules[0].get("type", ""))}
    types = router_of(folder, modules)["types"]
    return {top / name: str(types.get(name, "")) for name in _routes(folder, modules).values()}


def is_router(modules: Sequence[dict[str, Any]]) -> bool:
    """Whether a model has routes."""
    # Asym is the name of Router before version 5 of sentence-transformers.
    return str(modules[0].get("type", "")).endswith((".Router", ".Asym"))


def router_of(folder: Path, modules: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The configuration of a model's router, with its modules (``types``) and routes (``structure``)."""
    place = folder / str(modules[0].get("path", ""))
    config = read_config(place / "router_config.json") or read_config(place / "config.json")
    if not isinstance(config.get("types"), dict) or not isinstance(config.get("structure"), dict):
        raise ModelError(f"{place} names no modules for documents; download the model again")
    return config


def _routes(folder: Path, modules: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The folder of the first module of each route, relative to the router's folder, by route. Raises ModelError if
    there is no route ``document``."""
    structure = router_of(folder, modules)["structure"]
    routes = {name: str(parts[0]) for name, parts in structure.items() if isinstance(parts, list) and parts}
    if "document" not in routes:
        raise ModelError(f"the routes of {folder} are {', '.join(routes) or 'none'}, not document; name another model")
    return routes


def read_config(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if the file does not exist. Raises ModelError if it is not a JSON object."""
    found = _read_json(file) if file.is_file() else {}
    if not isinstance(found, dict):
        raise ModelError(f"{file} is not a JSON object; download the model again, or name another")
    return found


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read as JSON; download the model again, or name another") from error
