"""The location of the data and prompts that come with the package, in a checkout or an install."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """The folder or file ``name`` (such as ``data/sample``) that comes with quati-pool.

    A wheel holds these under ``quati_pool/bundled``; in a checkout, which an editable install points
    to, they are next to the package.
    """
    package = Path(__file__).parent
    installed = package / "bundled" / name
    return installed if installed.exists() else package.parent / name
