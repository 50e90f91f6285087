"""What every page needs to know: the annotation session of this process, the person and their language.

A page says ``from annotator_app import context`` and calls ``context.say("review.title")``; it passes
``context.session()`` and ``context.token()`` to the steps, which check the sign-in and the role.
"""

from __future__ import annotations

import streamlit as st

from annotator_app import words
from quati_pool.commands.annotate.session import AnnotationSession, Person

COOKIE = "quati_pool_session"
"""The name of the cookie that holds a sign-in's token; no script can read it."""

_PERSON = "person"
_session: AnnotationSession | None = None


def use(session: AnnotationSession | None) -> None:
    """Sets the annotation session of this process; the server does so before it serves, and None as it ends."""
    global _session
    _session = session


def session() -> AnnotationSession:
    """The opened workspace and its label store, one for all threads."""
    if _session is None:
        raise RuntimeError("the app has no session: start it with  quati-pool annotate")
    return _session


def token() -> str:
    """The sign-in's token as the browser's handshake brought it; '' where it brought none."""
    return st.context.cookies.get(COOKIE) or ""


def enter() -> Person:
    """The person who is signed in, asked of the database; every full run of the script begins with it.

    Raises SignedOutError where there is none that is valid now.
    """
    st.session_state.pop(_PERSON, None)
    found = session().person(token())
    st.session_state[_PERSON] = found
    return found


def person() -> Person:
    """The person who is signed in, as ``enter`` found it. For drawing only: steps ask again."""
    found = st.session_state[_PERSON]
    assert isinstance(found, Person)
    return found


def language() -> str:
    """The person's language (pt, en or es), else the workspace's, else the browser's, else English."""
    if _PERSON in st.session_state and (chosen := person().language) in words.LANGUAGES:
        return chosen
    return session().config.annotation.language or words.best([st.context.locale or ""])


def say(key: str, **values: object) -> str:
    """The message ``key`` in this person's language, with ``{name}`` filled from ``values``; a message of
    two forms (``one``, ``other``) is chosen by ``count``. Plain text: it goes through ``html`` like any other."""
    return words.message(language(), key, **values)


def number(value: float | None, digits: int = 0) -> str:
    """A number as this language writes it; "–" for one that is not defined."""
    return words.number(language(), value, digits)
