"""The engine that a command asks for."""

from __future__ import annotations

from typing import Literal

from quati_pool.errors import ConfigError
from quati_pool.processes.base import Engine
from quati_pool.processes.local import LocalEngine
from quati_pool.processes.ray import RayEngine

EngineName = Literal["local", "ray"]


def open_engine(name: EngineName, workers: int | None = None, address: str | None = None) -> Engine:
    """The engine ``name`` with that many workers, by default all there is room for; ``address`` is that of a
    Ray cluster which runs already.

    Raises ConfigError for what does not fit together, MissingExtraError where Ray is not installed, and
    EngineError where the cluster does not answer.
    """
    if name == "ray":
        return RayEngine(address, workers)
    if address is not None:
        raise ConfigError(f"--address {address} is that of a Ray cluster: add --engine ray, or leave it out")
    return LocalEngine(workers)
