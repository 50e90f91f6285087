"""Keys in settings, which are stored with labels and published: one that is written out is refused; ``${NAME}`` stands
for the variable NAME of the environment, is kept as it is written, and filled in for a call alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from quati_pool.llm.faults import FatalError, masked
from quati_pool.text.secrets import is_secret

OWNERS = {
    "sk-ant-": "api.anthropic.com",
    "sk-or-": "openrouter.ai",
    "gsk_": "api.groq.com",
    "AIza": "generativelanguage.googleapis.com",
    "hf_": "router.huggingface.co",
    "xai-": "api.x.ai",
    "pplx-": "api.perplexity.ai",
    "nvapi-": "integrate.api.nvidia.com",
}
"""How the keys of some providers begin, and the host of each."""

REMEDY = "put it into an environment variable and write ${NAME} in its place, or name the variable in api_key_env"

_BEGINNINGS = "|".join(map(re.escape, ("sk-", *OWNERS)))
_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:(?:{_BEGINNINGS})[\w.-]{{8,}}|Bearer\s+[\w.~+/=-]{{8,}})")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"\s*(?:Bearer|Basic|Token)\b", re.I)
# What is under these keys of a JSON schema is called by its own names, not by those of parameters.
_SCHEMAS = {"properties", "$defs", "definitions"}
# Numbers under the name of a secret are settings unless they are as long as this.
_DIGITS = 6
# Shorter secrets are dummies, such as servers want that need no key.
_LEAST = 8


def literal_key(value: Any, name: str, secret: bool = False, named: bool = True) -> str | None:
    """Where in a JSON value a key is written out, as ``name.of.a.part``, or None.

    ``secret``: whether all in the value is one, by the name above it; ``named``: whether its keys are names of
    parameters.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if _KEY.search(str(key)):
                return name
            below = secret or (named and is_secret(str(key)))
            found = literal_key(inner, f"{name}.{key}", below, key not in _SCHEMAS)
            if found:
                return found
        return None
    if isinstance(value, (list, tuple)):
        return next(filter(None, (literal_key(inner, name, secret) for inner in value)), None)
    if isinstance(value, str):
        rest = _VARIABLE.sub("", value)
        written_out = secret and re.search(r"\w", _SCHEME.sub("", rest, count=1))
        return name if written_out or _KEY.search(rest) else None
    number = secret and not isinstance(value, bool) and isinstance(value, (int, float))
    return name if number and len(str(value)) >= _DIGITS else None


def variables(value: Any) -> list[str]:
    """The names in all ``${NAME}`` of a JSON value's strings."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return list(dict.fromkeys(name for inner in value for name in variables(inner)))
    return _VARIABLE.findall(value) if isinstance(value, str) else []


def filled(value: Any, where: str) -> Any:
    """A JSON value with each ``${NAME}`` replaced by that variable. Raises FatalError where one is not set."""

    def of(found: re.Match[str]) -> str:
        text = os.environ.get(found[1], "").strip()
        if not text:
            raise FatalError(f"{where} holds ${{{found[1]}}}, and there is no such variable; set {found[1]}")
        return text

    if isinstance(value, Mapping):
        return {key: filled(inner, where) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(inner, where) for inner in value]
    return _VARIABLE.sub(of, value) if isinstance(value, str) else value


class Secrets:
    """The keys that calls carry, which nothing that a server says may bring into what is shown or stored."""

    @classmethod
    def of(cls, key: str, *settings: Any) -> Secrets:
        """A key, and all variables that settings refer to."""
        return cls([key, *(os.environ.get(name, "").strip() for name in variables(settings))])

    def __init__(self, values: Iterable[str]) -> None:
        forms = [
            form
            for value in values
            if len(value) >= _LEAST
            for form in (value, quote(value), quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1])
        ]
        self.forms = tuple(dict.fromkeys(forms))
        """Each as it is, and as an address and JSON write it."""
        # A key of digits alone could be a number of the answer's own.
        self._bytes = [form.encode() for form in self.forms if not form.isdigit()]

    def masked(self, words: str) -> str:
        """A line without words that quote one of them, or a part of it."""
        return masked(words, self.forms)

    def without(self, body: bytes) -> bytes:
        """An answer without them."""
        for secret in self._bytes:
            body = body.replace(secret, b"(key)")
        return body
