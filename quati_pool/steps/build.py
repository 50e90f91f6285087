"""``quati-pool build``: every system's run, the pool, and the tables that say how diverse it is."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.config import PoolConfig, load_config
from quati_pool.errors import ConfigError
from quati_pool.files.artefacts import Counts, digest, file_digest, stale
from quati_pool.files.qrels import read_judgements
from quati_pool.pooling.diversity import Diversity, GradeShares, diversity, diversity_by_grade
from quati_pool.pooling.pool import Pool, growth, propose
from quati_pool.records import Int, Run
from quati_pool.registry import RERANKERS, RETRIEVERS, nearest
from quati_pool.retrieval.base import Context
from quati_pool.steps.diversity_report import write_reports
from quati_pool.steps.inputs import Corpus, Queries, load_extra, load_queries, open_corpus, passage_texts
from quati_pool.steps.listener import Listener
from quati_pool.steps.making import Maker
from quati_pool.steps.systems import Systems
from quati_pool.workspace import Workspace


@dataclass(frozen=True, eq=False)
class BuildResult:
    """A finished pool and its tables; ``pool_growth`` counts the pairs of pools of depth 1, 2, …"""

    config: PoolConfig
    pool: Pool
    diversity: Diversity
    pool_growth: Int
    grades: GradeShares | None
    queries_without_pairs: tuple[str, ...]


def build(
    config_path: Path,
    listener: Listener,
    *,
    qrels: Path | None = None,
    force: bool = False,
    only: Sequence[str] = (),
) -> BuildResult | None:
    """Brings a workspace up to date: corpus stores, indexes, runs, pool, reports.

    ``only`` makes the runs of the systems named and what they are made from; the pool follows where
    all other runs are current, otherwise None is returned and the pool left as it was. ``force``
    makes runs and indexes anew (with ``only``: those of the systems named).
    """
    config = load_config(config_path)
    for run_tag in only:
        if run_tag not in config.systems:
            raise ConfigError(f"--only {run_tag}: no such system; {nearest(run_tag, config.systems)}")
    wanted = _closure(config, only or list(config.systems))
    for run_tag in wanted:
        _require(config, run_tag)
    graded = read_judgements(qrels) if qrels else None
    queries = load_queries(config)
    workspace = Workspace(config.folder)
    provenance = {"collection": config.name, "seed": config.seed, "config": file_digest(config.path)}
    maker = Maker(workspace, provenance, listener)
    forced = set(only or config.systems) if force else set()
    corpora = {
        name: open_corpus(config, name, maker, force=force and not only)
        for name in config.corpora
    }
    with Context(folder=config.folder, seed=config.seed, note=listener.say) as context:
        systems = Systems(config, queries, corpora, maker, context, forced)
        for run_tag in wanted:
            systems.run(run_tag)
        missing = [tag for tag in config.systems if tag not in wanted and not _current(systems, tag)]
        if missing:
            listener.say(f"pool: left as it was; still to build: {', '.join(missing)}")
            return None
        runs = [systems.run(tag).head(config.run_depth) for tag in config.systems]
    extra = load_extra(config, queries, list(corpora.values()))
    depths = {tag: config.pool_depth(tag) for tag in config.systems}
    pool = propose(runs, depths, extra)
    key = {
        "depth": depths,
        "extra": digest(extra),
        "run": {tag: digest(systems.key(tag)) for tag in config.systems},
        "run_depth": config.run_depth,
        "queries": queries.fingerprint,
        "corpus": {name: corpus.fingerprint for name, corpus in corpora.items()},
    }
    maker.ensure("pool", workspace.pool, key, lambda to: write_pool(to, pool, queries, list(corpora.values())))
    asked = {query.query_id for query in queries.queries}
    pooled = set(pool.queries.decode(np.unique(pool.query)).to_pylist())
    result = BuildResult(
        config,
        pool,
        diversity(pool),
        growth([run for run in runs if depths[run.run_tag]]),
        diversity_by_grade(pool, graded) if graded else None,
        tuple(query.query_id for query in queries.queries if query.query_id in asked - pooled),
    )
    write_reports(result, maker, {"pool": key, "qrels": file_digest(qrels) if qrels else None})
    return result


def _closure(config: PoolConfig, run_tags: Sequence[str]) -> list[str]:
    """The systems named and all they are made from, each after its inputs."""
    needed = set(run_tags)
    for tag in reversed(config.order()):
        if tag in needed:
            needed.update(config.needs(tag))
    return [tag for tag in config.order() if tag in needed]


def _require(config: PoolConfig, run_tag: str) -> None:
    system = config.systems[run_tag]
    if hasattr(system, "retriever"):
        RETRIEVERS.get(system.retriever).require()
    if hasattr(system, "reranker"):
        RERANKERS.get(system.reranker).require()


def _current(systems: Systems, run_tag: str) -> bool:
    config, workspace = systems.config, systems.maker.workspace
    key = systems.key(run_tag)
    if config.search_depth(run_tag) > config.run_depth:
        return stale(workspace.candidates(run_tag), key) is None
    return stale(workspace.run(run_tag), key) is None


def write_pool(path: Path, pool: Pool, queries: Queries, corpora: Sequence[Corpus]) -> Counts:
    """Writes a pool as JSON lines: query_id, doc_id, query, text, runs, round, reason, inclusion."""
    doc_ids: list[str] = pool.docs.decode(pool.doc).to_pylist()
    query_ids: list[str] = pool.queries.decode(pool.query).to_pylist()
    texts = passage_texts(sorted(set(doc_ids)), list(corpora))
    question = {query.query_id: query.query for query in queries.queries}
    fed = pool.fed.any(axis=1)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as out:
            for row, (query_id, doc_id) in enumerate(zip(query_ids, doc_ids, strict=True)):
                ranks = pool.ranks[row].tolist()
                pair: dict[str, Any] = {
                    "query_id": query_id,
                    "doc_id": doc_id,
                    "query": question[query_id],
                    "text": texts[doc_id],
                    "runs": {tag: rank for tag, rank in zip(pool.run_tags, ranks, strict=True) if rank},
                    "round": 1,
                    "reason": "depth" if fed[row] else "extra",
                    "inclusion": 1.0,
                }
                out.write(json.dumps(pair, ensure_ascii=False) + "\n")
    return {"pairs": len(pool), "queries": len(set(query_ids))}
