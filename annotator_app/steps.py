"""The requests of a page's script: a JSON object each way, over one POST route for each step.

Nothing is kept between requests: where a person is lies in the database, and any server of the collection can answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from annotator_app import error_notices, words
from annotator_app.context import COOKIE
from annotator_app.sign_in import same_origin
from quati_pool.commands.annotate.errors import SignedOutError
from quati_pool.commands.annotate.grading.answer import Answer
from quati_pool.commands.annotate.grading.item import Item, ItemKind
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import StoreError
from quati_pool.text.sentences import Span

_LONGEST = 256 * 1024
_SLOW_THREADS = 8
_LOGGER = logging.getLogger("annotator_app")


class Turn:
    """A request of a person who is signed in; raises SignedOutError for anybody else. ``offset`` are the minutes by
    which their clock is ahead of UTC, 0 if the request does not say."""

    def __init__(self, session: AnnotationSession, token: str, accepted: str, data: Mapping[str, Any]) -> None:
        self.session = session
        self.token = token
        self.person: Person = session.person(token)
        self.voice = words.voice(self.person.language, accepted)
        offset = data.get("offset")
        self.offset = offset if type(offset) is int and abs(offset) < 24 * 60 else 0


TurnT = TypeVar("TurnT", bound=Turn)
Step = Callable[[TurnT, Mapping[str, Any]], dict[str, Any]]
"""Answers a request that holds ``data``."""


def routes(
    session: AnnotationSession,
    folder: str,
    turn: Callable[[AnnotationSession, str, str, Mapping[str, Any]], TurnT],
    steps: Mapping[str, Step[TurnT]],
    slow: Collection[str] = (),
) -> list[Route]:
    """A route POST /FOLDER/STEP for each step. The response's ``stage`` is fault or signed-out if there is nothing
    else to show; the status is 401 without a sign-in, 400 for a body that is no JSON object, 403 for a request of
    another site's page, and 503 if the database cannot be reached, in which case nothing is known to be stored and the
    same request is to be sent again. ``slow`` are steps that wait for others, such as a model: they have threads of
    their own, so that the rest does not wait for them."""
    waiting = ThreadPoolExecutor(_SLOW_THREADS, f"slow-{folder}") if slow else None

    def respond(step: Step[TurnT], request: Request, data: Mapping[str, Any]) -> Response:
        token = request.cookies.get(COOKIE) or ""
        header = request.headers.get("accept-language", "")
        try:
            return JSONResponse(step(turn(session, token, header, data), data))
        except SignedOutError:
            card = error_notices.signed_out_card(words.voice(session.config.annotation.language, header))
            return JSONResponse({"stage": "signed-out", "pair": str(card)}, 401)
        except StoreError as error:
            _LOGGER.warning("%s", error)
            return JSONResponse({}, 503)
        except QuatiPoolError as error:
            return JSONResponse({"stage": "fault", "notice": str(error_notices.notice_box(str(error)))})

    def route(name: str, step: Step[TurnT]) -> Route:
        async def answer(request: Request) -> Response:
            if not same_origin(request):
                return JSONResponse({}, 403)
            data = await _body(request)
            if data is None:
                return JSONResponse({}, 400)
            if name in slow:
                return await asyncio.get_running_loop().run_in_executor(waiting, respond, step, request, data)
            return await run_in_threadpool(respond, step, request, data)

        return Route(f"/{folder}/{name}", answer, methods=["POST"])

    return [route(name, step) for name, step in steps.items()]


def answer_of(data: Mapping[str, Any], *, highlighted: bool = False) -> Answer:
    """The answer in a request, with whatever it holds: the commands check each field."""
    return Answer(
        status=data.get("status"),  # type: ignore[arg-type]
        relevance=data.get("relevance"),
        reason=data.get("reason"),
        note=data.get("note"),
        nonce=data.get("nonce"),  # type: ignore[arg-type]
        active_seconds=data.get("active", 0.0),
        elapsed_seconds=data.get("elapsed", 0.0),
        highlighted=highlighted,
        evidence=spans_of(data.get("evidence")),
    )


def item_of(kind: ItemKind, number: int, query_id: str, doc_id: str, sha: str) -> Item:
    """An item with nothing but what identifies it, to be sent back; ``number`` is its training_id or assignment_id."""
    training = kind in ("training", "gold")
    return Item(
        kind=kind,
        assignment_id=None if training else number,
        training_id=number if training else None,
        query_id=query_id,
        doc_id=doc_id,
        content_sha=sha,
        query="",
        narrative=None,
        text="",
        shown_at=0.0,
    )


def text_of(data: Mapping[str, Any], name: str) -> str | None:
    """A text in a request; None if there is none."""
    value = data.get(name)
    return value if isinstance(value, str) else None


def spans_of(value: object) -> Any:
    """Pairs of numbers as spans, nothing as no spans; anything else as it is, for a command to refuse."""
    pairs = isinstance(value, list) and all(isinstance(one, list) and len(one) == 2 for one in value)
    return [Span(*one) for one in value] if isinstance(value, list) and pairs else () if value is None else value


async def _body(request: Request) -> Mapping[str, Any] | None:
    """The JSON object in a request; None if there is none, or it is too long or too deeply nested."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST:
            return None
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
