"""How many relevant documents a pool lacks, and which queries need more.

Two estimates, neither of which assumes that what is unjudged is not relevant:

*Capture–recapture*. Each family of systems that feeds the pool is an occasion on which relevant documents are caught.
From the documents that exactly one and exactly two families caught follows how many none did. As systems tend to find
the same documents, and some documents are hard for all of them, the estimate is a lower bound.

*Random share*. Where pairs of the candidates were drawn at random, with a known probability, their grades say how many
relevant documents the candidates hold, whatever the systems have in common. It says nothing of documents that are no
candidates.

Intervals are of 95 % and hold for these queries: they cover the chance of catching and of drawing, not disagreement
among labelers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.pool import KEPT, RANDOM, Pool
from quati_pool.records import Int
from quati_pool.stats.ratio import ratio

Counts = npt.NDArray[Any]
Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LEAST_GRADED = 0.95
"""The share of a query's pairs that have to be graded for an estimate."""
TOO_MANY = 0.1
"""A query needs more if more than this share of its relevant documents is outside the pool, or of its last round is
relevant, at the lower ends of the intervals."""

_TAIL = 0.025

Need = Literal["capture-recapture", "random share", "last round"]
"""What says that a query needs more."""

NO_FAMILIES = "fewer than two independent families of systems feed the pool"
NOTHING_TWICE = "no relevant document was found by two families of systems"
NOTHING_DRAWN = "no pair was drawn at random"
NOT_OF_THE_FRAME = "the random pairs and their probabilities do not fit the pool's candidates"


class Unseen(NamedTuple):
    """An estimated number of relevant documents that are not in the pool, and the ends of its interval, none below
    0."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class LastRound:
    """What a method chose in the last round of a query, without random pairs; ``low`` is the lower end of the share of
    relevant ones (Clopper and Pearson, Biometrika 26, 1934)."""

    round: int
    graded: int
    relevant: int
    low: float


@dataclass(frozen=True)
class Completeness:
    """What the pool has of one query, or of all queries that are estimated (``query_id`` None), and what it lacks.

    ``once`` and ``twice`` count the relevant documents that exactly one and exactly two families of systems found.
    ``drawn`` counts the graded pairs of the random share, and ``frame`` the candidates they were drawn from. The reason
    why an estimate is None is in ``undefined``.
    """

    query_id: str | None
    pairs: int
    graded: int
    relevant: int
    once: int
    twice: int
    capture: Unseen | None
    drawn: int
    frame: int
    random: Unseen | None
    last: LastRound | None
    undefined: dict[str, str] = field(default_factory=dict)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What says that the query needs more; empty where nothing does."""
        found: list[Need] = []
        if self.capture is not None and self._lacks(self.capture):
            found.append("capture-recapture")
        if self.random is not None and self._lacks(self.random):
            found.append("random share")
        if self.last is not None and self.last.low > TOO_MANY:
            found.append("last round")
        return tuple(found)

    @property
    def surely_lacks(self) -> float:
        """The number of documents that are missing at the lower ends of the intervals; 0 without an estimate."""
        return max((one.low for one in (self.capture, self.random) if one is not None), default=0.0)

    def _lacks(self, unseen: Unseen) -> bool:
        """Whether at least one document is missing, and too large a share, at the lower end of the interval."""
        return unseen.low >= 1 and unseen.low > TOO_MANY * (self.relevant + unseen.low)


@dataclass(frozen=True)
class Round:
    """A round of the pool: its pairs, those graded, the relevant ones that are new, and all relevant ones so far."""

    round: int
    pairs: int
    graded: int
    relevant: int
    total: int


@dataclass(frozen=True, eq=False)
class PoolCompleteness:
    """What a pool lacks under the grades of one labeler, of which those from ``relevant_from`` on are relevant.

    ``families`` are those that count as independent. ``queries`` are those of which enough pairs are graded, and
    ``not_graded`` the others; ``whole`` is of the former together. ``rounds`` are of all queries.
    """

    relevant_from: int
    families: tuple[str, ...]
    whole: Completeness
    queries: tuple[Completeness, ...]
    not_graded: tuple[str, ...]
    rounds: tuple[Round, ...]

    @property
    def needing_more(self) -> list[Completeness]:
        """The queries that need more, those that surely lack most first."""
        return sorted((query for query in self.queries if query.needs), key=lambda query: -query.surely_lacks)


