"""Which settings are keys written out, what ``${NAME}`` becomes, and what servers' words lose."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from quati_pool.llm.faults import FatalError
from quati_pool.llm.options import Options
from quati_pool.llm.secrets import Secrets, filled, variables

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"api_key": "abc"}, "api_key"),
        ({"APIKEY": "abc"}, "APIKEY"),
        ({"headers": {"X-Api-Key": "abc"}}, "headers.X-Api-Key"),
        ({"headers": {"Authorization": "Basic dTpw"}}, "headers.Authorization"),
        ({"auth": {"value": "abc"}}, "auth.value"),
        ({"password": 12345678}, "password"),
        ({"client_secret": ["${FIRST}", "abc"]}, "client_secret"),
        ({"token": "${HALF}abc"}, "token"),
        ({"note": f"use {KEY}, please"}, "note"),
        ({"note": ["Bearer 0123456789abcdef"]}, "note"),
        ({"note": "hf_0123456789abcdef"}, "note"),
        ({"by_key": {KEY: 1}}, "by_key"),
    ],
)
def test_a_key_that_is_written_out_is_refused_with_its_place_and_not_shown(body: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Options(extra_body=body)
    words = caught.value.errors()[0]["msg"]
    assert words.startswith(f"Value error, a key is written out in extra_body.{where}; put it into an environment")
    assert "abc" not in words
    assert KEY not in words


@pytest.mark.parametrize(
    "body",
    [
        {"api_key": "${MY_KEY}", "headers": {"Authorization": "Bearer ${MY_KEY}"}},
        {"prompt_cache_key": "quati-1", "max_tokens_to_keep": 100, "logit_bias": {"token": -100}},
        {"key": None, "auth": True, "token": 3, "secret": ""},
        {"guided_json": {"type": "object", "properties": {"key": {"type": "string"}, "token": {"enum": ["a"]}}}},
        {"eos_token": "</s>", "stop": ["sk-"], "note": "risk-averse hf_x"},
    ],
)
def test_other_settings_are_kept_as_they_are(body: dict[str, Any]) -> None:
    assert Options(extra_body=body).extra_body == body


def test_variables_are_filled_in_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"a": ["Bearer ${ONE}", {"b": "${ONE}-${TWO}"}], "c": 1, "${ONE}": "$ONE {ONE}"}
    assert variables(body) == ["ONE", "TWO"]
    monkeypatch.setenv("ONE", " 1 ")
    monkeypatch.delenv("TWO", raising=False)
    with pytest.raises(FatalError) as caught:
        filled(body, "extra_body")
    assert str(caught.value) == "extra_body holds ${TWO}, and there is no such variable; set TWO"
    monkeypatch.setenv("TWO", "2")
    assert filled(body, "extra_body") == {"a": ["Bearer 1", {"b": "1-2"}], "c": 1, "${ONE}": "$ONE {ONE}"}


def test_what_a_server_says_loses_every_key_in_any_form_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERY_KEY", "qk/0+1=2 3")
    monkeypatch.setenv("SHORT", "true")
    secrets = Secrets.of(KEY, "http://h/v1?k=${QUERY_KEY}", {"a": "${SHORT}"})
    body = f'{{"a": "{KEY}", "b": "qk/0+1=2 3", "c": "qk%2F0%2B1%3D2%203", "d": "qk/0%2B1%3D2%203", "e": true}}'
    assert secrets.without(body.encode()) == b'{"a": "(key)", "b": "(key)", "c": "(key)", "d": "(key)", "e": true}'
    assert secrets.masked(f"Incorrect key {KEY[:8]}…, not ?k=qk%2F0%2B1%3D2%203!") == "Incorrect key (key) not (key)"


def test_a_dummy_of_digits_spoils_no_number() -> None:
    assert Secrets(["12345678"]).without(b'{"created": 1234567890}') == b'{"created": 1234567890}'
