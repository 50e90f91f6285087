"""The logic of the annotate page, without drawing: the current pair, the answer being stored, and what follows.

A button press belongs to the question for which the button was drawn (``nonce``, new each time a pair is shown), so
that a second press, meant for the previous pair or made before the new one was visible, has no effect.
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
"""begin: no pair fetched yet. ask: asks for the grade. reasons: asks why the pair cannot be judged. pending: an answer
is not stored yet. practice: shows the right grade of a practice pair. reveal: shows the judge's grade and offers a
second answer. end: there is nothing to grade now."""

SOONEST = 0.3
"""Seconds in which nobody can have read anything; an earlier press was meant for the previous pair."""


@dataclass(frozen=True)
class Notice:
    """A message about what just happened: its ``key`` or else its ``text``; ``kind`` is that of
    ``error_notices.notice``."""

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
        """The chosen answer, from the press until it is stored."""
        self.outcome: submission.Outcome | None = None
        self.last: Answer | None = None
        """The answer that was stored last on this page."""
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
        """To be called before each drawing: records activity, and fetches the next pair if there is none.

        Raises SignedOutError if the last press did, and the errors of fetching a pair.
        """
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        if self.stage == "begin":
            self._fetch()
        self._clock.mark(self._now())

    def progress(self) -> next_item.Progress | None:
        """The person's progress; the last known one if the database is unreachable, None if there is none."""
        if self.stage != "pending":
            with contextlib.suppress(StoreError):
                self._progress = next_item.progress(self._session, self.token)
        return self._progress

    def grade(self, nonce: str, relevance: int) -> None:
        """Handles a pressed grade: the first one, or the second one after the reveal."""
        if self.stage == "reveal":
            self._press(nonce, "reveal", lambda: self._send("ok", relevance, second=True))
        else:
            self._press(nonce, "ask", lambda: self._send("ok", relevance))

    def later(self, nonce: str) -> None:
        """Postpones the pair."""
        self._press(nonce, "ask", lambda: self._send("skipped"))

    def cannot(self, nonce: str) -> None:
        """Switches between asking for the grade and asking why the pair cannot be judged."""
        if nonce == self.nonce and self.stage in ("ask", "reasons"):
            self.stage = "reasons" if self.stage == "ask" else "ask"
            self.notice = None

    def because(self, nonce: str, reason: str) -> None:
        """Answers that the pair cannot be judged, for one of ``answer.REASONS``."""
        if reason == "other" and not self.note.strip():
            self.noting = True
            self.notice = Notice("note_needed")
            return
        self._press(nonce, "reasons", lambda: self._send("unsure", reason=reason))

    def go_on(self, nonce: str) -> None:
        """Goes on to the next pair, from an explanation, a reveal or the end."""
        if nonce == self.nonce and self.stage in ("practice", "reveal", "end"):
            self.notice = None
            self.stage = "begin"

    def undo(self, nonce: str) -> None:
        """Retracts the last answer and shows its pair again."""
        if nonce == self.nonce and self.stage != "pending":
            self.notice = None
            self._caught(lambda: self._take_back(nonce))

    def retry(self) -> bool:
        """Sends the pending answer once more, with the same nonce; returns whether it is settled now."""
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
        """Runs ``act`` and turns its errors into notices: a press is handled before the page is drawn, where nothing
        would catch them."""
        try:
            act()
        except ConflictError as error:
            self.notice = Notice(f"conflict_{error.reason}", kind="warning")
            self.stage = "begin"
        except StoreError:
            self.notice = Notice("try_again", kind="warning")
        except SignedOutError as error:
            # No part of the pair may stay on the page.
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
        """Starts a new question; presses for the previous one no longer count."""
        self.nonce = secrets.token_hex(16)
        self.note, self.noting = "", False
        self._shown = self._now()
        self._clock = Clock(self._shown, self._session.config.annotation.idle)
