"""The server of a model: its URL, the model's name, and the environment variable that holds the key."""

from __future__ import annotations

import os
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, field_validator

from quati_pool.files.yaml_file import Model
from quati_pool.llm.faults import FatalError, one_line
from quati_pool.llm.secrets import OWNERS, REMEDY, filled, literal_key

OPENAI = "https://api.openai.com/v1"

# A key of one of these providers must not be sent to another, which would only leak it.
_PROVIDERS = {"api.openai.com", *OWNERS.values()}


class Endpoint(Model):
    """A model behind an OpenAI-compatible server (OpenAI, Azure, vLLM, Ollama, llama.cpp, …)."""

    model: Annotated[str, Field(min_length=1, description="the model's name at the server; Azure: the deployment's")]
    base_url: Annotated[
        str | None,
        Field(
            description="the server's address, usually ending in /v1; else OPENAI_BASE_URL, else OpenAI; ${NAME} in "
            "its query is that variable"
        ),
    ] = None
    api_key_env: Annotated[
        str | None, Field(description="the environment variable that holds the key; null for a server that needs none")
    ] = "OPENAI_API_KEY"
    api_version: Annotated[str | None, Field(description="Azure's api-version, which selects Azure's routes")] = None
    timeout: Annotated[float, Field(gt=0, description="seconds that one call may take")] = 120.0

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        return value if value is None else _checked(value)

    @field_validator("api_key_env")
    @classmethod
    def _a_variable(cls, value: str | None) -> str | None:
        if value is not None and literal_key(value, "key"):
            raise ValueError("holds a key itself; put it into an environment variable, and name that one here")
        return value

    @property
    def url(self) -> str:
        """The URL in use, with variables unexpanded. Raises FatalError if OPENAI_BASE_URL holds no valid URL."""
        if self.base_url:
            return self.base_url
        value = os.environ.get("OPENAI_BASE_URL", "").strip()
        try:
            return _checked(value) if value else OPENAI
        except ValueError as error:
            raise FatalError(f"OPENAI_BASE_URL {error}") from None

    def address(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The URL without its query string, and the parameters of that string with their variables filled in. Raises
        FatalError if a variable is not set."""
        where = "base_url" if self.base_url else "OPENAI_BASE_URL"
        query = tuple((name, str(filled(value, where))) for name, value in _query(self.url))
        return urlsplit(self.url)._replace(query="", fragment="").geturl(), query

    @property
    def name(self) -> str:
        """Host and port, for records and messages; never a key, never a password."""
        return urlsplit(self.url).netloc

    def key(self) -> str:
        """The key. Raises FatalError, without showing the key, if it is missing, malformed or of another provider."""
        if self.api_key_env is None:
            return "none"
        variable = self.api_key_env
        key = os.environ.get(variable, "").strip()
        if not key:
            raise FatalError(
                f"there is no key for {self.name}: set {variable}; for a server that needs none, api_key_env: null"
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise FatalError(f"{variable} holds characters that no key has; set it to the key of {self.name} alone")
        host = urlsplit(self.url).hostname or ""
        owner = next((owner for prefix, owner in OWNERS.items() if key.startswith(prefix)), None)
        if owner and host in _PROVIDERS and host != owner:
            raise FatalError(f"{variable} holds a key of {owner}, not of {host}; set the right key, or base_url")
        return key


def _checked(value: str) -> str:
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - raises ValueError on an invalid port
    except ValueError:
        raise ValueError("is not a valid URL; expected one such as http://localhost:8000/v1") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not a valid URL; expected one such as http://localhost:8000/v1")
    if "@" in parts.netloc:
        raise ValueError("carries a user or password; put the key into the variable that api_key_env names")
    if "${" in value.partition("?")[0]:
        raise ValueError("holds a ${…} outside its query, where none is filled in; write the address out")
    for name, text in _query(value):
        # Azure Functions take their key as ``code``, which elsewhere may be any setting.
        if literal_key({name: text}, "query", secret=name.lower() == "code"):
            shown = "(key)" if literal_key(name, "name") else one_line(name[:40])
            raise ValueError(f"holds a key in its query ({shown}=…); {REMEDY}")
    return value


def _query(url: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(url).query, keep_blank_values=True)
