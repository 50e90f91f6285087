"""``quati-pool build``: every system's run, the pool, and the tables that say how diverse it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError, MissingExtraError
from quati_pool.files.artifacts import Counts, Key, digest, file_digest, read_counts
from quati_pool.files.pools import PoolPair, has_text, read_pool, write_pool
from quati_pool.files.qrels import read_judgements
from quati_pool.pooling.diversity import Diversity, GradeShares, diversity, diversity_by_grade
from quati_pool.pooling.pool import Pool, depth_pool, growth
from quati_pool.processes.base import Engine
from quati_pool.project.artifact_builder import ArtifactBuilder
from quati_pool.project.cache_keys import Keys, component_name, used_corpora
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.project.inputs import Corpus, Queries, corpus_key, load_extra, load_queries, open_corpus, passage_texts
from quati_pool.project.resumable_folders import BuildContext
from quati_pool.project.run_builder import Systems, prepare
from quati_pool.project.workspace import Workspace
from quati_pool.records import Int, State
from quati_pool.registry import nearest

# Pairs whose texts are in memory at a time; a text may be megabytes long.
_SLICE = 256


@dataclass(frozen=True, eq=False)
class BuildResult:
    """A finished pool and its tables; ``pool_growth`` counts the pairs of pools of depth 1, 2, …"""

    config: PoolConfig
    pool: Pool
    diversity: Diversity
    pool_growth: Int
    grades: GradeShares | None
    queries_without_pairs: tuple[str, ...]
    without_text: int
    """Pairs whose passage has no text."""
    key: Key = field(default_factory=dict)
    """What decides this result; empty where it was read from a pool on disk."""
    forced: bool = False
    """Whether what is saved of it is written even if it is current."""


def build(
    config_path: Path,
    listener: Listener,
    *,
    qrels: Path | None = None,
    force: bool = False,
    only: Sequence[str] = (),
    workers: Callable[[], Engine] | None = None,
) -> BuildResult | None:
    """Brings a workspace up to date: corpus stores, indexes, runs, pool. The listener gets the result to save.

    ``only`` makes the runs of the systems named and what they are made from; the pool follows where
    all other runs are current, otherwise None is returned and the pool left as it was. ``force``
    makes everything anew (with ``only``: the indexes and runs of the systems named). Where
    corpora are to be encoded, ``workers`` opens the engine that does it, to the same numbers as this process
    does where it is None.
    """
    config = load_config(config_path)
    for run_tag in only:
        if run_tag not in config.systems:
            raise ConfigError(f"--only {run_tag}: no such system; {nearest(run_tag, config.systems)}")
    wanted = config.closure(only or list(config.systems))
    for run_tag in wanted:
        _require(config, run_tag)
    graded = read_judgements(qrels) if qrels else None
    queries = load_queries(config)
    workspace = Workspace(config.folder)
    builder = ArtifactBuilder(workspace, provenance(config), listener)
    forced = set(only or config.systems) if force else set()
    everything = force and not only
    fingerprints = {name: digest(corpus_key(config, name, workspace)) for name in used_corpora(config)}
    keys = Keys(config, workspace, queries, fingerprints)
    prepare(keys, workspace, wanted, forced, listener.say)
    corpora = {name: open_corpus(config, name, builder, force=everything) for name in fingerprints}
    extra = load_extra(config, queries, list(corpora.values()))
    stores = list(corpora.values())
    with BuildContext(note=listener.say, workers=workers, builder=builder, corpora=stores) as context:
        systems = Systems(config, queries, corpora, keys, builder, context, forced)
        for run_tag in sorted(wanted, key=lambda tag: not systems.reads_files(tag)):
            systems.run(run_tag)
        missing = [tag for tag in config.systems if tag not in wanted and not _current(systems, tag)]
        if missing:
            listener.say(f"pool: left as it was; still to build: {', '.join(missing)}")
            return None
        runs = [systems.run(tag).head(config.run_depth) for tag in config.systems]
    depths = {tag: config.pool_depth(tag) for tag in config.systems}
    pool = depth_pool(runs, depths, extra)
    key = keys.pool(extra)

    def fill(path: Path) -> Counts:
        without_text = 0

        def counted(pairs: Iterator[PoolPair]) -> Iterator[PoolPair]:
            nonlocal without_text
            for pair in pairs:
                without_text += not has_text(pair["text"])
                yield pair

        write_pool(path, counted(_pairs(pool, queries, list(corpora.values()))))
        return {"pairs": len(pool), "queries": len(pooled), "without_text": without_text}

    pooled = set(pool.queries.decode(np.unique(pool.query)).to_pylist())
    builder.ensure("pool", workspace.pool, key, fill, force=everything)
    without_text = pairs_without_text(workspace.pool)
    if without_text:
        listener.say(
            f"pool: {without_text:,} of {len(pool):,} pairs have a passage without text; judges do not ask about them "
            f"({State.no_text})"
        )
    shown = {
        "name": config.name,
        "family": {tag: config.family(tag) for tag in config.systems},
        "extra": config.pool.extra,
        "qrels": file_digest(qrels) if qrels else None,
    }
    result = BuildResult(
        config,
        pool,
        diversity(pool),
        growth([run for run in runs if depths[run.run_tag]]),
        diversity_by_grade(pool, graded) if graded else None,
        tuple(query.query_id for query in queries.queries if query.query_id not in pooled),
        without_text,
        {"pool": key, **shown},
        everything,
    )
    listener.finished(result)
    return result


def provenance(config: PoolConfig) -> dict[str, Any]:
    """What the sidecar of everything that ``build`` writes says of where it is from."""
    return {"collection": config.name, "seed": config.seed, "config": file_digest(config.path)}


def pairs_without_text(pool: Path) -> int:
    """How many pairs of a finished pool have a passage without text."""
    known: int | None = read_counts(pool).get("without_text")
    if known is not None:
        return known
    return sum(not has_text(pair.text) for pairs in read_pool(pool) for pair in pairs)


def _require(config: PoolConfig, run_tag: str) -> None:
    registry, name = component_name(config.systems[run_tag])
    registry.get(name).require()


def _current(systems: Systems, run_tag: str) -> bool:
    try:
        _require(systems.config, run_tag)
    except MissingExtraError:
        return False
    return systems.current(run_tag)


def _pairs(pool: Pool, queries: Queries, corpora: Sequence[Corpus]) -> Iterator[PoolPair]:
    """The pool's pairs with their texts, some thousand at a time."""
    question = {query.query_id: query.query for query in queries.queries}
    fed: npt.NDArray[np.bool_] = np.any(pool.fed, axis=1)
    for start in range(0, len(pool), _SLICE):
        part = slice(start, start + _SLICE)
        doc_ids: list[str] = pool.docs.decode(pool.doc[part]).to_pylist()
        query_ids: list[str] = pool.queries.decode(pool.query[part]).to_pylist()
        texts = passage_texts(doc_ids, corpora)
        rows = zip(query_ids, doc_ids, pool.ranks[part].tolist(), fed[part].tolist(), strict=True)
        for query_id, doc_id, ranks, by_depth in rows:
            yield PoolPair(
                query_id=query_id,
                doc_id=doc_id,
                query=question[query_id],
                text=texts[doc_id],
                runs={tag: rank for tag, rank in zip(pool.run_tags, ranks, strict=True) if rank},
                round=1,
                reason="depth" if by_depth else "extra",
                inclusion=1.0,
            )
