"""How a labeler stands over the pool: pairs by state and by grade, and how far samples lie apart."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from quati_pool.labels.base import Graded
from quati_pool.records import FAILURES, State
from quati_pool.store.failed_answers import FailedAnswer

# Pairs without a grade that a refusal may name.
_NAMED = 10
# A pair that a person put off, or whose label was taken back, has no grade yet, just as one never asked about.
_STATES = list(State)
_NO_GRADE_YET = FAILURES | {State.skipped, State.retracted}


def example_order(failed: Graded | FailedAnswer) -> tuple[int, str, str]:
    """Which of several failures is shown, whatever order they came in: unparsed before failed, then by ids."""
    status = failed.status
    return (-1 if status is None else _STATES.index(status), failed.query_id, failed.doc_id)


class LabelCoverage:
    """Counts pairs as they are added; every pair of the pool is in exactly one count."""

    def __init__(self, named: int | None = _NAMED) -> None:
        """``named`` is how many pairs without a grade are kept by name; None keeps all."""
        self._named = named
        self.pairs = 0
        self.cut = 0
        self.states: Counter[State] = Counter()
        self.grades: Counter[int] = Counter()
        self.unasked = 0
        self.lacking: list[Graded] = []
        self.failed: Graded | None = None
        """The pair without a grade that is first by ``example_order``."""
        self._several = 0
        self._unanimous = 0
        self._range = 0

    def add(self, graded: Graded) -> None:
        self.pairs += 1
        if graded.status is None:
            self.unasked += 1
        else:
            self.states[graded.status] += 1
            if graded.status in FAILURES:
                self.failed = min(self.failed or graded, graded, key=example_order)
        if graded.relevance is not None:
            self.grades[graded.relevance] += 1
            self.cut += graded.cut
            if len(graded.samples) > 1:
                self._several += 1
                self._unanimous += len(set(graded.samples)) == 1
                self._range += max(graded.samples) - min(graded.samples)
        elif self._lacks(graded.status) and self._keeps_names:
            self.lacking.append(graded)

    def add_ok(self, relevance: npt.NDArray[np.int64]) -> None:
        """Counts pairs that have a grade, which was not made of several; shape (pairs,)."""
        if not len(relevance):
            return
        self.pairs += len(relevance)
        self.states[State.ok] += len(relevance)
        for grade, count in zip(*np.unique(relevance, return_counts=True), strict=True):
            self.grades[int(grade)] += int(count)

    def _lacks(self, status: State | None) -> bool:
        """Whether a pair of this state is named; one without text only in a list of all, as it holds up nothing."""
        return status is None or status in _NO_GRADE_YET or (self._named is None and status is State.no_text)

    @property
    def _keeps_names(self) -> bool:
        return self._named is None or len(self.lacking) < self._named

    @property
    def pending(self) -> int:
        """Pairs that failed, were put off, taken back or never asked about: those for which qrels are refused."""
        return self.unasked + sum(count for state, count in self.states.items() if state in _NO_GRADE_YET)

    @property
    def unanimous(self) -> float | None:
        """The share of pairs whose samples all agree; None where no pair has several."""
        return self._unanimous / self._several if self._several else None

    @property
    def mean_range(self) -> float | None:
        """Highest less lowest grade of a pair's samples, on average; None where no pair has several."""
        return self._range / self._several if self._several else None
