"""Builds the runs of a collection's systems: retrievers, rerankers and fusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import Counts, read_counts, stale
from quati_pool.files.runs import RankContradictions, read_run, write_run
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.cache_keys import CacheKeys, locate_index
from quati_pool.project.config import FusionSystem, PoolConfig, RerankSystem, RetrieverSystem
from quati_pool.project.inputs import Corpus, Queries, run_files
from quati_pool.project.resumable_folders import BuildContext
from quati_pool.project.workspace import Workspace
from quati_pool.records import Run
from quati_pool.registry import nearest
from quati_pool.retrieval.base import RunSource, checked_hits, one_each
from quati_pool.retrieval.run_file import RunFileReader
from quati_pool.text.pluralize import counted

# How many documents a note names.
_NAMED = 3


class RunBuilder:
    """Builds each run of one collection at most once and keeps it in memory; ``forced`` names the systems whose runs
    are rebuilt even if they are current."""

    def __init__(
        self,
        config: PoolConfig,
        queries: Queries,
        corpora: dict[str, Corpus],
        keys: CacheKeys,
        artifacts: ArtifactBuilder,
        context: BuildContext,
        forced: set[str],
    ) -> None:
        self.config = config
        self.keys = keys
        self.queries = queries
        self.corpora = corpora
        self.artifacts = artifacts
        self.context = context
        self.forced = forced
        self._runs: dict[str, Run] = {}
        self._contradictions: dict[str, RankContradictions] = {}

    def reads_files(self, run_tag: str) -> bool:
        """Whether a system reads files of the user, whose faults are best found before any long work."""
        system = self.config.systems[run_tag]
        return isinstance(system, RetrieverSystem) and bool(self._component(system).inputs())

    def read_ahead(self, run_tags: Sequence[str]) -> None:
        """Begins to read the run files of those systems whose runs must be built, in this order."""
        given = run_files(self.config)
        late = [
            tag
            for tag in run_tags
            if tag in given and (tag in self.forced or not run_is_current(self.keys, self.artifacts.workspace, tag))
        ]
        paths = dict.fromkeys(self.keys.environment.folder / given[tag].path for tag in late)
        self.context.engine(RunFileReader).expect(list(paths))

    def run(self, run_tag: str) -> Run:
        """A system's run down to its search depth, built or read from disk; its file in ``runs/`` ends at
        ``run_depth``."""
        if run_tag in self._runs:
            return self._runs[run_tag]
        key, depth, deep = self.keys.search(run_tag), self.config.search_depth(run_tag), self.keys.deep(run_tag)
        path = _path(self.keys, self.artifacts.workspace, run_tag)
        name = f"candidates {run_tag}" if deep else f"run {run_tag}"
        run = self._ensure(name, path, key, lambda: self._build(run_tag, depth), run_tag)
        if deep:
            head, path = run.head(self.config.run_depth), self.artifacts.workspace.run(run_tag)
            self._ensure(f"run {run_tag}", path, self.keys.run(run_tag), lambda: head, run_tag)
        self._runs[run_tag] = run
        return run

    def _ensure(self, name: str, path: Path, key: dict[str, Any], compute: Callable[[], Run], run_tag: str) -> Run:
        computed: list[Run] = []

        def fill(to: Path) -> Counts:
            run = compute()
            write_run(run, to)
            computed.append(run)
            counts = {"documents": len(run), "queries": int((run.rank == 1).sum())}
            contradictions = self._contradictions.get(run_tag)
            return counts if contradictions is None else counts | {"rank_contradictions": contradictions._asdict()}

        self.artifacts.ensure(name, path, key, fill, force=run_tag in self.forced)
        return computed[0] if computed else self._read(path, run_tag)

    def _read(self, path: Path, run_tag: str) -> Run:
        """Reads a finished run and codes its ids like the collection's, so that runs over one corpus need no
        recoding."""
        names = self.keys.corpora_of(run_tag)
        # A run file may have documents that are not in the corpus.
        searched = len(names) == 1 and not any(map(self._is_source, self.config.closure([run_tag])))
        docs = self.corpora[next(iter(names))].store.ids if searched else None
        if read_counts(path)["documents"] == 0:
            return Run.empty(run_tag, self.queries.ids, docs)
        run = read_run(path, run_tag=run_tag)
        return run.over(self.queries.ids, docs or run.docs)

    def _build(self, run_tag: str, depth: int) -> Run:
        system = self.config.systems[run_tag]
        inputs = [self.run(tag).head(self.config.input_depth(run_tag)) for tag in self.config.needs(run_tag)]
        if isinstance(system, FusionSystem):
            fused: Run = system.component.cls(system.parameters).fuse(run_tag, inputs, depth)
            return fused.over(self.queries.ids, fused.docs)
        component, queries, name = self._component(system), self.queries, self.keys.corpus(run_tag)
        if isinstance(component, RunSource):
            self.context.begin(run_tag, "reading", "rows")
            found, self._contradictions[run_tag] = component.run(run_tag, queries.ids, depth, self.context)
            if name is not None:
                self._note_unknown(run_tag, found, found.known(self.corpora[name].store.ids), "kept")
            return found
        corpus = self.corpora[str(name)]
        self.context.forced = run_tag in self.forced
        index = self._index(run_tag, corpus, component, system.component.index_identity)
        if isinstance(system, RerankSystem):
            first = inputs[0].over(queries.ids, inputs[0].docs).known(corpus.store.ids)
            self._note_unknown(system.first, inputs[0], first, f"not reranked by {run_tag}")
            self.context.begin(run_tag, "reranking", "pairs")
            rescored = component.rescore(corpus.store, index, queries.queries, first, self.context)
            scores = one_each(first, rescored, f"{run_tag}: its reranker gave scores")
            return Run.ranked(run_tag, queries.ids, corpus.store.ids, first.query, first.doc, scores, depth)
        self.context.begin(run_tag, "searching", "queries")
        hits = component.search(corpus.store, index, queries.queries, depth, self.context)
        if system.component.source is not None:
            hits = checked_hits(run_tag, hits, len(queries.queries), len(corpus.store))
        query, doc, score = hits
        return Run.ranked(run_tag, queries.ids, corpus.store.ids, query, doc, score, depth)

    def _component(self, system: RetrieverSystem | RerankSystem) -> Any:
        return system.component.cls(system.parameters, self.keys.environment)

    def _is_source(self, run_tag: str) -> bool:
        """Whether a system's run was made elsewhere."""
        return issubclass(self.config.systems[run_tag].component.cls, RunSource)

    def _note_unknown(self, run_tag: str, run: Run, known: Run, fate: str) -> None:
        """Reports the documents of a run that are not among those ``known`` to the corpus."""
        if len(known) == len(run):
            return
        doc_ids = run.docs.decode(np.unique(run.doc))
        strange = doc_ids.filter(pc.invert(pc.is_in(doc_ids, known.docs.decode(np.unique(known.doc)))))
        named = ", ".join(strange[:_NAMED].to_pylist())
        self.context.note(
            f"{run_tag}: {len(strange):,} of {counted(len(doc_ids), 'document is', 'documents are')} not in the corpus "
            f"and {fate}: {named}{', …' if len(strange) > _NAMED else ''}"
        )

    def _index(self, run_tag: str, corpus: Corpus, component: Any, identity: str) -> Path:
        located = locate_index(self.artifacts.workspace, component, identity, corpus.fingerprint)
        if located is None:
            return corpus.store.folder
        folder, key = located

        def fill(to: Path) -> Counts:
            component.index(corpus.store, to, self.context)
            return {"passages": len(corpus.store)}

        self.context.begin(run_tag, "indexing", "passages")
        self.artifacts.ensure(f"index {folder.name}", folder, key, fill, folder=True, force=run_tag in self.forced)
        return folder


