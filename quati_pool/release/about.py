"""What a release says of the collection besides its figures."""

from __future__ import annotations

from pydantic import Field

from quati_pool.files.yaml_file import Model


class ReleaseConfig(Model):
    """What a release says of the collection beside its numbers; what is not given is not stated."""

    title: str | None = None
    description: str | None = None
    languages: list[str] = Field(default_factory=list)
    license: str | None = None
    citation: str | None = None
    url: str | None = None
