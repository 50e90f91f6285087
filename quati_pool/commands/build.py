"""``quati-pool build``: builds every system's run and the pool, and measures the diversity of the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quati_pool.errors import MissingExtraError
from quati_pool.files.artifacts import Counts, Key, digest, file_digest, read_meta
from quati_pool.files.pools import PoolPair, has_text, write_pool
from quati_pool.files.qrels import read_judgements
from quati_pool.pooling.candidates import Candidates
from quati_pool.pooling.diversity import Diversity, GradeShares, diversity, diversity_by_grade
from quati_pool.pooling.pool import Pool, depth_pool, growth
from quati_pool.processes.base import Engine
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.cache_keys import CacheKeys, used_corpora
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.data_sets import read_data_sets
from quati_pool.project.events import Listener, kept_if_stopped
from quati_pool.project.inputs import (
    Corpus,
    Queries,
    corpus_key,
    load_extra,
    load_queries,
    open_corpus,
    open_texts,
    passage_texts,
    run_files,
)
from quati_pool.project.pool_reader import pairs_without_text
from quati_pool.project.resumable_folders import BuildContext
from quati_pool.project.run_builder import (
    RunBuilder,
    check_and_fetch,
    require_packages,
    run_is_current,
    selected_systems,
)
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int, Run, State
from quati_pool.text.pluralize import counted

if TYPE_CHECKING:
    from quati_pool.commands.adaptive_pool import AdaptivePoolChoice

# Pairs whose texts are in memory at the same time; a text may be megabytes long.
_BATCH = 256


@dataclass(frozen=True, eq=False)
class BuildResult:
    """A finished pool and its diversity; ``pool_growth`` counts the pairs of pools of depth 1, 2, …"""

    config: PoolConfig
    pool: Pool
    diversity: Diversity
    pool_growth: Int
    grades: GradeShares | None
    queries_without_pairs: tuple[str, ...]
    without_text: int
    """Pairs whose passage has no text."""
    key: Key = field(default_factory=dict)
    """The cache key of this result's saved tables; empty if the result was read from a pool on disk."""
    forced: bool = False
    """Whether saved tables are written again even if they are current."""
    chosen: AdaptivePoolChoice | None = None
    """How the pairs were chosen; None for all documents down to the depth."""


def build(
    config_path: Path,
    listener: Listener,
    *,
    qrels: Path | None = None,
    force: bool = False,
    only: Sequence[str] = (),
    workers: Callable[[], Engine] | None = None,
) -> BuildResult | None:
    """Brings a workspace up to date: corpus stores, indexes, runs, pool. The listener is passed the result to save.

    ``only`` builds the runs of the named systems and of those they read; the pool is then built if all other runs are
    current, otherwise it stays as it was and None is returned, as where the pool's method waits for grades. ``force``
    builds everything again (with ``only``: the indexes and runs of the named systems). ``workers`` opens an engine that
    encodes corpora; it computes the same numbers as this process, which encodes them if ``workers`` is None.
    """
    pooling = prepare_pool(load_config(config_path), listener, qrels=qrels, force=force, only=only, workers=workers)
    return None if pooling is None else pooling.build()


def prepare_pool(
    config: PoolConfig,
    listener: Listener,
    *,
    qrels: Path | None = None,
    force: bool = False,
    only: Sequence[str] = (),
    workers: Callable[[], Engine] | None = None,
) -> PoolBuilder | None:
    """Brings everything up to date that a pool is built from; for the rest see ``build``."""
    selected = selected_systems(config, only)
    for run_tag in selected:
        require_packages(config, run_tag)
    if qrels:
        read_judgements(qrels)  # reports an invalid file before anything is built
    workspace = Workspace(config.folder)
    builder = ArtifactBuilder(workspace, provenance(config), listener)
    forced = set(only or config.systems) if force else set()
    force_all = force and not only
    read_data_sets(config, builder, force=force_all)
    queries = load_queries(config)
    with listener.stage("hashing the corpus and run files"):
        fingerprints = {name: digest(corpus_key(config, name, workspace)) for name in used_corpora(config)}
        workspace.hash_inputs(config.folder / given.path for given in run_files(config).values())
    keys = CacheKeys(config, workspace, queries, fingerprints)
    with listener.stage("checking the systems and fetching their models"):
        check_and_fetch(keys, workspace, selected, forced, listener.say)
    corpora = {name: open_corpus(config, name, builder, force=force_all) for name in fingerprints}
    stores = list(corpora.values())
    extra = load_extra(config, queries, stores)
    with BuildContext(note=listener.say, workers=workers, builder=builder, corpora=stores) as context:
        runs = _build_runs(RunBuilder(config, queries, corpora, keys, builder, context, forced), selected)
    if runs is None:
        return None
    return PoolBuilder(config, builder, keys, runs, extra, queries, stores, qrels, force_all)