def pool_completeness(
    pool: Pool, relevance: Int, graded: Flags, families: Sequence[str | None], relevant_from: int = 1
) -> PoolCompleteness:
    """Estimates what ``pool`` lacks.

    ``relevance``, shape (pairs,), are the grades of the pairs that are ``graded``, booleans of the same shape.
    ``families``, one for each of the pool's systems, are the families that count as independent of each other, None for
    a system that is not. A query is estimated if a share of ``LEAST_GRADED`` of its pairs is graded; pairs without a
    grade then count as not relevant.
    """
    found = _Found(pool, graded & (relevance >= relevant_from), graded, families)
    chosen = np.flatnonzero(enough_graded(pool, graded))
    query_ids: list[str] = pool.queries.decode(found.codes).to_pylist()
    return PoolCompleteness(
        relevant_from,
        found.families,
        found.whole(chosen),
        tuple(found.by_query(chosen, query_ids)),
        tuple(query_ids[query] for query in np.setdiff1d(np.arange(len(query_ids)), chosen)),
        tuple(_rounds(pool, found.relevant, graded)),
    )


def enough_graded(pool: Pool, graded: Flags) -> Flags:
    """Whether a share of ``LEAST_GRADED`` of the pairs of each query is ``graded``, booleans of shape (pairs,); shape
    (queries with pairs,), in the order of the pool."""
    _, query, pairs = np.unique(pool.query, return_inverse=True, return_counts=True)
    enough: Flags = np.bincount(query, weights=graded, minlength=len(pairs)) >= LEAST_GRADED * pairs
    return enough


def capture_recapture(
    alone: Counts, twice: Counts, often: Counts, others: Counts | float = 0.0
) -> tuple[Values, Values, Values]:
    """The estimated number of relevant documents that no family caught, and the ends of its interval, shape (…) each.

    ``alone``, shape (…, families), counts the documents that only each family caught, ``twice``, shape (…), those that
    exactly two caught, ``often`` those that two or more caught, and ``others`` those that are known although no family
    caught them: they are subtracted.

    If the odds of catching a document are the product of a factor of the document and one of the family, then by the
    inequality of Cauchy and Schwarz at least Σ u_s·u_t / f₂ documents were not caught, where u are the numbers caught
    alone and the sum is over pairs of families (Chao, Biometrics 43, 1987, for families of unequal strength as in
    Rivest and Baillargeon, Biometrics 63, 2007). With f₂ + 1 in place of f₂, against its bias and the division by 0,
    it is Chapman's estimator (1951) for two families, and in expectation Chao's bias-corrected one for families of
    equal strength. The variance is linearised over multinomial counts, and the interval log-normal (Chao 1987). Where
    the estimate is 0, the upper end is what follows from the upper limit of the number caught alone (Poisson), spread
    evenly over the families, and from ``often`` in place of f₂. The ends are rounded outwards to whole documents.
    """
    from scipy.special import gammainccinv, ndtri

    once, families = alone.sum(axis=-1), alone.shape[-1]
    products = (once**2 - (alone**2).sum(axis=-1)) / 2
    estimate = products / (twice + 1)
    slopes = (once[..., None] - alone) / (twice[..., None] + 1)
    variance = estimate + (alone * slopes**2).sum(axis=-1) + estimate**2 * twice / (twice + 1) ** 2
    factor = np.exp(-ndtri(_TAIL) * np.sqrt(np.log1p(ratio(variance, estimate**2, otherwise=0.0))))
    limit = gammainccinv(once + 1, _TAIL)
    at_zero = limit**2 / 2 * (1 - 1 / max(families, 1)) / (often + 1)
    high = np.where(estimate > 0, estimate * factor, at_zero)
    return (
        np.maximum(estimate - others, 0.0),
        np.maximum(np.floor(estimate / factor) - others, 0.0),
        np.maximum(np.ceil(high) - others, 0.0),
    )


def relevant_in_frame(relevant: Int, drawn: Int, frame: Int) -> tuple[Int, Int]:
    """The ends of the exact interval of the number of relevant documents among ``frame``, of which ``drawn`` were drawn
    without replacement and ``relevant`` of these are relevant; shape (n,) each.

    It holds every number under which neither so many relevant ones nor so few would be drawn with a probability of at
    most 2.5 % (hypergeometric; Wright, Exact confidence bounds when sampling from small finite universes, 1991).
    """
    most = frame - drawn + relevant
    low = _first(relevant, most, lambda total: _at_most(relevant - 1, total, drawn, frame) < 1 - _TAIL)
    beyond = _first(relevant, most + 1, lambda total: _at_most(relevant, total, drawn, frame) <= _TAIL)
    return low, beyond - 1


