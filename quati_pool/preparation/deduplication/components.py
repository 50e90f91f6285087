"""Connected components of many rows, computed from links that are read file by file."""

from __future__ import annotations

import numpy as np

from quati_pool.records import Int

_BLOCK = 1 << 20


def component_edges(pairs: Int) -> Int:
    """The connected components of ``pairs`` of rows, shape (n, 2), in any order. Each component is returned as links
    from its first row to every other row: shape (m, 2) of (first, other), sorted by other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ids, codes = np.unique(pairs, return_inverse=True)
    codes = codes.reshape(pairs.shape)
    links = coo_array((np.ones(len(codes), dtype=np.int8), (codes[:, 0], codes[:, 1])), shape=(len(ids), len(ids)))
    _, labels = connected_components(links, directed=False)
    _, firsts = np.unique(labels, return_index=True)
    roots = ids[firsts[labels]]
    others = roots != ids
    return np.stack([roots[others], ids[others]], axis=1)


class Components:
    """The connected components of rows 0 to ``rows`` - 1 under all links so far, each identified by its first row;
    8 bytes per row.

    A forest in which every row points to an earlier row of its tree (union-find, Galler and Fischer 1964), so that
    the result does not depend on the order of the links.
    """

    def __init__(self, rows: int) -> None:
        self._earlier = np.arange(rows, dtype=np.int64)

    def join(self, pairs: Int) -> None:
        """Adds links between rows, shape (n, 2)."""
        roots = self._roots(pairs)
        self._earlier[pairs] = roots
        joined = component_edges(roots)
        self._earlier[joined[:, 1]] = joined[:, 0]

    def component_edges(self) -> Int:
        """All components, in the form that the function ``component_edges`` returns."""
        found = [np.empty((0, 2), dtype=np.int64)]
        for start in range(0, len(self._earlier), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(self._earlier)))
            others = rows[self._earlier[rows] != rows]
            found.append(np.stack([self._roots(others), others], axis=1))
        return np.concatenate(found)

    def _roots(self, rows: Int) -> Int:
        roots: Int = self._earlier[rows]
        while True:
            earlier = self._earlier[roots]
            if np.array_equal(earlier, roots):
                return roots
            roots = earlier
