"""Estimates what a SPLADE model takes before anything is encoded: passages, disk, memory and time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from quati_pool.models.sizes import Shape, shape_of, token_counter
from quati_pool.retrieval import planning
from quati_pool.retrieval.planning import Estimate, Part, Workload
from quati_pool.retrieval.sparse.splade_parameters import SpladeParameters

TERMS = 200
"""Terms per passage if ``passage_terms`` is not set: trained models give about one or two hundred."""

_KEPT_BYTES, _LIST_BYTES = 6, 4
"""Bytes per posting (a term of a passage): in the shards, and in inverted lists."""
_LUCENE_PASSAGE = 20
"""Bytes per passage in a Lucene index, besides its terms (measured)."""
_BLOCK, _BLOCK_POSTINGS, _BLOCK_HELD = 65_536, 8_000_000, 40
"""The maximum numbers of passages and postings in a block of inverted lists (``impact_search``), and the bytes of
memory that sorting takes per posting."""
_INVERT, _LUCENE = 6e-8, 6e-7
"""Seconds to index a posting: in inverted lists, and with Lucene."""
_SHARD, _TERM_HELD = 1024, 16
"""The maximum number of passages per shard, and the bytes per term while a shard is encoded."""
_QUERY_TERMS, _SCORE = 30, 3e-8
"""Terms per query, and seconds per term of a query and passage with that term."""


def estimate_splade(parameters: SpladeParameters, work: Workload, folder: Path | None) -> Estimate:
    """The estimate for encoding, index and search; works offline and reads no weights. ``folder`` is None for a model
    that is not on this machine."""
    shape = shape_of(folder) if folder else planning.known_shape(parameters.model)
    by_lucene = parameters.search == "lucene"
    terms = parameters.passage_terms or TERMS
    if shape is not None:
        terms = min(terms, shape.vocabulary)
    postings = work.passages * terms
    found = _encoding(parameters, work, folder, shape)
    kept = work.passages * (terms * _KEPT_BYTES + 8)
    encoded = replace(
        found,
        disk=kept,
        memory=(found.memory or 0) + planning.LIBRARIES["neural"] + _SHARD * terms * _TERM_HELD,
        seconds=None if found.seconds is None else found.seconds + planning.START["neural"],
    )
    if by_lucene:
        size = postings * _lucene_bytes(terms, shape) + _LUCENE_PASSAGE * work.passages
        index = Part(size, planning.START["java"] + _LUCENE * postings)
        held = planning.LIBRARIES["java"]
    else:
        blocks = max(-(-work.passages // _BLOCK), -(-postings // _BLOCK_POSTINGS))
        index = Part(_LIST_BYTES * postings + blocks * 8 * _width(shape), _INVERT * postings)
        held = _BLOCK_HELD * min(postings, _BLOCK_POSTINGS)
    a_term = _KEPT_BYTES + (_lucene_bytes(terms, shape) if by_lucene else _LIST_BYTES)
    line = (
        f"vectors and index: {work.passages:,} passages × {terms} terms{'' if parameters.passage_terms else ' (taken)'}"
        f" × {a_term:.3g} bytes = {planning.human_bytes(kept + index.disk)}"
    )
    seconds = planning.START["neural"] + work.queries * _QUERY_TERMS * postings / _width(shape) * _SCORE
    return encoded.plus(index=index, search=Part(0, seconds), memory=held, lines=(line,))


def _lucene_bytes(terms: int, shape: Shape | None) -> float:
    """Bytes per posting in a Lucene index: one for the impact, and some bits for the distance from the previous passage
    with the term. Measured: 1.4 if every passage has 64 of 85 terms, and 3 if it has 200 of 30,522."""
    return 1 + math.log2(max(_width(shape) / terms, 1)) / 4


def _width(shape: Shape | None) -> int:
    """The size of the vocabulary."""
    return shape.vocabulary if shape else 30_522


def _encoding(parameters: SpladeParameters, work: Workload, folder: Path | None, shape: Shape | None) -> Estimate:
    if shape is None:
        return planning.estimate_forward(parameters.model, None, work.passages, 0)
    limit = min(parameters.max_tokens or shape.max_tokens, shape.max_tokens)
    size = 4 if parameters.compute == "fp32" else 2
    count = token_counter(folder) if folder else None
    tokens = planning.tokens_of(work.characters, limit, work.sample, count)
    found = planning.estimate_forward(
        parameters.model, shape, work.passages, tokens, weight_bytes=size, vocabulary_head=True
    )
    # The logits of a batch, and a copy without those of the padding.
    batch = parameters.batch_tokens * shape.vocabulary * size * 2
    return replace(found, memory=(found.memory or 0) + batch, device_memory=(found.device_memory or 0) + batch)
