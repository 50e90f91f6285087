"""API keys in settings. Settings are stored with labels and published, so a literal key is refused; ``${NAME}`` refers
to the environment variable NAME, is stored unexpanded, and is filled in only for a call.
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
"""The host of each provider whose keys can be recognised, by the prefix of its keys."""

REMEDY = "put it into an environment variable and write ${NAME} in its place, or name the variable in api_key_env"

_BEGINNINGS = "|".join(map(re.escape, ("sk-", *OWNERS)))
_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:(?:{_BEGINNINGS})[\w.-]{{8,}}|Bearer\s+[\w.~+/=-]{{8,}})")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"\s*(?:Bearer|Basic|Token)\b", re.I)
# Below these keys of a JSON schema, names are the schema's own, not those of parameters.
_SCHEMAS = {"properties", "$defs", "definitions"}
# A number under the name of a secret counts as a setting unless it has at least this many digits.
_DIGITS = 6
# Shorter secrets are dummies, such as those sent to servers that need no key.
_LEAST = 8


def literal_key(value: Any, name: str, secret: bool = False, named: bool = True) -> str | None:
    """The path of a literal API key in a JSON value, as ``name.of.a.part``, or None.

    ``secret``: whether the name above the value marks all of it as secret; ``named``: whether its keys are names
    of parameters.
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
    """The names of all ``${NAME}`` references in the strings of a JSON value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return list(dict.fromkeys(name for inner in value for name in variables(inner)))
    return _VARIABLE.findall(value) if isinstance(value, str) else []


def filled(value: Any, where: str) -> Any:
    """A JSON value with each ``${NAME}`` replaced by that variable. Raises FatalError if one is not set."""

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
    """The keys sent with calls, to be removed from server responses before these are shown or stored."""

    @classmethod
    def of(cls, key: str, *settings: Any) -> Secrets:
        """The secrets of a run: its key, and the values of all variables that ``settings`` refer to."""
        return cls([key, *(os.environ.get(name, "").strip() for name in variables(settings))])

    def __init__(self, values: Iterable[str]) -> None:
        forms = [
            form
            for value in values
            if len(value) >= _LEAST
            for form in (value, quote(value), quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1])
        ]
        self.forms = tuple(dict.fromkeys(forms))
        """Each secret as it is, URL-quoted, and escaped for JSON."""
        # A key of digits alone could equal a number in the answer.
        self._bytes = [form.encode() for form in self.forms if not form.isdigit()]

    def masked(self, words: str) -> str:
        """A line with each word that quotes a secret, or part of one, replaced by ``(key)``."""
        return masked(words, self.forms)

    def without(self, body: bytes) -> bytes:
        """A response body with each secret replaced by ``(key)``."""
        for secret in self._bytes:
            body = body.replace(secret, b"(key)")
        return body
