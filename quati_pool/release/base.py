"""The base class of release formats, which write a collection into a folder, with a manifest.

A plug-in adds a format through the entry-point group ``quati_pool.exports``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from quati_pool.release.checks import check
from quati_pool.release.manifest import write_manifest
from quati_pool.release.output import Output
from quati_pool.release.state import Labelled, Release
from quati_pool.text.secrets import masked


class Parameters(BaseModel):
    """Base class of a format's parameters; every field has a description, which is shown when formats are listed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Format(ABC):
    """A format of releases: the layout of their files in a folder."""

    id: ClassVar[str]
    """The name that is stored, such as ``export/beir``, independent of where the code is. By default, the id of a
    plug-in consists of its kind and its entry point."""

    revision: ClassVar[int] = 1
    """Increase this when the same parameters produce different files than before, so that releases are rewritten."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]
    needs_grades: ClassVar[bool] = True
    """Whether the format requires at least one labeler."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError if a package that this format needs is not installed."""

    @property
    def publishes_texts(self) -> bool:
        """Whether it writes passages to be published, which ``release: {texts: false}`` in pool.yaml forbids."""
        return True

    def write(self, release: Release, folder: Path) -> dict[str, Any]:
        """Writes the release into the empty ``folder``, MANIFEST.json last, and returns the counts from ``fill`` plus
        ``files`` and ``bytes``. First masks anything in the labelers' definitions that looks like a secret
        (``text.secrets``).

        Raises ReleaseError if the release contradicts itself (see ``checks``) or the format cannot express it.
        """
        check(release, self.needs_grades)
        release = replace(release, labelers=[_masked(labelled) for labelled in release.labelers])
        output = Output(folder)
        counts = self.fill(release, output)
        files, size = write_manifest(self.name, release, output, counts)
        return {**counts, "files": files, "bytes": size}

    @abstractmethod
    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        """Writes every file except the manifest; returns counts that can be written as JSON."""


def _masked(labelled: Labelled) -> Labelled:
    return labelled if labelled.definition is None else replace(labelled, definition=masked(labelled.definition))