def unseen_in_frames(draws: Sequence[Draw]) -> Unseen:
    """The relevant documents outside the pool among the candidates of several queries, one draw each.

    Estimated as the sum of what each draw implies (Horvitz and Thompson, JASA 47, 1952), less what the pool holds. For
    one draw the interval is exact (``relevant_in_frame``); for several a gamma distribution has the mean and the
    variance of the estimated number that was not drawn, with one more document of the largest weight at the upper end
    (as Fay and Feuer, Statistics in Medicine 16, 1997, for weighted Poisson counts). The variance is that of drawing
    each relevant document by itself, times the share of what is not relevant among all that was drawn: that of samples
    of fixed size if all queries had the same share, and larger than theirs otherwise. The ends are rounded outwards to
    whole documents.
    """
    from scipy.special import gammainccinv, gammaincinv

    drawn, relevant, frame, known, pooled = (np.array(column) for column in zip(*draws, strict=True))
    weight = frame / drawn
    outside, seen = int((frame - pooled).sum()), int(known.sum())
    total = float(weight @ relevant)
    if len(draws) == 1:
        ends = [float(end[0]) for end in relevant_in_frame(relevant, drawn, frame)]
    else:
        caught, largest = int(relevant.sum()), float(weight.max())
        other = 1 - caught / (int(drawn.sum()) + 1)
        mean, variance = float((weight - 1) @ relevant), other * float((weight * (weight - 1)) @ relevant)
        more, spread = mean + largest - 1, variance + largest * (largest - 1)
        ends = [
            caught + (gammaincinv(mean**2 / variance, _TAIL) * variance / mean if variance else 0.0),
            caught + (gammainccinv(more**2 / spread, _TAIL) * spread / more if spread else 0.0),
        ]
    estimate, low, high = (float(np.clip(value - seen, 0, outside)) for value in (total, *ends))
    return Unseen(estimate, float(np.floor(low)), float(np.ceil(high)))


class Draw(NamedTuple):
    """The random pairs of one query: ``drawn`` of ``frame`` candidates, ``relevant`` of them. The pool holds ``pooled``
    of the candidates by now, of which ``known`` are relevant."""

    drawn: int
    relevant: int
    frame: int
    known: int
    pooled: int


class _Found:
    """Counts by query, each of shape (queries with pairs,), in the order of the pool."""

    def __init__(self, pool: Pool, relevant: Flags, graded: Flags, families: Sequence[str | None]) -> None:
        self._pool, self.relevant, self._graded = pool, relevant, graded
        self.codes, self._query = np.unique(pool.query, return_inverse=True)
        feeding = [family for family, depth in zip(families, pool.depths.tolist(), strict=True) if depth]
        self.families = tuple(dict.fromkeys(family for family in feeding if family is not None))
        self._pairs, self._graded_pairs, self._relevant = map(self._sums, (np.ones(len(pool)), graded, relevant))
        caught = np.zeros((len(pool), len(self.families)), dtype=bool)
        for system, family in enumerate(families):
            if family in self.families:
                caught[:, self.families.index(family)] |= pool.fed[:, system]
        times = caught.sum(axis=1)
        self._alone = np.stack(
            [self._sums(relevant & (times == 1) & column) for column in caught.T]
            or [np.zeros(len(self.codes), dtype=np.int64)],
            axis=-1,
        )
        self._twice = self._sums(relevant & (times == 2))
        self._often = self._sums(relevant & (times >= 2))
        self._others = self._sums(relevant & (times == 0))
        self._starts = np.searchsorted(self._query, np.arange(len(self.codes) + 1))
        self._draws = [self._draw(query) for query in range(len(self.codes))]

    def _sums(self, of_pairs: npt.NDArray[np.generic]) -> Int:
        return np.bincount(self._query, weights=of_pairs, minlength=len(self.codes)).astype(np.int64)

    def by_query(self, chosen: Int, query_ids: Sequence[str]) -> Iterator[Completeness]:
        caught = list(zip(*capture_recapture(self._alone, self._twice, self._often, self._others), strict=True))
        for query in chosen.tolist():
            draw = self._draws[query]
            yield self._completeness(
                query_ids[query],
                np.array([query]),
                Unseen(*map(float, caught[query])),
                [draw] if isinstance(draw, Draw) else [],
                draw if isinstance(draw, str) else NOTHING_DRAWN,
                self._last(query),
            )

    def whole(self, chosen: Int) -> Completeness:
        """Of all chosen queries together: captures are counted over all of them before they are compared."""
        counts = (self._alone, self._twice, self._often, self._others)
        caught = capture_recapture(*(count[chosen].sum(axis=0) for count in counts))
        found = [self._draws[query] for query in chosen.tolist()]
        draws = [draw for draw in found if isinstance(draw, Draw)]
        reasons = [draw for draw in found if isinstance(draw, str)]
        return self._completeness(
            None, chosen, Unseen(*map(float, caught)), draws, reasons[0] if reasons else NOTHING_DRAWN, None
        )

    def _completeness(
        self,
        query_id: str | None,
        chosen: Int,
        capture: Unseen,
        draws: Sequence[Draw],
        not_drawn: str,
        last: LastRound | None,
    ) -> Completeness:
        undefined = {}
        if len(self.families) < 2:
            undefined["capture"] = NO_FAMILIES
        elif not self._often[chosen].any():
            undefined["capture"] = NOTHING_TWICE
        if not draws:
            undefined["random"] = not_drawn
        return Completeness(
            query_id,
            int(self._pairs[chosen].sum()),
            int(self._graded_pairs[chosen].sum()),
            int(self._relevant[chosen].sum()),
            int(self._alone[chosen].sum()) if self.families else 0,
            int(self._twice[chosen].sum()),
            None if "capture" in undefined else capture,
            sum(draw.drawn for draw in draws),
            sum(draw.frame for draw in draws),
            unseen_in_frames(draws) if draws else None,
            last,
            undefined,
        )

    def _draw(self, query: int) -> Draw | str:
        """The draw of a query with the most pairs, the latest of several; or why there is none.

        Pairs that were drawn with equal probability are one draw: n of n/π candidates. The draw comes before whatever
        else entered in its first round, so that its candidates are those that no earlier round had.
        """
        pool, rows = self._pool, slice(self._starts[query], self._starts[query + 1])
        reason, inclusion, number = pool.reason[rows], pool.inclusion[rows], pool.round[rows]
        fed, relevant, graded = pool.fed[rows].any(axis=1), self.relevant[rows], self._graded[rows]
        random = reason == RANDOM
        if not random.any():
            return NOTHING_DRAWN
        rates, sizes = np.unique(inclusion[random], return_counts=True)
        if np.isnan(rates).any():
            return NOT_OF_THE_FRAME
        first = [number[random & (inclusion == rate)].min() for rate in rates]
        best = max(range(len(rates)), key=lambda one: (sizes[one], first[one]))
        drawn, frame = random & (inclusion == rates[best]), round(sizes[best] / rates[best])
        pooled = fed & (number >= first[best])
        exact = abs(frame * rates[best] - sizes[best]) <= 1e-6 * sizes[best]
        if not exact or frame < pooled.sum() or not pooled[drawn].all() or not graded[drawn].any():
            return NOT_OF_THE_FRAME
        return Draw(
            int((drawn & graded).sum()),
            int((drawn & relevant).sum()),
            frame,
            int((pooled & relevant).sum()),
            int(pooled.sum()),
        )

    def _last(self, query: int) -> LastRound | None:
        from scipy.special import betaincinv

        rows = slice(self._starts[query], self._starts[query + 1])
        chosen = ~np.isin(self._pool.reason[rows], (RANDOM, KEPT)) & self._graded[rows]
        last = int(self._pool.round[rows][chosen].max(initial=1))
        if last < 2:
            return None
        chosen &= self._pool.round[rows] == last
        graded, relevant = int(chosen.sum()), int((chosen & self.relevant[rows]).sum())
        low = float(betaincinv(relevant, graded - relevant + 1, _TAIL)) if relevant else 0.0
        return LastRound(last, graded, relevant, low)


