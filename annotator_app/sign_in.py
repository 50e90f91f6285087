"""Sign-in and sign-out as plain pages: the code is in the request body, the token in a cookie hidden from scripts."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from annotator_app import words
from annotator_app.context import COOKIE
from annotator_app.theme import asset
from quati_pool.commands.annotate import access
from quati_pool.commands.annotate.errors import WrongCodeError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import StoreError

if TYPE_CHECKING:
    import jinja2

_LONGEST = 4096
_AT_ONCE = 2


def routes(session: AnnotationSession) -> list[Route]:
    """The routes /sign-in and /sign-out for ``session``. Codes and tokens are never part of an address."""
    # Checking a code takes a tenth of a second of CPU time; with the limit, a flood of checks delays only itself.
    checking = CapacityLimiter(_AT_ONCE)

    async def form(request: Request) -> Response:
        return _page(session, request)

    async def enter(request: Request) -> Response:
        if not same_origin(request):
            return _page(session, request, "sign_in.elsewhere", status=403)
        fields = await _fields(request)
        if fields is None:
            return _page(session, request, "sign_in.wrong", status=400)
        address = request.client.host if request.client else ""
        try:
            token, _ = await to_thread.run_sync(
                access.sign_in, session, fields.get("code", ""), address, limiter=checking
            )
        except WrongCodeError as error:
            return _wrong(session, request, error)
        except StoreError:
            return _page(session, request, "sign_in.unreachable", status=503)
        await _end(session, request)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            COOKIE,
            token,
            max_age=access.SIGN_IN_SECONDS,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    async def leaving(request: Request) -> Response:
        return _page(session, request, template="sign_out")

    async def leave(request: Request) -> Response:
        if not same_origin(request):
            return _page(session, request, "sign_in.elsewhere", template="sign_out", status=403)
        if not await _end(session, request):
            return _page(session, request, "sign_in.unreachable", template="sign_out", status=503)
        response = RedirectResponse("/sign-in", status_code=303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    return [
        Route("/sign-in", form, methods=["GET"]),
        Route("/sign-in", enter, methods=["POST"]),
        Route("/sign-out", leaving, methods=["GET"]),
        Route("/sign-out", leave, methods=["POST"]),
    ]


def same_origin(request: HTTPConnection) -> bool:
    """Whether a request that changes something, or opens the web socket, came from a page of this server.

    A client other than a browser sends neither header, and has no cookies that another site could use."""
    origin = request.headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc == request.headers.get("host")
    return request.headers.get("sec-fetch-site", "same-origin") == "same-origin"


async def _end(session: AnnotationSession, request: Request) -> bool:
    """Ends the browser's previous sign-in, if any, so that none is left in a browser that another person uses.
    False if the database cannot be reached."""
    try:
        await run_in_threadpool(access.sign_out, session, request.cookies.get(COOKIE))
    except StoreError:
        return False
    return True


def _wrong(session: AnnotationSession, request: Request, error: WrongCodeError) -> Response:
    seconds = math.ceil(error.wait)
    if seconds <= 0:
        return _page(session, request, "sign_in.wrong", status=401)
    response = _page(session, request, "sign_in.wait", status=429, count=seconds)
    response.headers["Retry-After"] = str(seconds)
    return response


async def _fields(request: Request) -> dict[str, str] | None:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST:
            return None
    try:
        return {name: values[0] for name, values in parse_qs(body.decode(), max_num_fields=8).items()}
    except ValueError:
        return None


def _page(
    session: AnnotationSession,
    request: Request,
    problem: str | None = None,
    *,
    template: str = "sign_in",
    status: int = 200,
    **values: Any,
) -> Response:
    asked = request.query_params.get("language", "")
    language = asked if asked in words.LANGUAGES else _language(session, request)

    def say(key: str) -> str:
        return words.message(language, key)

    style = asset("sign_in.css")
    text = (
        _templates()
        .get_template(f"{template}.html.j2")
        .render(
            say=say,
            style=style,
            language=language,
            languages=words.LANGUAGES,
            collection=session.config.name,
            problem=words.message(language, problem, **values) if problem else None,
        )
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(text, status_code=status, headers={"Content-Security-Policy": policy})


def _language(session: AnnotationSession, request: Request) -> str:
    return session.config.annotation.language or words.best(words.accepted(request.headers.get("accept-language", "")))


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("annotator_app"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
