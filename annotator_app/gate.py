"""Middleware for every request: serves pages and files only to people who are signed in, and sets security headers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from markupsafe import escape
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from annotator_app import words
from annotator_app.context import COOKIE
from annotator_app.sign_in import same_origin
from annotator_app.theme import ICON, SCRIPTS, asset
from quati_pool.commands.annotate.errors import SignedOutError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError

_OPEN = {"/sign-in", "/sign-out", "/favicon.png", ICON, *SCRIPTS, "/_stcore/health", "/_stcore/host-config"}
_STATIC = "/static/"
# Their routes check the sign-in with each step, and say in the page's language that it has ended.
_CHECKED = ("/grading/", "/own-labels/", "/authoring/")
_FILES = ("/download/", "/explore/")
# Streamlit endpoints that this app does not use: uploads, media, components, metrics, an API, and Streamlit's
# own sign-in.
_UNUSED = ("/_stcore/", "/media/", "/component/", "/auth/", "/oauth2callback")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers would then hide where a form was sent from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    """ASGI middleware that checks sign-ins. Without a sign-in, a page request is redirected to /sign-in and everything
    else is refused, except the sign-in page, the health check and Streamlit's own files. The web socket also requires
    that it is opened by a page of this server: not by another site or another port of this machine, which could use
    the person's cookie. Later changes to a sign-in are noticed by the script, which checks it in every run."""

    def __init__(self, app: ASGIApp, session: AnnotationSession) -> None:
        self._app = app
        self._session = session
        self._documents, self._policy = _documents()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            connection = HTTPConnection(scope)
            if same_origin(connection) and await self._language(connection, page=True):
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stored = scope["path"].startswith(_STATIC)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
                if not stored:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        answer = await self._answer(Request(scope))
        await (answer or self._app)(scope, receive, sealed)

    async def _answer(self, request: Request) -> Response | None:
        """The response if the request is answered here; None if it is passed on to the app."""
        # Not the path of ``request.url``, which the Host header can influence.
        path = request.scope["path"]
        if "/_stcore/" in path[1:]:
            # Streamlit's page requests these to find its base path; a page in response would mislead it.
            return PlainTextResponse("not here", 404)
        if path.startswith(_CHECKED) and request.method != "POST":
            # Streamlit would answer with its page.
            return PlainTextResponse("send it by POST", 405, {"Allow": "POST"})
        if path in _OPEN or path.startswith((_STATIC, *_CHECKED)):
            return None
        page = not path.startswith((*_FILES, *_UNUSED))
        language = await self._language(request, page)
        if language is None:
            return RedirectResponse("/sign-in", status_code=303) if page else PlainTextResponse("sign in", 401)
        if path.startswith(_UNUSED):
            return PlainTextResponse("not here", 404)
        if page and request.method in ("GET", "HEAD"):
            return HTMLResponse(self._documents[language], headers={"Content-Security-Policy": self._policy})
        return None

    async def _language(self, connection: HTTPConnection, page: bool) -> str | None:
        """The language of the pages of the person who is signed in; None if nobody is."""
        token = connection.cookies.get(COOKIE)
        if not token:
            return None
        preferred: str | None = self._session.config.annotation.language
        try:
            preferred = (await run_in_threadpool(self._session.person, token)).language
        except SignedOutError:
            return None
        except StoreError:
            # A page without its database has no content yet, and reports the problem itself.
            if not page:
                return None
        return words.voice(preferred, connection.headers.get("accept-language", "")).language


def _documents() -> tuple[dict[str, str], str]:
    """Streamlit's page by language, with our scripts and what they say while there is no connection; and its
    Content-Security-Policy, which blocks all other sites."""
    import streamlit

    text = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text(encoding="utf-8")
    inline = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in inline
    )
    policy = (
        f"default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    # In all languages, since a person may change theirs.
    said = json.dumps({code: words.message(code, "app.disconnected") for code in words.LANGUAGES}, ensure_ascii=False)
    ours = f'<meta name="disconnected" content="{escape(said)}"><style>{asset("disconnected.css")}</style>'
    ours += "".join(f'<script src="{path}"></script>' for path in SCRIPTS)
    text = text.replace("<head>", f"<head>{ours}", 1)
    text = text.replace('href="./favicon.png"', f'href="{ICON}"', 1)
    text = re.sub(r"<link\s+rel=\"service-desc\"[^>]*>", "", text)
    return {code: text.replace('<html lang="en">', f'<html lang="{code}">', 1) for code in words.LANGUAGES}, policy
