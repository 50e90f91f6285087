"""A labeler's coverage of the pool: counts of pairs by state and by grade, and the agreement of samples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from quati_pool.labels.base import NEVER_ASKED, NOT_GIVEN, TIED, Graded
from quati_pool.records import FAILURES, State
from quati_pool.store.failed_answers import FailedAnswer

# The most pairs without a grade that an error message may name.
_NAMED = 10
# A pair that a person skipped, or whose label was retracted, has no grade yet, like one never asked about.
_STATES = list(State)
_NO_GRADE_YET = FAILURES | {State.skipped, State.retracted}


def example_order(failed: Graded | FailedAnswer) -> tuple[int, str, str]:
    """A sort key for the failure to show, in any order of arrival: unparsed before failed, then by ids."""
    status = failed.status
    return (-1 if status is None else _STATES.index(status), failed.query_id, failed.doc_id)


class LabelCoverage:
    """Counts pairs as they are added; every pair of the pool is counted exactly once."""

    def __init__(self, named: int | None = _NAMED) -> None:
        """``named`` is the most pairs without a grade to keep in ``lacking``; None keeps all."""
        self._named = named
        self.pairs = 0
        self.cut = 0
        self.states: Counter[State] = Counter()
        self.grades: Counter[int] = Counter()
        self.tied = 0
        """The number of pairs that a lead is to decide (``Graded.tied``); not among ``states``."""
        self.unasked = 0
        self.not_given = 0
        """The number of pairs that people were not given, and which are therefore not missing."""
        self.lacking: list[Graded] = []
        self.failed: Graded | None = None
        """The pair without a grade that is first by ``example_order``."""
        self._several = 0
        self._unanimous = 0
        self._range = 0

    def add(self, graded: Graded) -> None:
        self.pairs += 1
        if not graded.given:
            self.not_given += 1
        elif graded.tied:
            self.tied += 1
        elif graded.status is None:
            self.unasked += 1
        else:
            self.states[graded.status] += 1
            if graded.status in FAILURES:
                self.failed = min(self.failed or graded, graded, key=example_order)
        if len(graded.samples) > 1:
            self._several += 1
            self._unanimous += len(set(graded.samples)) == 1
            self._range += max(graded.samples) - min(graded.samples)
        if graded.relevance is not None:
            self.grades[graded.relevance] += 1
            self.cut += graded.cut
        elif self._lacks(graded) and self._keeps_names:
            self.lacking.append(graded)

    def add_ok(self, relevance: npt.NDArray[np.int64]) -> None:
        """Counts pairs by their grades, of shape (pairs,), none of which is aggregated from several samples."""
        if not len(relevance):
            return
        self.pairs += len(relevance)
        self.states[State.ok] += len(relevance)
        for grade, count in zip(*np.unique(relevance, return_counts=True), strict=True):
            self.grades[int(grade)] += int(count)

    def _lacks(self, graded: Graded) -> bool:
        """Whether a pair without a grade is kept in ``lacking``; one without text only if all are kept, as it blocks
        nothing."""
        if not graded.given:
            return False
        status = graded.status
        blocks = status is None or graded.tied or status in _NO_GRADE_YET
        return blocks or (self._named is None and status is State.no_text)

    @property
    def _keeps_names(self) -> bool:
        return self._named is None or len(self.lacking) < self._named

    @property
    def pending(self) -> int:
        """The number of pairs that failed, were skipped, retracted, never asked about or are tied; qrels are refused
        for them."""
        return self.unasked + self.tied + sum(count for state, count in self.states.items() if state in _NO_GRADE_YET)

    @property
    def complete(self) -> bool:
        """Whether no pair of the pool still needs a grade, and people, if they gave them, were given all."""
        return not self.pending and not self.not_given

    @property
    def lacks(self) -> dict[str, int]:
        """The number of pairs without a grade by state and in words (``Graded.state_name``); zeros are left out."""
        states = {state.value: self.states[state] for state in State if state is not State.ok}
        others = {TIED: self.tied, NEVER_ASKED: self.unasked, NOT_GIVEN: self.not_given}
        return {name: count for name, count in (states | others).items() if count}

    @property
    def unanimous(self) -> float | None:
        """The share of pairs with several samples whose samples all agree; None if there are none."""
        return self._unanimous / self._several if self._several else None

    @property
    def mean_range(self) -> float | None:
        """The mean difference of the highest and lowest grade of a pair's samples; None if no pair has several."""
        return self._range / self._several if self._several else None
