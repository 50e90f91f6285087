"""Many sign-ins at once: whoever is signed in already is served as before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from annotator_app import sign_in
from annotator_app.context import COOKIE
from annotator_app.gate import Gate
from quati_pool.commands.annotate import access
from quati_pool.commands.annotate.errors import WrongCodeError
from quati_pool.commands.annotate.session import AnnotationSession
from tests.commands.annotate.people_at_work import collection, token

# More than the threads that Starlette has for everybody, which are 40.
FLOOD = 60


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AnnotationSession]:
    with AnnotationSession.open(collection(tmp_path / "small")) as opened:
        yield opened


async def status(app: Starlette, method: str, path: str, body: bytes = b"", cookie: str = "") -> int:
    """What an ASGI application answers."""
    headers = [(b"host", b"app.example"), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    found: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await app({**scope, "scheme": "http", "client": ("192.0.2.1", 1), "server": ("app", 80)}, receive, send)
    return found[0]


def test_a_page_is_served_while_every_code_is_still_being_checked(
    session: AnnotationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = f"{COOKIE}={token(session, 'ana')}"
    over = threading.Event()
    checking = threading.Semaphore(0)

    def slow(*_: object) -> None:
        checking.release()
        over.wait(60)
        raise WrongCodeError(0)

    monkeypatch.setattr(access, "sign_in", slow)
    app = Starlette(routes=sign_in.routes(session), middleware=[Middleware(Gate, session=session)])

    async def flooded() -> tuple[int, list[int]]:
        sent = [asyncio.create_task(status(app, "POST", "/sign-in", b"code=x")) for _ in range(FLOOD)]
        try:
            while not checking.acquire(blocking=False):
                await asyncio.sleep(0.01)
            # Long enough for all of them to have come in; a page that must wait for them would never come.
            await asyncio.sleep(0.2)
            page = await asyncio.wait_for(status(app, "GET", "/", cookie=held), 30)
        finally:
            over.set()
        return page, await asyncio.gather(*sent)

    page, refused = asyncio.run(flooded())
    assert page == 200
    assert refused == [401] * FLOOD
