"""Move-to-front pooling (Cormack, Palmer and Clarke, Efficient construction of large test collections, SIGIR 1998)."""

from __future__ import annotations

from typing import Any

from quati_pool.pooling.methods.base import Proposal, QueryPool, RunByRun


class MoveToFront(RunByRun):
    """Stays with a run while its documents are relevant. After one that is not, the run's priority falls by 1, and the
    run of the highest priority is next, the first in the order of the runs where several have it.

    Where the budget moves between queries, the highest priority of any run and query goes first (the global variant
    of the paper).
    """

    id = "pool_method/move-to-front"
    summary = "the run that last gave a relevant document first; a run moves back after one that is not relevant"

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        self._priority = [0] * len(self._next)
        self._current: int | None = None
        self._source: dict[int, int] = {}

    def propose(self) -> Proposal | None:
        found = self._from_current() or self._from_best()
        return None if found is None else Proposal(found[1], float(self._priority[found[0]]))

    def choose(self, candidate: int) -> None:
        found = self._from_current() or self._from_best()
        if found is not None and found[1] == candidate:
            self._current = self._source[candidate] = found[0]
        super().choose(candidate)

    def learn(self, candidate: int, *, relevant: bool) -> None:
        run = self._source.get(candidate)
        if run is None or relevant:
            return
        self._priority[run] -= 1
        if run == self._current:
            self._current = None

    def _from_current(self) -> tuple[int, int] | None:
        if self._current is None:
            return None
        candidate = self.next_of(self._current)
        return None if candidate is None else (self._current, candidate)

    def _from_best(self) -> tuple[int, int] | None:
        """The run of the highest priority that has a candidate left, and that candidate."""
        for run in sorted(range(len(self._priority)), key=lambda run: -self._priority[run]):
            candidate = self.next_of(run)
            if candidate is not None:
                return run, candidate
        return None
