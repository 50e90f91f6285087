"""Estimates what a dense model takes before anything is encoded: passages, disk, memory and time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from quati_pool.models.errors import ModelError
from quati_pool.models.modules import read_config, transformer_folder
from quati_pool.models.sizes import Shape, shape_of, token_counter
from quati_pool.retrieval import planning
from quati_pool.retrieval.bi_encoder.dense_parameters import DenseSettings, EncodingParameters
from quati_pool.retrieval.planning import Estimate, Part, Workload
from quati_pool.retrieval.vector_index.index_plan import plan_index
from quati_pool.retrieval.vector_index.vector_search import IndexParameters, vector_bytes

# The vectors that a transformer layer holds at a time for every token of a batch: about eight of the hidden width
# (input, query, key, value, attention, outputs, the residual) and two of the inner width.
_HIDDEN_HELD, _INNER_HELD = 8, 2
# A shard while it is encoded: its maximum number of passages, and the bytes that a passage takes per token, per
# character and per component of its vector.
_SHARD, _TOKEN_HELD, _CHARACTER_HELD, _COMPONENT_HELD = 4096, 100, 4, 12
# Seconds per character for a static embedding: tokenising a text and adding up the rows of its tokens.
_LOOK_UP = 1e-6


def estimate_dense(
    parameters: EncodingParameters, work: Workload, folder: Path | None = None, settings: DenseSettings | None = None
) -> Estimate:
    """The estimate for encoding and for what is kept; works offline and reads no weights. ``folder`` and ``settings``
    are None for a model that is not on this machine.

    A reranker is assumed to encode one passage per pair, but at most the whole corpus.
    """
    encode = min(work.passages, work.pairs) if work.pairs else work.passages
    looked_up = folder is not None and not read_config(transformer_folder(folder) / "config.json")
    shape = None
    if not looked_up:
        shape = planning.known_shape(parameters.model) if folder is None else shape_of(folder)
    found, tokens = _encoding(parameters, work, encode, folder, settings, shape)
    dimension = (settings or parameters).truncate_dim or (shape.dimension if shape else _table_width(folder))
    if dimension is None:
        return found
    vectors = vector_bytes(parameters.precision, encode, dimension)
    shard = min(encode, _SHARD) * (
        _TOKEN_HELD * tokens + _CHARACTER_HELD * work.characters + _COMPONENT_HELD * dimension
    )
    line = f"vectors: {encode:,} × {dimension:,} dimensions × {parameters.precision} = {planning.human_bytes(vectors)}"
    kept = replace(
        found,
        disk=vectors,
        memory=round((found.memory or 0) + planning.LIBRARIES["neural"] + planning.LIBRARIES["faiss"] + shard),
        seconds=None if found.seconds is None else found.seconds + planning.START["neural"],
        arithmetic=(*found.arithmetic, line),
    )
    if not isinstance(parameters, IndexParameters):
        return kept.plus(search=Part(0, planning.START["neural"]))
    planned = plan_index(parameters, work, dimension, parameters.precision)
    starts = Part(0, planned.search.seconds + planning.START["neural"])
    return kept.plus(index=planned.built, search=starts, memory=planned.memory, lines=planned.lines)


def with_query_model(found: Estimate, queries: EncodingParameters, work: Workload, folder: Path | None) -> Estimate:
    """``found``, the estimate for the model of passages, with the memory of another model for queries, which is held at
    another time; the time of encoding queries is neglected, as it is for one model."""
    looked_up = folder is not None and not read_config(transformer_folder(folder) / "config.json")
    if looked_up:
        return found
    shape = planning.known_shape(queries.model) if folder is None else shape_of(folder)
    weights = planning.estimate_forward(queries.model, shape, work.queries, 0, unit="queries")
    if weights.memory is None:
        return replace(found, notes=(*found.notes, *weights.notes))
    libraries = planning.LIBRARIES["neural"] + planning.LIBRARIES["faiss"]
    line = f"queries by another model: {weights.arithmetic[-1]}, after or before that of passages"
    return replace(
        found,
        memory=max(found.memory or 0, weights.memory + libraries),
        device_memory=max(found.device_memory or 0, weights.device_memory or 0),
        arithmetic=(*found.arithmetic, line),
    )


def known_dimension(folder: Path, truncate_dim: int | None) -> int | None:
    """The dimension of the vectors of the model in ``folder``, of which ``truncate_dim`` are kept (None: all); None if
    its files do not say."""
    if not read_config(transformer_folder(folder) / "config.json"):
        whole = _table_width(folder)
    else:
        try:
            whole = shape_of(folder).dimension
        except ModelError:
            return None
    return None if whole is None else min(whole, truncate_dim or whole)


def _encoding(
    parameters: EncodingParameters,
    work: Workload,
    encode: int,
    folder: Path | None,
    settings: DenseSettings | None,
    shape: Shape | None,
) -> tuple[Estimate, float]:
    """The estimate for encoding only, without what is kept, and the mean number of tokens per passage."""
    if shape is None and folder is not None:
        tokens = planning.tokens_of(work.characters)
        note = f"{parameters.model}: vectors are looked up: about as fast as reading"
        return Estimate(encode=encode, memory=0, seconds=encode * work.characters * _LOOK_UP, notes=(note,)), tokens
    if shape is None:
        return planning.estimate_forward(parameters.model, None, encode, 0), 0
    limit = min(parameters.max_tokens or shape.max_tokens, shape.max_tokens)
    count = None if folder is None else token_counter(folder, settings.passage_prompt if settings else "")
    tokens = planning.tokens_of(work.characters, limit, work.sample, count)
    size = 2 if (settings or parameters).compute != "fp32" else 4
    found = planning.estimate_forward(parameters.model, shape, encode, tokens, weight_bytes=size)
    batch = _batch_bytes(parameters.batch_tokens, shape, size)
    held, on_device = (found.memory or 0) + batch, (found.device_memory or 0) + batch
    return replace(found, memory=held, device_memory=on_device), tokens


def _table_width(folder: Path | None) -> int | None:
    """The dimension of a static embedding's vectors, from the header of its table; None if it cannot be read."""
    if folder is None:
        return None
    file = transformer_folder(folder) / "model.safetensors"
    try:
        with file.open("rb") as table:
            header = json.loads(table.read(int.from_bytes(table.read(8), "little")))
        return int(next(entry["shape"][1] for name, entry in header.items() if name != "__metadata__"))
    except (OSError, ValueError, KeyError, IndexError, StopIteration):
        return None


def _batch_bytes(tokens: int, shape: Shape, size: int) -> int:
    """Bytes taken by the activations of a batch of ``tokens`` tokens, with ``size`` bytes per number."""
    return tokens * size * (_HIDDEN_HELD * shape.hidden + _INNER_HELD * shape.ffn)
