"""Addresses and keys: what is taken, what is refused, and what is never shown."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import FatalError


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_the_address_is_the_given_one_else_the_variable_else_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Endpoint(model="m").name == "api.openai.com"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert Endpoint(model="m").name == "localhost:8000"
    assert Endpoint(model="m", base_url="https://x.example/v1").name == "x.example"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "", "http://x:port/v1", "http://[x/v1"])
def test_what_is_no_address_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="is no address; expected one such as http://localhost:8000/v1"):
        Endpoint(model="m", base_url=url)
    if url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        with pytest.raises(FatalError, match=r"^OPENAI_BASE_URL is no address; expected one such as"):
            _ = Endpoint(model="m").name


def test_a_password_in_the_address_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@host/v1")
    with pytest.raises(FatalError, match="carries a user or password") as caught:
        _ = Endpoint(model="m").url
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_no_key_says_what_to_set(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(FatalError) as caught:
        Endpoint(model="m").key()
    assert str(caught.value) == (
        "there is no key for api.openai.com: set OPENAI_API_KEY; for a server that needs none, api_key_env: null"
    )


def test_a_key_is_taken_without_the_white_space_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", " sk-abc\n")
    assert Endpoint(model="m", api_key_env="MINE").key() == "sk-abc"


@pytest.mark.parametrize("key", ["sk-a\nsk-b", "sk-ação", "two words"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(FatalError, match="OPENAI_API_KEY holds characters that no key has") as caught:
        Endpoint(model="m").key()
    assert key not in str(caught.value)


def test_a_key_of_another_provider_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ant-api03-xyz")
    with pytest.raises(FatalError) as caught:
        Endpoint(model="m").key()
    assert str(caught.value) == (
        "OPENAI_API_KEY holds a key of api.anthropic.com, not of api.openai.com; set the right key, or base_url"
    )
    # A proxy of one's own may take any key.
    assert Endpoint(model="m", base_url="http://proxy.local/v1").key() == "sk-ant-api03-xyz"
    assert Endpoint(model="m", base_url="https://api.anthropic.com/v1").key() == "sk-ant-api03-xyz"


def test_a_server_that_needs_no_key_gets_a_word_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    assert Endpoint(model="m", api_key_env=None).key() == "none"
