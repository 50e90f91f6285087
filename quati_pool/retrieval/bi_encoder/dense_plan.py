"""What a dense model will take: passages, disk, memory and time, before anything is encoded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from quati_pool.retrieval import planning
from quati_pool.retrieval.bi_encoder.dense_settings import EncodingParameters, Settings
from quati_pool.retrieval.encoders import models
from quati_pool.retrieval.planning import Estimate, Shape, Work
from quati_pool.retrieval.vector_index.vector_search import IndexParameters, index_bytes, vector_bytes

# What a layer of a transformer holds at a time for every token of a batch: about eight vectors of its hidden
# width (input, query, key, value, attention, outputs, the residual) and two of its inner width.
_HIDDEN_HELD, _INNER_HELD = 8, 2
# A shard's texts, tokens and vectors while it is encoded.
_SHARD_BYTES = 512 * 2**20


def estimate_dense(
    parameters: EncodingParameters, work: Work, folder: Path | None = None, settings: Settings | None = None
) -> Estimate:
    """Encoding, and what is kept of it; offline, reads no weights. ``folder`` and ``settings`` are None for a
    model that is not on this machine.

    A reranker is taken to encode as many passages as it has pairs, at most the corpus.
    """
    encode = min(work.passages, work.pairs) if work.pairs else work.passages
    if folder is not None and not models.read_config(models.transformer_folder(folder), "config.json"):
        return Estimate(encode=encode, notes=(f"{parameters.model}: vectors are looked up: about as fast as reading",))
    shape = planning.known_shape(parameters.model) if folder is None else models.shape_of(folder)
    if shape is None:
        return planning.model_work(parameters.model, None, encode, 0)
    limit = min(parameters.max_tokens or shape.max_tokens, shape.max_tokens)
    count = None if folder is None else models.token_counter(folder, settings.passage_prompt if settings else "")
    tokens = planning.tokens_of(work.characters, limit, work.sample, count)
    half = (settings.compute if settings else parameters.compute) != "fp32"
    size = 2 if half else 4
    found = planning.model_work(parameters.model, shape, encode, tokens, weight_bytes=size)
    dimension = (settings.truncate_dim if settings else parameters.truncate_dim) or shape.dimension
    vectors = vector_bytes(parameters.precision, encode, dimension)
    lines = [
        *found.arithmetic,
        f"vectors: {encode:,} × {dimension:,} dimensions × {parameters.precision} = {planning.human_bytes(vectors)}",
    ]
    index = 0
    if isinstance(parameters, IndexParameters) and parameters.index != "flat":
        index = index_bytes(parameters, work.passages, dimension)
        lines.append(f"index {parameters.index}: {planning.human_bytes(index)}")
    batch = _batch_bytes(parameters.batch_tokens, shape, size)
    return replace(
        found,
        disk=vectors + index,
        memory=(found.memory or 0) + batch + _SHARD_BYTES,
        device_memory=(found.device_memory or 0) + batch,
        arithmetic=tuple(lines),
    )


def _batch_bytes(tokens: int, shape: Shape, size: int) -> int:
    """What the activations of a batch take."""
    return tokens * size * (_HIDDEN_HELD * shape.hidden + _INNER_HELD * shape.ffn)
