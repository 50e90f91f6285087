"""The agreement of two labelers weighted by how their common pairs were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quati_pool.agreement.design_weights import WeightedTable
from quati_pool.agreement.pair_designs import PairDesign, PairSample, PairSampling, UnknownProbabilitiesError
from quati_pool.agreement.pairwise import PairAgreement, Weighting, grade_words, threshold_words
from quati_pool.agreement.ratings import Ratings


def weigh(
    pairs: Sequence[PairAgreement],
    ratings: Ratings,
    designs: Mapping[str, Sequence[PairDesign]],
    *,
    intervals: bool = True,
) -> list[PairAgreement]:
    """``pairs`` with weighted figures where the common pairs of two labelers were drawn with unequal probabilities; the
    figures without weights are then in ``unweighted``. ``designs`` are the random designs behind each labeler's
    grades."""
    sampling = PairSampling(ratings, designs)
    return [_weighed(pair, ratings, sampling, intervals) for pair in pairs]


def _weighed(pair: PairAgreement, ratings: Ratings, sampling: PairSampling, intervals: bool) -> PairAgreement:
    if not pair.n:
        return pair
    try:
        sample = sampling.sample(pair.a, pair.b)
    except UnknownProbabilitiesError as error:
        return replace(pair, not_weighted=str(error))
    return pair if sample is None else _by_sample(pair, ratings, sample, intervals)


def _by_sample(pair: PairAgreement, ratings: Ratings, sample: PairSample, intervals: bool) -> PairAgreement:
    scale = ratings.scale
    table = WeightedTable(sample, ratings.of(pair.a)[sample.rows], ratings.of(pair.b)[sample.rows], len(scale))
    found = table.estimates(scale, grade_words(scale), pair.a, pair.b, intervals=intervals)
    return replace(
        pair,
        values=found.values,
        intervals=found.intervals,
        undefined=found.undefined,
        binarized={
            grade: table.estimates(scale, threshold_words(grade), pair.a, pair.b, intervals=intervals, threshold=grade)
            for grade in pair.binarized
        },
        weighting=Weighting(
            designs=tuple(draw.design.name for draw in sample.draws),
            n=len(sample.rows),
            queries=len(np.unique(ratings.query[sample.rows])),
            left_out=sample.left_out,
            shares=table.shares,
        ),
        unweighted=pair,
    )
