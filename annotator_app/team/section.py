"""What the sections of the team page share: headings, tables, and presses that are done once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html
from annotator_app.figures_table import figures_table
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.annotate.team import PastedRowsError
from quati_pool.errors import QuatiPoolError, TranslatableError, message_of
from quati_pool.store.errors import ConflictError, StoreError

Said = tuple[str, str]
"""A sentence for the page, and the kind of its notice."""

SAID = "team.said"
_DONE = "team.done"
_LOGGER = logging.getLogger("annotator_app")


def _say(key: str, **values: object) -> str:
    return context.say(f"team.{key}", **values)


def asked() -> tuple[AnnotationSession, str]:
    return context.session(), context.token()


def heading(name: str) -> None:
    """The heading of a section, and what its last press did."""
    html.draw(html.fill('<h2 class="section">{title}</h2>', title=_say(f"title.{name}")))
    said = st.session_state.pop(f"{SAID}.{name}", None)
    if said is not None:
        error_notices.notice(*said)


def press(section: str, which: Hashable, step: Callable[[], Said | None]) -> None:
    """Does the step of a press once, however often its button was pressed, and says under the section's heading how it
    went: what the step returns, or why it was refused. A refused step may be tried again."""
    state = st.session_state
    done = state.setdefault(_DONE, {})
    if which not in done:
        try:
            done[which] = step()
        except (SignedOutError, ForbiddenError):
            # The page reports this itself when it is drawn next.
            return
        except QuatiPoolError as error:
            state[f"{SAID}.{section}"] = (refusal(error), "warning")
            return
    state[f"{SAID}.{section}"] = done[which]


def is_done(which: Hashable) -> bool:
    """Whether a press of this tab did its step."""
    return which in st.session_state.get(_DONE, {})


def refusal(error: QuatiPoolError) -> str:
    """What the page says about an error."""
    if isinstance(error, PastedRowsError) and error.line is not None:
        return _say("line", line=str(error.line), problem=context.translated(error.problem))
    if isinstance(error, TranslatableError) and error.reason is not None:
        values = {
            name: html.one_line(value) if isinstance(value, str) else value for name, value in error.values.items()
        }
        return _say(f"refused.{error.reason}", **values)
    if isinstance(error, ConflictError):
        return _say("refused.changed")
    if isinstance(error, StoreError):
        # Only in the server's log: it may say where the database is.
        _LOGGER.warning("%s", error)
        return _say("refused.not_stored")
    return _say("refused.other", why=context.translated(message_of(error)))


def table(columns: Sequence[str], rows: Sequence[Sequence[Markup | str]], words: int, note: str = "") -> None:
    html.draw(figures_table([_say(f"column.{name}") for name in columns], rows, words, note=note))
