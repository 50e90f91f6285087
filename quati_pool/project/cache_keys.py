"""The cache keys of runs, indexes and the pool: everything that affects their content.

``build`` stores an artifact's key next to it; an artifact whose stored key differs from the current one is out of
date."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.files.artifacts import digest, read_meta, stale
from quati_pool.files.former_keys import former_key
from quati_pool.project.config import FusionSystem, PoolConfig, RetrieverSystem
from quati_pool.project.inputs import Queries, corpus_key, load_queries, read_extra, texts_key
from quati_pool.project.workspace import Workspace
from quati_pool.retrieval.base import Component, ComponentEnvironment

# Incremented whenever the same runs would lead to a different pool, or the key changes its form; see former_keys.
_POOL_FORMAT = 2


class CacheKeys:
    """The keys of one collection's artifacts; ``corpora`` maps the name of each corpus in use to its fingerprint."""

    def __init__(self, config: PoolConfig, workspace: Workspace, queries: Queries, corpora: Mapping[str, str]) -> None:
        self.config = config
        self.environment = component_environment(config, workspace)
        self._workspace = workspace
        self._queries = queries
        self._corpora = corpora
        self._rankings: dict[str, dict[str, Any]] = {}

    def corpora_of(self, run_tag: str) -> set[str]:
        """The names of the corpora that a system's passages come from."""
        system = self.config.systems[run_tag]
        if isinstance(system, RetrieverSystem):
            return {system.corpus} if system.corpus else set()
        return set().union(*(self.corpora_of(tag) for tag in self.config.needs(run_tag)))

    def corpus(self, run_tag: str) -> str | None:
        """The name of the one corpus that a system searches; None for a run file in a collection without a corpus.

        Raises ConfigError for a system over several corpora: a reranker cannot score passages of more than one.
        """
        names = self.corpora_of(run_tag)
        if len(names) > 1:
            raise ConfigError(
                f"{self.config.path}: systems.{run_tag}: draws on the corpora {', '.join(sorted(names))}; "
                "rerank the systems of one corpus before fusing them"
            )
        return next(iter(names), None)

    def search(self, run_tag: str) -> dict[str, Any]:
        """The key of a system's run down to its search depth."""
        return {"depth": self.config.search_depth(run_tag), **self.ranking(run_tag)}

    def deep(self, run_tag: str) -> bool:
        """Whether a system searches deeper than the run in ``runs/``."""
        return self.config.search_depth(run_tag) > self.config.run_depth

    def run(self, run_tag: str) -> dict[str, Any]:
        """The key of a system's file in ``runs/``."""
        key = self.search(run_tag)
        return {"run_depth": self.config.run_depth, "candidates": key} if self.deep(run_tag) else key

    def ranking(self, run_tag: str) -> dict[str, Any]:
        """The key of a system's ranking, whatever its depth. The search depth of its inputs is not part of it, as the
        system reads each only down to ``input_depth``."""
        if run_tag in self._rankings:
            return self._rankings[run_tag]
        system = self.config.systems[run_tag]
        key: dict[str, Any] = {"component": system.component.identity}
        if isinstance(system, FusionSystem):
            key |= {"parameters": system.parameters.model_dump(), "fuse": system.fuse}
        else:
            component = system.component.cls(system.parameters, self.environment)
            if system.component.file is not None:
                # What a few lines compute depends on them, whether or not the class says so in search_key.
                key["parameters"] = system.parameters.model_dump(mode="json")
            try:
                index, search = component.index_key(), component.search_key()
            except ImportError:
                # The keys contain versions of packages, which may not be installed.
                component.require()
                raise
            key |= {
                "queries": self._queries.fingerprint,
                "corpus": None if (corpus := self.corpus(run_tag)) is None else self._corpora[corpus],
                "index": index,
                "search": search,
                "files": [self._workspace.input_digest(self.config.folder / file) for file in component.inputs()],
            }
        if not isinstance(system, RetrieverSystem):
            key["input_depth"] = self.config.input_depth(run_tag)
            key["input"] = {tag: self.ranking(tag) for tag in self.config.needs(run_tag)}
        self._rankings[run_tag] = key
        return key

    def pool(self, extra: Sequence[tuple[str, str]], chosen: str | None = None) -> dict[str, Any]:
        """The key of the pool; ``extra`` are the pairs of ``pool.extra``. Of a pool that holds only a part of the
        candidates, ``chosen`` is the hash of its pairs."""
        systems = list(self.config.systems)
        texts = texts_key(self.config, self._workspace)
        return {
            "format": _POOL_FORMAT,
            "depth": {tag: self.config.pool_depth(tag) for tag in systems},
            "extra": digest(extra),
            # A list, as the pool stores each pair's ranks in this order.
            "systems": systems,
            "run": {tag: self.ranking(tag) for tag in systems},
            "run_depth": self.config.run_depth,
            "queries": self._queries.fingerprint,
            "corpus": dict(self._corpora),
            **({} if texts is None else {"texts": digest(texts)}),
            **({"choice": self.config.pool.choice_key(), "chosen": chosen} if self.config.pool.chooses else {}),
        }

    def pool_as_chosen(self, extra: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The key of the pool whose pairs are those of the pool on disk."""
        meta = read_meta(self._workspace.pool) if self.config.pool.chooses else None
        return self.pool(extra, None if meta is None else meta["key"].get("chosen"))


def component_environment(config: PoolConfig, workspace: Workspace) -> ComponentEnvironment:
    """The environment of a collection's components: its folder, its seed, and a function that hashes its files."""
    return ComponentEnvironment(config.folder, config.seed, workspace.input_digest)


def locate_index(
    workspace: Workspace, component: Component, identity: str, fingerprint: str
) -> tuple[Path, dict[str, Any]] | None:
    """The folder of a component's index of a corpus, and its key; None for a component without an index.

    ``identity`` is that of the index (``NamedComponent.index_identity``): components with the same identity share an
    index if their keys agree. ``fingerprint`` is that of the corpus.
    """
    settings = component.index_key()
    if settings is None:
        return None
    key = {"engine": identity, "corpus": fingerprint, **settings}
    # A plug-in's name may hold characters that a folder's name cannot.
    engine = re.sub(r"[^\w.-]+", "-", identity.partition("@")[0].removeprefix("index/"))
    candidates = [(workspace.index(engine, digest(each)), each) for each in (key, former_key(key))]
    return next((candidate for candidate in candidates if stale(*candidate) is None), candidates[0])


def used_corpora(config: PoolConfig) -> list[str]:
    """The names of the corpora that any system searches, in the order of pool.yaml."""
    used = {system.corpus for system in config.systems.values() if isinstance(system, RetrieverSystem)}
    return [name for name in config.corpora if name in used]


def refuse_outdated(config: PoolConfig) -> None:
    """Raises InputError where a finished run or the pool was built with settings other than pool.yaml's current ones:
    results computed from them would not describe the collection.

    Artifacts that cannot be compared pass: those of systems whose extra or model is missing, and all artifacts while
    inputs are missing.
    """
    workspace = Workspace(config.folder)
    try:
        queries = load_queries(config)
        corpora = {name: digest(corpus_key(config, name, workspace)) for name in used_corpora(config)}
    except InputError:
        return
    keys = CacheKeys(config, workspace, queries, corpora)
    built: list[tuple[Path, dict[str, Any]]] = []
    for run_tag in config.systems:
        with suppress(QuatiPoolError):
            built.append((workspace.run(run_tag), keys.run(run_tag)))
    with suppress(QuatiPoolError):
        built.append((workspace.pool, keys.pool_as_chosen(list(read_extra(config)))))
    for path, key in built:
        reason = stale(path, key) if path.exists() else None
        if reason is not None and not reason.startswith(("was not finished", "was changed")):
            problem = f"was built with settings other than those now in pool.yaml ({reason})"
            raise InputError(path, None, f"{problem}; run: quati-pool build -c {config.path}")
