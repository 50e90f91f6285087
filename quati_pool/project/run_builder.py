"""Makes the runs of a collection's systems: retrievers, two-stage systems and fusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.errors import QuatiPoolError
from quati_pool.files.artifacts import Counts, read_counts, stale
from quati_pool.files.runs import read_run, write_run
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.cache_keys import Keys, component_name, index_place
from quati_pool.project.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem
from quati_pool.project.inputs import Corpus, Queries
from quati_pool.project.resumable_folders import BuildContext
from quati_pool.project.workspace import Workspace
from quati_pool.records import Run
from quati_pool.registry import RETRIEVERS


class Systems:
    """The systems of one collection; each run is made at most once and kept in memory."""

    def __init__(
        self,
        config: PoolConfig,
        queries: Queries,
        corpora: dict[str, Corpus],
        keys: Keys,
        builder: ArtifactBuilder,
        context: BuildContext,
        forced: set[str],
    ) -> None:
        self.config = config
        self.keys = keys
        self.queries = queries
        self.corpora = corpora
        self.builder = builder
        self.context = context
        self.forced = forced
        self._runs: dict[str, Run] = {}

    def current(self, run_tag: str) -> bool:
        """Whether a system's run is there, as pool.yaml asks for it now."""
        return current(self.keys, self.builder.workspace, run_tag)

    def corpus(self, run_tag: str) -> Corpus:
        """The one corpus a system searches."""
        return self.corpora[self.keys.corpus(run_tag)]

    def reads_files(self, run_tag: str) -> bool:
        """Whether a system reads files of the user's, which had better be found wanting early."""
        system = self.config.systems[run_tag]
        return isinstance(system, RetrieverSystem) and bool(
            RETRIEVERS.get(system.retriever)(system.parameters, self.keys.environment).inputs()
        )

    def run(self, run_tag: str) -> Run:
        """A system's run to the depth its readers need, made or read back; ``runs/`` gets its head."""
        if run_tag in self._runs:
            return self._runs[run_tag]
        key, depth, deep = self.keys.search(run_tag), self.config.search_depth(run_tag), self.keys.deep(run_tag)
        path = _path(self.keys, self.builder.workspace, run_tag)
        what = f"candidates {run_tag}" if deep else f"run {run_tag}"
        run = self._ensure(what, path, key, lambda: self._make(run_tag, depth), run_tag)
        if deep:
            top = run.head(self.config.run_depth)
            kept = self.builder.workspace.run(run_tag)
            self._ensure(f"run {run_tag}", kept, self.keys.run(run_tag), lambda: top, run_tag)
        self._runs[run_tag] = run
        return run

    def _ensure(self, what: str, path: Path, key: dict[str, Any], make: Callable[[], Run], run_tag: str) -> Run:
        made: list[Run] = []

        def fill(to: Path) -> Counts:
            run = make()
            write_run(run, to)
            made.append(run)
            return {"documents": len(run), "queries": len(np.unique(run.query))}

        self.builder.ensure(what, path, key, fill, force=run_tag in self.forced)
        return made[0] if made else self._read(path, run_tag)

    def _read(self, path: Path, run_tag: str) -> Run:
        """A finished run over the collection's ids, so that runs of one corpus need no recoding."""
        names = self.keys.corpora_of(run_tag)
        docs = self.corpora[next(iter(names))].store.ids if len(names) == 1 else None
        if read_counts(path)["documents"] == 0:
            return Run.empty(run_tag, self.queries.ids, docs)
        run = read_run(path, run_tag=run_tag)
        return run.over(self.queries.ids, docs or run.docs)

    def _make(self, run_tag: str, depth: int) -> Run:
        system = self.config.systems[run_tag]
        inputs = [self.run(tag).head(self.config.input_depth(run_tag)) for tag in self.config.needs(run_tag)]
        registry, name = component_name(system)
        if isinstance(system, FusionSystem):
            fused: Run = registry.get(name)(system.parameters).fuse(run_tag, inputs, depth)
            return fused.over(self.queries.ids, fused.docs)
        component = registry.get(name)(system.parameters, self.keys.environment)
        corpus, queries = self.corpus(run_tag), self.queries
        self.context.forced = run_tag in self.forced
        index = self._index(run_tag, corpus, component, registry.index_identity(name))
        if isinstance(system, RerankSystem):
            first = inputs[0].over(queries.ids, corpus.store.ids)
            self._listen(f"run {run_tag}: pairs")
            scores = component.rescore(corpus.store, index, queries.queries, first, self.context)
            return Run.ranked(run_tag, queries.ids, corpus.store.ids, first.query, first.doc, scores, depth)
        self._listen(f"run {run_tag}: queries")
        query, doc, score = component.search(corpus.store, index, queries.queries, depth, self.context)
        return Run.ranked(run_tag, queries.ids, corpus.store.ids, query, doc, score, depth)

    def _index(self, run_tag: str, corpus: Corpus, component: Any, identity: str) -> Path:
        place = index_place(self.builder.workspace, component, identity, corpus.fingerprint)
        if place is None:
            return corpus.store.folder
        folder, key = place

        def fill(to: Path) -> Counts:
            component.index(corpus.store, to, self.context)
            return {"passages": len(corpus.store)}

        self._listen(f"index {folder.name.rpartition('-')[0]}: passages")
        self.builder.ensure(f"index {folder.name}", folder, key, fill, folder=True, force=run_tag in self.forced)
        return folder

    def _listen(self, label: str) -> None:
        self.context.progress = lambda done, total: self.builder.listener.progress(label, done, total)


def prepare(
    keys: Keys, workspace: Workspace, run_tags: Sequence[str], forced: set[str], note: Callable[[str], None]
) -> None:
    """Refuses what cannot be carried out, and gets what is needed from elsewhere, before any work.

    A system whose run is current needs nothing: no key to a server, say.
    """
    for run_tag in run_tags:
        system = keys.config.systems[run_tag]
        if not isinstance(system, FusionSystem) and (run_tag in forced or not current(keys, workspace, run_tag)):
            registry, name = component_name(system)
            registry.get(name)(system.parameters, keys.environment).fetch(note)
        keys.search(run_tag)


def current(keys: Keys, workspace: Workspace, run_tag: str) -> bool:
    """Whether a system's run is there, as pool.yaml asks for it now."""
    try:
        key = keys.search(run_tag)
    except QuatiPoolError:
        return False
    return stale(_path(keys, workspace, run_tag), key) is None


def _path(keys: Keys, workspace: Workspace, run_tag: str) -> Path:
    """Where a system's run to the depth that its readers need lies."""
    return workspace.candidates(run_tag) if keys.deep(run_tag) else workspace.run(run_tag)
