"""Reads a workspace's pool from disk as it was built, whatever has changed in pool.yaml since."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.errors import ConfigError, InputError
from quati_pool.files.artifacts import read_counts, sidecar, unfinished
from quati_pool.files.lines import read_lines
from quati_pool.files.pools import has_text, read_pool
from quati_pool.pooling.pool import Pool
from quati_pool.project.config import PoolConfig
from quati_pool.project.workspace import Workspace
from quati_pool.records import Ids, code_ids
from quati_pool.text.pluralize import counted


def read_ledger(path: Path) -> Pool:
    """Reads the pool from a file that ``build`` wrote, with every system's rank of each pair.

    Raises InputError where the file's sidecar lacks the systems or their depths, where the file names a system that
    the sidecar does not, and where a pair lacks its round, reason or inclusion probability or has an impossible one.
    """
    try:
        meta = json.loads(sidecar(path).read_text(encoding="utf-8"))
        depths: dict[str, int] = meta["key"]["depth"]
        run_tags = tuple(meta["key"]["systems"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(sidecar(path), None, "does not say how the pool was built; run: quati-pool build") from None
    column_of = {run_tag: column for column, run_tag in enumerate(run_tags)}
    query_ids, doc_ids, rows, entered = [], [], [], []
    for line, text in read_lines(path):
        pair = json.loads(text)
        query_ids.append(pair["query_id"])
        doc_ids.append(pair["doc_id"])
        unknown = [run_tag for run_tag in pair["runs"] if run_tag not in column_of]
        if unknown:
            raise InputError(
                path, line, f"names the run {unknown[0]!r}, which its sidecar does not; run: quati-pool build"
            )
        rows.append(pair["runs"])
        entered.append(_entered(path, line, pair))
    ranks = np.zeros((len(rows), len(run_tags)), dtype=np.int32)
    for row, ranks_by_tag in enumerate(rows):
        for run_tag, rank in ranks_by_tag.items():
            ranks[row, column_of[run_tag]] = rank
    queries, (query,) = code_ids([Ids(query_ids).values])
    docs, (doc,) = code_ids([Ids(doc_ids).values])
    depth = np.array([depths[run_tag] for run_tag in run_tags], dtype=np.int32)
    rounds, reasons, inclusion = zip(*entered, strict=True) if entered else ((), (), ())
    return Pool(
        queries,
        docs,
        query,
        doc,
        run_tags,
        depth,
        ranks,
        np.array(rounds, dtype=np.int32),
        np.array(reasons, dtype=object),
        np.array(inclusion, dtype=np.float64),
    )


def _entered(path: Path, line: int, pair: Mapping[str, Any]) -> tuple[int, str, float]:
    """The round, reason and inclusion probability (NaN for null) of a line of the pool's file."""
    number, reason, inclusion = pair.get("round"), pair.get("reason"), pair.get("inclusion", -1)
    if not isinstance(number, int) or number < 1:
        problem = "has no round; expected an integer from 1"
    elif not isinstance(reason, str) or not reason:
        problem = "has no reason; expected depth, extra, random, kept or a method's name"
    elif inclusion is None:
        return number, reason, math.nan
    elif not isinstance(inclusion, (int, float)) or not 0 < inclusion <= 1:
        problem = "has no inclusion probability; expected a number above 0 and at most 1, or null"
    else:
        return number, reason, float(inclusion)
    raise InputError(path, line, f"{problem}. Run: quati-pool build")


def pairs_without_text(pool: Path) -> int:
    """The number of pairs of a finished pool whose passage has no text: from its sidecar, or else counted."""
    known: int | None = read_counts(pool).get("without_text")
    if known is not None:
        return known
    return sum(not has_text(pair.text) for pairs in read_pool(pool) for pair in pairs)


def require_texts(config: PoolConfig) -> None:
    """Raises ConfigError where nobody could grade by reading: no pair of the workspace's pool has a passage's text, or
    none has the text of its query. A workspace without a pool passes."""
    pool = Workspace(config.folder).pool
    if unfinished(pool) is not None:
        return
    pairs, remedy = read_counts(pool).get("pairs", 0), "texts: a corpus or a file with these passages"
    lacking = pairs_without_text(pool)
    if lacking < pairs or not pairs:
        if config.queries.path is not None:
            return
        lacking, remedy = pairs, "queries: a file with their texts"
    raise ConfigError(f"{config.path}: no text for {counted(lacking, 'pair', 'pairs')}: name {remedy} (and build)")
