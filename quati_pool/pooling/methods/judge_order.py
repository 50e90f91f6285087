"""The order of a judge's grades: what is most probably relevant first."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from quati_pool.files.yaml_file import Model
from quati_pool.pooling.methods.base import InOrder, Proposal, QueryPool, Values

_PRIOR = 2.0


class JudgeOrderParameters(Model):
    forgetting: Annotated[
        float,
        Field(
            ge=0, le=1, description="what a grade still counts after the next one of the query, where a budget moves"
        ),
    ] = 0.9


class JudgeOrder(InOrder):
    """The document that is most probably relevant by a judge's grade of it first; among equal ones the one that more
    runs rank, then the one with the better best rank. A candidate without a grade comes after all others.

    Where the budget moves between queries, the judge may be lenient on one and strict on another, so the probability
    of each next document is multiplied by (2 + relevant) / (2 + expected) of its query: what was relevant so far and
    what had been expected, both shrunk towards each other and forgetting (the posterior mean of a Gamma prior and
    Poisson counts).
    """

    id = "pool_method/judge-order"
    summary = "the highest grades of a judge that has graded all candidates first"
    Parameters = JudgeOrderParameters
    learns = True
    expects = True

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        self._relevant = self._anticipated = 0.0

    def order(self) -> tuple[npt.NDArray[np.int64], Values]:
        if self.pool.expected is None:
            raise ValueError("the steering labeler's grades of the candidates are not known")
        # NaN is sorted last, after 0 too.
        order = np.lexsort((self.rankings.best_rank, -self.rankings.popularity, -self.pool.expected))
        self._expected = np.nan_to_num(self.pool.expected, nan=0.0)
        return order, self._expected[order]

    def propose(self) -> Proposal | None:
        found = super().propose()
        if found is None:
            return None
        return Proposal(found.candidate, found.priority * (_PRIOR + self._relevant) / (_PRIOR + self._anticipated))

    def learn(self, candidate: int, *, relevant: bool) -> None:
        forgetting = self.parameters.forgetting
        self._relevant = forgetting * self._relevant + relevant
        self._anticipated = forgetting * self._anticipated + float(self._expected[candidate])


def probability_by_grade(grades: npt.NDArray[np.int64], scale: npt.NDArray[np.int64]) -> Values:
    """A guess of the probability that a document with each of ``grades`` is relevant, before anything is known of the
    judge: the grade's place on the ``scale`` (ascending), from 1/(2k) for the lowest of k to 1 − 1/(2k)."""
    found: Values = (np.searchsorted(scale, grades) + 0.5) / len(scale)
    return found
