"""The graded frame of label files, of which one is a sample by people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.labels.gathered import LabelSource
from quati_pool.labels.graded_frame import GradedFrame
from quati_pool.labels.peoples_grades import Pair, PeoplesGrades
from quati_pool.labels.qrels import grades_by_pair
from quati_pool.labels.sampling_frame import ONLY_STRATUM, SamplingFrame
from quati_pool.records import Qrels, Sample

Shares = npt.NDArray[np.float64]

_STANDARD_ERRORS = 6
"""The size of a frame lies no further than this from what a sample says of it."""
_ROUNDED = 1e-3
"""The relative error of probabilities that a file rounds."""


def frame_of_files(people: LabelSource, judge: Qrels, sampled: str | None) -> GradedFrame:
    """The frame of label files: all pairs that the judge or people graded, and those that sampled qrels list.

    ``sampled`` says how the pairs of people's file were chosen, which a file of qrels does not: "queries" or "pairs";
    prels are pairs unless it says "queries".
    Raises QuatiPoolError where that is not known, or the file contradicts it.
    """
    qrels = people.qrels
    graded, listed = grades_by_pair(qrels), qrels.sample
    drawn, sizes = _listed_sample(listed) if listed else ({}, {})
    pairs = {*graded, *grades_by_pair(judge), *(grades_by_pair(listed.frame) if listed else ())}
    not_judged = frozenset(drawn.keys() - graded.keys())
    frame = SamplingFrame(pairs, PeoplesGrades((), graded, not_judged), judge)
    words, order = f"the pairs of {people.name}", frame.query_ids.values.to_pylist()
    if listed is not None and drawn:
        _refuse_undrawn(people.name, drawn, not_judged)
    if sampled == "queries":
        if listed is None:
            return frame.of_listed_queries(people.name)
        if not frame.are_mostly_whole(frame.among(drawn)):
            raise QuatiPoolError(f"{people.name} is a sample of pairs, with their probabilities; leave out --sampled")
        # Without the grades of pairs that were judged and not drawn.
        answers = {pair: grade for pair, grade in graded.items() if pair in drawn}
        frame = SamplingFrame(pairs, PeoplesGrades((), answers, not_judged), judge)
        if listed.stratum is None:
            _check_query_shares(people.name, frame, drawn)
        return frame.of_listed_queries(people.name)
    if listed is not None:
        if drawn:
            _check_pairs(people.name, frame, drawn, poisson=listed.stratum is None)
        return frame.of_pairs(drawn, sizes, words, order, poisson=listed.stratum is None)
    if sampled == "pairs":
        chosen = frame.among(graded)
        frame.refuse_whole_queries(people.name, chosen)
        frame.refuse_unequal_shares(people.name, chosen)
        share = len(graded) / len(frame.pairs)
        return frame.of_pairs(
            dict.fromkeys(graded, (ONLY_STRATUM, share)), {ONLY_STRATUM: len(frame.pairs)}, words, order, poisson=False
        )
    raise QuatiPoolError(
        f"{people.name} does not say how its queries or pairs were chosen, and only a random sample says something "
        "about the others; give --sampled queries or --sampled pairs if they were drawn at random, or prels"
    )


def _refuse_undrawn(name: str, drawn: Collection[Pair], not_judged: Collection[Pair]) -> None:
    """Raises QuatiPoolError if most of the pairs that count as drawn have no grade: no such design was drawn."""
    if 2 * len(not_judged) > len(drawn):
        raise QuatiPoolError(
            f"{name} has no grade for {len(not_judged):,} of the {len(drawn):,} pairs that it lists, and a listed pair "
            "without a grade is one that was drawn and could not be judged; leave out the rows of pairs that were not "
            "drawn"
        )


def _check_pairs(name: str, frame: SamplingFrame, drawn: Mapping[Pair, tuple[str, float]], *, poisson: bool) -> None:
    """Raises QuatiPoolError if the ``drawn`` pairs cannot have been drawn from the frame on their own with these
    probabilities."""
    chosen = frame.among(drawn)
    frame.refuse_whole_queries(name, chosen)
    if not poisson:
        return
    inclusion = np.array([share for _, share in drawn.values()])
    size = len(frame.pairs)
    if not _may_be_drawn(inclusion, size):
        raise QuatiPoolError(
            f"the {len(inclusion):,} drawn pairs of {name} stand for {(1 / inclusion).sum():,.0f} by their "
            f"probabilities (the sum of 1/π), and the judge or people graded {size:,} pairs; list all drawn pairs with "
            "the probabilities that they were drawn with (-1 and --grade -1=none where one could not be judged), and "
            "give the judge's grades of exactly the pairs that they were drawn from"
        )
    if _equal(inclusion):
        frame.refuse_unequal_shares(name, chosen)


def _check_query_shares(name: str, frame: SamplingFrame, drawn: Mapping[Pair, tuple[str, float]]) -> None:
    """Raises QuatiPoolError if the probabilities of ``drawn`` pairs are not those of whole queries of one stratum."""
    inclusion = np.array([share for _, share in drawn.values()])
    if not _equal(inclusion):
        raise QuatiPoolError(
            f"the probabilities of {name} differ (from {inclusion.min():.4g} to {inclusion.max():.4g}), and it does "
            "not say with which one each of the other queries would have been drawn; --sampled queries needs queries "
            "drawn with equal probabilities"
        )
    queries, number = len({query_id for query_id, _ in drawn}), len(frame.query_ids)
    share = float(np.median(inclusion))
    if not _may_be_drawn(np.full(queries, share), number):
        raise QuatiPoolError(
            f"{name} has {queries:,} of the {number:,} queries that the judge or people graded, which does not go with "
            f"the probability {share:.4g} of each; give the probability that queries were drawn with, and the judge's "
            "grades of exactly the queries that they were drawn from"
        )


def _equal(inclusion: Shares) -> bool:
    return bool(np.ptp(inclusion) <= _ROUNDED * inclusion.max())


def _may_be_drawn(inclusion: Shares, size: int) -> bool:
    """Whether units drawn with these probabilities may be all that were drawn from ``size`` units: the sum of 1/π
    estimates it. The units of probability 1 are known, so that it has to count the others."""
    uncertain = inclusion[inclusion < 1]
    others = size - (len(inclusion) - len(uncertain))
    estimate = float((1 / uncertain).sum())
    variance = float(((1 - uncertain) / uncertain**2).sum())
    # Where too few were drawn by chance, the estimate of the variance is too low by as much as that of the size.
    error = np.sqrt(variance * max(1.0, others / estimate)) if estimate else 0.0
    return bool(abs(estimate - others) <= _STANDARD_ERRORS * error + _ROUNDED * estimate)


def _listed_sample(sample: Sample) -> tuple[dict[Pair, tuple[str, float]], dict[str, int]]:
    """The drawn pairs of sampled qrels, each with its stratum and probability, and the sizes of the strata, which are
    strata of single queries."""
    pairs = list(grades_by_pair(sample.frame))
    if sample.stratum is None:
        assert sample.inclusion is not None
        drawn = zip(pairs, sample.inclusion.tolist(), strict=True)
        return {pair: (ONLY_STRATUM, share) for pair, share in drawn if share > 0}, {ONLY_STRATUM: len(pairs)}
    names = [f"{query_id} {stratum}" for (query_id, _), stratum in zip(pairs, sample.stratum.tolist(), strict=True)]
    sizes = Counter(names)
    judged = [pair for pair, grade in zip(pairs, sample.frame.relevance.tolist(), strict=True) if grade >= 0]
    name_of = dict(zip(pairs, names, strict=True))
    counts = Counter(name_of[pair] for pair in judged)
    return {pair: (name_of[pair], counts[name_of[pair]] / sizes[name_of[pair]]) for pair in judged}, dict(sizes)
