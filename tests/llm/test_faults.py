"""What each refusal of a server means, in a table; and that no message shows a key or is longer than a line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.faults import Fault, of_status, one_line, remedy, retry_after

KEY = "sk-proj-abcdefghijklmnop"


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


# status, body, kind, passing, fatal
TABLE = [
    (400, error("bad"), "rejected", False, False),
    (400, error("filtered", code="content_filter"), "content_filter", False, False),
    (
        400,
        error("f", code="x", innererror={"code": "ResponsibleAIPolicyViolation"}),
        "content_filter",
        False,
        False,
    ),
    (400, error("usage policy", code="invalid_prompt"), "content_filter", False, False),
    (400, error("too long", code="context_length_exceeded"), "rejected", False, False),
    (400, error("hard limit", code="billing_hard_limit_reached"), "rejected", False, True),
    (400, error("invalid model ID"), "rejected", False, True),
    (401, error("no"), "rejected", False, True),
    (402, error("Insufficient credits"), "rejected", False, True),
    (403, error("country"), "rejected", False, True),
    (403, error("Your input was flagged by moderation"), "content_filter", False, False),
    (404, error("nothing here"), "rejected", False, True),
    (404, {"detail": "Not Found"}, "rejected", False, True),
    (408, error("slow"), "server", True, False),
    (409, error("conflict"), "server", True, False),
    (413, "too large", "rejected", False, False),
    (422, {"detail": [{"loc": ["body", "n"], "msg": "wrong"}]}, "rejected", False, False),
    (429, error("slow down", code="rate_limit_exceeded"), "server", True, False),
    (429, error("quota", code="insufficient_quota"), "rejected", False, True),
    (429, error("quota", type="insufficient_quota", code=None), "rejected", False, True),
    (500, "<html>oops</html>", "server", True, False),
    (501, error("not implemented"), "rejected", False, False),
    (502, "", "server", True, False),
    (503, error("overloaded"), "server", True, False),
    (529, error("overloaded"), "server", True, False),
]


@pytest.mark.parametrize(("status", "body", "kind", "passing", "fatal"), TABLE)
def test_what_a_status_means(status: int, body: Any, kind: str, passing: bool, fatal: bool) -> None:
    fault = of_status(status, {}, body)
    assert (fault.kind, fault.passing, fault.fatal) == (kind, passing, fatal)


def test_only_too_many_requests_slows_down() -> None:
    assert [of_status(status, {}, "").limited for status in (429, 529, 503, 500, 408)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert of_status(503, {"retry-after": "1"}, "").limited


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.integers(400, 599), JSON)
def test_any_body_becomes_one_line(status: int, body: Any) -> None:
    words = of_status(status, {}, body).words
    assert words
    assert "\n" not in words
    assert len(words) <= 300


@pytest.mark.parametrize(
    "words",
    [
        f"Incorrect API key provided: {KEY}.",
        "Incorrect key: sk-proj-********mnop.",
        f"key=({KEY})",
        "ends klmnop today",
    ],
)
def test_a_key_is_never_repeated(words: str) -> None:
    shown = one_line(words, KEY)
    assert "(key)" in shown
    assert "sk-proj" not in shown
    assert "mnop" not in shown


def fatal(status: int, message: str, **more: Any) -> Fault:
    return of_status(status, {}, error(message, **more))


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (
            fatal(401, "Wrong."),
            "api.x refuses the key in MY_KEY (Wrong.); set MY_KEY to a key of that server",
        ),
        (
            fatal(429, "No quota.", code="insufficient_quota"),
            "api.x says that there is no money or quota left (No quota.); add some, then run again",
        ),
        (
            fatal(404, "The model `m` does not exist", code="model_not_found"),
            "api.x does not serve the model 'm' (The model `m` does not exist); check the model's name and base_url "
            "(which usually ends in /v1)",
        ),
        (
            fatal(403, "Project has no access to model m", code="model_not_found"),
            "api.x does not serve the model 'm' (Project has no access to model m); check the model's name and "
            "base_url (which usually ends in /v1)",
        ),
    ],
)
def test_a_fatal_fault_says_what_to_do(fault: Fault, line: str) -> None:
    assert fault.fatal
    assert remedy(fault, "api.x", "m", "MY_KEY") == line


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        # The date is relative to the server's own clock, whatever ours says.
        ({"retry-after": "Wed, 21 Oct 2099 07:28:10 GMT", "date": "Wed, 21 Oct 2099 07:28:00 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": "Wed, 21 Oct 2015 07:29:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2099 07:28:10 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
