"""Impacts: sparse vectors of small integers over a vocabulary.

A term's impact is its weight in a passage or query times ``quantization``, rounded (Lin and Ma 2021, arXiv 2106.14807).
A score is the dot product of two impact vectors, an integer that does not depend on how it is computed. Passages are
stored in shards with the three arrays of a CSR matrix: ``terms`` and ``weights`` of all passages, one after another,
and ``ends``, the end of each passage's terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quati_pool.errors import QuatiPoolError
from quati_pool.records import Int
from quati_pool.retrieval.shards import Shards

Weights = npt.NDArray[np.uint16]
Terms = npt.NDArray[np.int32]

LARGEST = 65_535
"""The largest impact. With any vocabulary, sums of products of two impacts stay below 2⁵³ and so exact in float64."""

_DOTS = 4096


class Vectors(NamedTuple):
    """Rows of impacts: row i is ``terms`` and ``weights`` from ``ends[i - 1]`` (0 for the first row) to ``ends[i]``.

    Terms are ascending within a row, and no weight is 0.
    """

    ends: Int
    terms: Terms
    weights: Weights

    def row(self, number: int) -> tuple[Terms, Weights]:
        start = int(self.ends[number - 1]) if number else 0
        return self.terms[start : self.ends[number]], self.weights[start : self.ends[number]]


def quantised(
    weights: npt.NDArray[np.floating[Any]], name: Callable[[int], str], quantization: int, keep: int | None
) -> Vectors:
    """The impacts of dense weights, shape (rows, vocabulary).

    Only the ``keep`` heaviest terms of each row are kept (None: all), and of equally heavy ones those with the lower
    numbers. ``name`` describes a row in errors. Raises QuatiPoolError for weights that are not finite, negative, or too
    large for an impact.
    """
    finite = np.isfinite(weights).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise QuatiPoolError(
            f"the model gave {name(bad)} a weight that is not a finite number: try compute: fp32, or another model"
        )
    rows, terms = np.nonzero(weights)
    values = weights[rows, terms].astype(np.float64)
    if keep is not None:
        order = np.lexsort((terms, -values, rows))
        starts = np.searchsorted(rows, np.arange(len(weights)))
        place = np.arange(len(rows)) - starts[rows]  # rows are sorted before and after
        kept = np.sort(order[place < keep])
        rows, terms, values = rows[kept], terms[kept], values[kept]
    impacts = np.rint(values * quantization)
    for wrong, problem in ((impacts < 0, "is negative: use a model whose weights are not"), (impacts > LARGEST, "")):
        if wrong.any():
            at = int(np.argmax(wrong))
            fit = f"is above the largest impact, {LARGEST / quantization:g}: lower quantization"
            raise QuatiPoolError(f"the weight {values[at]:g} of {name(int(rows[at]))} {problem or fit}")
    there = impacts > 0
    counts = np.bincount(rows[there], minlength=len(weights))
    return Vectors(np.cumsum(counts), terms[there].astype(np.int32), impacts[there].astype(np.uint16))


def joined(pieces: Sequence[Vectors]) -> Vectors:
    """The rows of several pieces, one piece after another."""
    ends, length = [np.empty(0, dtype=np.int64)], 0
    for piece in pieces:
        ends.append(piece.ends + length)
        length += len(piece.terms)
    terms = [np.empty(0, dtype=np.int32), *(piece.terms for piece in pieces)]
    weights = [np.empty(0, dtype=np.uint16), *(piece.weights for piece in pieces)]
    return Vectors(np.concatenate(ends), np.concatenate(terms), np.concatenate(weights))


def reordered(vectors: Vectors, order: Int) -> Vectors:
    """The rows selected by ``order``: row i of the result is row ``order[i]`` of ``vectors``."""
    lengths = np.diff(vectors.ends, prepend=0)[order]
    ends = np.cumsum(lengths)
    at = np.repeat(vectors.ends[order] - ends, lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    return Vectors(ends, vectors.terms[at], vectors.weights[at])


def stored(shards: Shards) -> Vectors:
    """The impacts of all passages in the shards, memory-mapped."""
    if not shards.passages:
        return joined([])
    return Vectors(*(np.asarray(shards.array(name)) for name in ("ends", "terms", "weights")))


def dots(passages: Vectors, ordinals: Int, terms: Terms, weights: Weights) -> Int:
    """The scores of the passages ``ordinals`` for one query, given by its terms and weights, shape (n,)."""
    width = int(terms.max(initial=-1)) + 2
    asked = np.zeros(width, dtype=np.int64)
    asked[terms] = weights
    scores = np.empty(len(ordinals), dtype=np.int64)
    for first in range(0, len(ordinals), _DOTS):
        some = reordered(passages, ordinals[first : first + _DOTS])
        products = some.weights * asked[np.minimum(some.terms, width - 1)]
        sums = np.concatenate([[0], np.cumsum(products)])
        scores[first : first + _DOTS] = np.diff(sums[some.ends], prepend=0)
    return scores
