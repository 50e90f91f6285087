"""What a run is like before anything is judged: how deep its lists go, and how much of it is tied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quati_pool.records import Run


@dataclass(frozen=True)
class RunFacts:
    """``rows`` of a run, of which ``tied`` share their score with another of their query; ``longest``: the most
    documents of a query; ``cut``: whether the lists look as if they had been cut there."""

    rows: int
    tied: int
    longest: int
    cut: bool

    @property
    def tied_share(self) -> float | None:
        """None for a run without rows."""
        return self.tied / self.rows if self.rows else None


def run_facts(run: Run) -> RunFacts:
    """A run's lists count as cut where several queries have just as many documents as the longest (or the
    only one has), and the run holds further documents: all there are is no cut."""
    longest = int(run.rank.max(initial=0))
    queries = int((run.rank == 1).sum())
    last = np.flatnonzero(run.rank == longest)
    cut = queries == 1
    if len(last) > 1:
        # Ranks count on within a query, so that these are all documents of one.
        cut = not np.isin(run.doc, run.doc[last[0] - longest + 1 : last[0] + 1]).all()
    return RunFacts(len(run), int(run.tied.sum()), longest, cut)
