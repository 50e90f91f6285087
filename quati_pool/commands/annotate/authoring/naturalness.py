"""How natural people find a collection's questions, compared with the questions of another set.

A block is a question of each set, which several people rate from 1 to 5, not knowing which is which. The questions of a
cluster are about the same constraints and so alike: intervals and tests are over clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quati_pool.commands.annotate.authoring.estimate import Estimate, Rating, agreement, mean_of
from quati_pool.stats.significance import Outcome, randomisation, wilcoxon

SCALE = range(1, 6)
"""How likely a person would ask a question: from 1, never, to 5, very."""

_NONE = "nothing is rated yet"
_ONE_CLUSTER = "the questions are of one cluster"
_NONE_DIFFERS = "no cluster differs"
_ONE_RATER = "no two people rated the same questions"
_ALL_EQUAL = "all questions that two people rated got the same rating"


class BlockRating(NamedTuple):
    """What a person said of a block: the ratings of our question, which is of ``cluster``, and of the other one."""

    block: str
    cluster: str
    rater: str
    ours: int
    other: int


@dataclass(frozen=True)
class Naturalness:
    """The comparison of two sets of questions by ``raters`` people over ``blocks`` of ``clusters``.

    ``ours`` and ``other`` are the means over blocks of the mean over people; ``difference`` is that of ours − other,
    block by block. Their intervals are those of t over clusters (``stats.clustered_means``). The tests are of
    ``between_clusters``, the mean over clusters of their mean difference, in which a cluster counts once whatever its
    number of blocks: Fisher's randomisation test and Wilcoxon's signed-rank test. ``alpha`` is Krippendorff's alpha,
    ordinal, of the ``rated_by_several`` questions of both sets that two or more people rated, with the bootstrap
    interval over clusters.
    """

    blocks: int
    clusters: int
    raters: int
    ours: Estimate
    other: Estimate
    difference: Estimate
    between_clusters: float | None
    randomisation: Outcome
    wilcoxon: Outcome
    alpha: Estimate
    rated_by_several: int


def naturalness(ratings: Sequence[BlockRating], seed: int = 0) -> Naturalness:
    """Compares the two sets; ``seed`` is that of the random flips and of the bootstrap. The order of the ratings does
    not matter.

    Raises ValueError for a rating off the scale, a block of several clusters, and a person who rated a block twice.
    """
    blocks = _blocks(ratings)
    nothing = Estimate(None, None, None, _NONE)
    if not blocks:
        return Naturalness(
            0, 0, 0, nothing, nothing, nothing, None, Outcome(None, _NONE), Outcome(None, _NONE), nothing, 0
        )
    ours = np.array([_mean(one.ours for one in rated) for rated in blocks])
    other = np.array([_mean(one.other for one in rated) for rated in blocks])
    # Not ours - other, which has rounding errors where the means are equal thirds.
    differences = np.array([_mean(one.ours - one.other for one in rated) for rated in blocks])
    clusters, codes = np.unique([rated[0].cluster for rated in blocks], return_inverse=True)
    of_cluster = np.bincount(codes, weights=differences) / np.bincount(codes)
    alpha, rated_by_several = _alpha(blocks, seed)
    return Naturalness(
        blocks=len(blocks),
        clusters=len(clusters),
        raters=len({one.rater for one in ratings}),
        ours=mean_of(ours.tolist(), codes, _ONE_CLUSTER),
        other=mean_of(other.tolist(), codes, _ONE_CLUSTER),
        difference=mean_of(differences.tolist(), codes, _ONE_CLUSTER),
        between_clusters=float(of_cluster.mean()),
        randomisation=_outcome(randomisation(of_cluster[None], seed)[0], len(clusters)),
        wilcoxon=_outcome(wilcoxon(of_cluster[None])[0], len(clusters)),
        alpha=alpha,
        rated_by_several=rated_by_several,
    )


def _blocks(ratings: Sequence[BlockRating]) -> list[list[BlockRating]]:
    """The ratings of each block, by block and person."""
    found: dict[str, dict[str, BlockRating]] = {}
    for one in sorted(ratings):
        for rating in (one.ours, one.other):
            if rating not in SCALE:
                raise ValueError(f"block {one.block}: {rating} is no rating; expected {SCALE[0]} to {SCALE[-1]}")
        rated = found.setdefault(one.block, {})
        if one.rater in rated:
            raise ValueError(f"block {one.block}: {one.rater} rated it twice; expected once")
        rated[one.rater] = one
        if len({other.cluster for other in rated.values()}) > 1:
            raise ValueError(f"block {one.block} is of several clusters; expected one")
    return [list(rated.values()) for rated in found.values()]


def _mean(values: Iterable[int]) -> float:
    return float(np.mean([*values]))


def _outcome(found: Outcome, clusters: int) -> Outcome:
    """A test's outcome, with the reason in terms of clusters where it is undefined."""
    if found.p is not None:
        return found
    return Outcome(None, _ONE_CLUSTER if clusters < 2 else _NONE_DIFFERS)


def _alpha(blocks: Sequence[Sequence[BlockRating]], seed: int) -> tuple[Estimate, int]:
    """Alpha over the questions of both sets, and how many of them two or more people rated."""
    several = 2 * sum(len(ratings) > 1 for ratings in blocks)
    if not several:
        return Estimate(None, None, None, _ONE_RATER), 0
    rated: dict[str, list[Rating]] = {}
    for one in (one for ratings in blocks for one in ratings):
        both = (("ours", one.ours), ("other", one.other))
        rated.setdefault(one.rater, []).extend(
            Rating(one.cluster, f"{name} {one.block}", value) for name, value in both
        )
    alpha = agreement(rated, [*SCALE], "ordinal", _ONE_CLUSTER, seed=seed).alpha
    return (alpha._replace(why=_ALL_EQUAL) if alpha.value is None else alpha), several
