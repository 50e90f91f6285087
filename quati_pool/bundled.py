"""Locates the data and prompts that come with the package, in a checkout or an installed copy."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """The path of the bundled folder or file ``name``, such as ``data/sample``.

    In a wheel these are under ``quati_pool/bundled``; in a checkout (or an editable install, which points to one) they
    are next to the package.
    """
    package = Path(__file__).parent
    installed = package / "bundled" / name
    return installed if installed.exists() else package.parent / name
