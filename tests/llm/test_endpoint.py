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
    with pytest.raises(ValidationError, match="is not a valid URL; expected one such as http://localhost:8000/v1"):
        Endpoint(model="m", base_url=url)
    if url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        with pytest.raises(FatalError, match=r"^OPENAI_BASE_URL is not a valid URL; expected one such as"):
            _ = Endpoint(model="m").name


def test_a_password_in_the_address_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@host/v1")
    with pytest.raises(FatalError, match="carries a user or password") as caught:
        _ = Endpoint(model="m").url
    assert "secret" not in str(caught.value)


REMEDY = "put it into an environment variable and write ${NAME} in its place, or name the variable in api_key_env"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("api-version=1&key=abc", "key"),
        ("subscription-key=0123456789abcdef", "subscription-key"),
        ("Ocp-Apim-Subscription-Key=0123", "Ocp-Apim-Subscription-Key"),
        ("code=Zm9v", "code"),
        ("sig=Zm9v", "sig"),
        ("access_token=a${HALF}", "access_token"),
        ("v=sk-0123456789abcdef", "v"),
        ("hint=gsk_0123456789", "hint"),
        ("sk-0123456789abcdef", "sk-0123456789abcdef"),
    ],
)
def test_a_key_in_the_query_is_refused_and_not_shown(query: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"https://h.example/v1?{query}"
    with pytest.raises(ValidationError) as caught:
        Endpoint(model="m", base_url=url)
    shown = "(key)" if name.startswith("sk-") else name
    words = f"holds a key in its query ({shown}=…); {REMEDY}"
    assert caught.value.errors()[0]["msg"] == f"Value error, {words}"
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(FatalError) as fatal:
        _ = Endpoint(model="m").url
    assert str(fatal.value) == f"OPENAI_BASE_URL {words}"


def test_a_key_of_the_environment_is_filled_in_for_a_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://h.example/v1?api-version=1&key=${QUERY_KEY}&empty="
    endpoint = Endpoint(model="m", base_url=url)
    assert (endpoint.url, endpoint.name) == (url, "h.example")
    with pytest.raises(FatalError) as caught:
        endpoint.address()
    assert str(caught.value) == "base_url holds ${QUERY_KEY}, and there is no such variable; set QUERY_KEY"
    monkeypatch.setenv("QUERY_KEY", "a/b ")
    assert endpoint.address() == ("https://h.example/v1", (("api-version", "1"), ("key", "a/b"), ("empty", "")))
    monkeypatch.setenv("OPENAI_BASE_URL", "https://h.example/v1?key=${NO_SUCH}")
    with pytest.raises(FatalError, match=r"^OPENAI_BASE_URL holds \$\{NO_SUCH\}, and there is no such variable"):
        Endpoint(model="m").address()


def test_a_variable_outside_the_query_is_refused() -> None:
    with pytest.raises(ValidationError, match="outside its query, where none is filled in; write the address out"):
        Endpoint(model="m", base_url="https://${HOST}/v1")


def test_a_key_in_place_of_its_variable_is_refused_and_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Endpoint(model="m", api_key_env="sk-0123456789abcdef")
    words = "holds a key itself; put it into an environment variable, and name that one here"
    assert caught.value.errors()[0]["msg"] == f"Value error, {words}"


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
