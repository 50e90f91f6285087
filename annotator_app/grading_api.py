"""The requests of the grading page's script: the next pair, an answer, a second answer, undo, highlighting.

Each request is answered with what the page shows next, so that a press costs one request. The script sends a pair
back as a reference to its slot (or training pair) and the hash of its texts, with the ``nonce`` it was shown under; an
answer that is sent again, because its response was lost, is stored once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from functools import wraps
from typing import Any

from markupsafe import Markup
from starlette.routing import Route

from annotator_app import error_notices, steps
from annotator_app.grading_view import GradingView
from quati_pool.commands.annotate import remarks
from quati_pool.commands.annotate.access import set_preference
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.grading import next_item, submission
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.pace import pace as own_pace
from quati_pool.commands.annotate.references import mask
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import ConflictError
from quati_pool.text.sentences import sentences

_REFERENCE = re.compile("p([0-9a-f]{16})")


def routes(session: AnnotationSession) -> list[Route]:
    """The routes POST /grading/STEP, as of ``steps``. The response's ``stage`` is ask, practice, reveal, end, or those
    that every page has."""
    return steps.routes(session, "grading", _Turn, _STEPS)


class _Turn(steps.Turn):
    """A request of the grading page."""

    def __init__(self, session: AnnotationSession, token: str, accepted: str, data: Mapping[str, Any]) -> None:
        super().__init__(session, token, accepted, data)
        self.view = GradingView(session, self.voice)
        self.highlight = bool(self.person.settings.get("highlight"))

    def next(self, notice: Markup | None = None, stored: str | None = None) -> dict[str, Any]:
        """What to grade now, and what to say above it."""
        item = next_item.next_item(self.session, self.token)
        done = next_item.progress(self.session, self.token, item)
        pace = own_pace(self.session, self.token, self.offset)
        shown: dict[str, Any] = {
            "stage": "end" if item is None else "ask",
            "nonce": secrets.token_hex(16),
            "where": str(self.view.progress(item, done, pace, stored)),
            "notice": str(notice or ""),
            "feedback": "",
            "answers": str(self.answers()),
            "asking": secrets.token_hex(16),
        }
        evidence = self.session.config.annotation.evidence
        if item is None:
            return {**shown, "pair": str(self.view.end(done)), "undoable": done.done > 0}
        return {
            **shown,
            "item": self.reference(item),
            "sha": item.content_sha,
            "pair": str(self.view.pair(item, self.highlight)),
            "evidence": evidence,
            "sentences": [] if evidence == "off" else sentences(item.text),
        }

    def reference(self, item: Item) -> str:
        """How the page refers to an item. Neither the passage's id nor why it is asked can be read from it: the number
        is masked by what the page sends back, whichever server answers then."""
        training = item.assignment_id is None
        number = item.training_id if training else item.assignment_id
        return f"p{2 * int(number or 0) + training ^ self._mask(item.content_sha):016x}"

    def _mask(self, sha: str) -> int:
        return mask(self.session.config.name, self.person.name, sha)

    def answers(self) -> Markup:
        """The leads' answers that this person has not read yet."""
        if not self.session.remarks.unread(self.person.name):
            return Markup("")
        return self.view.answers([one for one in remarks.my_remarks(self.session, self.token) if one.unread])

    def refused(self, error: AnswerError) -> dict[str, Any]:
        """What to say about an answer that was not stored; everything else on the page stays."""
        known = error.reason is not None
        notice = self.view.notice(str(error.reason), "warning") if known else error_notices.notice_box(str(error))
        return {"notice": str(notice)}

    def item(self, data: Mapping[str, Any]) -> Item:
        """The item of a reference. Raises ConflictError if it is no longer there."""
        found, sha = _REFERENCE.fullmatch(str(data.get("item"))), str(data.get("sha"))
        if found is None:
            raise AnswerError("this item was never given out; reload the page")
        number, known = divmod(int(found[1], 16) ^ self._mask(sha), 2)
        if known:
            training = next((one for one in self.session.training.all() if one.training_id == number), None)
            if training is not None:
                return steps.item_of(
                    "gold" if training.gold else "training", number, training.query_id, training.doc_id, sha
                )
        else:
            slot = self.session.assignments.slot(number)
            if slot is not None:
                return steps.item_of(slot.phase, number, slot.query_id, slot.doc_id, sha)
        raise ConflictError("gone", "there is no such pair to grade any more; go on with the next one")


