"""Hashes of values and of files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def digest(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def query_sha(query: str) -> str:
    """The first 16 digits of the SHA-256 of a query's text, by which it is known again under other ids."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]
