"""The context of every page: the annotation session of this process, the person and their language.

A page uses ``from annotator_app import context`` and calls ``context.say("review.title")``; it passes
``context.session()`` and ``context.token()`` to the commands, which check the sign-in and the role.
"""

from __future__ import annotations

import streamlit as st

from annotator_app import words
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.errors import TranslatableText

COOKIE = "quati_pool_session"
"""The name of the cookie with the token of a sign-in; scripts cannot read it."""

NEW_CODE = "new-code"
"""The key in the session state of a new access code, while it is on the team page."""

_PERSON = "person"
_session: AnnotationSession | None = None


def use(session: AnnotationSession | None) -> None:
    """Sets the annotation session of this process; the server sets it before serving, and to None when it ends."""
    global _session
    _session = session


def session() -> AnnotationSession:
    """The opened workspace and its label store, one for all threads."""
    if _session is None:
        raise RuntimeError("the app has no session: start it with  quati-pool annotate")
    return _session


def token() -> str:
    """The sign-in's token from the browser's handshake; '' if there was none."""
    return st.context.cookies.get(COOKIE) or ""


def enter() -> Person:
    """The person who is signed in, read from the database; every full run of the script starts with this call.

    Raises SignedOutError if there is no valid sign-in.
    """
    st.session_state.pop(_PERSON, None)
    found = session().person(token())
    st.session_state[_PERSON] = found
    return found


def person() -> Person:
    """The person who is signed in, as found by ``enter``. For drawing only: the commands check again."""
    found = st.session_state[_PERSON]
    assert isinstance(found, Person)
    return found


def language() -> str:
    """The person's language (pt, en or es), else the workspace's, else the browser's, else English."""
    preferred = person().language if _PERSON in st.session_state else session().config.annotation.language
    return words.voice(preferred, st.context.headers.get("Accept-Language", "")).language


def say(key: str, **values: object) -> str:
    """The message ``key`` in this person's language, with ``{name}`` filled from ``values``; for a message with two
    forms (``one``, ``other``), ``count`` chooses the form. Plain text: use ``html`` to put it on the page."""
    return words.message(language(), key, **values)


def translated(text: str) -> str:
    """What a command said, in this person's language; unchanged where it is not translatable, as a name is not, or an
    error in a file."""
    if not isinstance(text, TranslatableText):
        return text
    values = {name: translated(one) if isinstance(one, str) else one for name, one in text.values.items()}
    return say(f"commands.{text.keyword}", **values)


def number(value: float | None, digits: int = 0) -> str:
    """A number in this person's language; "–" if it is not defined."""
    return words.number(language(), value, digits)
