"""References that pages send back: they name no text and no set, and only the person who was given one can use it."""

from __future__ import annotations

import hashlib


def mask(collection: str, person: str, sha: str) -> int:
    """Of 64 bits, by which a number is masked (XOR) in a page of this person; ``sha``, a digest of what is shown, goes
    with the reference, so that any server can read it."""
    named = f"{collection}\t{person}\t{sha}"
    return int.from_bytes(hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()[:8])
