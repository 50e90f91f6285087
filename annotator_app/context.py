"""What every page needs to know: the desk of this process, who is here, and the words of their language.

A page says ``from annotator_app import context`` and calls ``context.say("review.title")``; it passes
``context.desk()`` and ``context.token()`` to the steps, which check the session and the role.
"""

from __future__ import annotations

import streamlit as st

from annotator_app import words
from quati_pool.commands.annotate.session import Desk, Person

COOKIE = "quati_pool_session"
"""The name of the cookie that holds a session's token; no script can read it."""

_PERSON = "person"
_desk: Desk | None = None


def use(desk: Desk | None) -> None:
    """Sets the desk of this process; the server does so before it serves, and None as it ends."""
    global _desk
    _desk = desk


def desk() -> Desk:
    """The opened workspace and its label store, one for all threads."""
    if _desk is None:
        raise RuntimeError("the app has no desk: start it with  quati-pool annotate")
    return _desk


def token() -> str:
    """The session's token as the browser's handshake brought it; '' where it brought none."""
    return st.context.cookies.get(COOKIE) or ""


def enter() -> Person:
    """Whose session this is, asked of the database; every full run of the script begins with it.

    Raises SignedOutError where there is none that is valid now.
    """
    st.session_state.pop(_PERSON, None)
    found = desk().person(token())
    st.session_state[_PERSON] = found
    return found


def person() -> Person:
    """Whose session this is, as ``enter`` found it. For drawing only: steps ask again."""
    found = st.session_state[_PERSON]
    assert isinstance(found, Person)
    return found


def language() -> str:
    """The person's language (pt, en or es), else the workspace's, else the browser's, else English."""
    if _PERSON in st.session_state and (chosen := person().language) in words.LANGUAGES:
        return chosen
    return desk().config.annotation.language or words.best([st.context.locale or ""])


def say(key: str, **values: object) -> str:
    """The message ``key`` in this person's language, with ``{name}`` filled from ``values``; a message of
    two forms (``one``, ``other``) is chosen by ``count``. Plain text: it goes through ``html`` like any other."""
    return words.message(language(), key, **values)


def number(value: float | None, digits: int = 0) -> str:
    """A number as this language writes it; "–" for one that is not defined."""
    return words.number(language(), value, digits)
