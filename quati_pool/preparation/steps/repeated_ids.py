"""The step ``repeated-ids``: drops pages with the id of an earlier page, and keeps the first in input order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xxhash

from quati_pool.preparation.base import Array, Drops, GlobalFilter, TaskPool
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.deduplication.comparison_arrays import KeyFiles, read_keys
from quati_pool.preparation.deduplication.first_of_equals import equal_rows, located


class RepeatedIds(GlobalFilter):
    """Drops all rows of a page if an earlier page with the same doc_id still has rows."""

    id = "preparation/repeated-ids"
    summary = "pages whose doc_id an earlier page has"
    Parameters = BaseParameters

    @property
    def reasons(self) -> Sequence[str]:
        return ("repeated doc_id",)

    def keys(self, batch: Batch) -> dict[str, Array]:
        hashes = b"".join(xxhash.xxh3_128_digest(doc_id.encode()) for doc_id in batch.doc_id)
        halves = np.frombuffer(hashes, dtype=">u8").astype(np.uint64).reshape(-1, 2)
        return {"hi": halves[:, 0], "lo": halves[:, 1], "page": batch.page}

    def decide(self, shards: Sequence[Path], rows: Sequence[int], task_pool: TaskPool) -> Drops:
        """The rows to drop: pages are compared by their first rows, and dropped with all of their rows."""
        firsts = []
        pages = []
        for number, (shard, count) in enumerate(zip(shards, rows, strict=True)):
            folder = task_pool.folder / f"pages-{number}"
            with KeyFiles(folder) as files:
                if count:
                    keys = read_keys(shard)
                    first = np.flatnonzero(np.diff(keys["page"], prepend=-1))
                    files.append({"hi": keys["hi"][first], "lo": keys["lo"][first]})
                    firsts.append(np.append(first, count))
                else:
                    firsts.append(np.zeros(1, dtype=np.int64))
            pages.append(folder)
        found = equal_rows(pages, [len(first) - 1 for first in firsts], task_pool)
        # Rows are counted over all shards: a page extends from its first row to the next page's, or the shard's end.
        pages_before = np.cumsum([0, *(len(first) for first in firsts)])
        rows_before = np.cumsum([0, *rows])
        starts = np.concatenate([first + before for first, before in zip(firsts, rows_before, strict=False)])
        dropped = pages_before[found.shard] + found.row
        counts = starts[dropped + 1] - starts[dropped]
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        dropped_shard, dropped_row = located(np.repeat(starts[dropped], counts) + inside, rows)
        kept_shard, kept_row = located(starts[pages_before[found.kept_shard] + found.kept_row], rows)
        return Drops.of(dropped_shard, dropped_row, 1, np.repeat(kept_shard, counts), np.repeat(kept_row, counts))
