"""The parameters of ColBERT as a retriever and as a reranker."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from quati_pool.models.parameters import ModelParameters
from quati_pool.retrieval.late_interaction.token_index import TokenIndexParameters
from quati_pool.retrieval.vector_index.vector_search import Precision


class ColbertRerankerParameters(ModelParameters):
    dimension: Annotated[
        int | None,
        Field(
            ge=1, description="leading numbers kept of each token vector, at length 1; by default all of the model's"
        ),
    ] = None
    precision: Annotated[Precision, Field(description="of the token vectors on disk")] = "fp32"
    max_tokens: Annotated[
        int | None, Field(ge=4, description="tokens read of a passage; by default as many as the model says")
    ] = None


class ColbertParameters(ColbertRerankerParameters, TokenIndexParameters):
    pass
