"""Facts about a run that need no judgements: the lengths of its lists, and its ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quati_pool.records import Run


@dataclass(frozen=True)
class RunFacts:
    """The size and ties of a run.

    ``rows`` is its number of rows, of which ``tied`` share their score with another row of the same query. ``longest``
    is the largest number of documents for a query, and ``cut`` says whether lists seem to have been cut at that length.
    """

    rows: int
    tied: int
    longest: int
    cut: bool

    @property
    def tied_share(self) -> float | None:
        """The share of rows that are tied; None for a run without rows."""
        return self.tied / self.rows if self.rows else None


def run_facts(run: Run) -> RunFacts:
    """The facts of a run. Its lists count as cut if several queries (or the only query) have the largest number of
    documents, unless these are all documents of the run."""
    longest = int(run.rank.max(initial=0))
    queries = int((run.rank == 1).sum())
    last = np.flatnonzero(run.rank == longest)
    cut = queries == 1
    if len(last) > 1:
        # Ranks ascend within a query, so these rows are all documents of one query.
        cut = not np.isin(run.doc, run.doc[last[0] - longest + 1 : last[0] + 1]).all()
    return RunFacts(len(run), int(run.tied.sum()), longest, cut)
