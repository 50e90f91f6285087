"""What is masked before settings are printed or published, and what is left as it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.secrets import is_secret, masked, secret_address, secret_in

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    "name",
    ["api_key", "API_KEY", "apiKey", "X-Api-Key", "apikey", "key", "token", "access_token", "hf_token", "secret",
     "client_secret", "password", "dbPassword", "Authorization", "Proxy-Authorization", "OPENAI_API_KEY", "auth",
     "Cookie", "credentials"],
)  # fmt: skip
def test_the_name_of_a_secret_in_any_spelling(name: str) -> None:
    assert is_secret(name)
    assert masked({name: KEY, "deep": [{name: [KEY, 12345, {"any": KEY}]}]}) == {
        name: "***", "deep": [{name: ["***", "***", {"any": "***"}]}],
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["api_key_env", "max_tokens", "reasoning_tokens", "max_passage_tokens", "top_logprobs", "monkey", "keyword",
     "tokenizer", "model", "prompt", "user", "prompt_cache_key", "promptCacheKey", "eos_token", "", "1"],
)  # fmt: skip
def test_the_name_of_anything_else(name: str) -> None:
    assert not is_secret(name)
    assert masked({name: "OPENAI_API_KEY"}) == {name: "OPENAI_API_KEY"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (f"https://h/v1?api_key={KEY}", "https://h/v1?***"),
        (f"https://h/v1?{KEY}#top", "https://h/v1?***"),
        (f"https://ana:{KEY}@h:8000/v1", "https://***@h:8000/v1"),
        (f"https://{KEY}@h/v1", "https://***@h/v1"),
        (f"postgresql+psycopg://ana:{KEY}/#@x@db/labels", "postgresql+psycopg://***@db/labels"),
        (f"as in https://h/?q=1&access_token={KEY} or http://u:{KEY}@h", "as in https://h/?q=1&access_token=*** or "
         "http://***@h"),
        (f"https://h/#token={KEY}", "https://h/#token=***"),
        # Nothing to hide.
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://localhost:8000/a@b", "http://localhost:8000/a@b"),
        ("ssh://git@h/repository", "ssh://git@h/repository"),
        ("as in https://h/?q=1", "as in https://h/?q=1"),
        ("What? A key: none.", "What? A key: none."),
        (7, 7),
        (None, None),
    ],
)  # fmt: skip
def test_addresses(given: object, expected: object) -> None:
    assert masked({"base_url": given}) == {"base_url": expected}
    assert KEY not in str(masked(given))


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        (f"# api_key: {KEY}", "a value of api_key"),
        (f"# was OPENAI_API_KEY={KEY}", "a value of OPENAI_API_KEY"),
        (f'# "token": "{KEY}"', "a value of token"),
        (f"# postgresql://ana:{KEY}@db", "an address with a user and password"),
        (f"# https://h/v1?key={KEY}", "an address with a key"),
        ("# api_key: ***", None),
        ("# OPENAI_API_KEY holds the key", None),
        ("# api_key_env: OPENAI_API_KEY", None),
        ("# the key: none", None),
        ("# see https://h/v1?q=harbour", None),
    ],
)
def test_comments(comment: str, found: str | None) -> None:
    assert secret_in(comment) == found
    assert KEY not in str(found)
    assert (secret_address(comment) is not None) == (found is not None and "address" in found)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["key", "user", "a"]), inner),
    max_leaves=12,
)


def shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else None


@given(JSON)
def test_the_structure_stays_and_masking_twice_is_masking_once(value: object) -> None:
    once = masked(value)
    assert shape(once) == shape(value)
    assert masked(once) == once
    json.dumps(once)
