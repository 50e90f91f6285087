"""The pairs of a pool that a judge has still to grade; finished ones are skipped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quati_pool.commands.judge.content_hashes import KEYS, NONE, grades, shown_blocks
from quati_pool.commands.judge.pair_queue import PairQueue, Samples
from quati_pool.files.artifacts import digest
from quati_pool.files.pools import PooledPair, pick_pool_rows
from quati_pool.judging.base import Judge
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import Task
from quati_pool.labels.labelers import Grading, chunks
from quati_pool.labels.rereading import Key
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.store.records import content_sha

# To be increased when texts are shown differently for the same pool and judge.
_SHOWN_FORMAT = 2


class JudgingQueue(PairQueue):
    """One judge's work on one pool."""

    def __init__(
        self,
        grading: Grading,
        name: str,
        judge: Judge,
        version: str,
        samples: int,
        aggregate: str,
        say: Callable[[str], None],
        *,
        dry: bool = False,
        read_otherwise: Mapping[Key, tuple[State, int | None]] | None = None,
    ) -> None:
        super().__init__(grading, name, judge, version, samples, aggregate, dry=dry, read_otherwise=read_otherwise)
        self._narratives = grading.narratives if self._uses_narrative else {}
        workspace = Workspace(grading.config.folder)
        key = {
            "format": _SHOWN_FORMAT,
            "pool": workspace.input_digest(grading.pool),
            "narratives": digest(dict(self._narratives)),
            "max_passage_tokens": self._model and self._model.max_passage_tokens,
            "fenced": self._model is not None and self._model.prompt.fenced,
        }
        self._total, self._blocks = shown_blocks(workspace, grading.pool, key, self._content, say)
        rows = groupby(pick_pool_rows(grading.pool, self._unfinished()), lambda pair: pair.query_id)
        self._chunks = chunks((list(pairs) for _, pairs in rows), self._narratives)

    @property
    def total(self) -> int:
        return self._total

    def pooled(self, keys: Collection[Key]) -> set[Key]:
        """The ``keys`` whose pair is in the pool with the same texts and whose sample is wanted. Reads the pool, so
        ``tasks`` cannot be called afterwards."""
        wanted = {key[:3] for key in keys}
        contents = pa.array({content for *_, content in wanted}, pa.string())
        found = set()
        for block in self._blocks:
            some = block.filter(pc.and_(block.column("has_text"), pc.is_in(block.column("content_sha"), contents)))
            found |= wanted.intersection(zip(*(some.column(name).to_pylist() for name in KEYS), strict=True))
        return {key for key in keys if key[:3] in found and key[3] in self._wanted}

    def _content(self, pair: PooledPair) -> str:
        shown, _ = self._shown(Pair(*pair, self._narratives.get(pair.query_id)))
        return content_sha(shown.query, shown.text, shown.narrative)

    def _unfinished(self) -> Iterator[int]:
        """The lines of the pool whose pairs lack a grade; the others are counted meanwhile."""
        collection, version = self.grading.config.name, self.version
        for block in self._blocks:
            query_ids = block.column("query_id").unique().to_pylist()
            labels = self.grading.store.table(collection, self.name, version, query_ids=query_ids)
            if self.judge.by_content:
                block = self._pass_without_text(block, labels)
            found = grades(block, labels, self.samples)
            self._correct(block, found)
            lacking = (found == NONE).any(axis=1)
            finished = block.filter(pa.array(~lacking))
            with self._lock:
                if self.samples == 1:
                    self.coverage.add_ok(found[~lacking, 0])
                else:
                    for row, of_samples in zip(finished.to_pylist(), found[~lacking].tolist(), strict=True):
                        samples = {sample: (State.ok, grade) for sample, grade in enumerate(of_samples, 1)}
                        self._add(row["query_id"], row["doc_id"], samples)
            lines = block.column("line").to_numpy()[lacking].tolist()
            if self._closing:
                self._pass_over(block.filter(pa.array(lacking)), labels)
            else:
                yield from lines

    def _pass_without_text(self, block: pa.RecordBatch, labels: pa.Table) -> pa.RecordBatch:
        """The pairs whose passage has a text; the others get the label ``no_text`` and are never asked about."""
        without = block.filter(pc.invert(block.column("has_text"))).to_pylist()
        if not without:
            return block
        known = labels.filter(pc.equal(labels["status"], State.no_text.value))
        there = set(zip(*(known[name].to_pylist() for name in ("query_id", "doc_id", "content_sha")), strict=True))
        entries = []
        with self._lock:
            for row in without:
                pair = (row["query_id"], row["doc_id"], row["content_sha"])
                entry = self._without_text(*pair)
                if pair not in there:
                    entries.append(entry)
        if entries and not self._dry:
            self.grading.store.append(entries)
        return block.filter(block.column("has_text"))

    def _correct(self, block: pa.RecordBatch, found: npt.NDArray[np.int64]) -> None:
        """Sets in ``found`` the grades that labels will have once their answers are read again."""
        if not self._read_otherwise:
            return
        for place, row in enumerate(block.to_pylist()):
            for sample in self._wanted:
                key = (row["query_id"], row["doc_id"], row["content_sha"], sample)
                if key in self._read_otherwise:
                    grade = self._read_otherwise[key][1]
                    found[place, sample - 1] = NONE if grade is None else grade

    def _pass_over(self, block: pa.RecordBatch, labels: pa.Table) -> None:
        """Counts pairs that this run will not ask about, with the grades they have."""
        known: dict[tuple[str, str, str], Samples] = {}
        for row in labels.select(["query_id", "doc_id", "content_sha", "sample", "status", "relevance"]).to_pylist():
            samples = known.setdefault((row["query_id"], row["doc_id"], row["content_sha"]), {})
            samples[row["sample"]] = (State(row["status"]), row["relevance"])
        with self._lock:
            self.left += len(block)
            for row in block.to_pylist():
                key = (row["query_id"], row["doc_id"], row["content_sha"])
                self._add(row["query_id"], row["doc_id"], known.get(key, {}))

    def tasks(self) -> Iterator[list[Task]]:
        for chunk in self._chunks:
            yield self._chunk(chunk)

    def close(self) -> None:
        """Counts the pairs that were not asked about, including those of unread chunks."""
        self._closing = True
        for _ in self.tasks():
            pass
        super().close()
