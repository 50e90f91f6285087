"""The pairs that a sample for people was drawn from, with people's grades of the sample and a judge's of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.estimation.pair_estimates import PairSample
from quati_pool.estimation.pair_frame import NO_GRADE
from quati_pool.estimation.query_regression import QuerySample
from quati_pool.estimation.results import Drawn
from quati_pool.records import Ids, Int, Qrels
from quati_pool.stats.ratio import ratio

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class GradedPairs:
    """Pairs, sorted by query_id, then doc_id, in columns as those of Qrels. ``people`` and ``judge``, shape (pairs,),
    are grades, NO_GRADE where there is none."""

    query_ids: Ids
    doc_ids: Ids
    query: Int
    doc: Int
    people: Int
    judge: Int

    def qrels(self, relevance: Int, pairs: Flags | None = None) -> Qrels:
        """The pairs with a grade in ``relevance``, shape (pairs,); of ``pairs``, shape (pairs,), if given."""
        graded = relevance != NO_GRADE if pairs is None else (relevance != NO_GRADE) & pairs
        return Qrels(self.query_ids, self.doc_ids, self.query[graded], self.doc[graded], relevance[graded])


@dataclass(frozen=True, eq=False)
class GradedFrame(GradedPairs):
    """The pairs that a sample was drawn from.

    ``not_judged``, shape (pairs,), marks pairs of the sample that people could not judge. ``asked``, if pairs were
    drawn, are those that were drawn and answered, with or without a grade. ``queries`` are the queries that were drawn,
    or, if pairs were, those whose drawn pairs are all answered; None if these are all queries.
    """

    not_judged: Flags
    drawn: Drawn
    queries: QuerySample | None = None
    asked: PairSample | None = None
    people_names: tuple[str, ...] = ()
    """Those of several people who graded pairs of the sample or could not judge them."""

    def pair_sample(self, relevance: Int) -> PairSample:
        """The drawn pairs that have a grade in ``relevance``, shape (pairs,). Within a stratum every drawn pair counts
        as having had the same chance to get one, so that probabilities are lowered by the share that did."""
        asked = self.asked
        assert asked is not None, "pairs were drawn"
        graded = relevance[asked.pair] != NO_GRADE
        drawn = np.bincount(asked.stratum, minlength=len(asked.sizes))
        share = ratio(np.bincount(asked.stratum[graded], minlength=len(asked.sizes)), drawn)
        return PairSample(
            asked.pair[graded],
            relevance[asked.pair[graded]].astype(np.float64),
            (asked.inclusion * share[asked.stratum])[graded],
            asked.stratum[graded],
            asked.sizes,
            asked.poisson,
        )
