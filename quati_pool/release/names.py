"""File names for labelers and runs that are valid on every file system and in links.

A name of letters, digits, ``_``, ``-``, ``.`` and ``+`` is kept. Any other name is cleaned and gets eight digits of
its SHA-256 appended, and so is a name that Windows reserves or that differs from another only in case. So no name can
point outside its folder, and no two names share a file.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

_KEPT = "_-.+"
_LONGEST = 100  # bytes; file systems allow 255, including a suffix and the prefix of partial files
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}


def file_stems(names: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """The file stem for each name, in order; none equals a ``reserved`` stem, regardless of case."""
    taken = {_folded(stem) for stem in reserved}
    stems: dict[str, str] = {}
    for name in names:
        if name in stems:
            continue
        stem = name
        if not _safe(name) or _folded(name) in taken:
            stem = f"{_cleaned(name)}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        taken.add(_folded(stem))
        stems[name] = stem
    return stems


def _safe(name: str) -> bool:
    return (
        bool(name)
        and all(character.isalnum() or character in _KEPT for character in name)
        and not name.startswith((".", "-"))
        and not name.endswith(".")
        and name.split(".")[0].lower() not in _DEVICES
        and len(name.encode()) <= _LONGEST
        and unicodedata.is_normalized("NFC", name)
    )


def _cleaned(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    plain = "".join(character if character.isalnum() or character in _KEPT else "_" for character in composed)
    short = plain.encode()[: _LONGEST - 9].decode(errors="ignore")
    return short.strip("._-") or "unnamed"


def _folded(stem: str) -> str:
    return unicodedata.normalize("NFC", stem.casefold())
