"""Move-to-front pooling (Cormack, Palmer and Clarke, Efficient construction of large test collections, SIGIR 1998)."""

from __future__ import annotations

from typing import Any

from quati_pool.pooling.methods.base import Proposal, QueryPool, RunByRun


class MoveToFront(RunByRun):
    """Takes the next document of the run of the highest priority, the first in the order of the runs where several have
    it. The priority falls by 1 after a document that is not relevant, so that a run is left only then.

    Where the budget moves between queries, the highest priority of any run and query goes first (the global variant
    of the paper).
    """

    id = "pool_method/move-to-front"
    summary = "the run that last gave a relevant document first; a run moves back after one that is not relevant"

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        self._priority = [0] * len(self._next)
        self._source: dict[int, int] = {}

    def propose(self) -> Proposal | None:
        found = self._best()
        return None if found is None else Proposal(found[1], float(self._priority[found[0]]))

    def choose(self, candidate: int) -> None:
        found = self._best()
        if found is not None and found[1] == candidate:
            self._source[candidate] = found[0]
        super().choose(candidate)

    def learn(self, candidate: int, *, relevant: bool) -> None:
        run = self._source.get(candidate)
        if run is not None and not relevant:
            self._priority[run] -= 1

    def _best(self) -> tuple[int, int] | None:
        """The run of the highest priority that has a candidate left, and that candidate."""
        for run in sorted(range(len(self._priority)), key=lambda run: -self._priority[run]):
            candidate = self.next_of(run)
            if candidate is not None:
                return run, candidate
        return None
