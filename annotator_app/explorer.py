"""The explorer for leads: the last state of it, and its routes.

Its files are written by another process, so that nobody who is grading waits for that, and each lead is sent the data
without what they may not see yet.
"""

from __future__ import annotations

import contextlib
import mimetypes
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from weakref import WeakKeyDictionary

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from annotator_app.context import COOKIE
from annotator_app.sign_in import same_origin
from annotator_app.theme import asset
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.review.background import Background, Latest
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError, TranslatableText
from quati_pool.processes.child import Child, ChildEnded
from quati_pool.processes.messages import unpack_outcome
from quati_pool.processes.service import Service
from quati_pool.reporting.explorer.snapshot import KEPT, Snapshot
from quati_pool.store.errors import ConflictError, StoreError

_WRITER = "quati_pool.reporting.explorer.snapshot_process"
_QUERY = re.compile(r"data/query-(\d{1,9})\.js")
_REPLACED = "a newer explorer has replaced this one; open it again"


class _Explorers:
    """The explorers of a session: the last one, and a few before it, of which pages may still be open."""

    def __init__(self, write: Callable[[], Snapshot]) -> None:
        self._write = write
        self._background: Background[Snapshot] = Background("explorer")
        self._kept: dict[str, Snapshot] = {}

    def latest(self, wait: float, older: float) -> Latest[Snapshot]:
        return self._background.latest(self._written, wait, older=older)

    def named(self, name: str) -> Snapshot | None:
        return self._kept.get(name)

    def _written(self) -> Snapshot:
        made = self._write()
        others = [one for name, one in self._kept.items() if name != made.folder.name]
        self._kept = {one.folder.name: one for one in [*others[1 - KEPT :], made]}
        return made


_explorers: WeakKeyDictionary[AnnotationSession, _Explorers] = WeakKeyDictionary()


@contextlib.contextmanager
def separate_explorers(session: AnnotationSession, config_path: Path, database: str | None = None) -> Iterator[None]:
    """A context in which explorers of the session are written, each by a new process. ``config_path`` and ``database``
    must be those with which the session was opened."""
    process = Service(lambda: Child(_WRITER, quiet=False))
    request = pickle.dumps((config_path, database))

    def write() -> Snapshot:
        try:
            written: Snapshot = unpack_outcome(process.call(request))
        except ChildEnded as end:
            text = f"the explorer's process ended ({end}); see the server's log"
            raise QuatiPoolError(TranslatableText(text, "process_ended")) from None
        finally:
            process.end()
        return written

    _explorers[session] = _Explorers(write)
    try:
        yield
    finally:
        process.close()


def explorer(
    session: AnnotationSession, token: str | None, wait: float = 0.0, *, older: float = float("inf")
) -> Latest[Snapshot]:
    """The last explorer, after at most ``wait`` seconds. One is written if there is none, or if the last one was
    written more than ``older`` seconds ago.

    Raises SignedOutError, and ForbiddenError for anybody but a lead.
    """
    session.person(token, "lead")
    return _explorers[session].latest(wait, older)


def address(query_id: str | None = None) -> str:
    """The address of the explorer, or of a query in it."""
    return "/explore/#/" if query_id is None else f"/explore/#/query/{quote(query_id, safe='')}"


def routes(session: AnnotationSession) -> list[Route]:
    """The routes of the explorer, for leads alone: /explore/ leads to the last one; /explore/NAME/PATH is a file of
    it; a POST to /explore/NAME/reveal?query=ID&doc=ID shows a lead what is hidden on a pair, and is recorded."""

    async def newest(request: Request) -> Response:
        def respond(token: str | None) -> Response:
            found = explorer(session, token).value
            # Browsers keep what follows # when they are sent on.
            return RedirectResponse(f"/explore/{found.folder.name}/index.html" if found else "/explorer", 303)

        return await _answer(request, respond)

    async def file(request: Request) -> Response:
        name, path = request.path_params["name"], request.path_params["path"]

        def respond(token: str | None) -> Response:
            session.person(token, "lead")
            found = _explorers[session].named(name)
            if found is None:
                return PlainTextResponse(_REPLACED, 404)
            if path == "data/collection.js" or _QUERY.fullmatch(path):
                return _data(session, token, found, path) if same_origin(request) else _refused()
            return _file(found, path)

        return await _answer(request, respond)

    async def reveal(request: Request) -> Response:
        def respond(token: str | None) -> Response:
            from quati_pool.commands.annotate.review import blinding

            if not same_origin(request):
                return _refused()
            asked = request.query_params
            blinding.reveal(session, token, asked.get("query", ""), asked.get("doc", ""))
            return Response(status_code=204)

        return await _answer(request, respond)

    return [
        Route("/explore/", newest, methods=["GET"]),
        Route("/explore/{name}/reveal", reveal, methods=["POST"]),
        Route("/explore/{name}/{path:path}", file, methods=["GET"]),
    ]


def _data(session: AnnotationSession, token: str | None, snapshot: Snapshot, path: str) -> Response:
    """The collection or a query as this lead may see it; that they see what is not hidden in a query is recorded."""
    # Imported here because it imports statistics, which only leads need.
    from quati_pool.commands.annotate.review import blinding

    hidden = blinding.blinded(session, token)
    query = _QUERY.fullmatch(path)
    if query is None:
        return Response(snapshot.collection(hidden), media_type="text/javascript")
    number = int(query[1])
    script, visible = snapshot.query(number, hidden)
    blinding.shown(session, token, snapshot.query_ids[number], visible)
    return Response(script, media_type="text/javascript")


def _file(snapshot: Snapshot, path: str) -> Response:
    """A file that is the same for all leads; the script that starts the pages is the app's own."""
    if path not in snapshot.files:
        return PlainTextResponse("there is no such file", 404)
    kind = mimetypes.guess_type(path)[0]
    if path == "main.js":
        return Response(asset("explorer.js"), media_type=kind)
    content = (snapshot.folder / path).read_bytes()
    if path != "index.html":
        return Response(content, media_type=kind)
    # The page blocks all that it does not need on a disk; here it sends which pair a lead asks to see.
    content = content.replace(b"default-src 'none';", b"default-src 'none'; connect-src 'self';", 1)
    return Response(content, media_type=kind, headers={"Content-Security-Policy": "frame-ancestors 'none'"})


def _refused() -> Response:
    return PlainTextResponse("this was asked for by another page than the explorer", 403)


async def _answer(request: Request, respond: Callable[[str | None], Response]) -> Response:
    """The response for the request's token, made in a thread, or what was wrong in one line."""
    try:
        return await run_in_threadpool(respond, request.cookies.get(COOKIE))
    except SignedOutError:
        return PlainTextResponse("sign in", 401)
    except ForbiddenError:
        return PlainTextResponse("this is for leads", 403)
    except FileNotFoundError:
        return PlainTextResponse(_REPLACED, 404)
    except ConflictError as error:
        return PlainTextResponse(str(error), 409)
    except StoreError:
        return PlainTextResponse("the label database cannot be reached; try again in a minute", 503)
    except QuatiPoolError as error:
        return PlainTextResponse(str(error), 400)
