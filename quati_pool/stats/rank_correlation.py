"""Correlations between two rankings of the same systems, given as scores, for many draws at once.

Every function takes scores of shape (draws, systems), where higher is better, and returns shape (draws,), with NaN
where a score is NaN or the coefficient is undefined. Equal scores are ties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from quati_pool.stats.rank_similarity import rank_biased_overlap
from quati_pool.stats.ratio import ratio

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# The size of one block of comparisons.
_BLOCK = 4_000_000


def kendall_tau(a: Values, b: Values) -> Values:
    """Kendall's τ-b: the number of concordant minus discordant pairs, divided by the square root of the number of pairs
    that ``a`` orders times the number that ``b`` orders (Kendall, Biometrika 33(3), 1945). Undefined if either orders
    none."""
    return _by_block(_tau_b, a, b)


def top_tau(estimated: Values, reference: Values, k: int) -> Values:
    """τ-b over the ``k`` best systems of ``reference`` only, including systems tied with the k-th.

    Undefined if these are fewer than two, or if either ranking orders no pair of them.
    """

    def block(x: Values, y: Values) -> Values:
        systems = y.shape[1]
        at_k = np.sort(y, axis=1)[:, systems - min(max(k, 1), systems)]
        return _tau_b(x, y, y >= at_k[:, None])

    return _by_block(block, estimated, reference)


def tau_ap(estimated: Values, reference: Values) -> Values:
    """AP correlation τ_AP, which weights errors at the top most (Yilmaz, Aslam and Robertson, A New Rank Correlation
    Coefficient for Information Retrieval, SIGIR 2008). Not symmetric.

    At each system of the estimated ranking, it takes the share of the systems above it that the reference also ranks
    above it; the result is 2 · mean - 1.

    Ties are treated as in τ_AP,b of Urbano and Marrero (ICTIR 2017), which is the mean of this function over both
    directions: systems tied in the estimate are not above each other and all have the first rank of their group, the
    mean is over the systems below the first group, and a pair tied only in the reference counts as misplaced.
    Undefined if either ranking ties all systems.
    """
    return _by_block(_tau_ap, estimated, reference)


def ranking_overlap(a: Values, b: Values, p: float) -> Values:
    """Rank-biased overlap of the two rankings of all systems, with persistence ``p`` between 0 and 1.

    Ties are treated as in RBO^b of Corsi and Urbano (SIGIR 2024): if a depth cuts a tied group, each member counts in
    part, and the agreement at depth d is Σ a·b / √(Σ a² · Σ b²) over these parts, so that the overlap of a ranking with
    itself is 1. Without ties this is plain RBO. Undefined without systems.
    """

    def block(x: Values, y: Values) -> Values:
        depth = np.arange(1, x.shape[1] + 1, dtype=np.float64)
        one, other = _parts(x, depth), _parts(y, depth)
        norm = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
        common = (one * other).sum(axis=1) / norm * depth
        length = np.full(len(x), x.shape[1])
        return rank_biased_overlap(common, length, length, p)

    return _by_block(block, a, b)


def _by_block(function: Callable[[Values, Values], Values], a: Values, b: Values) -> Values:
    """Applies ``function`` to blocks of draws without NaN."""
    result = np.full(len(a), np.nan)
    systems = a.shape[1]
    defined = np.flatnonzero(~(np.isnan(a) | np.isnan(b)).any(axis=1))
    step = max(1, _BLOCK // max(systems * systems, 1))
    for start in range(0, len(defined) if systems else 0, step):
        rows = defined[start : start + step]
        result[rows] = function(a[rows], b[rows])
    return result


def _tau_b(a: Values, b: Values, among: Flags | None = None) -> Values:
    i, j = np.triu_indices(a.shape[1], 1)
    one, other = _order(a[:, i], a[:, j]), _order(b[:, i], b[:, j])
    if among is not None:
        both = among[:, i] & among[:, j]
        one, other = one * both, other * both
    ordered = np.abs(one).sum(axis=1, dtype=np.float64) * np.abs(other).sum(axis=1, dtype=np.float64)
    return ratio((one * other).sum(axis=1, dtype=np.float64), np.sqrt(ordered))


def _tau_ap(estimated: Values, reference: Values) -> Values:
    above = estimated[:, None, :] > estimated[:, :, None]
    truly_above = reference[:, None, :] > reference[:, :, None]
    higher = above.sum(axis=2, dtype=np.float64)
    share = ratio((above & truly_above).sum(axis=2), higher, otherwise=0)
    below_first = (higher > 0).sum(axis=1, dtype=np.float64)
    below_first[~truly_above.any(axis=(1, 2))] = 0
    return 2 * ratio(share.sum(axis=1), below_first) - 1


def _parts(values: Values, depth: Values) -> Values:
    """The fraction of each system that is within each depth, shape (draws, systems, depths)."""
    before = (values[:, None, :] > values[:, :, None]).sum(axis=2)
    size = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    parts: Values = np.clip((depth - before[:, :, None]) / size[:, :, None], 0, 1)
    return parts


def _order(a: Values, b: Values) -> npt.NDArray[np.int8]:
    return (a > b).astype(np.int8) - (a < b)
