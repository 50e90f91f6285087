"""Fusion of rankings: reciprocal rank fusion, CombSUM and CombMNZ.

A document gets nothing from an input that does not return it. Sums are computed in float64, in the order in which the
inputs are named, so that a fusion does not depend on threads or on input files.
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
from quati_pool.retrieval.base import Parameters, one_each

Contributions = npt.NDArray[np.float64]


class FusionParameters(Parameters):
    weights: Annotated[
        list[float] | None, Field(description="a factor for each fused system, in their order; all 1 by default")
    ] = None


class Fusion(ABC):
    """The base class of methods that combine several runs into one."""

    id: ClassVar[str]
    """The fusion's name in all stored keys, such as ``fusion/rrf``, independent of its module. A plug-in without an id
    is named after its kind and its entry point, a class in a user's file after that file and itself."""

    revision: ClassVar[int] = 1
    """Incremented by hand when the same parameters start to give different results, so that caches are not reused."""

    summary: ClassVar[str] = ""
    example: ClassVar[str] = ""
    """Parameters as a pool.yaml could have them, such as ``k1: 0.9, b: 0.4``."""
    Parameters: ClassVar[type[FusionParameters]] = FusionParameters

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a package that this fusion needs is not installed."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @abstractmethod
    def contributions(self, run: Run) -> Contributions:
        """The unweighted amount that each row of a run adds to the score of its document, shape (n,)."""

    def combine(self, total: Contributions, inputs: npt.NDArray[np.int64]) -> Contributions:
        """The fused score of each document, from the sum of its weighted contributions and the number of inputs that
        returned it."""
        return total

    def fuse(self, run_tag: str, runs: Sequence[Run], depth: int | None = None) -> Run:
        """The fused run, ranked by descending score, then descending doc_id, and cut at ``depth``.

        Raises ConfigError if the number of weights is not the number of runs, or a fused score overflows float32, and
        ScoreError if ``contributions`` does not return one number per row.
        """
        weights = [1.0] * len(runs) if self.parameters.weights is None else self.parameters.weights
        if len(weights) != len(runs):
            raise ConfigError(
                f"{run_tag} fuses {len(runs)} systems and has {len(weights)} weights; give one weight per system"
            )
        runs = align(runs)
        gave = f"{run_tag}: its fusion gave contributions"
        added = np.concatenate(
            [w * one_each(run, self.contributions(run), gave) for w, run in zip(weights, runs, strict=True)]
        )
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
    example = "k: 60"
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
    """A run's scores normalised query by query, shape (n,), float64.

    ``min-max`` maps a query's scores to 0…1, ``z-score`` maps them to mean 0 and (population) standard deviation 1, and
    ``sum`` shifts the lowest to 0 and scales the sum to 1. If all scores of a query are equal, these formulas are
    undefined, and each of its n documents gets 1, 0 or 1/n respectively.
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
