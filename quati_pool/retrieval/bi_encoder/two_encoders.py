"""Whether the vectors of two models, one of queries and one of passages, can be compared."""

from __future__ import annotations

from pathlib import Path

from quati_pool.errors import ConfigError
from quati_pool.retrieval.bi_encoder.dense_parameters import EncodingParameters, settings_of
from quati_pool.retrieval.bi_encoder.dense_plan import known_dimension

_COMPARED = {True: "cosine", False: "inner product"}


def require_comparable(parameters: EncodingParameters, query_folder: Path, passage_folder: Path) -> None:
    """Raises ConfigError unless the models' files, as far as they say, give vectors of one size, compared alike."""
    queries, passages = parameters.for_queries(), parameters.for_passages()
    asked, kept = settings_of(queries, query_folder), settings_of(passages, passage_folder)
    if asked.normalize is not kept.normalize:
        raise ConfigError(
            f"query_model: {queries.model!r} is made for {_COMPARED[asked.normalize]} and passage_model: "
            f"{passages.model!r} for {_COMPARED[kept.normalize]}; set normalize: true (cosine) or false (inner product)"
        )
    dimensions = [
        known_dimension(folder, settings.truncate_dim)
        for folder, settings in ((query_folder, asked), (passage_folder, kept))
    ]
    if dimensions[0] is not None and dimensions[1] is not None:
        require_dimensions(parameters, dimensions[0], dimensions[1])


def require_dimensions(parameters: EncodingParameters, of_queries: int, of_passages: int) -> None:
    """Raises ConfigError unless vectors of queries and of passages have as many dimensions."""
    if of_queries != of_passages:
        raise ConfigError(
            f"query_model: {parameters.for_queries().model!r} gives vectors of {of_queries:,} dimensions and "
            f"passage_model: {parameters.for_passages().model!r} of {of_passages:,}; name two trained together"
        )
