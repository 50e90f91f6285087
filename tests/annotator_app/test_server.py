"""The server over HTTP, as a process of its own: who is let in, what is refused, and what every answer carries."""

from __future__ import annotations

import html
import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from annotator_app import words
from annotator_app.context import COOKIE
from quati_pool.commands.annotate.session import AnnotationSession
from tests.browser.served import Served, code_for, served
from tests.commands.annotate.people_at_work import collection
from tests.patience import PATIENCE


class Reply:
    """What the server answered."""

    def __init__(self, raw: http.client.HTTPResponse) -> None:
        self.status = raw.status
        self.headers = raw.headers
        self.text = raw.read().decode("utf-8", "replace")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return collection(tmp_path_factory.mktemp("server") / "small", name="<b>small</b>")


@pytest.fixture(scope="module")
def code(config: Path) -> str:
    return code_for(config, "ana")


@pytest.fixture(scope="module")
def app(config: Path, code: str) -> Iterator[Served]:
    with served(config) as started:
        yield started


def ask(app: Served, method: str, path: str, body: str | None = None, **headers: str) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=PATIENCE)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
    connection.request(method, path, body, sent)
    try:
        return Reply(connection.getresponse())
    finally:
        connection.close()


def enter(app: Served, code: str, **headers: str) -> Reply:
    return ask(app, "POST", "/sign-in", urlencode({"code": code}), **headers)


def cookie(reply: Reply) -> str:
    return reply.headers["Set-Cookie"].split(";")[0]


def test_a_right_code_opens_a_session_in_a_cookie_that_no_script_reads(app: Served, code: str) -> None:
    reply = enter(app, code, Origin=app.address)
    assert (reply.status, reply.headers["Location"]) == (303, "/")
    held = reply.headers["Set-Cookie"]
    assert re.fullmatch(rf"{COOKIE}=[A-Za-z0-9_-]{{20,}}", cookie(reply))
    for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="):
        assert part in held
    assert "Secure" not in held
    page = ask(app, "GET", "/", Cookie=cookie(reply))
    assert page.status == 200
    assert "/app/keys.js" in page.text


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("pt-BR,pt;q=0.9,en;q=0.8", "pt"), ("de,es;q=0.7,en;q=0.3", "es"), ("de", "en"), ("", "en")],
)
def test_the_document_is_in_the_browsers_language_until_a_person_picks_one(
    app: Served, code: str, accepted: str, language: str
) -> None:
    held = cookie(enter(app, code))
    page = ask(app, "GET", "/", Cookie=held, Accept_Language=accepted).text
    assert re.findall(r"<html[^>]*>", page) == [f'<html lang="{language}">']
    # What the page says without a connection comes with it, in each language.
    found = re.search(r'<meta name="disconnected" content="([^"]*)">', page)
    assert found is not None
    said = json.loads(html.unescape(found[1]))
    assert said == {code: words.message(code, "app.disconnected") for code in ("pt", "en", "es")}


def test_behind_a_proxy_with_https_the_cookie_is_for_https_alone(app: Served, code: str) -> None:
    assert "Secure" in enter(app, code, X_Forwarded_Proto="https").headers["Set-Cookie"]


@pytest.mark.parametrize("path", ["/", "/annotate", "/review", "/dashboard", "/explorer", "/anything", "/index.html"])
def test_no_page_without_a_session(app: Served, path: str) -> None:
    for headers in ({}, {"Cookie": f"{COOKIE}=made-up"}):
        reply = ask(app, "GET", path, **headers)
        assert (reply.status, reply.headers["Location"]) == (303, "/sign-in")


@pytest.mark.parametrize(
    "path",
    [
        "/media/x.csv",
        "/_stcore/metrics",
        "/_stcore/upload_file/a/b",
        "/_stcore/agent/openapi.json",
        "/download/x",
        "/explore/x/reveal",
    ],
)
def test_no_file_without_a_session(app: Served, path: str) -> None:
    assert ask(app, "GET", path).status == 401
    assert ask(app, "POST", path, "x").status in (401, 405)


@pytest.mark.parametrize(
    "path",
    [
        "/media/x.csv",
        "/component/a/b",
        "/auth/login",
        "/_stcore/metrics",
        "/_stcore/healthx",
        "/_stcore/upload_file/a/b",
        "/_stcore/agent/openapi.json",
        "/_stcore/agent/mcp",
    ],
)
def test_what_the_app_has_no_use_for_is_not_there_for_those_signed_in_either(app: Served, code: str, path: str) -> None:
    held = cookie(enter(app, code))
    for method in ("GET", "PUT", "POST"):
        assert ask(app, method, path, None if method == "GET" else "x", Cookie=held).status == 404


