"""Designs for tests: drawn from small populations of pairs that two labelers graded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from quati_pool.agreement.design_weights import WeightedTable
from quati_pool.agreement.pair_designs import PairDesign, PairProbabilities, PairSample, PairSampling
from quati_pool.agreement.ratings import Ratings
from tests.agreement.rated import Pair, rated

SCALE = (0, 1, 2, 3)


class Population:
    """The pairs that "ana" and "llm" would grade, with ``a`` and ``b``, if all were drawn; ``query_of`` has each pair's
    query (by default its own)."""

    def __init__(self, a: Sequence[int], b: Sequence[int], query_of: Sequence[int] | None = None) -> None:
        self.a, self.b = np.array(a), np.array(b)
        query_of = range(len(a)) if query_of is None else query_of
        self.pairs: list[Pair] = [(f"q{query}", f"d{place}") for place, query in enumerate(query_of)]
        ana, llm = (dict(zip(self.pairs, grades.tolist(), strict=True)) for grades in (self.a, self.b))
        # In the order of the pairs.
        self._all = rated({"ana": ana, "llm": llm}, SCALE, ["ana"])
        self._place = {pair: place for place, pair in enumerate(self.pairs)}
        self.counts = np.bincount(self.a * 4 + self.b, minlength=16).reshape(4, 4)

    def design(
        self,
        drawn: npt.NDArray[np.int64],
        inclusion: npt.NDArray[np.float64],
        stratum: Sequence[int] | None = None,
        *,
        key: str = "1",
        poisson: bool = False,
        whole_queries: bool = False,
        seed: int | None = 0,
        framed: bool = True,
        equal_in_frame: bool = False,
        frame_key: str = "frame",
    ) -> PairDesign:
        """A design that drew the pairs at the positions ``drawn``; ``inclusion`` and ``stratum`` are of all pairs."""
        codes = np.zeros(len(self.pairs), dtype=np.int64) if stratum is None else np.array(stratum)
        return PairDesign(
            key=key,
            name=f"design {key}, stratified",
            drawn=self._probabilities(drawn, inclusion, codes),
            poisson=poisson,
            whole_queries=whole_queries,
            seed=seed,
            frame=self._probabilities(np.arange(len(self.pairs)), inclusion, codes) if framed else None,
            frame_key=frame_key,
            equal_in_frame=equal_in_frame,
        )

    def graded(self, designs: Sequence[PairDesign], also: Sequence[int] = ()) -> Ratings:
        """What is graded after these designs: by "ana" the pairs that they drew and those ``also``, by "llm" all."""
        drawn = [self._place[pair] for one in designs for pair in one.drawn.pairs]
        missing = np.ones(len(self.pairs), dtype=np.bool_)
        missing[[*drawn, *also]] = False
        grade = self._all.grade.copy()
        grade[0, missing] = -1
        return replace(self._all, grade=grade)

    def sample(self, *designs: PairDesign, also: Sequence[int] = ()) -> PairSample | None:
        ratings = self.graded(designs, also)
        return PairSampling(ratings, {"ana": designs}).sample("ana", "llm")

    def table(self, sample: PairSample, ratings: Ratings) -> WeightedTable:
        return WeightedTable(sample, ratings.of("ana")[sample.rows], ratings.of("llm")[sample.rows], 4)

    def weighted_counts(self, *designs: PairDesign) -> npt.NDArray[np.float64]:
        """Σ w of each cell: the numerators of the estimated shares; 0 if nothing was drawn."""
        if not sum(len(one.drawn.inclusion) for one in designs):
            return np.zeros((4, 4))
        sample = self.sample(*designs)
        assert sample is not None
        return self.table(sample, self.graded(designs)).shares * sample.weight.sum()

    def _probabilities(
        self, places: npt.NDArray[np.int64], inclusion: npt.NDArray[np.float64], stratum: npt.NDArray[np.int64]
    ) -> PairProbabilities:
        query_ids, doc_ids = ([self.pairs[place][side] for place in places.tolist()] for side in (0, 1))
        return PairProbabilities(query_ids, doc_ids, list(map(str, stratum[places])), inclusion[places])
