"""What decides a run and a pool: the keys under which ``build`` keeps them, and by which others know whether
pool.yaml still asks for what lies there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import digest, stale
from quati_pool.files.former_keys import former_key
from quati_pool.project.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem
from quati_pool.project.inputs import Queries, corpus_key, load_queries, read_extra
from quati_pool.project.workspace import Workspace
from quati_pool.registry import FUSIONS, RERANKERS, RETRIEVERS, Registry
from quati_pool.retrieval.base import Component, ComponentEnvironment

# Raised when the same runs give another pool, or when the key says it otherwise; see former_keys.
_POOL_FORMAT = 2


class Keys:
    """The keys of one collection; ``corpora`` has the fingerprint of each corpus in use, by name."""

    def __init__(self, config: PoolConfig, workspace: Workspace, queries: Queries, corpora: Mapping[str, str]) -> None:
        self.config = config
        self.environment = site_of(config, workspace)
        self._workspace = workspace
        self._queries = queries
        self._corpora = corpora
        self._rankings: dict[str, dict[str, Any]] = {}

    def corpora_of(self, run_tag: str) -> set[str]:
        """The corpora that a system draws on."""
        system = self.config.systems[run_tag]
        if isinstance(system, RetrieverSystem):
            return {str(system.corpus)}
        return set().union(*(self.corpora_of(tag) for tag in self.config.needs(run_tag)))

    def corpus(self, run_tag: str) -> str:
        """The one corpus a system searches.

        Raises ConfigError for a system over several, whose passages a reranker cannot score.
        """
        names = self.corpora_of(run_tag)
        if len(names) > 1:
            raise ConfigError(
                f"{self.config.path}: systems.{run_tag}: draws on the corpora {', '.join(sorted(names))}; "
                "rerank the systems of one corpus before fusing them"
            )
        return next(iter(names))

    def search(self, run_tag: str) -> dict[str, Any]:
        """Everything that changes a system's run to the depth it goes to."""
        return {"depth": self.config.search_depth(run_tag), **self.ranking(run_tag)}

    def deep(self, run_tag: str) -> bool:
        """Whether a system goes deeper than the run that is kept of it."""
        return self.config.search_depth(run_tag) > self.config.run_depth

    def run(self, run_tag: str) -> dict[str, Any]:
        """Everything that changes the file in ``runs/``."""
        key = self.search(run_tag)
        return {"run_depth": self.config.run_depth, "candidates": key} if self.deep(run_tag) else key

    def ranking(self, run_tag: str) -> dict[str, Any]:
        """Everything that changes a system's ranking. How deep its inputs go besides is no part of it:
        of each it reads no more than ``input_depth``."""
        if run_tag in self._rankings:
            return self._rankings[run_tag]
        system = self.config.systems[run_tag]
        registry, name = component_name(system)
        key: dict[str, Any] = {"component": registry.identity(name)}
        if isinstance(system, FusionSystem):
            key |= {"parameters": system.parameters.model_dump(), "fuse": system.fuse}
        else:
            component = registry.get(name)(system.parameters, self.environment)
            try:
                index, search = component.index_key(), component.search_key()
            except ImportError:
                # They name the versions of packages, which may not be installed.
                component.require()
                raise
            key |= {
                "queries": self._queries.fingerprint,
                "corpus": self._corpora[self.corpus(run_tag)],
                "index": index,
                "search": search,
                "files": [self._workspace.input_digest(self.config.folder / file) for file in component.inputs()],
            }
        if not isinstance(system, RetrieverSystem):
            key["input_depth"] = self.config.input_depth(run_tag)
            key["input"] = {tag: self.ranking(tag) for tag in self.config.needs(run_tag)}
        self._rankings[run_tag] = key
        return key

    def pool(self, extra: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Everything that changes the pool; ``extra`` are pairs that no system feeds."""
        systems = list(self.config.systems)
        return {
            "format": _POOL_FORMAT,
            "depth": {tag: self.config.pool_depth(tag) for tag in systems},
            "extra": digest(extra),
            # Their order is that of each pair's ranks.
            "systems": systems,
            "run": {tag: self.ranking(tag) for tag in systems},
            "run_depth": self.config.run_depth,
            "queries": self._queries.fingerprint,
            "corpus": dict(self._corpora),
        }


def site_of(config: PoolConfig, workspace: Workspace) -> ComponentEnvironment:
    """Where the components of a collection stand."""
    return ComponentEnvironment(config.folder, config.seed, workspace.input_digest)


def component_name(system: RetrieverSystem | RerankSystem | FusionSystem) -> tuple[Registry, str]:
    """Where a system's component is registered, and its name there."""
    if isinstance(system, RetrieverSystem):
        return RETRIEVERS, system.retriever
    if isinstance(system, RerankSystem):
        return RERANKERS, system.reranker
    return FUSIONS, system.method


def index_place(
    workspace: Workspace, component: Component, identity: str, fingerprint: str
) -> tuple[Path, dict[str, Any]] | None:
    """Where a component's index of a corpus lies, and its key; None for one that keeps none. ``identity`` is the
    index's (``Registry.index_identity``): components of the same one share an index where their keys agree.
    """
    own = component.index_key()
    if own is None:
        return None
    key = {"engine": identity, "corpus": fingerprint, **own}
    # A folder's name, whatever a plug-in is called.
    engine = re.sub(r"[^\w.-]+", "-", identity.partition("@")[0].removeprefix("index/"))
    places = [(workspace.index(engine, digest(each)), each) for each in (key, former_key(key))]
    return next((place for place in places if stale(*place) is None), places[0])


def used_corpora(config: PoolConfig) -> list[str]:
    """The corpora that a system searches, in the order of pool.yaml."""
    used = {system.corpus for system in config.systems.values() if isinstance(system, RetrieverSystem)}
    return [name for name in config.corpora if name in used]


def refuse_outdated(config: PoolConfig) -> None:
    """Raises InputError where a run or the pool is there and was made by other settings than pool.yaml has
    now: what is said of the collection would not be true of them.

    A system whose extra or model is not here, and inputs that are gone, cannot be compared and pass.
    """
    workspace = Workspace(config.folder)
    try:
        queries = load_queries(config)
        corpora = {name: digest(corpus_key(config, name, workspace)) for name in used_corpora(config)}
    except InputError:
        return
    keys = Keys(config, workspace, queries, corpora)
    made = []
    for run_tag in config.systems:
        with suppress(QuatiPoolError):
            made.append((workspace.run(run_tag), keys.run(run_tag)))
    with suppress(QuatiPoolError):
        made.append((workspace.pool, keys.pool(list(read_extra(config)))))
    for path, key in made:
        reason = stale(path, key) if path.exists() else None
        if reason is not None and not reason.startswith(("was not finished", "was changed")):
            told = f"was made by other settings than pool.yaml has now ({reason})"
            raise InputError(path, None, f"{told}; run: quati-pool build -c {config.path}")
