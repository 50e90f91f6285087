"""What the steps refuse, and what the database cannot do, said in words in place of the page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from annotator_app import context, html
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import StoreError

AGAIN = 3.0
"""Seconds until a page whose database is out of reach tries again."""

_WAITED = "waited"
_LOGGER = logging.getLogger("annotator_app")


@contextmanager
def guarded() -> Iterator[None]:
    """Turns an error of a step into a sentence. For the body of a page, and of each fragment in it: a
    fragment reruns alone."""
    try:
        yield
    except SignedOutError:
        signed_out()
    except ForbiddenError:
        notice(context.say("app.forbidden"))
    except StoreError as error:
        unreachable(error)
    except QuatiPoolError as error:
        notice(str(error))


def notice(text: str, kind: str = "warning") -> None:
    """A sentence in a box of its own, announced by screen readers; ``kind`` is warning, good or info."""
    html.draw(html.fill('<p class="notice {kind}" role="status">{text}</p>', kind=kind, text=text))


def signed_out() -> None:
    """Says that the sign-in has ended, with the way back in."""
    html.draw(
        html.fill(
            '<div class="card signed-out"><p role="alert">{said}</p>'
            '<p><a class="go" href="/sign-in">{link}</a></p></div>',
            said=context.say("app.signed_out"),
            link=context.say("app.sign_in"),
        )
    )


def unreachable(error: StoreError) -> None:
    """Says that the database is out of reach, and runs the page again every few seconds until it is there."""
    notice(context.say("app.unreachable"))
    # Only for the server's log: where the database is, is nobody else's business.
    _LOGGER.warning("%s", error)
    st.session_state[_WAITED] = False
    _again()


@st.fragment(run_every=AGAIN)
def _again() -> None:
    if st.session_state.get(_WAITED):
        st.rerun()
    st.session_state[_WAITED] = True
