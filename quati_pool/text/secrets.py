"""Masks likely secrets in settings that are printed or published, by the names of settings and in addresses.

For example, a judge's ``extra_body`` may contain a key, and so may the query string of its address. The value under
such a name becomes ``***``; the name stays. This is only a safety net: secrets do not belong in ``pool.yaml``, but in
environment variables, which ``api_key_env`` names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"

_SECRET = {
    "password", "passwd", "pwd", "passphrase", "secret", "secrets", "authorization", "credential", "credentials",
    "apikey", "bearer", "cookie",
}  # fmt: skip
"""Words that mark a name as that of a secret, anywhere in the name."""

_SECRET_LAST = {"key", "token", "auth", "signature", "sig"}
"""Words that do so only at the end of a name: ``access_token`` is a secret, ``max_tokens`` and ``api_key_env`` are
not."""

_NO_SECRET = {"cache", "idempotency", "partition", "public", "routing", "bos", "eos", "pad", "stop", "unk"}
"""Words that make the name harmless if they precede such a last word: ``prompt_cache_key``, ``eos_token``."""

_RUN_TOGETHER = ("apikey", "accesskey", "secretkey", "privatekey", "accesstoken", "authtoken", "apitoken", "password")

# A name's words: letters of one case, or a capital and small ones.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*\Z")
_QUERY = re.compile(r"\?.*\Z", re.DOTALL)
# A password may contain characters that an address should not, such as / or @; host:8000/… is not user and password.
_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^\s/@:\"'<>]*:(?!\d+(?:[/?#]|$))[^\s\"'<>]*|[^\s/?#@\"'<>]*)@")
_PARAMETER = re.compile(r"([?&#;])([^\s?&#;=\"'<>]+)=([^\s?&#;\"'<>]+)")
_BARE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"',}]{8,})")


def is_secret(name: str) -> bool:
    """Whether the name alone suggests that its value is a secret, in any spelling (``api_key``, ``X-Api-Key``,
    ``apiKey``)."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words and words[-1] == "env":
        return False
    joined = "".join(words)
    return bool(words) and (
        not _SECRET.isdisjoint(words)
        or (words[-1] in _SECRET_LAST and not _NO_SECRET.intersection(words[-2:-1]))
        or joined.endswith(_RUN_TOGETHER)
    )


def masked(value: Any, name: str = "") -> Any:
    """A copy of a JSON value, with the same structure, in which likely secrets are masked: strings and numbers under a
    name of a secret, at any depth, and the query string and the user of every address.

    ``name`` is the name of the value itself.
    """
    if isinstance(value, Mapping):
        return {
            key: masked(inner, name if is_secret(name) and not str(key).endswith("_env") else str(key))
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [masked(inner, name) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    if is_secret(name):
        return MASK
    if not isinstance(value, str):
        return value
    if _ADDRESS.match(value):
        value = _QUERY.sub(f"?{MASK}", value)
    return masked_text(value)


def masked_text(text: str) -> str:
    """A text in which the users of addresses are masked, and the parameters of addresses whose names are those of
    secrets."""
    text = _USER.sub(lambda found: f"{found[1]}://{MASK}@" if _holds_secret(found) else found[0], text)
    return _PARAMETER.sub(lambda found: f"{found[1]}{found[2]}={MASK}" if is_secret(found[2]) else found[0], text)


def secret_address(text: str) -> str | None:
    """A description of the likely secret in an address in a text, without the secret itself; None if there is none."""
    if any(map(_holds_secret, _USER.finditer(text))):
        return "an address with a user and password"
    return "an address with a key" if masked_text(text) != text else None


def secret_in(text: str) -> str | None:
    """As ``secret_address``, for a text that may also contain a setting, such as a comment."""
    for found in _BARE.finditer(text):
        if is_secret(found[1]) and not set(found[2]) <= set("*.…x"):
            return f"a value of {found[1]}"
    return secret_address(text)


def _holds_secret(found: re.Match[str]) -> bool:
    """Whether a user in an address must be masked; ``git@`` need not be."""
    scheme, user = found[1].lower(), found[2]
    return bool(user) and user != MASK and (":" in user or scheme in ("http", "https"))