def handshake(app: Served, **headers: str) -> int:
    """How the web socket that drives the pages is answered: 101 where it opens."""
    usual = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec_WebSocket_Protocol": "streamlit",
    }
    return ask(app, "GET", "/_stcore/stream", **usual, **headers).status


def test_the_web_socket_opens_for_a_session_and_for_a_page_of_this_server_alone(app: Served, code: str) -> None:
    held = cookie(enter(app, code))
    own = {"Origin": app.address}
    assert handshake(app, Cookie=held, **own) == 101
    assert handshake(app, **own) == 403
    assert handshake(app, Cookie=f"{COOKIE}=made-up", **own) == 403
    # A cookie goes to every port of a machine, whichever of them a page came from.
    for origin in ("http://127.0.0.1:1", "http://localhost:8501", "https://evil.example", "null"):
        assert handshake(app, Cookie=held, Origin=origin) == 403, origin
    ask(app, "POST", "/sign-out", "", Cookie=held)
    assert handshake(app, Cookie=held, **own) == 403
    assert "external IP" not in app.said()


STEPS = [f"grading/{step}" for step in ("open", "next", "answer", "second", "undo", "highlight", "ask", "read")]
STEPS += [f"own-labels/{step}" for step in ("open", "list", "query", "change", "change-many", "grade")]
NOWHERE = ["grading/nowhere", "own-labels/nowhere"]


@pytest.mark.parametrize("step", [*STEPS, *NOWHERE])
def test_the_requests_of_pages_are_for_people_who_are_signed_in_and_are_never_kept(
    app: Served, code: str, step: str
) -> None:
    path, held = f"/{step}", cookie(enter(app, code))
    known = step not in NOWHERE
    json = {"Content_Type": "application/json"}
    replies = [
        (ask(app, "POST", path, "{}", **json), 401),
        (ask(app, "POST", path, "{}", Cookie=f"{COOKIE}=made-up", **json), 401),
        (ask(app, "POST", path, "{}", Cookie=held, Origin="https://evil.example", **json), 403),
        (ask(app, "POST", path, "{}", Cookie=held, Sec_Fetch_Site="cross-site", **json), 403),
        (ask(app, "POST", path, "[]", Cookie=held, **json), 400),
        (ask(app, "POST", path, "{}", Cookie=held, Origin=app.address, **json), 200),
    ]
    for reply, status in replies:
        assert reply.status in ((status,) if known else (404, 405)), (status, reply.text[:200])
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in reply.headers["Content-Security-Policy"]
        assert "Set-Cookie" not in reply.headers
        assert "Traceback" not in reply.text
        if status >= 400:
            assert "pergunta" not in reply.text
            assert code not in reply.text


@pytest.mark.parametrize("step", [*STEPS, *NOWHERE])
def test_the_requests_of_pages_are_no_pages(app: Served, code: str, step: str) -> None:
    for headers in ({}, {"Cookie": cookie(enter(app, code))}):
        for method in ("GET", "PUT", "DELETE"):
            reply = ask(app, method, f"/{step}", **headers)
            assert reply.status in ((404, 405) if headers else (303, 401, 404, 405))
            assert "<html" not in reply.text


def test_a_body_that_is_too_long_or_nested_too_deeply_is_refused(app: Served, code: str) -> None:
    held = cookie(enter(app, code))
    for body in ('{"note": "' + "x" * 300_000 + '"}', "[" * 260_000):
        assert ask(app, "POST", "/grading/answer", body, Cookie=held).status == 400


def test_who_signs_in_ends_the_session_that_the_browser_had(app: Served, config: Path, code: str) -> None:
    before = cookie(enter(app, code))
    after = cookie(enter(app, code_for(config, "bia"), Cookie=before))
    assert after != before
    assert ask(app, "GET", "/", Cookie=after).status == 200
    assert ask(app, "GET", "/", Cookie=before).status == 303


def test_a_wrong_code_ends_nobodys_session(app: Served, code: str) -> None:
    held = cookie(enter(app, code))
    assert enter(app, "WXYZ-EFGH-JKMN-PQRS", Cookie=held, X_Forwarded_For="192.0.2.31").status == 401
    assert ask(app, "GET", "/", Cookie=held).status == 200