@dataclass(frozen=True, eq=False)
class PoolBuilder:
    """Builds a pool from runs that are up to date."""

    config: PoolConfig
    builder: ArtifactBuilder
    keys: CacheKeys
    runs: Sequence[Run]
    extra: Sequence[tuple[str, str]]
    queries: Queries
    corpora: list[Corpus]
    qrels: Path | None
    force: bool

    def build(self) -> BuildResult | None:
        """Builds the pool; None where its method waits for a judge's grades of all candidates."""
        if self.config.pool.chooses:
            return self.finish(self.choose())
        pool = depth_pool(self.runs, {tag: self.config.pool_depth(tag) for tag in self.config.systems}, self.extra)
        self._say_what_leaves(pool)
        self._open_texts(pool)
        return self._finished(pool, self.keys.pool(self.extra), None)

    def choose(self) -> AdaptivePoolChoice:
        """Chooses a part of the candidates, as far as stored grades go."""
        # Labels need the store, whose import takes half a second.
        from quati_pool.commands.adaptive_pool import AdaptivePoolChoice

        chosen = AdaptivePoolChoice(self.config, self.runs, self.extra, self.queries, self.corpora)
        self._open_texts(chosen.frame)
        with self.builder.listener.stage("pool: reading grades"):
            chosen.steer()
        return chosen

    def finish(self, chosen: AdaptivePoolChoice) -> BuildResult | None:
        """Writes what was chosen so far."""
        settings = self.config.pool
        if chosen.sequence is None:
            left = counted(len(chosen.frame) - len(chosen.graded), "candidate", "candidates")
            self.builder.listener.say(
                f"pool: {settings.method} waits for {settings.steered_by}'s grades of {left}; "
                f"run: quati-pool judge {settings.steered_by} --adaptive"
            )
            return None
        pool = chosen.pool()
        return self._finished(pool, self.keys.pool(self.extra, chosen.digest(pool)), chosen)

    def _say_what_leaves(self, pool: Pool) -> None:
        """Says how many labelled pairs of an adaptive pool are not in the depth pool that replaces it."""
        former = read_meta(self.builder.workspace.pool)
        if former is None or "choice" not in former["key"]:
            return
        from quati_pool.commands.adaptive_pool import labelled_so_far

        pairs = zip(pool.queries.decode(pool.query).to_pylist(), pool.docs.decode(pool.doc).to_pylist(), strict=True)
        left = labelled_so_far(self.config).keys() - set(pairs)
        if left:
            self.builder.listener.say(
                f"pool: {counted(len(left), 'labelled pair is', 'labelled pairs are')} in it no longer, as a depth "
                "pool holds what its depth says; the labels stay, and count again where the pair is pooled"
            )

    def _open_texts(self, pool: Pool | Candidates) -> None:
        """Adds the corpus of ``texts:`` where it is needed."""
        texts = open_texts(self.config, pool, self.corpora, self.builder, force=self.force)
        if texts is not None:
            self.corpora.append(texts)

    def _finished(self, pool: Pool, key: Key, chosen: AdaptivePoolChoice | None) -> BuildResult:
        """Writes the pool's file, and reports the result to the listener."""
        config, listener, path = self.config, self.builder.listener, self.builder.workspace.pool
        rounds = {} if chosen is None else {"rounds": chosen.rounds, "further": chosen.further}
        write = partial(_write_pool, pool, self.queries, self.corpora, listener, rounds)
        self.builder.ensure("pool", path, key, write, force=self.force)
        grades = None if self.qrels is None else read_judgements(self.qrels)
        pooled = set(pool.queries.decode(np.unique(pool.query)).to_pylist())
        result = BuildResult(
            config,
            pool,
            diversity(pool),
            growth([run for run in self.runs if config.pool_depth(run.run_tag)]),
            diversity_by_grade(pool, grades) if grades else None,
            tuple(query.query_id for query in self.queries.queries if query.query_id not in pooled),
            _report_missing_texts(path, len(pool), listener),
            {"pool": key, **_tables_key(config, self.qrels)},
            self.force,
            chosen,
        )
        listener.finished(result)
        return result


