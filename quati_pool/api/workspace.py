"""The workspace that a collection works on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from quati_pool.project.config import PoolConfig

Test = Literal["t", "wilcoxon", "randomisation"]
Averaged = Literal["judged", "common", "returned"]
Aggregation = Literal["majority", "mean"]
Sampled = Literal["queries", "pairs"]


class Workspace:
    """A pool.yaml and its folder. Nothing read from them is kept."""

    def __init__(self, path: Path, *, progress: bool = True) -> None:
        # A later change of the current folder does not matter.
        self.path = path.absolute()
        """The pool.yaml."""
        self.progress = progress
        """Whether long work shows what it does."""
        self.name = self._config().name
        """The collection's name."""

    def __repr__(self) -> str:
        return f"<quati_pool.Collection {self.name!r} in {self.folder}>"

    @property
    def folder(self) -> Path:
        """The folder of pool.yaml, which holds everything that is written."""
        return self.path.parent

    @property
    def systems(self) -> tuple[str, ...]:
        """The run tags of the systems in pool.yaml."""
        return tuple(self._config().systems)

    def _config(self) -> PoolConfig:
        from quati_pool.project.config import load_config

        return load_config(self.path)
