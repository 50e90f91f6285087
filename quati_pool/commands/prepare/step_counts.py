"""Counts of the rows that enter and leave each step and of drops by reason, with a few examples of each reason.

Examples are the rows whose ids have the lowest hashes, so they do not depend on how the input is cut into shards.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import xxhash

from quati_pool.preparation.base import Codes
from quati_pool.preparation.batch import Batch

EXAMPLES = 20
"""The number of dropped rows kept as examples of each reason."""
_EXCERPT = 1000


@dataclass(frozen=True)
class Example:
    """A dropped row: where its page was read, the start of its text, and what was measured."""

    order: int
    id: str
    url: str
    place: str
    detail: str
    text: str


@dataclass
class StepCount:
    """The numbers of rows, pages and characters before and after a step, and of dropped rows by reason."""

    rows_in: int = 0
    pages_in: int = 0
    characters_in: int = 0
    rows_out: int = 0
    pages_out: int = 0
    characters_out: int = 0
    seconds: float = 0.0
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    def enter(self, batch: Batch) -> None:
        self.rows_in += len(batch)
        self.pages_in += _pages(batch)
        self.characters_in += sum(map(len, batch.text))

    def leave(self, batch: Batch) -> None:
        self.rows_out += len(batch)
        self.pages_out += _pages(batch)
        self.characters_out += sum(map(len, batch.text))

    def drop(self, reason: str, example: Example) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self.keep(reason, [example])

    def keep(self, reason: str, examples: Iterable[Example]) -> None:
        known = self.examples.get(reason, [])
        self.examples[reason] = heapq.nsmallest(EXAMPLES, [*known, *examples], key=lambda each: (each.order, each.id))

    def add(self, other: StepCount) -> None:
        for name in ("rows_in", "pages_in", "characters_in", "rows_out", "pages_out", "characters_out", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for reason, number in other.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + number
        for reason, examples in other.examples.items():
            self.keep(reason, examples)

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of(data: Mapping[str, Any]) -> StepCount:
        examples = {reason: [Example(**each) for each in found] for reason, found in data["examples"].items()}
        return StepCount(**{**data, "examples": examples})


def example_order(identity: str) -> int:
    """The hash that orders a row among the examples; the rows with the lowest hashes are kept."""
    return xxhash.xxh3_64_intdigest(identity.encode(errors="surrogatepass"))


def count_drops(count: StepCount, batch: Batch, codes: Codes, reasons: Sequence[str], place: Any, detail: Any) -> None:
    """Adds the rows that ``codes`` drop to ``count``, with examples."""
    for code in np.unique(codes[codes > 0]).tolist():
        reason = reasons[code - 1]
        rows = np.flatnonzero(codes == code).tolist()
        count.dropped[reason] = count.dropped.get(reason, 0) + len(rows)
        known = count.examples.get(reason, [])
        limit = known[-1].order if len(known) == EXAMPLES else None
        ordered = [(example_order(batch.ids[row]), row) for row in rows]
        lowest = heapq.nsmallest(EXAMPLES, (pair for pair in ordered if limit is None or pair[0] <= limit))
        if lowest:
            count.keep(
                reason,
                [
                    Example(order, batch.ids[row], batch.url[row], place(row), detail(row), batch.text[row][:_EXCERPT])
                    for order, row in lowest
                ],
            )


def _pages(batch: Batch) -> int:
    return 0 if not len(batch) else 1 + int(np.count_nonzero(np.diff(batch.page)))
