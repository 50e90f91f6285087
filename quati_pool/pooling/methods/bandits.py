"""Pooling as a multi-armed bandit: MaxMean and MM-NS.

Losada, Parapar and Barreiro, Multi-armed bandits for adjudicating documents in pooling-based evaluation of information
retrieval systems, Information Processing and Management 53, 2017.

A run is an arm, and what is believed of the share of relevant documents in it is a Beta distribution. The next document
is the next one of the run with the highest mean.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from quati_pool.files.yaml_file import Model
from quati_pool.pooling.methods.base import Proposal, QueryPool, RunByRun


class BanditParameters(Model):
    update: Annotated[
        Literal["holders", "source"],
        Field(
            description="which runs learn from a grade: all that rank the document, or the one that it was taken from"
        ),
    ] = "holders"


class MaxMean(RunByRun):
    """Beta(1 + relevant, 1 + returned − relevant) of each run; the first in the order of the runs where several have
    the highest mean."""

    id = "pool_method/max-mean"
    summary = "the run with the highest mean share of relevant documents first"
    Parameters = BanditParameters
    forgetting = 1.0
    """γ: what a grade still counts after the next one."""

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        runs = len(self.rankings.by_run)
        self._relevant = np.zeros(runs)
        self._returned = np.zeros(runs)
        self._means = np.full(runs, 0.5)
        self._source: dict[int, int] = {}

    def propose(self) -> Proposal | None:
        found = self._best()
        return None if found is None else Proposal(found[1], float(self._means[found[0]]))

    def choose(self, candidate: int) -> None:
        if self.parameters.update == "source":
            found = self._best()
            if found is not None and found[1] == candidate:
                self._source[candidate] = found[0]
        super().choose(candidate)

    def learn(self, candidate: int, *, relevant: bool) -> None:
        if self.parameters.update == "holders":
            runs, _ = self.rankings.places(candidate)
        elif candidate in self._source:
            runs = np.array([self._source[candidate]])
        else:
            return
        self._relevant[runs] = self.forgetting * self._relevant[runs] + relevant
        self._returned[runs] = self.forgetting * self._returned[runs] + 1
        self._means[runs] = (1 + self._relevant[runs]) / (2 + self._returned[runs])

    def _best(self) -> tuple[int, int] | None:
        """The run with the highest mean that has a candidate left, and that candidate."""
        while self._means[run := int(np.argmax(self._means))] > -np.inf:
            candidate = self.next_of(run)
            if candidate is not None:
                return run, candidate
            self._means[run] = -np.inf
        return None


class NonStationaryParameters(BanditParameters):
    forgetting: Annotated[
        float, Field(ge=0, le=1, description="γ: what a grade still counts after the next one of the run")
    ] = 0.9


class MaxMeanNonStationary(MaxMean):
    """MaxMean that forgets: relevant ← γ · relevant + 1 if the document is relevant, returned ← γ · returned + 1, as a
    run gets worse down its ranking."""

    id = "pool_method/mm-ns"
    summary = "as max-mean, with older grades counting less"
    Parameters = NonStationaryParameters

    def __init__(self, pool: QueryPool, parameters: Any) -> None:
        super().__init__(pool, parameters)
        self.forgetting = parameters.forgetting
