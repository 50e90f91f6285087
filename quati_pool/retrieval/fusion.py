"""Fusion of rankings: reciprocal rank fusion, CombSUM and CombMNZ.

A document that an input does not return gets nothing from it. Sums are taken in float64, in the
order in which the inputs are named, so a fusion does not depend on threads or on input files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from quati_pool.errors import ConfigError
from quati_pool.records import Run, align
from quati_pool.retrieval.base import Parameters

Contributions = npt.NDArray[np.float64]


class FusionParameters(Parameters):
    weights: Annotated[
        list[float] | None, Field(description="a factor for each fused system, in their order; all 1 by default")
    ] = None


class Fusion(ABC):
    """Joins runs into one."""

    id: ClassVar[str]
    """What it is called in all that is stored, such as ``fusion/rrf``, wherever its code lies. A plug-in without
    one is called by its kind and the name of its entry point."""

    revision: ClassVar[int] = 1
    """Raised when the same parameters come to give other results, so that caches are not reused."""

    summary: ClassVar[str]
    Parameters: ClassVar[type[FusionParameters]]

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where a package this fusion needs is not installed."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @abstractmethod
    def contributions(self, run: Run) -> Contributions:
        """What each row of a run adds to its document, before the weight; shape (n,)."""

    def combine(self, total: Contributions, inputs: npt.NDArray[np.int64]) -> Contributions:
        """The fused score from the sum of contributions and the number of inputs that returned it."""
        return total

    def fuse(self, run_tag: str, runs: Sequence[Run], depth: int | None = None) -> Run:
        """The fused run, by score descending, then doc_id descending, to ``depth``.

        Raises ConfigError where the number of weights is not the number of runs, or a score is too large.
        """
        weights = [1.0] * len(runs) if self.parameters.weights is None else self.parameters.weights
        if len(weights) != len(runs):
            raise ConfigError(
                f"{run_tag} fuses {len(runs)} systems and has {len(weights)} weights; give one weight a system"
            )
        runs = align(runs)
        added = np.concatenate([w * self.contributions(run) for w, run in zip(weights, runs, strict=True)])
        row, pairs = pd.factorize(np.concatenate([run.pair for run in runs]))
        total = np.bincount(row, weights=added, minlength=len(pairs)).astype(np.float64)
        inputs = np.bincount(row, minlength=len(pairs)).astype(np.int64)
        documents = max(len(runs[0].docs), 1)
        query, doc = np.divmod(pairs, documents)
        score = self.combine(total, inputs)
        if len(score) and np.abs(score).max() > np.finfo(np.float32).max:
            raise ConfigError(f"{run_tag}: a fused score is too large for float32; normalise, or lower the weights")
        return Run.ranked(run_tag, runs[0].queries, runs[0].docs, query, doc, score, depth)


class RrfParameters(FusionParameters):
    k: Annotated[float, Field(ge=0, description="added to every rank")] = 60


class Rrf(Fusion):
    """Sum of weight / (k + rank) (Cormack, Clarke and Büttcher, SIGIR 2009)."""

    id = "fusion/rrf"
    summary = "reciprocal rank fusion: sum of weight / (k + rank)"
    Parameters = RrfParameters

    def contributions(self, run: Run) -> Contributions:
        added: Contributions = 1.0 / (self.parameters.k + run.rank)
        return added


class CombParameters(FusionParameters):
    normalization: Annotated[
        Literal["min-max", "z-score", "sum", "none"],
        Field(description="of each input's scores, query by query, before they are added"),
    ] = "min-max"


class CombSum(Fusion):
    """Sum of normalised scores (Fox and Shaw, TREC-2, 1994)."""

    id = "fusion/combsum"
    summary = "sum of normalised scores"
    Parameters = CombParameters

    def contributions(self, run: Run) -> Contributions:
        return normalized(run, self.parameters.normalization)


class CombMnz(CombSum):
    """CombSUM times the number of inputs that return the document (Fox and Shaw, TREC-2, 1994)."""

    id = "fusion/combmnz"
    summary = "sum of normalised scores, times the number of systems that return the document"

    def combine(self, total: Contributions, inputs: npt.NDArray[np.int64]) -> Contributions:
        return total * inputs


def normalized(run: Run, how: str) -> Contributions:
    """A run's scores, normalised query by query; shape (n,), float64.

    ``min-max`` maps a query's scores to 0…1, ``z-score`` to mean 0 and (population) standard
    deviation 1, ``sum`` shifts the lowest to 0 and the sum to 1. Where all of a query's scores are
    equal the formulas are undefined, and each of its n documents gets 1, 0 or 1/n.
    """
    score = run.score.astype(np.float64)
    if how == "none" or len(score) == 0:
        return score
    starts = np.flatnonzero(np.r_[True, run.query[1:] != run.query[:-1]])
    lengths = np.diff(np.r_[starts, len(score)])
    low = np.repeat(np.minimum.reduceat(score, starts), lengths)
    spread = np.repeat(np.maximum.reduceat(score, starts), lengths) - low
    count = np.repeat(lengths, lengths)
    constant = spread == 0
    if how == "min-max":
        return np.where(constant, 1.0, (score - low) / np.where(constant, 1.0, spread))
    if how == "sum":
        total = np.repeat(np.add.reduceat(score - low, starts), lengths)
        return np.where(constant, 1.0 / count, (score - low) / np.where(constant, 1.0, total))
    centred = score - np.repeat(np.add.reduceat(score, starts) / lengths, lengths)
    deviation = np.sqrt(np.repeat(np.add.reduceat(centred**2, starts) / lengths, lengths))
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation))