def _rounds(pool: Pool, relevant: Flags, graded: Flags) -> Iterator[Round]:
    total = 0
    for number in np.unique(pool.round).tolist():
        of_round = pool.round == number
        new = int((of_round & relevant).sum())
        total += new
        yield Round(number, int(of_round.sum()), int((of_round & graded).sum()), new, total)


def _at_most(found: Int, total: Int, drawn: Int, frame: Int) -> Values:
    """The probability of at most ``found`` relevant documents among ``drawn`` of ``frame``, of which ``total`` are
    relevant, shape (n,) each; 0 for a total that is not possible."""
    # The import of scipy.stats, which has it, takes a second, and status is to be fast.
    from scipy.special import gammaln

    def log_ways(of: Int, chosen: Int) -> Values:
        possible = (chosen >= 0) & (chosen <= of)
        ways = gammaln(of + 1.0) - gammaln(np.where(possible, chosen, 0) + 1.0)
        ways -= gammaln(np.where(possible, of - chosen, 0) + 1.0)
        return np.where(possible, ways, -np.inf)

    number = np.arange(int(found.max(initial=0)) + 1)[:, None]
    log_probability = log_ways(total, number) + log_ways(frame - total, drawn - number) - log_ways(frame, drawn)
    probability: Values = np.where(number <= found, np.exp(log_probability), 0.0).sum(axis=0)
    return probability


def _first(low: Int, high: Int, holds: Callable[[Int], Flags]) -> Int:
    """The lowest number from ``low`` to ``high``, shape (n,) each, from which on ``holds`` is true; ``high`` if none
    is."""
    while (low < high).any():
        middle = (low + high) // 2
        found = holds(middle)
        low, high = np.where(found, low, np.minimum(middle + 1, high)), np.where(found, middle, high)
    return low
