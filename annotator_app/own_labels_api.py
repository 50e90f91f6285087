"""The requests of the script of the page with a person's own labels: the list, a query's passages, changes of labels.

A label is sent back by its seq and the hash of its pair's texts, a passage to grade by its slot; no passage's id is
ever on the page. Each change has a ``nonce`` that was drawn with what it changes; one that is sent again, because its
response was lost, is stored once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from starlette.routing import Route

from annotator_app import steps
from annotator_app.own_labels_view import UNSURE, OwnLabelsView
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError
from quati_pool.commands.annotate.grading import changes, submission
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.grading.training import unanswered_training
from quati_pool.commands.annotate.own_labels import OwnFilter, OwnPassage, OwnQuery, own_labels, own_query
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.store.errors import ConflictError

_REFERENCE = re.compile("([ls])([0-9]{1,18})")
_REFUSALS = {"search_long": "own_labels.search_long", "changes_many": "own_labels.changes_many"}


def routes(session: AnnotationSession) -> list[Route]:
    """The routes POST /own-labels/STEP, as of ``steps``. The response's ``stage`` is list, query, or those that every
    page has; one without a stage changes cards, or says in its ``notice`` why nothing was stored."""
    return steps.routes(session, "own-labels", _Turn, _STEPS)


class _Turn(steps.Turn):
    """A request of this page."""

    def __init__(self, session: AnnotationSession, token: str, accepted: str, data: Mapping[str, Any]) -> None:
        super().__init__(session, token, accepted, data)
        self.view = OwnLabelsView(session, self.voice)

    def refused(self, error: AnswerError) -> dict[str, Any]:
        """Why nothing was stored, or found; everything else on the page stays."""
        reason = error.reason
        text = str(error) if reason is None else self.voice.say(_REFUSALS.get(reason, f"annotate.{reason}"))
        return {"notice": str(self.view.notice(text))}

    def query(self, query_id: object) -> OwnQuery:
        """A query with this person's passages; raises ForbiddenError if they have none of it."""
        return own_query(self.session, self.token, query_id, self.offset)  # type: ignore[arg-type]

    def why_not(self) -> str | None:
        """Why passages cannot be graded here, as a message's key; None if they can."""
        if self.session.config.annotation.reveal is not None:
            return "own_labels.reveal_there"
        training = self.session.training.all()
        return "own_labels.practice_first" if unanswered_training(self.session, self.person, training) else None

    def cards(self, query_id: object, refs: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
        """The cards that replace others, by the reference of those; each new one is given by its kind and number.
        What is no longer there, because it was changed again meanwhile, is left out."""
        why = self.why_not()
        try:
            passages: Sequence[OwnPassage] = self.query(query_id).passages
        except ForbiddenError:
            passages = ()
        drawn = {(f"s{one.assignment_id}" if one.label is None else f"l{one.label.seq}"): one for one in passages}
        wanted = {old: f"{kind}{number}" for old, (kind, number) in refs.items()}
        found = {old: drawn[new] for old, new in wanted.items() if new in drawn}
        return {"cards": {old: str(self.view.card(one, why)) for old, one in found.items()}}


def _open(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    frame = {
        "frame": str(turn.view.frame()),
        "words": turn.view.words(),
        "idle": turn.session.config.annotation.idle,
        "required": turn.session.config.annotation.evidence == "required",
    }
    opened = _query(turn, data) if data.get("query") is not None else _list(turn, data)
    return {**frame, **opened}


def _list(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    try:
        wanted = _filter(turn, data.get("filter"))
        start = data.get("start")
        from_place = start if type(start) is int and 0 <= start < 10**9 else 0
        found = own_labels(turn.session, turn.token, wanted, from_place, turn.offset)
    except AnswerError as error:
        return turn.refused(error)
    return {
        "stage": "list",
        "count": turn.view.count(found, wanted != OwnFilter()),
        "rows": str(turn.view.rows(found.labels)),
        "pages": str(turn.view.pages(found)),
        "start": found.start,
        "queries": str(turn.view.queries(found.queries, wanted.query_id)),
    }


def _query(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = turn.query(data.get("query"))
    except ForbiddenError:
        gone = turn.view.notice(turn.voice.say("own_labels.gone"))
        return {**_list(turn, data), "notice": str(gone)}
    return {
        "stage": "query",
        "query": found.query_id,
        "nonce": secrets.token_hex(16),
        "head": str(turn.view.head(found)),
        "cards_of_query": str(turn.view.cards(found, turn.why_not())),
    }


def _change(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    query_id: Any = data.get("query")
    ref = str(data.get("ref"))
    try:
        number = _number(ref, "l")
        sha: Any = data.get("sha")
        seq = changes.change(turn.session, turn.token, query_id, sha, number, steps.answer_of(data))
        return turn.cards(query_id, {ref: ("l", seq)})
    except ConflictError:
        return {"notice": str(turn.view.conflict())}
    except AnswerError as error:
        return turn.refused(error)
    except ForbiddenError:
        return {"notice": str(turn.view.outdated(turn.voice.say("own_labels.fixed.revealed")))}


def _change_many(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    query_id: Any = data.get("query")
    labels: Any = data.get("labels")
    try:
        if not isinstance(labels, list) or not all(isinstance(one, list) and len(one) == 2 for one in labels):
            raise AnswerError("there is nothing to change; choose labels")
        seen = [(sha, _number(ref, "l")) for ref, sha in labels]
        seqs = changes.change_many(turn.session, turn.token, query_id, seen, steps.answer_of(data))
        refs = {f"l{number}": ("l", seq) for (_, number), seq in zip(seen, seqs, strict=True)}
        return {**turn.cards(query_id, refs), "nonce": secrets.token_hex(16)}
    except ConflictError as error:
        return {"notice": str(turn.view.conflict_many(error.count))}
    except AnswerError as error:
        if error.reason == "evidence_needed":
            return {"notice": str(turn.view.notice(turn.voice.say("own_labels.evidence_many_labels")))}
        return turn.refused(error)
    except ForbiddenError:
        return {"notice": str(turn.view.outdated(turn.voice.say("own_labels.fixed.revealed")))}


def _grade(turn: _Turn, data: Mapping[str, Any]) -> dict[str, Any]:
    """Grades a passage that the person holds, as on the grading page."""
    query_id: Any = data.get("query")
    ref = str(data.get("ref"))
    try:
        number = _number(ref, "s")
        why = turn.why_not()
        if why is not None:
            return {"notice": str(turn.view.notice(turn.voice.say(why)))}
        outcome = submission.submit(
            turn.session, turn.token, _item(turn, number, data.get("sha")), steps.answer_of(data)
        )
        return turn.cards(query_id, {ref: ("l", outcome.seq)})
    except ConflictError:
        return {"notice": str(turn.view.conflict())}
    except AnswerError as error:
        return turn.refused(error)
    except ForbiddenError:
        return {"notice": str(turn.view.conflict())}


_STEPS: dict[str, steps.Step[_Turn]] = {
    "open": _open,
    "list": _list,
    "query": _query,
    "change": _change,
    "change-many": _change_many,
    "grade": _grade,
}


def _filter(turn: _Turn, wanted: object) -> OwnFilter:
    """The filter in a request, with empty fields left out. Raises AnswerError for a day that is none."""
    fields = wanted if isinstance(wanted, dict) else {}
    grade, day, text = steps.text_of(fields, "grade"), steps.text_of(fields, "day"), steps.text_of(fields, "text")
    grades = {str(one): one for one in turn.session.config.grades}
    try:
        chosen = date.fromisoformat(day) if day else None
    except ValueError:
        raise AnswerError("a day is written as 2026-01-31; choose one") from None
    return OwnFilter(
        query_id=steps.text_of(fields, "query") or None,
        grade=grades.get(grade or ""),
        status=State.unsure if grade == UNSURE else None,
        day=chosen,
        text=text or "",
    )


def _number(ref: object, kind: str) -> int:
    """The number in a reference of this kind. Raises AnswerError if it is none."""
    found = _REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
    if found is None or found[1] != kind:
        raise AnswerError("this passage was never shown; reload the page")
    return int(found[2])


def _item(turn: _Turn, number: int, sha: object) -> Item:
    """The item of a slot, with nothing but what identifies it. Raises ConflictError if there is none."""
    slot = turn.session.assignments.slot(number)
    if slot is None or slot.phase != "blind":
        raise ConflictError("gone", "there is no such pair to grade any more; reload the page")
    return steps.item_of("blind", number, slot.query_id, slot.doc_id, str(sha))
