"""Facts of a run that need no judgements: the length of its lists, and its ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quati_pool.records import Run


@dataclass(frozen=True)
class RunFacts:
    """The number of a run's ``rows``, of which ``tied`` share their score with another of their query; ``longest``: the
    most documents of a query; ``cut``: whether the lists seem to have been cut at that length."""

    rows: int
    tied: int
    longest: int
    cut: bool

    @property
    def tied_share(self) -> float | None:
        """None for a run without rows."""
        return self.tied / self.rows if self.rows else None


def run_facts(run: Run) -> RunFacts:
    """Lists count as cut where several queries (or the only one) have as many documents as the longest, unless these
    are all documents of the run."""
    longest = int(run.rank.max(initial=0))
    queries = int((run.rank == 1).sum())
    last = np.flatnonzero(run.rank == longest)
    cut = queries == 1
    if len(last) > 1:
        # Ranks ascend within a query, so these rows are all documents of one query.
        cut = not np.isin(run.doc, run.doc[last[0] - longest + 1 : last[0] + 1]).all()
    return RunFacts(len(run), int(run.tied.sum()), longest, cut)
