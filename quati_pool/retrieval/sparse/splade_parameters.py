"""The parameters of SPLADE."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from quati_pool.models.parameters import ModelParameters


class SpladeParameters(ModelParameters):
    batch_tokens: Annotated[
        int, Field(ge=1, description="tokens of one batch, padding included; each takes 8 bytes per vocabulary entry")
    ] = 4096
    max_tokens: Annotated[
        int | None, Field(ge=1, description="tokens read of a text; by default as many as the model can")
    ] = None
    passage_terms: Annotated[
        int | None, Field(ge=1, description="heaviest terms kept of a passage; all that the model gives by default")
    ] = None
    query_terms: Annotated[
        int | None, Field(ge=1, description="heaviest terms kept of a query; all that the model gives by default")
    ] = None
    quantization: Annotated[
        int, Field(ge=1, le=10_000, description="weights times this, rounded, are what is searched")
    ] = 100
    search: Annotated[
        Literal["csr", "lucene"], Field(description="inverted lists on disk, or a Lucene impact index (needs Java)")
    ] = "csr"
