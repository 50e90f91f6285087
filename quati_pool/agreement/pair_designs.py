"""Samples of pairs drawn with known probabilities: which of the pairs that two labelers graded were drawn, by which
random designs, and with what weights.

A pair's weight is 1/π, its inverse inclusion probability (Horvitz and Thompson, Journal of the American Statistical
Association 47(260), 1952). If several designs may have drawn it, each design that did adds 1/Σπ, the sum over all of
them (the multiplicity estimator of overlapping samples): the expected number of times that a pair is drawn is Σπ,
however the designs depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.ratings import Ratings
from quati_pool.records import Int
from quati_pool.stats.bootstrap import Values
from quati_pool.stats.ratio import ratio

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PairProbabilities:
    """Pairs with the name of the stratum and the inclusion probability of each under one design; all have the same
    order, ``inclusion`` the shape (pairs,)."""

    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    strata: Sequence[str]
    inclusion: Values

    @property
    def equal(self) -> bool:
        """Whether all pairs have the same probability."""
        return len(self.inclusion) == 0 or bool(np.isclose(self.inclusion, self.inclusion[0], rtol=1e-9).all())

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(zip(self.query_ids, self.doc_ids, strict=True))

    @cached_property
    def by_stratum(self) -> frozenset[tuple[str, str, str]]:
        """The pairs, each with the name of its stratum."""
        return frozenset(zip(self.query_ids, self.doc_ids, self.strata, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class PairDesign:
    """A random design and the pairs it drew for people to grade.

    ``key`` identifies it, ``name`` is for messages ("design 3, stratified"). Pairs were drawn independently
    (``poisson``), or with a fixed size within each stratum, where probabilities are equal; with ``whole_queries`` what
    was drawn is queries, each with all of its pairs. Designs with the same ``seed`` may depend on each other; one with
    the seed None depends on no other. ``frame`` holds all pairs that it could have drawn, None where that is not known;
    ``frame_key`` is equal for equal frames. ``equal_in_frame``: whether all pairs of the frame are in one stratum and
    have one probability, as is known without ``frame``.
    """

    key: str
    name: str
    drawn: PairProbabilities
    poisson: bool
    whole_queries: bool = False
    seed: int | None = None
    frame: PairProbabilities | None = None
    frame_key: str = ""
    equal_in_frame: bool = False

    @property
    def equal(self) -> bool:
        """Whether all pairs have the same inclusion probability."""
        return self.equal_in_frame or (self.drawn if self.frame is None else self.frame).equal

    @cached_property
    def stratum(self) -> Int:
        """The stratum of each drawn pair as a number from 0, shape (drawn,)."""
        codes: Int = np.unique(np.asarray(self.drawn.strata, dtype=object), return_inverse=True)[1]
        return codes

    @property
    def is_census(self) -> bool:
        """Whether it drew all pairs of its frame."""
        return self.equal and len(self.drawn.inclusion) > 0 and bool(self.drawn.inclusion[0] == 1)

    @property
    def known_everywhere(self) -> bool:
        """Whether the inclusion probability of every pair of its frame is known."""
        return self.frame is not None or self.equal_in_frame


@dataclass(frozen=True, eq=False)
class Draw:
    """What one design contributed to a sample.

    ``at``, shape (m,): the positions in the sample of the pairs that it drew. ``weight``, shape (m,): 1/Σπ.
    ``unit``, shape (m,): which of the drawn units, pairs or queries, each belongs to. ``inclusion`` and ``stratum``,
    shape (units,); ``sizes``, shape (strata,): the number of units in the frame.
    """

    design: PairDesign
    at: Int
    weight: Values
    unit: Int
    inclusion: Values
    stratum: Int
    sizes: Int

    @property
    def degrees(self) -> int:
        """The degrees of freedom of its variance, at least 1: units less the strata with a mean of their own, those of
        two or more units; less 1 if there are none, as where units were drawn independently."""
        with_mean = 0 if self.design.poisson else int((np.bincount(self.stratum) > 1).sum())
        return max(len(self.inclusion) - max(with_mean, 1), 1)


@dataclass(frozen=True, eq=False)
class PairSample:
    """The pairs that two labelers graded and a random design drew: their positions ``rows`` in the ratings and their
    ``weight``, both of shape (n,). ``left_out`` counts the pairs that both graded but no such design drew."""

    rows: Int
    weight: Values
    draws: tuple[Draw, ...]
    left_out: int


class UnknownProbabilitiesError(Exception):
    """Pairs were drawn with unequal probabilities that are not known well enough to weight them; the message says why,
    for a reader."""


class PairSampling:
    """The samples behind the common pairs of two labelers. ``designs`` are, by labeler, the random designs by whose
    slots, or in whose file, people graded."""

    def __init__(self, ratings: Ratings, designs: Mapping[str, Sequence[PairDesign]]) -> None:
        self._ratings = ratings
        self._designs = designs
        self._placed: dict[str, _Placed] = {}

    def sample(self, a: str, b: str) -> PairSample | None:
        """The sample of the pairs that both graded; None if weights would change nothing: there is no random design, or
        each pair has the same probability.

        The designs are those of either labeler, or those that both have if both have some. Pairs drawn by a design but
        not graded by both count as missing at random; with several designs, the probabilities of each are therefore
        multiplied by the share of its pairs that both graded.

        Raises UnknownProbabilitiesError.
        """
        designs = self._shared(a, b)
        both = (self._ratings.of(a) >= 0) & (self._ratings.of(b) >= 0)
        placed = [one for one in map(self._place, designs) if one.share(both)]
        placed = [one for one in placed if not _redundant(one, placed, both)]
        if _equal([one.design for one in placed]):
            return None
        return self._weighted(placed, both)

    def _shared(self, a: str, b: str) -> list[PairDesign]:
        of_a, of_b = self._designs.get(a, ()), self._designs.get(b, ())
        keys = {one.key for one in of_b}
        shared = [one for one in of_a if one.key in keys] if of_a and of_b else [*of_a, *of_b]
        if not shared and not _equal([*of_a, *of_b]):
            raise UnknownProbabilitiesError(
                f"their pairs were drawn by different designs ({_names(of_a)}; {_names(of_b)}), so that the "
                "probability of a pair that both graded is unknown"
            )
        return shared

    def _place(self, design: PairDesign) -> _Placed:
        if design.key not in self._placed:
            self._placed[design.key] = _Placed(design, self._ratings, self._order)
        return self._placed[design.key]

    @cached_property
    def _order(self) -> tuple[Int, Int]:
        keys = self._ratings.query * max(len(self._ratings.docs), 1) + self._ratings.doc
        order = np.argsort(keys)
        return order, keys[order]

    def _weighted(self, placed: Sequence[_Placed], both: Bools) -> PairSample:
        times = np.zeros(len(both), dtype=np.int64)
        for one in placed:
            times[one.rows] += 1
        rows = np.flatnonzero(both & (times > 0))
        expected = placed[0].probabilities[rows]
        if len(placed) > 1:
            _refuse_unknown([one.design for one in placed])
            expected = sum((one.share(both) * one.probabilities[rows] for one in placed), np.zeros(len(rows)))
        weight = 1 / expected
        place = np.full(len(both), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        draws = tuple(one.draw(place, weight) for one in placed)
        return PairSample(rows, weight * times[rows], draws, int(both.sum()) - len(rows))


class _Placed:
    """A design with its pairs' positions in the ratings; drawn pairs that nobody graded are not among them."""

    def __init__(self, design: PairDesign, ratings: Ratings, order: tuple[Int, Int]) -> None:
        self.design = design
        self._ratings = ratings
        self._order = order
        rows = self._rows(design.drawn)
        self._known = np.flatnonzero(rows >= 0)
        self.rows = rows[self._known]

    def _rows(self, pairs: PairProbabilities) -> Int:
        """The position of each pair in the ratings, -1 where nobody graded it."""
        order, keys = self._order
        query, doc = self._ratings.queries.encode(pairs.query_ids), self._ratings.docs.encode(pairs.doc_ids)
        wanted = query * max(len(self._ratings.docs), 1) + doc
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((query >= 0) & (doc >= 0) & (keys[at] == wanted), order[at], -1)

    @cached_property
    def probabilities(self) -> Values:
        """The inclusion probability of each pair of the ratings: 0 outside the frame; of a design without a frame and
        with unequal probabilities, 0 for pairs that it did not draw."""
        design = self.design
        everywhere = design.equal_in_frame and design.frame is None and len(design.drawn.inclusion)
        found = np.full(len(self._ratings), design.drawn.inclusion[0] if everywhere else 0.0)
        pairs = design.drawn if design.frame is None else design.frame
        rows = self._rows(pairs)
        found[rows[rows >= 0]] = pairs.inclusion[rows >= 0]
        return found

    def share(self, both: Bools) -> float:
        """The share of the drawn pairs that both labelers graded; 1 if no pair was drawn, which by rate can happen."""
        drawn = len(self.design.drawn.inclusion)
        return float(both[self.rows].sum()) / drawn if drawn else 1.0

    @cached_property
    def sizes(self) -> Int:
        """The number of units in each stratum of the frame: of fixed size, the drawn ones divided by their
        probability."""
        design = self.design
        units = np.arange(len(design.stratum))
        if design.whole_queries:
            _, units = np.unique(np.asarray(design.drawn.query_ids, dtype=object), return_index=True)
        drawn = np.bincount(design.stratum[units])
        inclusion = ratio(np.bincount(design.stratum[units], weights=design.drawn.inclusion[units]), drawn, otherwise=1)
        return np.maximum(np.rint(drawn / inclusion).astype(np.int64), drawn)

    def draw(self, place: Int, weight: Values) -> Draw:
        """``place``, shape (pairs of the ratings,): the position of each in the sample, -1 if it is not in it;
        ``weight``, shape (n,): 1/Σπ of the pairs of the sample."""
        kept = place[self.rows] >= 0
        rows, drawn = self.rows[kept], self._known[kept]
        at = place[rows]
        inclusion, stratum = self.design.drawn.inclusion[drawn], self.design.stratum[drawn]
        unit = np.arange(len(rows))
        if self.design.whole_queries:
            _, first, unit = np.unique(self._ratings.query[rows], return_index=True, return_inverse=True)
            inclusion, stratum = inclusion[first], stratum[first]
        return Draw(self.design, at, weight[at], unit, inclusion, stratum, self.sizes)


