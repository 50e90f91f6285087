"""The base class of pooling methods: each chooses the documents of one query, one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.files.yaml_file import Model
from quati_pool.pooling.candidates import Rankings

Values = npt.NDArray[np.float64]


class Proposal(NamedTuple):
    """The candidate that a method would choose next, and its ``priority`` among the next candidates of all queries,
    where the budget moves between them; the highest goes first."""

    candidate: int
    priority: float


@dataclass(frozen=True, eq=False)
class QueryPool:
    """What a method knows of a query before it chooses: the ``rankings`` of its candidates; ``draws``, how many it may
    choose at most; a ``seed`` and the ``query_id`` for draws; and ``expected``, shape (size,), the probability that
    each candidate is relevant, by the steering labeler's grades where these are known beforehand (NaN: no grade), else
    None."""

    rankings: Rankings
    query_id: str = ""
    draws: int = 0
    seed: int = 0
    expected: Values | None = None


class NoParameters(Model):
    """The parameters of a method that has none."""


class PoolMethod(ABC):
    """The base class of pooling methods. An object chooses the candidates of one query.

    ``propose`` names the next candidate and changes nothing; ``choose`` says that a candidate has entered the pool, the
    proposed one or another; ``learn`` says whether a chosen candidate is relevant. Grades may come late or never, and
    a method proposes without them.
    """

    id: ClassVar[str]
    """The method's name in stored keys, such as ``pool_method/mm-ns``, independent of its module."""

    revision: ClassVar[int] = 1
    """Incremented by hand when the same grades start to give another sequence."""

    summary: ClassVar[str] = ""
    example: ClassVar[str] = "steered_by: lexical, budget: 2000"
    """Settings as ``pool:`` in a pool.yaml could have them."""
    Parameters: ClassVar[type[Model]] = NoParameters
    learns: ClassVar[bool] = True
    """Whether grades change what is proposed."""
    expects: ClassVar[bool] = False
    """Whether it reads ``QueryPool.expected``: the steering labeler has to grade all candidates beforehand."""
    random: ClassVar[bool] = False
    """Whether another seed gives another sequence."""
    moves: ClassVar[bool] = True
    """Whether its priorities say which query is to get the next label; if not, all queries get equally many."""

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a package that this method needs is not installed."""

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        self.pool = pool
        self.rankings = pool.rankings
        self.parameters = parameters
        self.chosen = np.zeros(pool.rankings.size, dtype=bool)
        self.used = 0
        """How much of the query's budget is used: the number of candidates chosen so far."""

    @abstractmethod
    def propose(self) -> Proposal | None:
        """The next candidate that is not chosen; None if there is none."""

    def choose(self, candidate: int) -> None:
        """Puts a candidate into the pool."""
        self.chosen[candidate] = True
        self.used += 1

    def learn(self, candidate: int, *, relevant: bool) -> None:
        """Takes the grade of a chosen candidate."""


class RunByRun(PoolMethod):
    """The base class of methods that take the next document of the run that looks best."""

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        self._next = [0] * len(self.rankings.by_run)

    def next_of(self, run: int) -> int | None:
        """The first candidate of a run that is not chosen; None after the last one."""
        ranked = self.rankings.by_run[run]
        place = self._next[run]
        while place < len(ranked) and ranked[place] >= 0 and self.chosen[ranked[place]]:
            place += 1
        self._next[run] = place
        return int(ranked[place]) if place < len(ranked) and ranked[place] >= 0 else None


class InOrder(PoolMethod):
    """The base class of methods whose order is known beforehand: ``order``, shape (size,), with ``priorities`` in the
    same order."""

    learns = False

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        self._order, self._priorities = self.order()
        self._place = 0

    @abstractmethod
    def order(self) -> tuple[npt.NDArray[np.int64], Values]:
        """All candidates, the first to be chosen first, and the priority of each, falling."""

    def propose(self) -> Proposal | None:
        while self._place < len(self._order) and self.chosen[self._order[self._place]]:
            self._place += 1
        if self._place == len(self._order):
            return None
        return Proposal(int(self._order[self._place]), float(self._priorities[self._place]))
