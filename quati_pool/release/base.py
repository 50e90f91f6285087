"""What a format of a release is: it lays a collection out in a folder, with a manifest.

A third party adds a format through the entry-point group ``quati_pool.exports``.
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
    """What a user may set of a format; every field has a description, shown by the listing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Format(ABC):
    """A way to lay out a release in a folder."""

    id: ClassVar[str]
    """What it is called in all that is stored, such as ``export/beir``, wherever its code lies. A plug-in without
    one is called by its kind and the name of its entry point."""

    revision: ClassVar[int] = 1
    """Raised when the same parameters come to give other files, so that releases are written again."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Parameters: ClassVar[type[Parameters]]
    needs_grades: ClassVar[bool] = True
    """Whether a release without labelers makes no sense in this format."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    @classmethod
    def require(cls) -> None:
        """Raises MissingExtraError where a package this format needs is not installed."""

    def write(self, release: Release, folder: Path) -> dict[str, Any]:
        """Writes the release into the empty ``folder``, MANIFEST.json last, and returns counts: what
        ``fill`` counted, ``files`` and ``bytes``. No format sees what looks like a secret in the labelers'
        definitions (``text.secrets``).

        Raises ReleaseError where the release contradicts itself (see ``checks``) or cannot be said in
        this format.
        """
        check(release, self.needs_grades)
        release = replace(release, labelers=[_published(labelled) for labelled in release.labelers])
        output = Output(folder)
        counts = self.fill(release, output)
        files, size = write_manifest(self.name, release, output, counts)
        return {**counts, "files": files, "bytes": size}

    @abstractmethod
    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        """Writes every file but the manifest; returns counts as JSON."""


def _published(labelled: Labelled) -> Labelled:
    return labelled if labelled.definition is None else replace(labelled, definition=masked(labelled.definition))
