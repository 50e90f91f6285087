"""The pairs that a judge is asked about while its own grades choose the next ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from quati_pool.commands.adaptive_pool import AdaptivePoolChoice, is_final
from quati_pool.commands.judge.chosen_judge import ChosenJudge
from quati_pool.commands.judge.pair_queue import PairQueue, Waiting
from quati_pool.files.pools import has_text
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import Task
from quati_pool.labels.base import Graded
from quati_pool.pooling.adaptive import UNGRADED
from quati_pool.records import Int, State
from quati_pool.store.records import content_sha

# Pairs whose texts are in memory at the same time.
_CHUNK = 256


class AdaptiveQueue(PairQueue):
    """One judge's work on the pool that it steers: the next pairs of a query are asked about as soon as its last ones
    were answered; where the method needs grades of all candidates, all are asked about."""

    def __init__(self, chosen: ChosenJudge, choice: AdaptivePoolChoice) -> None:
        settings = chosen.settings
        super().__init__(
            chosen.grading, chosen.name, chosen.judge, chosen.version, settings.samples, settings.aggregate
        )
        self._choice = choice
        self._source = choice.source
        outside = choice.pairs_outside()
        self._outside = [pair for pair in outside if pair[:2] not in choice.graded_outside]
        self._total_outside = len(outside)
        self._counted: set[tuple[str, str]] = set()
        for graded in choice.graded_outside.values():
            self._count_once(graded)
        self._first = self._source.open
        self._changed = threading.Condition(self._lock)
        self._halted = False
        self._numbers: dict[tuple[str, str], int] = {}
        self._in_batches: set[int] = set()
        self._known = dict(choice.graded)
        self._count_known()

    @property
    def total(self) -> int:
        """How many pairs are asked about at most, and were before."""
        return self._source.most + self._total_outside

    def tasks(self) -> Iterator[list[Task]]:
        yield self._tasks_about(self._outside)
        numbers = self._first
        while len(numbers):
            for start in range(0, len(numbers), _CHUNK):
                part = numbers[start : start + _CHUNK]
                pairs = self._choice.pairs(part)
                with self._lock:
                    self._numbers.update(zip([pair[:2] for pair in pairs], part.tolist(), strict=True))
                yield self._tasks_about(pairs)
            numbers = self._next()

    def halt(self) -> None:
        with self._changed:
            self._halted = True
            self._changed.notify_all()

    def close(self) -> None:
        with self._lock:
            complete, unanswered = self._source.complete, len(self._open)
            super().close()
            self._count_known()
            self.left = 0 if complete else self.total - self.coverage.pairs + unanswered
            chosen = self._choice.keys(np.flatnonzero(self._source.chosen))
            for query_id, doc_id in [*chosen, *(pair[:2] for pair in self._outside)]:
                self._count_once(Graded(query_id, doc_id, None, None))

    def _next(self) -> Int:
        """The pairs to ask about next, once there are any; none at the end, and where all wait in batches."""
        with self._changed:
            while True:
                numbers = self._source.advance()
                # What is in the pool anyway is asked about first, and may be chosen before it is answered.
                asked = [*self._numbers.values(), *self._in_batches]
                numbers = np.setdiff1d(numbers, np.array(asked, dtype=np.int64))
                if self._halted:
                    return numbers[:0]
                if len(numbers) or self._source.complete or not self._numbers:
                    return numbers
                self._changed.wait()

    def _tasks_about(self, pairs: Sequence[Pair]) -> list[Task]:
        entries, asked = [], []
        with self._lock:
            for pair in pairs:
                shown = pair if self._uses_narrative else pair._replace(narrative=None)
                if self.judge.by_content and not has_text(pair.text):
                    entries.append(self._without_text(pair.query_id, pair.doc_id, self._content(shown)))
                    self._answer(Graded(pair.query_id, pair.doc_id, State.no_text, None))
                else:
                    asked.append(shown)
        if entries:
            self.grading.store.append(entries)
        return self._chunk(asked) if asked else []

    def _content(self, pair: Pair) -> str:
        shown, _ = self._shown(pair)
        return content_sha(shown.query, shown.text, shown.narrative)

    def _count(self, item: Waiting) -> Graded:
        with self._lock:
            graded = super()._count(item)
            self._answer(graded)
            return graded

    def _answer(self, graded: Graded) -> None:
        """Passes on what a pair that was counted got; one that waits in a batch got nothing yet."""
        pair = graded.query_id, graded.doc_id
        self._counted.add(pair)
        number = self._numbers.pop(pair, None)
        if number is None:
            return
        if is_final(graded):
            self._source.answer(number, UNGRADED if graded.relevance is None else graded.relevance)
        else:
            self._in_batches.add(number)
        self._changed.notify_all()

    def _count_once(self, graded: Graded) -> None:
        if (graded.query_id, graded.doc_id) not in self._counted:
            self._counted.add((graded.query_id, graded.doc_id))
            self.coverage.add(graded)

    def _count_known(self) -> None:
        """Counts the pairs that the judge had answered before and that have been chosen since."""
        with self._lock:
            numbers = np.array(sorted(self._known), dtype=np.int64)
            for number in numbers[self._source.chosen[numbers]].tolist():
                self._count_once(self._known.pop(number))
