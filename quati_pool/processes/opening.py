"""Opens the engine that the user chose on the command line."""

from __future__ import annotations

from typing import Literal

from quati_pool.errors import ConfigError
from quati_pool.processes.base import Engine
from quati_pool.processes.local import LocalEngine
from quati_pool.processes.ray import RayEngine

EngineName = Literal["local", "ray"]


def open_engine(name: EngineName, workers: int | None = None, address: str | None = None) -> Engine:
    """Opens the engine ``name`` with ``workers`` workers, by default one per core or CPU of the cluster; ``address`` is
    the address of a running Ray cluster.

    Raises ConfigError for arguments that contradict each other, MissingExtraError if Ray is not installed, and
    EngineError if the cluster does not answer.
    """
    if name == "ray":
        return RayEngine(address, workers)
    if address is not None:
        raise ConfigError(f"--address {address} is that of a Ray cluster: add --engine ray, or leave it out")
    return LocalEngine(workers)
