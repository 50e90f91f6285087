"""What happens at the annotate page, without its drawing: the pair at hand, the answer on its way, and what follows.

A press belongs to the question that it was made at (``nonce``, new each time a pair is asked about), so that
a second one, meant for the pair before or made before anybody could see the new one, grades nothing.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from quati_pool.annotation.activity import Clock
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.grading import next_item, submission
from quati_pool.commands.annotate.grading.answer import Answer
from quati_pool.commands.annotate.grading.item import Item
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import ConflictError, StoreError

Stage = Literal["begin", "ask", "reasons", "pending", "practice", "reveal", "end"]
"""begin: nothing fetched yet. ask: the grade is asked for; reasons: why it cannot be judged. pending: an
answer is not stored yet. practice: what a practice pair should have got. reveal: the judge's grade, a second
answer is open. end: there is nothing to grade now."""

SOONEST = 0.3
"""Seconds: nobody has read anything yet, so a press this soon was meant for the pair before."""


@dataclass(frozen=True)
class Notice:
    """What just happened: the ``key`` of a message, or else its ``text``; ``kind`` as in ``error_notices.notice``."""

    key: str = ""
    text: str = ""
    kind: str = "info"


class Grading:
    """One person's work in one browser tab."""

    def __init__(
        self, session: AnnotationSession, token: str, highlight: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.token = token
        self.highlight = highlight
        self.stage: Stage = "begin"
        self.item: Item | None = None
        self.answer: Answer | None = None
        """What was chosen, from the press until it is stored."""
        self.outcome: submission.Outcome | None = None
        self.last: Answer | None = None
        """What was stored last on this page."""
        self.notice: Notice | None = None
        self.nonce = ""
        self.note = ""
        self.noting = False
        self._session = session
        self._now = now
        self._shown = 0.0
        self._clock = Clock(0.0, session.config.annotation.idle)
        self._failed: QuatiPoolError | None = None
        self._second = False
        self._progress: next_item.Progress | None = None

    def draw(self) -> None:
        """Before each drawing: a sign of life, and the next pair where none is at hand.

        Raises SignedOutError if the last press met it, and what fetching a pair raises.
        """
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        if self.stage == "begin":
            self._fetch()
        self._clock.mark(self._now())

    def progress(self) -> next_item.Progress | None:
        """How much is done; what was last known where the database is out of reach, None where nothing was."""
        if self.stage != "pending":
            with contextlib.suppress(StoreError):
                self._progress = next_item.progress(self._session, self.token)
        return self._progress

    def grade(self, nonce: str, relevance: int) -> None:
        """A grade was pressed: a person's own, or the second one after the reveal."""
        if self.stage == "reveal":
            self._press(nonce, "reveal", lambda: self._send("ok", relevance, second=True))
        else:
            self._press(nonce, "ask", lambda: self._send("ok", relevance))

    def later(self, nonce: str) -> None:
        """The pair is put off."""
        self._press(nonce, "ask", lambda: self._send("skipped"))

    def cannot(self, nonce: str) -> None:
        """Asks why the pair cannot be judged, or no longer does."""
        if nonce == self.nonce and self.stage in ("ask", "reasons"):
            self.stage = "reasons" if self.stage == "ask" else "ask"
            self.notice = None

    def because(self, nonce: str, reason: str) -> None:
        """The pair cannot be judged, for one of ``answer.REASONS``."""
        if reason == "other" and not self.note.strip():
            self.noting = True
            self.notice = Notice("note_needed")
            return
        self._press(nonce, "reasons", lambda: self._send("unsure", reason=reason))

    def go_on(self, nonce: str) -> None:
        """From an explanation, a reveal or the end to the next pair."""
        if nonce == self.nonce and self.stage in ("practice", "reveal", "end"):
            self.notice = None
            self.stage = "begin"

    def undo(self, nonce: str) -> None:
        """Takes the last answer back and brings its pair again."""
        if nonce == self.nonce and self.stage != "pending":
            self.notice = None
            self._caught(lambda: self._take_back(nonce))

    def retry(self) -> bool:
        """Sends the answer that is not stored yet once more, as the same one; whether it is settled now."""
        if self.stage == "pending":
            self._caught(self._submit)
            if self.stage != "pending" and self.notice is None and self._failed is None:
                self.notice = Notice("stored_now", kind="good")
        return self.stage != "pending"

    def _press(self, nonce: str, stage: Stage, act: Callable[[], None]) -> None:
        if nonce != self.nonce or self.stage != stage:
            return
        if stage != "reasons" and self._now() - self._shown < SOONEST:
            self.notice = Notice("too_quick")
            return
        self.notice = None
        self._caught(act)

    def _caught(self, act: Callable[[], None]) -> None:
        """A press is answered before the page is drawn: what it raises would be nobody's."""
        try:
            act()
        except ConflictError as error:
            self.notice = Notice(f"conflict_{error.reason}", kind="warning")
            self.stage = "begin"
        except StoreError:
            self.notice = Notice("try_again", kind="warning")
        except SignedOutError as error:
            # Nothing of a pair may stay on the page.
            self.item, self.stage, self._failed = None, "begin", error
        except QuatiPoolError as error:
            self.notice = Notice(text=str(error), kind="warning")
            self.stage = "begin"

    def _send(self, status: str, relevance: int | None = None, reason: str | None = None, second: bool = False) -> None:
        self._clock.mark(self._now())
        self._second = second
        self.answer = Answer(
            status=status,
            relevance=relevance,
            reason=reason,
            note=self.note or None,
            nonce=self.nonce,
            active_seconds=self._clock.active,
            elapsed_seconds=self._clock.elapsed,
            highlighted=self.highlight,
        )
        self._submit()

    def _submit(self) -> None:
        assert self.item is not None
        assert self.answer is not None
        try:
            if self._second:
                submission.second_label(self._session, self.token, self.item, self.answer)
                self.stage = "begin"
                return
            self.outcome = submission.submit(self._session, self.token, self.item, self.answer)
        except ConflictError:
            raise
        except StoreError:
            self.stage = "pending"
            return
        self.last = self.answer
        if self.outcome.feedback is not None:
            self.stage = "practice"
        elif self.outcome.reveal is not None:
            self.stage = "reveal"
            self._ask()
        else:
            self.stage = "begin"

    def _take_back(self, nonce: str) -> None:
        try:
            undone = submission.undo(self._session, self.token, nonce)
        except ForbiddenError:
            self.notice = Notice("undo_revealed")
            return
        self.notice = Notice("undone" if undone else "nothing_to_undo")
        if undone:
            self.last = None
            self.stage = "begin"

    def _fetch(self) -> None:
        self.item = next_item.next_item(self._session, self.token)
        self.answer = self.outcome = None
        self.stage = "end" if self.item is None else "ask"
        self._ask()

    def _ask(self) -> None:
        """A new question: presses made at the one before no longer count."""
        self.nonce = secrets.token_hex(16)
        self.note, self.noting = "", False
        self._shown = self._now()
        self._clock = Clock(self._shown, self._session.config.annotation.idle)
