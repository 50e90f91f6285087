"""The diversity of a pool: the pairs that only one system contributed, and the overlap between systems.

Only systems that feed the pool count, and of each only the documents within its pool depth. The share of an empty set
of pairs is undefined (None or NaN), not 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quati_pool.pooling.pool import Pool, pool_grades
from quati_pool.records import Int, Qrels
from quati_pool.stats.rank_similarity import rank_biased_overlap

RBO_P = 0.9
"""The first 10 ranks carry 86 % of the weight (Webber et al. 2010)."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """A number of pairs, and how many of them were returned by only one system (``unique``)."""

    name: str
    pairs: int
    unique: int

    @property
    def unique_share(self) -> float | None:
        return self.unique / self.pairs if self.pairs else None


@dataclass(frozen=True, eq=False)
class Diversity:
    """Table 1 of the Quati paper, and how similar the systems are to each other.

    ``systems`` counts the pairs that each feeding system returned, and those that only it returned; ``union`` the pairs
    that at least one system returned. ``extra`` is the number of pairs in the pool that no system fed. ``overlap``,
    shape (systems, systems), is the share of the row system's pairs that the column system returned too. ``rbo``, same
    shape, is the rank-biased overlap (p = 0.9), averaged over the queries for which both systems returned something.
    """

    systems: tuple[Share, ...]
    union: Share
    extra: int
    queries: int
    overlap: Matrix
    rbo: Matrix

    @property
    def mean_unique_share(self) -> float | None:
        """The mean of the unique shares of the systems that returned something; None if none did."""
        shares = [system.unique_share for system in self.systems if system.unique_share is not None]
        return float(np.mean(shares)) if shares else None


def diversity(pool: Pool) -> Diversity:
    """The shares, overlap and rank similarity of the systems that feed a pool."""
    feeding = np.flatnonzero(pool.depths)
    fed = pool.fed[:, feeding]
    returned_by = fed.sum(axis=1)
    single = returned_by == 1
    return Diversity(
        systems=tuple(
            Share(pool.run_tags[system], int(fed[:, i].sum()), int((fed[:, i] & single).sum()))
            for i, system in enumerate(feeding)
        ),
        union=Share("all", int((returned_by > 0).sum()), int(single.sum())),
        extra=int((returned_by == 0).sum()),
        queries=len(np.unique(pool.query)),
        overlap=_overlap(fed),
        rbo=_rbo(pool, feeding, fed),
    )


@dataclass(frozen=True)
class GradeShares:
    """Table 2 of the Quati paper: for each grade, the pairs that systems returned, and those that only one system
    returned. ``relevant`` is the same for grades of 1 and above. ``ungraded`` counts the pairs in no row."""

    grades: tuple[Share, ...]
    relevant: Share
    ungraded: int


def diversity_by_grade(pool: Pool, qrels: Qrels) -> GradeShares:
    """Counts a pool's pairs, and those of a single system, by their grade in ``qrels``."""
    returned_by = pool.fed.sum(axis=1)
    union, single = returned_by > 0, returned_by == 1
    relevance, graded = pool_grades(pool, qrels)

    def share(name: str, chosen: npt.NDArray[np.bool_]) -> Share:
        chosen = chosen & graded & union
        return Share(name, int(chosen.sum()), int((chosen & single).sum()))

    return GradeShares(
        tuple(share(str(grade), relevance == grade) for grade in np.unique(qrels.relevance).tolist()),
        share("≥ 1", relevance >= 1),
        int((union & ~graded).sum()),
    )


def _overlap(fed: npt.NDArray[np.bool_]) -> Matrix:
    counts = fed.T.astype(np.float64) @ fed.astype(np.float64)
    returned = np.diag(counts)[:, None]
    return np.divide(counts, returned, out=np.full_like(counts, np.nan), where=returned > 0)


def _rbo(pool: Pool, feeding: Int, fed: npt.NDArray[np.bool_]) -> Matrix:
    """Mean rank-biased overlap of all pairs of systems, computed from the pool's ledger: a document that two systems
    returned enters their common set at the deeper of its two ranks."""
    systems = len(feeding)
    depth = int(pool.depths.max(initial=1))
    _, query = np.unique(pool.query, return_inverse=True)
    queries = int(query.max(initial=-1)) + 1
    ranks = pool.ranks[:, feeding]
    lengths = np.stack([np.bincount(query[column], minlength=queries) for column in fed.T])
    values = np.full((systems, systems), np.nan)
    for a in range(systems):
        for b in range(a, systems):
            both = fed[:, a] & fed[:, b]
            joined = query[both] * depth + np.maximum(ranks[both, a], ranks[both, b]) - 1
            common = np.bincount(joined, minlength=queries * depth).reshape(queries, depth).cumsum(axis=1)
            overlap = rank_biased_overlap(common.astype(np.float64), lengths[a], lengths[b], RBO_P)
            if np.isfinite(overlap).any():
                values[a, b] = values[b, a] = np.nanmean(overlap)
    return values
