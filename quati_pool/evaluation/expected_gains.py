"""nDCG and DCG where only the probabilities of a document's grades are known: from the expected gain of each document.

A document's expected gain is the sum over grades h of P(grade ≥ h) times what h adds to the gain of the grade below.
The ideal ranking has as many documents of each grade as are expected, which need not be a whole number. Where every
grade is certain, all values are those of trec_eval: a linear gain, none for grades below 0, discounted by
log2(rank + 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from quati_pool.evaluation.judged_runs import JudgedRuns
from quati_pool.evaluation.measures import resolve
from quati_pool.evaluation.scores import Scores
from quati_pool.records import Int

Values = npt.NDArray[np.float64]

_NAMES = frozenset({"nDCG", "DCG"})
# trec_eval's gains and discounts; with other parameters a measure needs whole grades.
_PARAMETERS = {"cutoff"}


@dataclass(frozen=True, eq=False)
class ExpectedGrades:
    """What is known of the grades of qrels: ``reached``, shape (judgements, grades − 1), is the probability of each
    judgement to reach each grade of the ascending ``scale`` but the lowest."""

    scale: tuple[int, ...]
    reached: Values

    def steps(self) -> Iterator[tuple[float, Values]]:
        """For each grade above 0, what it adds to the gain, and the probability of each judgement to reach it."""
        gain = 0
        columns = np.column_stack([np.ones(len(self.reached)), self.reached]).T
        for grade, reached in zip(self.scale, columns, strict=True):
            if grade > 0:
                yield float(grade - gain), reached
                gain = grade

    @property
    def gains(self) -> Values:
        """The expected gain of each judgement, shape (judgements,)."""
        gains: Values = sum((step * reached for step, reached in self.steps()), np.zeros(len(self.reached)))
        return gains


def of_expected_gains(measures: Sequence[str]) -> tuple[str, ...]:
    """Those of the measures that are computed from expected gains; all others need whole grades."""
    return tuple(str(one) for one in resolve(measures) if _is_computed(one))


def with_expected_gains(scores: Scores, joined: JudgedRuns, expected: ExpectedGrades) -> Scores:
    """The scores of all judged queries, with the values of ``of_expected_gains`` computed from ``expected``, whose
    judgements are those of the qrels."""
    values = scores.values.copy()
    for place, measure in enumerate(resolve(scores.measures)):
        if _is_computed(measure):
            values[:, place] = _values(joined, expected, measure.NAME, measure.params.get("cutoff"))
    return replace(scores, values=values)


def _is_computed(measure: Any) -> bool:
    return measure.NAME in _NAMES and measure.params.keys() <= _PARAMETERS


def _values(joined: JudgedRuns, expected: ExpectedGrades, name: str, cutoff: int | None) -> Values:
    """The values of one measure, shape (runs, queries)."""
    queries, gains = len(joined.judged.query_ids), expected.gains
    values = np.zeros((len(joined.runs), queries))
    for run, rows in enumerate(joined.rows(cutoff)):
        known = rows.judgement >= 0
        gained = gains[rows.judgement[known]] / np.log2(rows.rank[known] + 1)
        values[run] = np.bincount(rows.query[known], gained, minlength=queries)
    if name == "DCG":
        return values
    ideal = _ideal(joined.judged.query, queries, expected, cutoff)
    found: Values = values / np.where(ideal > 0, ideal, 1.0)
    return found


def _ideal(query: Int, queries: int, expected: ExpectedGrades, cutoff: int | None) -> Values:
    """The DCG of each query's ideal ranking, shape (queries,)."""
    longest = int(np.bincount(query, minlength=queries).max(initial=0))
    depth = longest if cutoff is None else min(cutoff, longest)
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    sums = np.concatenate([[0.0], np.cumsum(discounts)])
    ideal = np.zeros(queries)
    for step, reached in expected.steps():
        count = np.bincount(query, reached, minlength=queries)
        ideal += step * np.interp(count, np.arange(depth + 1), sums)
    return ideal