def _open(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    frame = {
        "frame": str(turn.view.frame(turn.highlight)),
        "words": turn.view.words(),
        "idle": turn.session.config.annotation.idle,
    }
    return {**frame, **turn.next()}


def _next(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    return turn.next()


def _refusable(step: steps.Step[_Turn]) -> steps.Step[_Turn]:
    """A step that says why what was sent was not stored."""

    @wraps(step)
    def tried(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return step(turn, data)
        except ConflictError as error:
            return turn.next(turn.view.notice(f"conflict_{error.reason}", "warning"))
        except AnswerError as error:
            return turn.refused(error)
        except ForbiddenError as error:
            return turn.next(error_notices.notice_box(str(error)))

    return tried


@_refusable
def _answer(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    answer, view = steps.answer_of(data, highlighted=turn.highlight), turn.view
    outcome = submission.submit(turn.session, turn.token, turn.item(data), answer)
    notice = _late(turn, data)
    if outcome.feedback is not None:
        feedback = view.practice(answer, outcome.feedback)
        return {"stage": "practice", "nonce": secrets.token_hex(16), "notice": str(notice), "feedback": str(feedback)}
    if outcome.reveal is not None:
        feedback = view.reveal(answer, outcome.reveal)
        return {"stage": "reveal", "nonce": secrets.token_hex(16), "notice": str(notice), "feedback": str(feedback)}
    return turn.next(notice, view.stored(answer))


@_refusable
def _second(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    answer = steps.answer_of(data, highlighted=turn.highlight)
    submission.second_label(turn.session, turn.token, turn.item(data), answer)
    return turn.next(_late(turn, data))


def _late(turn: _Turn, data: Mapping[str, Any]) -> Markup:
    """Says that an answer is stored after all, if the page called it not stored meanwhile."""
    return turn.view.notice("stored_now", "good") if data.get("late") is True else Markup("")


@_refusable
def _undo(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    try:
        # Without a nonce, a request that is sent twice would take two answers back.
        undone = submission.undo(turn.session, turn.token, steps.text_of(data, "nonce") or "")
    except ForbiddenError:
        return {"notice": str(turn.view.notice("undo_revealed"))}
    return turn.next(turn.view.notice("undone")) if undone else {"notice": str(turn.view.notice("nothing_to_undo"))}


def _highlight(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """Keeps the setting, and draws the pair that is on the page with it; nothing else on the page changes."""
    on = data.get("on") is True
    set_preference(turn.session, turn.token, "highlight", on)
    shown = next_item.next_item(turn.session, turn.token)
    same = shown is not None and turn.reference(shown) == data.get("item") and shown.content_sha == data.get("sha")
    return {"drawn": str(turn.view.pair(shown, on)) if shown is not None and same else None}


def _ask(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """Sends a question about the pair on the page to the leads."""
    text: Any = data.get("text")
    nonce: Any = data.get("nonce")
    try:
        item = turn.item(data)
        remarks.ask(turn.session, turn.token, item.query_id, item.doc_id, text, nonce)
    except ConflictError as error:
        return {"notice": str(turn.view.notice(f"conflict_{error.reason}", "warning"))}
    except ForbiddenError:
        return {"notice": str(turn.view.notice("not_yours", "warning"))}
    except AnswerError as error:
        return turn.refused(error)
    return {"notice": str(turn.view.notice("asked", "good")), "asking": secrets.token_hex(16)}


def _read(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """Records that an answer was read."""
    for one in remarks.my_remarks(turn.session, turn.token):
        if one.last_seq == data.get("seen"):
            remarks.mark_read(turn.session, turn.token, one.query_id, one.doc_id, one.last_seq)
    return {"answers": str(turn.answers())}


_STEPS: dict[str, steps.Step[_Turn]] = {
    "open": _open,
    "next": _next,
    "answer": _answer,
    "second": _second,
    "undo": _undo,
    "highlight": _highlight,
    "ask": _ask,
    "read": _read,
}