def _build_runs(builder: RunBuilder, selected: Sequence[str]) -> list[Run] | None:
    """The runs of all systems, after building those of ``selected``; None if others are missing or stale."""
    config = builder.config
    finished = 0
    with kept_if_stopped(lambda: f"{finished:,} of {counted(len(selected), 'run', 'runs')}" if finished else ""):
        order = sorted(selected, key=lambda tag: not builder.reads_files(tag))
        builder.read_ahead(order)
        for run_tag in order:
            builder.run(run_tag)
            finished += 1
    missing = [tag for tag in config.systems if tag not in selected and not _is_current(builder, tag)]
    if missing:
        builder.artifacts.listener.say(f"pool: left as it was; still to build: {', '.join(missing)}")
        return None
    return [builder.run(tag).head(config.run_depth) for tag in config.systems]


def _is_current(builder: RunBuilder, run_tag: str) -> bool:
    try:
        require_packages(builder.config, run_tag)
    except MissingExtraError:
        return False
    return run_is_current(builder.keys, builder.artifacts.workspace, run_tag)


def _write_pool(
    pool: Pool, queries: Queries, corpora: Sequence[Corpus], listener: Listener, rounds: Mapping[str, int], path: Path
) -> Counts:
    without_text = 0

    def written() -> Iterator[PoolPair]:
        nonlocal without_text
        for done, pair in enumerate(_pairs(pool, queries, corpora)):
            if done % _BATCH == 0:
                listener.progress("pool: writing", done, len(pool), unit="pairs")
            without_text += not has_text(pair["text"])
            yield pair

    write_pool(path, written())
    return {"pairs": len(pool), "queries": len(np.unique(pool.query)), "without_text": without_text, **rounds}


def _report_missing_texts(pool: Path, pairs: int, listener: Listener) -> int:
    """The number of pairs of the pool whose passage has no text; reported to the listener if there are any."""
    without_text = pairs_without_text(pool)
    if without_text:
        listener.say(
            f"pool: {without_text:,} of {pairs:,} pairs have a passage without text; judges do not ask about them "
            f"({State.no_text}), unless texts: in pool.yaml names a file that has it"
        )
    return without_text


def _tables_key(config: PoolConfig, qrels: Path | None) -> Key:
    """The inputs other than the pool on which the tables of a build depend."""
    return {
        "name": config.name,
        "family": {tag: config.family(tag) for tag in config.systems},
        "extra": config.pool.extra,
        "qrels": file_digest(qrels) if qrels else None,
    }


def provenance(config: PoolConfig) -> dict[str, Any]:
    """The origin of everything that ``build`` writes, for the sidecars."""
    return {"collection": config.name, "seed": config.seed, "config": file_digest(config.path)}


def _pairs(pool: Pool, queries: Queries, corpora: Sequence[Corpus]) -> Iterator[PoolPair]:
    """The pool's pairs with their texts, of which only some are in memory at a time."""
    query_texts = {query.query_id: query.query for query in queries.queries}
    for start in range(0, len(pool), _BATCH):
        part = slice(start, start + _BATCH)
        doc_ids: list[str] = pool.docs.decode(pool.doc[part]).to_pylist()
        query_ids: list[str] = pool.queries.decode(pool.query[part]).to_pylist()
        texts = passage_texts(doc_ids, corpora)
        entered = zip(pool.round[part].tolist(), pool.reason[part], pool.inclusion[part].tolist(), strict=True)
        rows = zip(query_ids, doc_ids, pool.ranks[part], entered, strict=True)
        for query_id, doc_id, ranks, (round_, reason, inclusion) in rows:
            yield PoolPair(
                query_id=query_id,
                doc_id=doc_id,
                query=query_texts[query_id],
                text=texts.get(doc_id, ""),
                runs={pool.run_tags[system]: int(ranks[system]) for system in np.flatnonzero(ranks)},
                round=round_,
                reason=reason,
                inclusion=None if isnan(inclusion) else inclusion,
            )
