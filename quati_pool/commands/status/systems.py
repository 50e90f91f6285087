"""Which runs are built, which are out of date and why, and whether the pool is that of pool.yaml."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from quati_pool.commands.plan.corpora import PlanWorkspace
from quati_pool.commands.plan.systems import described
from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import Key, digest, read_meta, stale, unfinished
from quati_pool.project.cache_keys import CacheKeys, used_corpora
from quati_pool.project.config import PoolConfig, RetrieverSystem
from quati_pool.project.inputs import Queries, corpus_key, load_queries, read_extra
from quati_pool.project.pool_reader import pairs_without_text
from quati_pool.records import Ids
from quati_pool.retrieval.run_file import RunFileParameters

Built = Literal["built", "out of date", "not built", "not checked"]
"""``not checked``: it is there, and what it was built from cannot be compared with pool.yaml."""


@dataclass(frozen=True)
class SystemState:
    """Whether a system's run is built. ``why`` is the reason of any other state than ``built``; ``imported`` says that
    the run is a file of the user."""

    run_tag: str
    what: str
    state: Built
    why: str | None
    imported: bool


@dataclass(frozen=True)
class PoolState:
    """Whether the pool is built, and what the pool on disk holds: its number of ``pairs`` and of ``queries``, the pairs
    ``without_text`` and the depth of each system in it. These are None or empty without a pool. Of an adaptive pool,
    ``rounds`` is the number of rounds, and ``further`` how many pairs later rounds may add at most."""

    state: Built
    why: str | None = None
    pairs: int | None = None
    queries: int | None = None
    without_text: int | None = None
    depths: dict[str, int] = field(default_factory=dict)
    rounds: int | None = None
    further: int | None = None

    @property
    def there(self) -> bool:
        return self.pairs is not None


class BuiltParts:
    """Compares the runs and the pool of a workspace with pool.yaml; writes nothing, and hashes no large file."""

    def __init__(self, config: PoolConfig) -> None:
        self.config = config
        self.workspace = PlanWorkspace(config.folder)
        self.queries: Queries | None = None
        self._unknown: str | None = None
        # Where nothing was built, there is nothing to compare, and no need to hash anything.
        built = [self.workspace.pool, *map(self.workspace.run, config.systems)]
        fingerprints = {}
        try:
            self.queries = load_queries(config)
            if any(path.exists() for path in built):
                fingerprints = {name: digest(corpus_key(config, name, self.workspace)) for name in used_corpora(config)}
        except (QuatiPoolError, OSError) as error:
            self._unknown = " ".join(str(error).split())
        self._keys = CacheKeys(config, self.workspace, self.queries or Queries([], Ids([]), ""), fingerprints)

    def systems(self) -> list[SystemState]:
        """All systems, in the order of pool.yaml."""
        return [self._system(run_tag) for run_tag in self.config.systems]

    def _system(self, run_tag: str) -> SystemState:
        system = self.config.systems[run_tag]
        imported = isinstance(system, RetrieverSystem) and isinstance(system.parameters, RunFileParameters)
        state, why = self._compared(self.workspace.run(run_tag), lambda: self._keys.run(run_tag))
        return SystemState(run_tag, described(system), state, why, imported)

    def pool(self) -> PoolState:
        path = self.workspace.pool
        state, why = self._compared(path, lambda: self._keys.pool_as_chosen(list(read_extra(self.config))))
        meta = read_meta(path)
        if meta is None:
            return PoolState(state, why)
        counts, depths = meta.get("counts") or {}, meta["key"].get("depth")
        return PoolState(
            state,
            why,
            counts.get("pairs"),
            counts.get("queries"),
            pairs_without_text(path),
            depths if isinstance(depths, dict) else {},
            counts.get("rounds"),
            counts.get("further"),
        )

    def _compared(self, path: Path, key: Callable[[], Key]) -> tuple[Built, str | None]:
        problem = unfinished(path)
        if problem is not None:
            return ("not built" if problem in ("not there yet", "was not finished") else "out of date"), problem
        if self._unknown is not None:
            return "not checked", self._unknown
        try:
            reason = stale(path, key())
        except Exception as error:  # from a plug-in, or a package or model that is missing
            return "not checked", _words(error)
        return ("built", None) if reason is None else ("out of date", reason)


def _words(error: Exception) -> str:
    said = " ".join(str(error).split())
    return said if isinstance(error, QuatiPoolError) else f"{type(error).__name__}: {said}"
