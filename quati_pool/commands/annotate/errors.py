"""Errors for requests that are refused, one class per kind so that a page can distinguish them."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError, TranslatableError


class SignedOutError(QuatiPoolError):
    """There is no valid sign-in: no token, an expired one, or one of a person whose code was revoked."""

    def __init__(self) -> None:
        super().__init__("there is no session, or it has ended; sign in with your access code")


class ForbiddenError(QuatiPoolError):
    """This person may not see or do this."""


class AnswerError(TranslatableError):
    """An invalid answer or setting; nothing was written. ``reason`` is there for a rule that a person can break, and
    None if only a faulty page sends this."""


class WrongCodeError(QuatiPoolError):
    """A wrong code, or one typed too soon; ``wait`` is in seconds, 0 for "try again now"."""

    def __init__(self, wait: float) -> None:
        self.wait = wait
        then = f"wait {wait:.0f} seconds and type it again" if wait >= 1 else "type it again"
        super().__init__(f"the access code is not right; {then}")