def test_the_health_check_is_open(app: Served) -> None:
    assert ask(app, "GET", "/_stcore/health").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_a_form_of_another_site_signs_nobody_in_or_out(app: Served, code: str, headers: dict[str, str]) -> None:
    refused = enter(app, code, **headers)
    assert refused.status == 403
    assert "Set-Cookie" not in refused.headers
    held = cookie(enter(app, code))
    assert ask(app, "POST", "/sign-out", "", Cookie=held, **headers).status == 403
    assert ask(app, "GET", "/", Cookie=held).status == 200


def test_sign_out_ends_the_session_for_good(app: Served, code: str) -> None:
    held = cookie(enter(app, code))
    assert ask(app, "GET", "/sign-out", Cookie=held).status == 200
    assert ask(app, "GET", "/", Cookie=held).status == 200
    reply = ask(app, "POST", "/sign-out", "", Cookie=held)
    assert (reply.status, reply.headers["Location"]) == (303, "/sign-in")
    assert f'{COOKIE}="";' in reply.headers["Set-Cookie"]
    assert ask(app, "GET", "/", Cookie=held).status == 303


def test_a_code_in_the_address_is_worth_nothing(app: Served, code: str) -> None:
    reply = ask(app, "GET", f"/sign-in?code={code}")
    assert reply.status == 200
    assert "Set-Cookie" not in reply.headers
    assert code not in reply.text


@pytest.mark.parametrize(
    "body", ["", "code=", "x" * 100_000, "code=%ff%fe", "code=" + "A" * 3000, "&&&=;", "code=<script>"]
)
def test_no_body_is_a_fault_of_the_server(app: Served, body: str) -> None:
    reply = ask(app, "POST", "/sign-in", body, X_Forwarded_For="192.0.2.9")
    assert reply.status in (400, 401, 429)
    assert "<script>" not in reply.text


def test_wrong_codes_slow_down_and_say_how_long(app: Served) -> None:
    statuses = []
    for _ in range(6):
        reply = enter(app, "ABCD-EFGH-JKMN-PQRS", X_Forwarded_For="192.0.2.77", Accept_Language="en")
        statuses.append(reply.status)
    assert statuses[0] == 401
    assert statuses[-1] == 429
    wait = int(reply.headers["Retry-After"])
    assert wait >= 1
    assert re.search(rf"Wait {wait} seconds? before", reply.text)


def test_the_page_speaks_the_browsers_language_and_names_the_collection_as_text(app: Served) -> None:
    for header, word in (("pt-BR", "Código de acesso"), ("es", "Código de acceso"), ("en", "Access code")):
        reply = ask(app, "GET", "/sign-in", Accept_Language=header)
        assert word in reply.text
        assert "&lt;b&gt;small&lt;/b&gt;" in reply.text
    assert "Código de acceso" in ask(app, "GET", "/sign-in?language=es", Accept_Language="en").text


def test_every_answer_closes_what_it_can(app: Served, code: str) -> None:
    held = cookie(enter(app, code))
    for path in (
        "/",
        "/sign-in",
        "/sign-out",
        "/annotate",
        "/_stcore/health",
        "/app/keys.js",
        "/nowhere/_stcore/health",
    ):
        headers = ask(app, "GET", path, Cookie=held).headers
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["X-Frame-Options"] == "DENY", path
        assert headers["Referrer-Policy"] == "same-origin", path
        assert headers["Cache-Control"] == "no-store", path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
        assert "unsafe-eval" not in headers["Content-Security-Policy"], path
        assert "Server" not in headers, path


def test_a_session_of_a_revoked_person_opens_nothing(app: Served, config: Path) -> None:
    held = cookie(enter(app, code_for(config, "caio")))
    assert ask(app, "GET", "/", Cookie=held).status == 200
    with AnnotationSession.open(config) as session:
        session.people.revoke("caio")
    assert ask(app, "GET", "/", Cookie=held).status == 303


def test_no_code_and_no_token_is_in_what_the_server_says(app: Served, code: str) -> None:
    held = cookie(enter(app, code))
    enter(app, "ZZZZ-EFGH-JKMN-PQRS")
    ask(app, "GET", "/", Cookie=held)
    said = app.said()
    assert code not in said
    assert held.split("=")[1] not in said
    assert "ZZZZ" not in said
    assert "Traceback" not in said
