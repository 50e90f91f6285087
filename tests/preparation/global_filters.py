"""Runs a comparison over texts as the executor does: keys on disk in shards, tasks that travel as pickles."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from quati_pool.preparation.base import Drops, GlobalFilter, Keys, TaskPool
from quati_pool.preparation.batch import WHOLE, Batch
from quati_pool.preparation.deduplication.comparison_arrays import KeyFiles


def pages(texts: Sequence[str], doc_ids: Sequence[str] | None = None) -> Batch:
    n = len(texts)
    place = np.arange(n)
    ids = [f"d{number}" for number in range(n)] if doc_ids is None else list(doc_ids)
    whole = np.full(n, WHOLE, dtype=np.int64)
    return Batch(ids, [""] * n, [""] * n, list(texts), place, whole, np.zeros(n, dtype=np.int64), place + 1)


def in_process(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Every call as if it went to another process."""
    return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(task))) for task in tasks]


def stored(folder: Path, keys: Keys, cuts: Iterable[int] = ()) -> tuple[list[Path], list[int]]:
    """Keys as shards that end at ``cuts``, with the rows of each."""
    total = len(next(iter(keys.values())))
    ends = [0, *sorted(cuts), total]
    shards = []
    for number, (start, end) in enumerate(pairwise(ends)):
        shards.append(folder / f"shard-{number}")
        with KeyFiles(shards[-1]) as files:
            if end > start:
                files.append({name: array[start:end] for name, array in keys.items()})
    return shards, [end - start for start, end in pairwise(ends)]


def positions(drops: Drops, rows: Sequence[int]) -> list[tuple[int, int]]:
    """Dropped and kept rows, counted over all shards."""
    starts = np.concatenate([[0], np.cumsum(rows)])
    dropped = starts[drops.shard] + drops.row
    kept = starts[drops.kept_shard] + drops.kept_row
    return list(zip(dropped.tolist(), kept.tolist(), strict=True))


def compared(
    step: GlobalFilter,
    texts: Sequence[str],
    folder: Path,
    cuts: Iterable[int] = (),
    doc_ids: Sequence[str] | None = None,
) -> dict[int, int]:
    """Dropped rows with those kept in their place."""
    shards, rows = stored(folder / "keys", step.keys(pages(texts, doc_ids)), cuts)
    return dict(positions(step.decide(shards, rows, TaskPool(folder / "bench", in_process)), rows))
