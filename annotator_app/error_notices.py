"""Messages shown in place of the page when a command refuses a request or the database is unreachable."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from markupsafe import Markup

from annotator_app import context, html
from annotator_app.words import Voice
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import StoreError

AGAIN = 3.0
"""Seconds until a page whose database is unreachable tries again."""

_WAITED = "waited"
_LOGGER = logging.getLogger("annotator_app")


@contextmanager
def guarded() -> Iterator[None]:
    """Turns an error of a command into a message. For the body of a page and of each fragment in it, because a
    fragment reruns on its own."""
    try:
        yield
    except SignedOutError:
        html.draw(signed_out_card(Voice(context.language())))
    except ForbiddenError:
        notice(context.say("app.forbidden"))
    except StoreError as error:
        unreachable(error)
    except QuatiPoolError as error:
        notice(str(error))


def notice(text: str, kind: str = "warning") -> None:
    """Draws a ``notice_box``."""
    html.draw(notice_box(text, kind))


def notice_box(text: str, kind: str = "warning") -> Markup:
    """A message in a separate box, announced by screen readers; ``kind`` is warning, good or info."""
    return html.fill('<p class="notice {kind}" role="status">{text}</p>', kind=kind, text=text)


def signed_out_card(voice: Voice) -> Markup:
    """Says that the sign-in has ended, with a link to the sign-in page."""
    return html.fill(
        '<div class="card signed-out"><p role="alert">{said}</p><p><a class="go" href="/sign-in">{link}</a></p></div>',
        said=voice.say("app.signed_out"),
        link=voice.say("app.sign_in"),
    )


def unreachable(error: StoreError) -> None:
    """Says that the database is unreachable, and reruns the page every few seconds until it is reachable."""
    notice(context.say("app.unreachable"))
    # Only in the server's log: users should not see where the database is.
    _LOGGER.warning("%s", error)
    st.session_state[_WAITED] = False
    _again()


@st.fragment(run_every=AGAIN)
def _again() -> None:
    if st.session_state.get(_WAITED):
        st.rerun()
    st.session_state[_WAITED] = True
