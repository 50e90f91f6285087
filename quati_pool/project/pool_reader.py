"""A workspace's pool as it lies on disk: one state, whatever has changed in pool.yaml since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quati_pool.commands.build import BuildResult, pairs_without_text
from quati_pool.errors import InputError
from quati_pool.files.artifacts import sidecar
from quati_pool.files.lines import read_lines
from quati_pool.pooling.diversity import diversity
from quati_pool.pooling.pool import Pool, growth
from quati_pool.project.config import PoolConfig
from quati_pool.records import Ids, Run, code_ids


def read_ledger(path: Path) -> Pool:
    """A pool with every system's rank of each pair, from a file that ``build`` wrote.

    Raises InputError where the file's sidecar does not say how deep each system was pooled, or where the
    file names other systems.
    """
    try:
        meta = json.loads(sidecar(path).read_text(encoding="utf-8"))
        depths: dict[str, int] = meta["key"]["depth"]
        run_tags = tuple(meta["key"]["systems"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(sidecar(path), None, "does not say how the pool was made; run: quati-pool build") from None
    place = {run_tag: column for column, run_tag in enumerate(run_tags)}
    query_ids, doc_ids, rows = [], [], []
    for line, text in read_lines(path):
        pair = json.loads(text)
        query_ids.append(pair["query_id"])
        doc_ids.append(pair["doc_id"])
        unknown = [run_tag for run_tag in pair["runs"] if run_tag not in place]
        if unknown:
            raise InputError(
                path, line, f"names the run {unknown[0]!r}, which its sidecar does not; run: quati-pool build"
            )
        rows.append(pair["runs"])
    ranks = np.zeros((len(rows), len(run_tags)), dtype=np.int32)
    for row, given in enumerate(rows):
        for run_tag, rank in given.items():
            ranks[row, place[run_tag]] = rank
    queries, (query,) = code_ids([Ids(query_ids).values])
    docs, (doc,) = code_ids([Ids(doc_ids).values])
    depth = np.array([depths[run_tag] for run_tag in run_tags], dtype=np.int32)
    return Pool(queries, docs, query, doc, run_tags, depth, ranks)


def built(config: PoolConfig, path: Path, runs: Sequence[Run]) -> BuildResult:
    """What ``build`` said of the pool. How it would grow is known where ``runs`` hold all that feed it."""
    pool = read_ledger(path)
    gone = [run_tag for run_tag in pool.run_tags if run_tag not in config.systems]
    if gone:
        raise InputError(path, None, f"holds the system {gone[0]!r}, which pool.yaml does not; run: quati-pool build")
    feeding = {run_tag for run_tag, depth in zip(pool.run_tags, pool.depths.tolist(), strict=True) if depth}
    fed = [run for run in runs if run.run_tag in feeding]
    sizes = growth(fed) if fed and len(fed) == len(feeding) else np.empty(0, dtype=np.int64)
    return BuildResult(config, pool, diversity(pool), sizes, None, (), pairs_without_text(path))
