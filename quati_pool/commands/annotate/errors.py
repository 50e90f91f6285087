"""What people are refused: each kind so that a page can tell it from the others."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class SignedOutError(QuatiPoolError):
    """No valid sign-in: no token, an ended one, or one of a person whose code was revoked."""

    def __init__(self) -> None:
        super().__init__("there is no session, or it has ended; sign in with your access code")


class ForbiddenError(QuatiPoolError):
    """Something that this person may not see or do."""


class AnswerError(QuatiPoolError):
    """An answer, or a setting, that no page of ours sends: nothing was written."""


class WrongCodeError(QuatiPoolError):
    """A code that opens nothing, or one typed too soon; ``wait`` is in seconds, 0 for "try again now"."""

    def __init__(self, wait: float) -> None:
        self.wait = wait
        then = f"wait {wait:.0f} seconds and type it again" if wait >= 1 else "type it again"
        super().__init__(f"the access code is not right; {then}")
