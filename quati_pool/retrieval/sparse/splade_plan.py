"""What a SPLADE model will take: passages, disk, memory and time, before anything is encoded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from quati_pool.retrieval import planning
from quati_pool.retrieval.encoders import models
from quati_pool.retrieval.planning import Estimate, Work

if TYPE_CHECKING:
    from quati_pool.retrieval.sparse.splade import SpladeParameters

TERMS = 200
"""Terms of a passage where ``passage_terms`` does not say: trained models give some hundred or two."""

_KEPT_BYTES, _LIST_BYTES, _LUCENE_BYTES = 6, 4, 3
"""Bytes of a passage's term: in the shards, in inverted lists, in a Lucene index (measured)."""
_SHARD_BYTES, _JAVA_BYTES = 300 * 2**20, 4 * 2**30


def estimate_splade(parameters: SpladeParameters, work: Work, folder: Path | None) -> Estimate:
    """Encoding, and what is kept of it; offline, reads no weights. ``folder`` is None for a model that is not
    on this machine."""
    shape = models.shape_of(folder) if folder else planning.known_shape(parameters.model)
    by_lucene = parameters.search == "lucene"
    a_term = _KEPT_BYTES + (_LUCENE_BYTES if by_lucene else _LIST_BYTES)
    terms = parameters.passage_terms or TERMS
    disk = work.passages * (terms * a_term + 8)
    kept = (
        f"vectors and index: {work.passages:,} passages × {terms} terms{'' if parameters.passage_terms else ' (taken)'}"
        f" × {a_term} bytes = {planning.human_bytes(disk)}"
    )
    beside = _SHARD_BYTES + (_JAVA_BYTES if by_lucene else 0)
    if shape is None:
        found = planning.model_work(parameters.model, None, work.passages, 0)
        return replace(found, disk=disk, memory=beside, arithmetic=(kept,))
    limit = min(parameters.max_tokens or shape.max_tokens, shape.max_tokens)
    size = 4 if parameters.compute == "fp32" else 2
    found = planning.model_work(
        parameters.model,
        shape,
        work.passages,
        planning.tokens_of(work.characters, limit, work.sample, models.token_counter(folder) if folder else None),
        weight_bytes=size,
        vocabulary_head=True,
    )
    # The logits of a batch, and once more without those of its padding.
    batch = parameters.batch_tokens * shape.vocabulary * size * 2
    return replace(
        found,
        disk=disk,
        memory=(found.memory or 0) + batch + beside,
        device_memory=(found.device_memory or 0) + batch,
        arithmetic=(*found.arithmetic, kept),
    )
