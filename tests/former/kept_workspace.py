"""The workspace that the commit before identities wrote."""

from __future__ import annotations

import tarfile
from pathlib import Path

_KEPT = Path(__file__).with_name("workspace-0002.tar.gz")


def unpack(folder: Path) -> Path:
    """A copy of it in ``folder``."""
    with tarfile.open(_KEPT) as archive:
        # Python before 3.11.4 has no filters, and from 3.12 on it warns where none is set.
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    return folder / "workspace-0002"