def _names(designs: Sequence[PairDesign]) -> str:
    return "; ".join(one.name for one in designs)


def _equal(designs: Sequence[PairDesign]) -> bool:
    """Whether designs draw each pair with one probability: alone or together, as they have one frame."""
    return all(one.equal for one in designs) and len({one.frame_key for one in designs}) < 2


def _refuse_unknown(designs: Sequence[PairDesign]) -> None:
    """Raises UnknownProbabilitiesError if the probability of every pair under each of several designs is not known."""
    one_frame = len({one.frame_key for one in designs}) == 1
    unknown = [one for one in designs if one.frame is None and not (one.equal_in_frame and one_frame)]
    if unknown:
        raise UnknownProbabilitiesError(
            f"the pairs of several designs ({_names(designs)}) cannot be weighted together, as the probabilities of "
            f"all pairs under {_names(unknown)} are not stored"
        )


def _redundant(small: _Placed, others: Sequence[_Placed], both: Bools) -> bool:
    """Whether another design drew all that ``small`` did; of two that drew the same, the first is kept."""
    return any(
        _covers(large, small, both) and not (small.design.key < large.design.key and _covers(small, large, both))
        for large in others
        if large is not small
    )


def _covers(large: _Placed, small: _Placed, both: Bools) -> bool:
    """Whether ``large`` was certain to draw all that ``small`` drew: as a finished census, or as a larger sample with
    the same seed, frame and strata. ``both`` marks the pairs of the ratings that two labelers graded."""
    one, other = large.design, small.design
    if one.frame_key != other.frame_key:
        return False
    if one.is_census and large.share(both) == 1:
        return True
    if one.seed is None or (one.seed, one.poisson, one.whole_queries) != (
        other.seed,
        other.poisson,
        other.whole_queries,
    ):
        return False
    if not (one.known_everywhere and other.known_everywhere and other.drawn.pairs <= one.drawn.pairs):
        return False
    smaller = small.probabilities <= large.probabilities
    return bool(smaller.all()) and (one.poisson or _same_strata(one, other))


def _same_strata(one: PairDesign, other: PairDesign) -> bool:
    if one.frame is None or other.frame is None:
        return one.equal_in_frame and other.equal_in_frame
    return one.frame.by_stratum == other.frame.by_stratum
