"""Exact search over impacts, with inverted lists on disk or with Lucene, which give the same hits.

Inverted lists are divided into blocks of passages; each block has one list of passages per term. A query reads only the
lists of its own terms, and memory holds those of one block.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from quati_pool.records import Int
from quati_pool.retrieval.base import Hits, Progress, no_hits
from quati_pool.retrieval.lucene import Lucene
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse.impacts import Terms, Vectors, Weights, dots
from quati_pool.retrieval.top_scores import best

_BLOCK = 65_536  # passages per block, so that their numbers within a block take two bytes
_BLOCK_POSTINGS = 8_000_000
_QUERIES = 512
_LUCENE_HITS = 100_000


def invert(passages: Vectors, folder: Path, progress: Progress) -> None:
    """Writes the inverted lists of ``passages`` into the empty ``folder``, block by block.

    The ``starts`` of a block hold, for each term, the position of its first posting in ``docs`` (passage numbers within
    the block) and ``weights``. Memory holds one block.
    """
    from scipy.sparse import csr_array

    total = len(passages.ends)
    width = 1
    for start in range(0, len(passages.terms), _BLOCK_POSTINGS):
        width = max(width, int(passages.terms[start : start + _BLOCK_POSTINGS].max()) + 1)
    shards = Shards(folder)
    first = postings = 0
    while first < total:
        from_ = int(passages.ends[first - 1]) if first else 0
        last = int(np.searchsorted(passages.ends, from_ + _BLOCK_POSTINGS, side="right"))
        last = min(max(last, first + 1), first + _BLOCK, total)
        pointers = np.concatenate([[from_], passages.ends[first:last]]) - from_
        span = slice(from_, from_ + int(pointers[-1]))
        # The stored arrays are those of a CSR matrix with passages as rows and terms as columns.
        block = csr_array((passages.weights[span], passages.terms[span], pointers), shape=(last - first, width)).tocsc()
        shards.append(
            last - first,
            first=np.array([first], dtype=np.int64),
            starts=(block.indptr.astype(np.int64) + postings)[None],
            docs=block.indices.astype(np.uint16),
            weights=block.data,
        )
        postings += len(block.data)
        first = last
        progress(first, total)


def search_inverted(folder: Path, queries: Vectors, depth: int, progress: Progress) -> Hits:
    """The ``depth`` best passages per query with a score above 0, ties at the cut-off included.

    ``folder`` was written by ``invert``. Scores are float32: exact up to 2²⁴, and compared as float32 beyond that.
    """
    shards = Shards(folder)
    if not shards.passages or not len(queries.ends):
        return no_hits()
    first, starts, docs, weights = (np.asarray(shards.array(name)) for name in ("first", "starts", "docs", "weights"))
    hits = []
    for begin in range(0, len(queries.ends), _QUERIES):
        asked = range(begin, min(begin + _QUERIES, len(queries.ends)))
        found = [np.empty(0, dtype=np.int64) for _ in asked]
        scores = [np.empty(0, dtype=np.float32) for _ in asked]
        for block in range(len(first)):
            for place, query in enumerate(asked):
                lowest = scores[place].min() if len(scores[place]) >= depth else np.float32(0)
                block_scores = _scores(starts[block], docs, weights, *queries.row(query))
                better = np.flatnonzero((block_scores >= lowest) & (block_scores > 0))
                if len(better):
                    merged = np.concatenate([scores[place], block_scores[better]])
                    kept = best(merged, depth)
                    found[place] = np.concatenate([found[place], better + first[block]])[kept]
                    scores[place] = merged[kept]
            progress(begin + len(asked) * (block + 1) // len(first), len(queries.ends))
        rows = np.repeat(np.arange(asked.start, asked.stop), [len(some) for some in found])
        hits.append(Hits(rows, np.concatenate(found), np.concatenate(scores)))
    return Hits(*(np.concatenate(column) for column in zip(*hits, strict=True)))


def _scores(
    starts: Int, docs: npt.NDArray[np.uint16], weights: Weights, terms: Terms, asked: Weights
) -> npt.NDArray[np.float32]:
    """The scores of a block's passages for one query, up to the last passage that shares a term with it."""
    known = terms < len(starts) - 1
    terms, asked = terms[known], asked[known]
    spans = [slice(low, high) for low, high in zip(starts[terms].tolist(), starts[terms + 1].tolist(), strict=True)]
    if not spans:
        return np.empty(0, dtype=np.float32)
    here = np.concatenate([docs[span] for span in spans])
    products = np.concatenate([weights[span] * float(weight) for span, weight in zip(spans, asked, strict=True)])
    return np.bincount(here, products).astype(np.float32)


def search_lucene(
    lucene: Lucene, folder: Path, passages: Vectors, queries: Vectors, depth: int, progress: Progress
) -> Hits:
    """The same hits as ``search_inverted``, from the Lucene index of ``passages`` in ``folder``.

    Lucene rounds scores to float32 and may cut within a tie. So more than ``depth`` hits are requested, until those
    left out can only have lower scores, and scores are computed again.
    """
    hits = [no_hits()]
    waiting = [query for query in range(len(queries.ends)) if len(queries.row(query)[0])]
    done, wanted = len(queries.ends) - len(waiting), depth + max(depth // 10, 10)
    while waiting:
        again: list[int] = []
        wanted = min(wanted, len(passages.ends))
        at_once = min(max(_LUCENE_HITS // wanted, 1), 256)
        for start in range(0, len(waiting), at_once):
            some = waiting[start : start + at_once]
            asked = [queries.row(query) for query in some]
            queries_as_terms = [dict(zip(terms.tolist(), weights.tolist(), strict=True)) for terms, weights in asked]
            found = lucene.search_impacts(folder, queries_as_terms, wanted)
            ends = np.searchsorted(found.query, np.arange(len(some) + 1))
            for place, query in enumerate(some):
                here = slice(ends[place], ends[place + 1])
                rows, rough = found.row[here], found.score[here]
                scores = dots(passages, rows, *asked[place]).astype(np.float32)
                kept = best(scores, depth)
                if len(rows) == wanted < len(passages.ends) and _may_go_on(float(rough[-1]), scores[kept].min()):
                    again.append(query)
                else:
                    hits.append(Hits(np.full(len(kept), query), rows[kept], scores[kept]))
            done += len(some) - sum(query in again for query in some)
            progress(done, len(queries.ends))
        waiting, wanted = again, wanted * 4
    return Hits(*(np.concatenate(column) for column in zip(*hits, strict=True)))


def _may_go_on(last: float, lowest: float) -> bool:
    """Whether a passage that Lucene left out may reach the score ``lowest``; ``last`` is the lowest score that Lucene
    returned, rounded to float32."""
    return last + lowest * 2**-20 >= lowest