def selected_systems(config: PoolConfig, only: Sequence[str]) -> list[str]:
    """The run tags of all systems, or of those in ``only`` and the systems they read, each after its inputs.

    Raises ConfigError for a system that pool.yaml does not have.
    """
    for run_tag in only:
        if run_tag not in config.systems:
            raise ConfigError(f"--only {run_tag}: no such system; {nearest(run_tag, config.systems)}")
    return config.closure(only or list(config.systems))


def require_packages(config: PoolConfig, run_tag: str) -> None:
    """Raises MissingExtraError where a package that a system needs is not installed."""
    config.systems[run_tag].component.cls.require()


def check_and_fetch(
    keys: CacheKeys, workspace: Workspace, run_tags: Sequence[str], forced: set[str], note: Callable[[str], None]
) -> None:
    """Downloads the models of systems whose runs are to be built, and checks all systems, before any work.

    A system whose run is current needs nothing more, not even the API key of its server. Raises QuatiPoolError for a
    system that cannot run.
    """
    for run_tag in run_tags:
        system = keys.config.systems[run_tag]
        if not isinstance(system, FusionSystem) and (run_tag in forced or not run_is_current(keys, workspace, run_tag)):
            system.component.cls(system.parameters, keys.environment).fetch(note)
        keys.search(run_tag)


def run_is_current(keys: CacheKeys, workspace: Workspace, run_tag: str) -> bool:
    """Whether a system's run is finished and was built with the current settings of pool.yaml."""
    try:
        key = keys.search(run_tag)
    except QuatiPoolError:
        return False
    return stale(_path(keys, workspace, run_tag), key) is None


def _path(keys: CacheKeys, workspace: Workspace, run_tag: str) -> Path:
    """The path of a system's run down to its search depth."""
    return workspace.candidates(run_tag) if keys.deep(run_tag) else workspace.run(run_tag)
