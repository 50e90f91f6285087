"""The pairs from which a judge learns: texts, the grades of its teachers, and how they are split by query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.models.judge_card import Target
from quati_pool.stats.hashing import hashes, places

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class TaughtPair(NamedTuple):
    """A pair with the ``grades`` of its teachers and their ``expected`` grades, which are the grades themselves where
    no more is known. ``negative``: no teacher graded it, and it counts as irrelevant."""

    query_id: str
    doc_id: str
    query: str
    text: str
    grades: tuple[int, ...]
    expected: tuple[float, ...]
    negative: bool = False


def pair_id(query_id: str, doc_id: str) -> str:
    """One text that identifies a pair."""
    return f"{len(query_id)}:{query_id}{doc_id}"


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs in columns. ``above``, shape (pairs, grades - 1), is the share of a pair's teachers whose grade is above
    the k-th of ``scale``; ``expected``, shape (pairs,), the mean of their expected grades. ``relevant_from`` is the
    lowest relevant grade."""

    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    queries: tuple[str, ...]
    texts: tuple[str, ...]
    above: Values
    expected: Values
    negative: Mask
    scale: tuple[int, ...]
    relevant_from: int

    @classmethod
    def of(cls, pairs: Iterable[TaughtPair], scale: Sequence[int], relevant_from: int) -> Examples:
        """Raises ConfigError if ``relevant_from`` is not on the scale above its lowest grade."""
        scale = tuple(sorted(scale))
        if relevant_from not in scale[1:]:
            grades = ", ".join(map(str, scale[1:]))
            raise ConfigError(f"the lowest relevant grade {relevant_from} is not one of {grades}; name one of them")
        found = list(pairs)
        thresholds = np.array(scale[:-1])
        above = [(np.array(pair.grades)[:, None] > thresholds).mean(axis=0) for pair in found]
        return cls(
            tuple(pair.query_id for pair in found),
            tuple(pair.doc_id for pair in found),
            tuple(pair.query for pair in found),
            tuple(pair.text for pair in found),
            np.array(above, dtype=np.float64).reshape(len(found), len(thresholds)),
            np.array([float(np.mean(pair.expected)) for pair in found]),
            np.array([pair.negative for pair in found], dtype=np.bool_),
            scale,
            relevant_from,
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def ids(self) -> list[str]:
        """The ``pair_id`` of each pair."""
        return list(map(pair_id, self.query_ids, self.doc_ids))

    @property
    def relevant_share(self) -> Values:
        """The share of a pair's teachers that graded it as relevant, shape (pairs,)."""
        found: Values = self.above[:, self.scale.index(self.relevant_from) - 1]
        return found

    @property
    def relevant(self) -> Mask:
        """Whether at least half of a pair's teachers graded it as relevant."""
        return self.relevant_share >= 0.5

    def targets(self, target: Target) -> Values:
        """What a model's outputs are to be, shape (pairs, outputs); see ``JudgeCard.read``."""
        if target == "ordinal":
            return self.above
        if target == "binary":
            return self.relevant_share[:, None]
        lowest, highest = self.scale[0], self.scale[-1]
        scaled: Values = (self.expected[:, None] - lowest) / (highest - lowest)
        return scaled

    def select(self, rows: Mask) -> Examples:
        """The pairs where ``rows`` is true."""
        kept = np.flatnonzero(rows).tolist()
        columns: dict[str, Any] = {
            name: tuple(getattr(self, name)[row] for row in kept)
            for name in ("query_ids", "doc_ids", "queries", "texts")
        }
        return replace(
            self, **columns, above=self.above[kept], expected=self.expected[kept], negative=self.negative[kept]
        )


def split_by_query(examples: Examples, held_out: float, seed: int) -> tuple[Examples, Examples]:
    """The training and the held-out examples. Which queries are held out is a hash of seed and query_id; they are the
    share ``held_out`` of all queries, rounded, but at least one unless the share is 0.

    Raises QuatiPoolError unless the training queries have relevant and irrelevant pairs.
    """
    query_ids = list(dict.fromkeys(examples.query_ids))
    number = 0 if held_out == 0 else max(round(held_out * len(query_ids)), 1)
    order = places(hashes("held-out queries of a judge", seed, query_ids), query_ids)
    kept_back = {query_ids[place] for place in order[:number].tolist()}
    rows = np.array([query_id in kept_back for query_id in examples.query_ids], dtype=np.bool_)
    training, rest = examples.select(~rows), examples.select(rows)
    queries = len(query_ids) - number
    relevant = int(training.relevant.sum())
    if queries < 2 or relevant in (0, len(training)):
        only = "no relevant" if relevant == 0 else "no irrelevant"
        problem = f"{queries} of them" if queries < 2 else f"{only} one among their {len(training):,} pairs"
        raise QuatiPoolError(
            f"a judge learns from relevant and irrelevant pairs of two queries or more, and there is {problem} to "
            f"train on; grade more pairs, name further labelers with --from, or add irrelevant ones with --negatives N"
        )
    return training, rest


class Balance(NamedTuple):
    """``positive_weights``, shape (outputs,): how much more a pair above a threshold counts in the loss than one that
    is not, so that both sides weigh the same. ``shifts``: by how much that, and the changes of pairs in training,
    raise the log-odds that the model learns for pairs as they are, once it has learned all."""

    positive_weights: Values
    shifts: Values


# A rarer side than one in so many does not get more weight.
_MOST_WEIGHT = 20.0


def balance(targets: Values, target: Target, unchanged: Values) -> Balance:
    """The class balance of training examples with ``targets``, shape (pairs, outputs). ``unchanged``, shape (pairs,),
    is the probability that augmentation leaves a pair as it is.

    A weight w of one side adds log w to the log-odds, and leaving a share a of the pairs above and b of those below a
    threshold unchanged adds log(a / b). Neither applies to ``expected``, whose loss is not of log-odds.
    """
    outputs = targets.shape[1]
    if target == "expected":
        return Balance(np.ones(outputs), np.zeros(outputs))
    above, below = targets.sum(axis=0), (1 - targets).sum(axis=0)
    both = (above > 0) & (below > 0)
    weights = np.ones(outputs)
    weights[both] = np.clip(below[both] / above[both], 1 / _MOST_WEIGHT, _MOST_WEIGHT)
    shifts = np.zeros(outputs)
    left_above = (unchanged @ targets)[both] / above[both]
    left_below = (unchanged @ (1 - targets))[both] / below[both]
    shifts[both] = np.log(weights[both] * left_above / left_below)
    return Balance(weights, shifts)


def calibrated(outputs: Values, targets: Values, shifts: Values) -> Values:
    """The ``shifts``, shape (outputs,), with which the ``outputs`` for pairs as they are have the mean probability that
    their ``targets`` have, both of shape (pairs, outputs): a logistic calibration with the slope 1. A shift stays where
    the pairs are all above or all below its threshold."""
    from scipy.optimize import brentq
    from scipy.special import expit

    found = shifts.copy()
    for column, share in enumerate(targets.mean(axis=0).tolist() if len(targets) else []):
        if 0 < share < 1:
            known = outputs[:, column]
            middle = math.log(share / (1 - share))
            # Every pair has a probability below the share at one end, and above it at the other.
            ends = float(known.min()) - middle, float(known.max()) - middle
            found[column] = ends[0] if ends[0] == ends[1] else brentq(_excess, *ends, args=(known, share, expit))
    return found


def _excess(shift: float, outputs: Values, share: float, expit: Callable[[Values], Values]) -> float:
    return float(expit(outputs - shift).mean()) - share
