"""Pages that come with the id of an earlier page: the first in the order of the input stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xxhash

from quati_pool.preparation.base import Array, Bench, Comparison, Drops
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.first_of_equals import equal_rows
from quati_pool.preparation.keys import KeyFiles, read_keys
from quati_pool.records import Int


class RepeatedIds(Comparison):
    """Drops all that is left of a page whose doc_id an earlier page has, of which something is left too."""

    summary = "pages whose doc_id an earlier page has"
    Parameters = BaseParameters

    @property
    def reasons(self) -> Sequence[str]:
        return ("repeated doc_id",)

    def keys(self, batch: Batch) -> dict[str, Array]:
        hashes = b"".join(xxhash.xxh3_128_digest(doc_id.encode()) for doc_id in batch.doc_id)
        halves = np.frombuffer(hashes, dtype=">u8").astype(np.uint64).reshape(-1, 2)
        return {"hi": halves[:, 0], "lo": halves[:, 1], "page": batch.page}

    def decide(self, shards: Sequence[Path], rows: Sequence[int], bench: Bench) -> Drops:
        """Pages are compared by their first rows, and dropped with all of their rows."""
        firsts = []
        pages = []
        for number, (shard, count) in enumerate(zip(shards, rows, strict=True)):
            folder = bench.folder / f"pages-{number}"
            with KeyFiles(folder) as files:
                if count:
                    keys = read_keys(shard)
                    first = np.flatnonzero(np.diff(keys["page"], prepend=-1))
                    files.append({"hi": keys["hi"][first], "lo": keys["lo"][first]})
                    firsts.append(np.append(first, count))
                else:
                    firsts.append(np.zeros(1, dtype=np.int64))
            pages.append(folder)
        found = equal_rows(pages, [len(first) - 1 for first in firsts], bench)
        dropped: list[tuple[Int, Int, Int, Int]] = []
        for shard, page, kept_shard, kept_page in zip(
            found.shard.tolist(), found.row.tolist(), found.kept_shard.tolist(), found.kept_row.tolist(), strict=True
        ):
            row = np.arange(firsts[shard][page], firsts[shard][page + 1])
            whole = np.ones(len(row), dtype=np.int64)
            dropped.append((whole * shard, row, whole * kept_shard, whole * firsts[kept_shard][kept_page]))
        if not dropped:
            none = np.empty(0, dtype=np.int64)
            return Drops.of(none, none)
        shard_of, row_of, kept_shard_of, kept_row_of = (np.concatenate(column) for column in zip(*dropped, strict=True))
        return Drops.of(shard_of, row_of, 1, kept_shard_of, kept_row_of)
