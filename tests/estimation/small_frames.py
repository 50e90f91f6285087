"""Small pools: random rankings of several systems, and people's and a judge's grades of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from quati_pool.estimation.pair_estimates import PairSample
from quati_pool.estimation.pair_frame import NO_GRADE, PairFrame

SCALE = [0, 1, 2, 3]


@dataclass(frozen=True, eq=False)
class Collection:
    """A frame, and people's grades of its pairs, shape (pairs,)."""

    frame: PairFrame
    relevance: np.ndarray

    def qrels(self) -> dict[str, dict[str, int]]:
        """People's grades as pytrec_eval takes them; query and document are called by their numbers."""
        found: dict[str, dict[str, int]] = {str(query): {} for query in range(self.frame.queries)}
        for pair, (query, grade) in enumerate(zip(self.frame.query.tolist(), self.relevance.tolist(), strict=True)):
            found[str(query)][str(pair)] = grade
        return found

    def runs(self) -> list[dict[str, dict[str, float]]]:
        """The systems' rankings as pytrec_eval takes them."""
        found: list[dict[str, dict[str, float]]] = [{} for _ in range(self.frame.systems)]
        columns = (self.frame.pair, self.frame.system, self.frame.rank)
        for pair, system, rank in zip(*(column.tolist() for column in columns), strict=True):
            found[system].setdefault(str(self.frame.query[pair]), {})[str(pair)] = -float(rank)
        return found


def collection(
    seed: int,
    *,
    queries: int = 6,
    pairs: int = 20,
    systems: int = 4,
    depth: int = 15,
    ungraded: float = 0.0,
    scale: list[int] = SCALE,
) -> Collection:
    """``pairs`` of each query; each system ranks ``depth`` of them; the judge leaves out the share ``ungraded``."""
    generator = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), pairs)
    # In any order, as a pool may have them.
    query = generator.permutation(query)
    relevance = generator.choice(scale, size=len(query), p=generator.dirichlet(np.ones(len(scale))))
    noisy = np.clip(relevance + generator.integers(-1, 2, len(query)), min(scale), max(scale))
    judge = np.where(generator.random(len(query)) < ungraded, NO_GRADE, noisy)
    entries = []
    for system in range(systems):
        for number in range(queries):
            ranked = generator.permutation(np.flatnonzero(query == number))[:depth]
            entries += [(pair, system, rank) for rank, pair in enumerate(ranked.tolist(), 1)]
    return Collection(PairFrame(query, queries, judge, systems, *np.array(entries).T), relevance)


def poisson_sample(one: Collection, inclusion: np.ndarray, drawn: np.ndarray) -> PairSample:
    """The ``drawn`` pairs, graded by people; ``inclusion``, shape (pairs,)."""
    return PairSample(
        drawn,
        one.relevance[drawn],
        inclusion[drawn],
        np.zeros(len(drawn), dtype=int),
        np.array([len(one.frame)]),
        poisson=True,
    )


def draw(one: Collection, inclusion: np.ndarray, seed: int) -> PairSample:
    uniform = np.random.default_rng(seed).random(len(one.frame))
    return poisson_sample(one, inclusion, np.flatnonzero(uniform < inclusion))


collections = st.builds(
    collection,
    st.integers(0, 10_000),
    queries=st.integers(1, 5),
    pairs=st.integers(2, 25),
    systems=st.integers(1, 5),
    depth=st.integers(1, 20),
    ungraded=st.sampled_from([0.0, 0.3, 1.0]),
)
