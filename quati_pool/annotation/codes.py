"""Access codes and sign-in tokens: generating them, parsing what people type, and hashing them for storage.

A code is 16 characters of Crockford's base 32 (no I, L, O, U). The first four, the handle, identify the person
and may be stored in the clear; the other twelve hold 60 secret bits.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Container
from functools import cache
from typing import NamedTuple

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS, GROUP = 4, 4
# Crockford's decoding of letters that are not in the alphabet.
_READ_AS = str.maketrans({"O": "0", "I": "1", "L": "1"})
_LONGEST_TYPED = 100

# scrypt's cost (RFC 7914): about 50 ms and 16 MiB per check.
_N, _R, _P = 2**14, 8, 1
_SALT, _KEY = 16, 32
# OpenSSL refuses more than 32 MiB unless given a limit, and counts a little more than 128 * n * r.
_MEMORY = 64 * 1024 * 1024
_HASHED = re.compile(
    r"scrypt\$([1-9][0-9]{0,6})\$([1-9][0-9]?)\$([1-9][0-9]?)\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]{1,128})"
)


class Code(NamedTuple):
    """An access code: ``text`` is its normal form, ``ABCD-EFGH-JKMN-PQRS``, which begins with ``handle``."""

    handle: str
    text: str


def new_code(taken: Container[str] = ()) -> Code:
    """A new random code whose handle is not in ``taken``."""
    while True:
        groups = ["".join(secrets.choice(ALPHABET) for _ in range(GROUP)) for _ in range(GROUPS)]
        if groups[0] not in taken:
            return Code(groups[0], "-".join(groups))


def read_code(typed: str) -> Code | None:
    """The code that somebody typed, or None if it is not a valid code. Case, width, spaces and dashes are
    ignored; O is read as 0, I and L as 1."""
    if len(typed) > _LONGEST_TYPED:
        return None
    folded = unicodedata.normalize("NFKC", typed).upper().translate(_READ_AS)
    kept = "".join(c for c in folded if not (c.isspace() or unicodedata.category(c) in ("Pd", "Cf") or c in "\u2212_"))
    if len(kept) != GROUPS * GROUP or not set(kept) <= set(ALPHABET):
        return None
    groups = [kept[start : start + GROUP] for start in range(0, len(kept), GROUP)]
    return Code(groups[0], "-".join(groups))


def hash_code(text: str) -> str:
    """``scrypt$n$r$p$salt$hash`` of a code, salt and hash in base 64. Raises ValueError if it is not a valid code."""
    code = read_code(text)
    if code is None:
        raise ValueError("this is not an access code")
    salt = secrets.token_bytes(_SALT)
    key = _scrypt(code.text, salt, _N, _R, _P, _KEY)
    return "$".join(["scrypt", str(_N), str(_R), str(_P), _encoded(salt), _encoded(key)])


def code_matches(text: str, hashed: str) -> bool:
    """Whether ``hashed`` is the hash of this code; False if either is malformed."""
    code, parts = read_code(text), _HASHED.fullmatch(hashed)
    if code is None or parts is None:
        return False
    n, r, p = (int(number) for number in parts.group(1, 2, 3))
    try:
        salt, key = (base64.b64decode(part, validate=True) for part in parts.group(4, 5))
        # A shorter key would match many codes.
        return len(key) >= _KEY and hmac.compare_digest(_scrypt(code.text, salt, n, r, p, len(key)), key)
    except ValueError:
        return False


@cache
def decoy() -> str:
    """A hash that no code matches, checked when a handle is unknown so that the response takes as long as for a
    known handle."""
    return hash_code(new_code().text)


def new_token() -> str:
    """A new sign-in token: 256 random bits as letters, digits, ``-`` and ``_``."""
    return secrets.token_urlsafe(32)


def token_sha(token: str) -> str:
    """The SHA-256 (hex) of a token, under which it is stored. A token is random, so it needs no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _scrypt(text: str, salt: bytes, n: int, r: int, p: int, length: int) -> bytes:
    return hashlib.scrypt(text.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=length)


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
