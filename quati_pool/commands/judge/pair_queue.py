"""The pairs that a judge is asked about, and the conversion of its answers to labels.

A passage that occurs twice under one query is asked about once; and a grade that this judge has given to the same texts
before, in any collection of the store, is shared.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quati_pool.commands.judge.stored_answers import attempts_of, label_extra
from quati_pool.judging.base import Judge
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import Answer, Task
from quati_pool.labels.base import Graded
from quati_pool.labels.consensus import aggregate_samples
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import SHOWN_CHARACTERS, Grading
from quati_pool.labels.rereading import Key, shareable
from quati_pool.records import State
from quati_pool.store.records import CurrentLabel, Entry, Label, content_sha

Samples = dict[int, tuple[State, int | None]]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pair that lacks a grade: as the judge is shown it, the hash of that, the length in characters its passage was
    cut to (None if it is whole), and the known and the missing samples."""

    pair: Pair
    content: str
    cut: int | None
    samples: Samples
    missing: tuple[int, ...]


class PairQueue(ABC):
    """One judge's work. ``tasks`` runs in one thread and ``landed`` in another."""

    def __init__(
        self,
        grading: Grading,
        name: str,
        judge: Judge,
        version: str,
        samples: int,
        aggregate: str,
        *,
        dry: bool = False,
        read_otherwise: Mapping[Key, tuple[State, int | None]] | None = None,
    ) -> None:
        """With ``dry`` nothing is written; ``read_otherwise`` has the state and grade of labels that will change once
        their answers are read again."""
        self.grading = grading
        self.name = name
        self.judge = judge
        self.version = version
        self._model = judge.model
        self.samples = samples
        self._wanted = range(1, samples + 1)
        self.aggregate = aggregate
        self.coverage = LabelCoverage()
        self.asked = 0
        self.shared = 0
        self.truncated = 0
        self.in_batches = 0
        self.without_text = 0
        self.with_tokens = 0
        """Pairs that were graded before chat-template tokens in them were neutralised."""
        self.left = 0
        """Pairs that should have been asked about but had not been when ``close`` was called."""
        self._closing = False
        self._dry = dry
        self._read_otherwise = read_otherwise or {}
        self._open: dict[tuple[str, str], Waiting] = {}
        self._sharers: dict[tuple[str, str], list[Waiting]] = {}
        self._lock = threading.RLock()
        self._batched = self._in_open_batches()
        self._uses_narrative = self._model is not None and self._model.prompt.uses_narrative

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of pairs, or at most how many they may become."""

    @abstractmethod
    def tasks(self) -> Iterator[list[Task]]:
        """The tasks to ask about, in chunks; a chunk is empty if all its pairs are finished."""

    def halt(self) -> None:
        """Called, from any thread, once no further task will be taken."""

    def close(self) -> None:
        """Counts the pairs that were not asked about."""
        with self._lock:
            self.left += len(self._open)
            for item in self._open.values():
                self._count(item)
            self._open.clear()
            self._sharers.clear()

    def _without_text(self, query_id: str, doc_id: str, content: str) -> Entry:
        """Counts a pair whose passage has no text, which is never asked about; its label."""
        self.without_text += 1
        self.coverage.add(Graded(query_id, doc_id, State.no_text, None))
        return Entry(label=self._label(query_id, doc_id, content, status=State.no_text))

    def _chunk(self, chunk: Sequence[Pair]) -> list[Task]:
        store, collection = self.grading.store, self.grading.config.name
        query_ids = list(dict.fromkeys(pair.query_id for pair in chunk))
        known: dict[tuple[str, str], list[CurrentLabel]] = {}
        for row in store.current(collection, self.name, self.version, query_ids):
            known.setdefault((row.query_id, row.doc_id), []).append(row)
        wanting = []
        with self._lock:
            for pair in chunk:
                item = self._look(pair, known.get((pair.query_id, pair.doc_id), ()))
                if item.missing and not self._closing:
                    wanting.append(item)
                else:
                    self.left += bool(item.missing)
                    self._count(item)
        if not wanting:
            return []
        groups = self._by_content(self._share(wanting) if self.judge.by_content else wanting)
        with self._lock:
            return [task for group in groups if (task := self._task(group)) is not None]

    def _by_content(self, items: Sequence[Waiting]) -> Iterable[list[Waiting]]:
        """Groups of items that share an answer: those of a query with the same text, unless the judge looks at ids."""
        groups: dict[tuple[str, str, str], list[Waiting]] = {}
        for item in items:
            doc_id = "" if self.judge.by_content else item.pair.doc_id
            groups.setdefault((item.pair.query_id, item.content, doc_id), []).append(item)
        return groups.values()

    def _task(self, group: list[Waiting]) -> Task | None:
        """The task for a group; None if open batches ask for all of it."""
        first, *sharers = group
        query_id = first.pair.query_id
        # All items of a group lack the same samples, since committed grades were shared before.
        missing = tuple(sample for sample in first.missing if (query_id, first.content, sample) not in self._batched)
        if len(missing) < len(first.missing):
            self.in_batches += len(group)
        if missing and not self._dry:
            for item in group:
                self._open[query_id, item.pair.doc_id] = item
            self._sharers[query_id, first.pair.doc_id] = sharers
        else:
            self.shared += len(sharers) if missing else 0
            for item in group:
                self._count(item)
        return Task(first.pair, missing) if missing else None

    def _look(self, pair: Pair, rows: Sequence[CurrentLabel]) -> Waiting:
        """The pair as shown to the judge, with its known and missing samples."""
        shown, cut = self._shown(pair)
        content = content_sha(shown.query, shown.text, shown.narrative)
        samples: Samples = {row.sample: (row.status, row.relevance) for row in rows if row.content_sha == content}
        for sample in self._wanted if self._read_otherwise else ():
            key = (pair.query_id, pair.doc_id, content, sample)
            if key in self._read_otherwise:
                samples[sample] = self._read_otherwise[key]
        missing = tuple([s for s in self._wanted if s not in samples or samples[s][0] is not State.ok])
        if missing and (shown.query, shown.text, shown.narrative) != (pair.query, pair.text[:cut], pair.narrative):
            self.with_tokens += self._graded_with_tokens(pair._replace(text=pair.text[:cut]), rows)
        return Waiting(shown, content, cut, samples, missing)

    def _graded_with_tokens(self, pair: Pair, rows: Sequence[CurrentLabel]) -> bool:
        narrative = pair.narrative if self._uses_narrative else None
        former = content_sha(pair.query, pair.text, narrative)
        return any(row.status is State.ok and row.content_sha == former for row in rows)

    def _share(self, wanting: Sequence[Waiting]) -> list[Waiting]:
        """Shares the grades that the same texts already have; returns the items that remain to be asked about."""
        reading = self._model.reading if self._model else None
        found = shareable(self.grading.store, self.version, {item.content for item in wanting}, reading)
        entries, remaining = [], []
        for item in wanting:
            here = {sample: found[item.content, sample] for sample in item.missing if (item.content, sample) in found}
            for sample, origin in here.items():
                item.samples[sample] = (State.ok, origin.relevance)
                details = {name: value for name, value in origin.extra.items() if name != SHOWN_CHARACTERS}
                label = self._label_of(item, sample, State.ok, origin.relevance, details)
                entries.append(Entry(label=replace(label, shared_from=origin.origin)))
            missing = tuple(sample for sample in item.missing if sample not in here)
            if missing:
                remaining.append(replace(item, missing=missing))
            else:
                self.shared += 1
                self._count(item)
        if entries and not self._dry:
            self.grading.store.append(entries)
        return remaining

    def sharers(self, task: Task) -> list[str]:
        """The doc_ids of the pairs that share a task's grades."""
        return [item.pair.doc_id for item in self._sharers[task.pair.query_id, task.pair.doc_id]]

    def shown(self, task: Task) -> tuple[str, int | None]:
        """The hash of the texts that a task's labels are about, and the length in characters its passage was cut to, or
        None."""
        item = self._open[task.pair.query_id, task.pair.doc_id]
        return item.content, item.cut

    def entries(self, task: Task, answers: Sequence[Answer], endpoint: str | None = None) -> list[Entry]:
        """A task's answers as store entries: labels with their attempts, and the labels that share them."""
        item = self._open[task.pair.query_id, task.pair.doc_id]
        others = self._sharers[task.pair.query_id, task.pair.doc_id]
        entries = []
        for answer in answers:
            verdict = answer.verdict
            said = (answer.sample, verdict.status, verdict.relevance, answer.details)
            label = self._label_of(item, *said, verdict.rationale or verdict.problem)
            sharers = tuple(self._label_of(other, *said) for other in others)
            entries.append(Entry(label=label, attempts=attempts_of(answer, endpoint), sharers=sharers))
        return entries

    def landed(self, task: Task, answers: Sequence[Answer]) -> None:
        """Counts a task's pairs once its answers are committed."""
        with self._lock:
            key = (task.pair.query_id, task.pair.doc_id)
            sharers = self._sharers.pop(key, [])
            self.asked += 1
            self.shared += len(sharers)
            self.truncated += self._open[key].cut is not None
            for item in (self._open[key], *sharers):
                for answer in answers:
                    item.samples[answer.sample] = (answer.verdict.status, answer.verdict.relevance)
                del self._open[item.pair.query_id, item.pair.doc_id]
                self._count(item)

    def _count(self, item: Waiting) -> Graded:
        with self._lock:
            return self._add(item.pair.query_id, item.pair.doc_id, item.samples)

    def _add(self, query_id: str, doc_id: str, samples: Samples) -> Graded:
        graded = aggregate_samples(query_id, doc_id, samples, self.samples, self.aggregate)
        self.coverage.add(graded)
        return graded

    def _label_of(
        self,
        item: Waiting,
        sample: int,
        status: State,
        relevance: int | None,
        details: Mapping[str, Any],
        rationale: str | None = None,
    ) -> Label:
        """A label of the item; a shared grade has no rationale, which stays with the label it is shared from."""
        return self._label(
            item.pair.query_id,
            item.pair.doc_id,
            item.content,
            sample=sample,
            status=status,
            relevance=relevance,
            rationale=rationale,
            extra=label_extra(item.cut, details),
            reading=self._model and self._model.reading.version,
        )

    def _label(self, query_id: str, doc_id: str, content: str, **said: Any) -> Label:
        return Label(
            collection=self.grading.config.name,
            labeler_id=self.name,
            kind="judge",
            version=self.version,
            query_id=query_id,
            doc_id=doc_id,
            content_sha=content,
            **said,
        )

    def _shown(self, pair: Pair) -> tuple[Pair, int | None]:
        """The pair as the judge sees it, and the length in characters its passage was cut to, or None."""
        return self._model.shown(pair) if self._model else (pair, None)

    def _in_open_batches(self) -> set[tuple[str, str, int]]:
        store = self.grading.store
        return {
            (request.query_id, request.content_sha, request.sample)
            for batch in store.batches(self.grading.config.name, self.name, open_only=True)
            if batch.version == self.version
            for request in store.batch_requests(batch.key)
            if not request.collected
        }
