"""The requests of the script of the page where people write: the next step, a form, no more, a refusal, later, undo, a
translation.

Each request is answered with what the page shows next. The script sends a form back with the reference of its task and
the ``nonce`` it was shown under; one that is sent again, because its response was lost, is stored once.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from functools import wraps
from typing import Any

from markupsafe import Markup
from starlette.routing import Route

from annotator_app import error_notices, steps
from annotator_app.authoring_view import AuthoringView, prefilled, texts_of
from quati_pool.annotation.authoring.forms import WritingError
from quati_pool.commands.annotate.authoring import work
from quati_pool.commands.annotate.authoring.step import SentStep, WritingStep
from quati_pool.commands.annotate.errors import ForbiddenError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import ConflictError
from quati_pool.text.sentences import sentences

_LOGGER = logging.getLogger("annotator_app")


def routes(session: AnnotationSession) -> list[Route]:
    """The routes POST /authoring/STEP, as of ``steps``. The response's ``stage`` is write, end, or those that every
    page has; one without a stage says what is wrong with a form, which stays on the page."""
    return steps.routes(session, "authoring", _Turn, _STEPS, slow={"translate"})


class _Turn(steps.Turn):
    """A request of this page."""

    def __init__(self, session: AnnotationSession, token: str, accepted: str, data: Mapping[str, Any]) -> None:
        super().__init__(session, token, accepted, data)
        self.data = data
        self.view = AuthoringView(session, self.voice)

    def next(self, notice: Markup | None = None, stored: str | None = None) -> dict[str, Any]:
        """What to do now, and what to say above it."""
        step = work.next_step(self.session, self.token)
        today = work.today(self.session, self.token, self.offset)
        undoable = work.undoable(self.session, self.token) if step is None else step.undoable
        shown = {
            "nonce": secrets.token_hex(16),
            "where": str(self.view.progress(step, today, stored)),
            "notice": str(notice or ""),
            "bar": str(self.view.bar(step, undoable is not None)),
            "undoable": undoable,
            "stored": stored,
        }
        if step is None:
            return {"stage": "end", **shown, "pair": str(self.view.end(today))}
        return {"stage": "write", **shown, "pair": str(self.view.step(step)), **_form(step)}

    def late(self) -> Markup:
        """Says that something is stored after all, if the page called it not stored meanwhile."""
        return self.view.stored_now() if self.data.get("late") is True else Markup("")


def _form(step: WritingStep) -> dict[str, Any]:
    """What the script needs to know of a step."""
    marks = any(field.kind == "spans" for field in step.step.fields)
    return {
        "item": step.item,
        "number": step.number,
        "sha": step.sha,
        "prefilled": prefilled(step),
        "sentences": {language: sentences(text) for language, text in texts_of(step).items()} if marks else {},
    }


def _refusable(step: steps.Step[_Turn]) -> steps.Step[_Turn]:
    """A step that says why what was sent was not stored."""

    @wraps(step)
    def tried(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return step(turn, data)
        except ConflictError as error:
            return turn.next(turn.view.conflict(error.reason))
        except WritingError as error:
            return {"refused": {"field": error.field, "text": turn.view.refusal(error)}}
        except ForbiddenError as error:
            return turn.next(error_notices.notice_box(str(error)))

    return tried


def _open(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    frame = {
        "frame": str(turn.view.frame()),
        "words": turn.view.words(),
        "idle": turn.session.config.annotation.idle,
    }
    return {**frame, **turn.next()}


def _next(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    return turn.next()


@_refusable
def _send(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """Stores a form; where something in it is doubtful that was not confirmed, says what, and stores nothing."""
    item, number, sha, nonce, content, active, elapsed = _sent(
        data, "item", "number", "sha", "nonce", "content", "active", "elapsed"
    )
    confirmed = data.get("confirmed")
    reasons = (
        frozenset(one for one in confirmed if isinstance(one, str)) if isinstance(confirmed, list) else frozenset()
    )
    sent = SentStep(item, number, sha, nonce, content, reasons, active, elapsed, data.get("machine"))
    outcome = work.submit(turn.session, turn.token, sent)
    if outcome.seq is None:
        doubts = [{"field": one.field, "reason": one.reason, "text": turn.view.doubt(one)} for one in outcome.doubts]
        return {"doubts": doubts, "notice": str(turn.view.doubtful())}
    return turn.next(turn.late(), "given")


@_refusable
def _end(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """No more is written from this text."""
    work.end(turn.session, turn.token, *_sent(data, "item", "sha", "nonce"))
    return turn.next(turn.late(), "ended")


@_refusable
def _refuse(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    work.refuse(turn.session, turn.token, *_sent(data, "item", "number", "sha", "reason", "comment", "nonce"))
    return turn.next(turn.late(), "refused")


@_refusable
def _later(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    work.skip(turn.session, turn.token, *_sent(data, "item", "sha", "nonce"))
    return turn.next(turn.late(), "later")


@_refusable
def _undo(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """Takes an entry back; the form is filled again with what it said."""
    if data.get("seq") is None:
        raise ConflictError("gone", "there is nothing to undo; go on with what is there")
    undone = work.undo(turn.session, turn.token, *_sent(data, "nonce", "seq"))
    shown = turn.next(turn.view.undone())
    if undone is None or (undone.item, undone.number) != (shown.get("item"), shown.get("number")):
        return shown
    return {**shown, "filled": dict(undone.content), "machine": dict(undone.machine)}


@_refusable
def _translate(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """What a model makes of the form's texts in another language, by field, or why there is nothing; the task stays
    as it is. Problems may name the model, so that only the log has them."""
    found = work.translate(turn.session, turn.token, *_sent(data, "item", "number", "sha", "language", "content"))
    for one in found.values():
        if one.text is None:
            _LOGGER.warning("translation: %s: %s", one.state, one.problem)
    states = dict.fromkeys(str(one.state) for one in found.values() if one.text is None)
    return {
        "translated": {
            name: {"text": one.text, "request": one.request} for name, one in found.items() if one.text is not None
        },
        "failed": [turn.view.not_translated(state) for state in states],
    }


def _sent(data: Mapping[str, Any], *names: str) -> list[Any]:
    """What a request holds under these names: the commands check each."""
    return [data.get(name) for name in names]


_STEPS: dict[str, steps.Step[_Turn]] = {
    "open": _open,
    "next": _next,
    "send": _send,
    "end": _end,
    "refuse": _refuse,
    "later": _later,
    "undo": _undo,
    "translate": _translate,
}
