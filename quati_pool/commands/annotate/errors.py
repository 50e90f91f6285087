"""Errors for requests that are refused, one class per kind so that a page can distinguish them."""

from __future__ import annotations

from quati_pool.errors import QuatiPoolError


class SignedOutError(QuatiPoolError):
    """There is no valid sign-in: no token, an expired one, or one of a person whose code was revoked."""

    def __init__(self) -> None:
        super().__init__("there is no session, or it has ended; sign in with your access code")


class ForbiddenError(QuatiPoolError):
    """This person may not see or do this."""


class AnswerError(QuatiPoolError):
    """An invalid answer or setting; nothing was written. ``reason`` is a keyword for a rule that a person can break,
    from which a page can build a translated message, with ``values`` filled in; None if only a faulty page sends
    this."""

    def __init__(self, message: str, reason: str | None = None, **values: object) -> None:
        self.reason = reason
        self.values = values
        super().__init__(message)


class WrongCodeError(QuatiPoolError):
    """A wrong code, or one typed too soon; ``wait`` is in seconds, 0 for "try again now"."""

    def __init__(self, wait: float) -> None:
        self.wait = wait
        then = f"wait {wait:.0f} seconds and type it again" if wait >= 1 else "type it again"
        super().__init__(f"the access code is not right; {then}")
