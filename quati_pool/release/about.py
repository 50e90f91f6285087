"""The description of a collection in its releases: title, license, citation."""

from __future__ import annotations

from pydantic import Field

from quati_pool.files.yaml_file import Model


class ReleaseConfig(Model):
    """The description of the collection in a release; missing fields are left out."""

    title: str | None = None
    description: str | None = None
    languages: list[str] = Field(default_factory=list)
    license: str | None = None
    citation: str | None = None
    url: str | None = None
    texts: bool = True
    """Whether releases may hold the passages' texts, and what labelers wrote about them, which may quote them."""
