"""The errors of a call, classified in one place: temporary, failing this call, or ending the run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from quati_pool.errors import QuatiPoolError

Kind = Literal["transport", "timeout", "server", "protocol", "rejected", "content_filter"]

WORDS = 300
"""The most characters of a server's message that we repeat."""


class CallError(Exception):
    """This call failed for good; others may still succeed.

    ``words`` is one line, the server's own message if there is one. ``kind`` is ``transport`` (no connection, or
    one that broke), ``timeout``, ``server`` (408, 409, 429, 5xx after all retries), ``protocol`` (an answer that is
    not what the API promises), ``rejected`` (the server refuses this request) or ``content_filter``.
    ``retries`` and ``seconds`` cover the whole call, waits included.
    """

    def __init__(
        self, words: str, kind: Kind, status: int | None = None, retries: int = 0, seconds: float = 0.0
    ) -> None:
        self.words = words
        self.kind: Kind = kind
        self.status = status
        self.retries = retries
        self.seconds = seconds
        super().__init__(words)


class FatalError(QuatiPoolError):
    """No call can succeed: no or a wrong key, an unknown model, no money. Ends the run; never shows the key."""


class ServerDown(QuatiPoolError):  # noqa: N818 - it names a state, as the message does
    """The server does not answer, or not as an OpenAI-compatible server would."""


class Stopped(Exception):  # noqa: N818 - no error: the caller asked for it
    """``Client.stop`` was called before this call had an answer; its outcome is unknown."""


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818 - the end of one attempt, not yet an error of the call
    """Why one attempt failed. ``passing``: another attempt may succeed; ``after``: seconds to wait before it;
    ``limited``: the server reported a rate limit; ``fatal``: no other call can succeed either; ``moved_to``: the
    address that the server redirects to."""

    words: str
    kind: Kind
    status: int | None = None
    passing: bool = False
    limited: bool = False
    fatal: bool = False
    after: float | None = None
    code: str = ""
    param: str = ""
    retries: int = 0
    moved_to: str = ""

    @property
    def about_model(self) -> bool:
        """Whether the server says that it does not have the model."""
        return self.code.lower() in _MODEL or _NO_MODEL.search(self.words) is not None


_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
_MODEL = {"model_not_found", "deploymentnotfound", "invalid_model"}
_FILTER = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt"}
_NO_MODEL = re.compile(r"invalid model|unknown model|model\b.{0,200}\b(not found|does not exist|not exist)", re.I)


def of_status(status: int, headers: Mapping[str, str], body: Any, key: str = "") -> Fault:
    """The fault for an HTTP status other than 2xx; ``body`` is parsed JSON or text."""
    error = _error_in(body)
    words = one_line(_message_in(error), key) or f"status {status}"
    codes = _codes_in(error)

    def fault(kind: Kind, *, passing: bool = False, limited: bool = False, fatal: bool = False) -> Fault:
        after = retry_after(headers) if passing else None
        code, param = _said(error.get("code")), _said(error.get("param"))
        return Fault(words, kind, status, passing, limited, fatal, after, code, param)

    if codes & _FILTER or (status == 403 and re.search(r"moderation|flagged", words, re.I)):
        return fault("content_filter")
    if codes & _MONEY or codes & _MODEL or status in (401, 402, 403, 404):
        return fault("rejected", fatal=True)
    if status in (400, 422) and _NO_MODEL.search(words):
        return fault("rejected", fatal=True)
    if status in (429, 529) or (status == 503 and retry_after(headers) is not None):
        return fault("server", passing=True, limited=True)
    if status in (408, 409, 425) or (status >= 500 and status not in (501, 505)):
        return fault("server", passing=True)
    return fault("rejected")


def _error_in(body: Any) -> Mapping[str, Any]:
    """The error object in the body of an answer, whose place and form differ by server."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    return error if isinstance(error, Mapping) else {"message": error}


def _message_in(error: Mapping[str, Any]) -> Any:
    message = error.get("message")
    return message if isinstance(message, str) else error.get("detail") or message


def _codes_in(error: Mapping[str, Any]) -> set[str]:
    codes = [error.get("code"), error.get("type")]
    inner = error.get("innererror")
    if isinstance(inner, Mapping):
        codes.append(inner.get("code"))
    return {_said(code).lower() for code in codes}


def remedy(fault: Fault, endpoint: str, model: str, variable: str | None) -> str:
    """One line about a fatal fault: the server's message and what to do."""
    code = fault.code.lower()
    if fault.status == 402 or code in _MONEY or "insufficient_quota" in fault.words:
        return f"{endpoint} says that there is no money or quota left ({fault.words}); add some, then run again"
    if fault.status in (401, 403) and code not in _MODEL:
        which = f"the key in {variable}" if variable else "a call without a key"
        return f"{endpoint} refuses {which} ({fault.words}); set {variable or 'api_key_env'} to a key of that server"
    return (
        f"{endpoint} does not serve the model {model!r} ({fault.words}); check the model's name and base_url "
        "(which usually ends in /v1)"
    )


def one_line(words: Any, key: str = "", most: int = WORDS) -> str:
    """Text as one line of at most ``most`` characters, without the key or parts of it, since servers often quote
    keys. Invisible characters and those that control a terminal are escaped."""
    text = masked(" ".join(_said(words).split()), [key] if len(key) >= 8 else [])
    text = text[: most + 1]
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _said(value: Any) -> str:
    """A value from a server as text, of any type; empty if it is None."""
    try:
        return "" if value is None else str(value)
    except (RecursionError, ValueError):
        return "(a value that cannot be shown)"


def masked(words: str, secrets: Collection[str]) -> str:
    """A line with each word that quotes one of ``secrets``, or part of one, replaced by ``(key)``."""
    if not secrets:
        return words
    return " ".join("(key)" if any(_quotes(word, one) for one in secrets) else word for word in words.split(" "))


def _quotes(word: str, key: str) -> bool:
    bare = word.strip(".,;:'\"()[]{}")
    if key in word or "***" in word:
        return True
    return len(bare) >= 6 and (bare.startswith(key[:6]) or bare.endswith(key[-6:]))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asks to wait, or None.

    A date is taken relative to the Date header of the same answer, so that clock differences do not matter.
    """
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and (found := _number(milliseconds)) is not None:
        return found / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    if (found := _number(value)) is not None:
        return found
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(headers["date"])
        return max(0.0, (until - now).total_seconds())
    except (KeyError, TypeError, ValueError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
