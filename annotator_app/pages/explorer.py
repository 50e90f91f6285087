"""The page that leads to the explorer, once it is written; drawing does not wait for that."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html, theme
from annotator_app.explorer import address, explorer
from quati_pool.commands.annotate.review.background import Latest
from quati_pool.commands.annotate.review.blinding import blinded
from quati_pool.reporting.explorer.snapshot import Snapshot

_AGAIN = 5.0
_FRESH = 60.0
# Long enough for the explorer of a small pool, so that its link is there at once.
_PATIENCE = 2.0
_NOW = "explorer.now"


def page() -> None:
    style, title = Markup(theme.asset("lead.css")), context.say("app.explorer")
    html.draw(html.fill('<style>{style}</style><h1 class="page">{title}</h1>', style=style, title=title))
    explorer(context.session(), context.token(), _PATIENCE, older=_FRESH)
    _state(len(blinded(context.session(), context.token())))


@st.fragment(run_every=_AGAIN)
def _state(hidden: int) -> None:
    """Draws the link, and how many pairs are ``hidden``, which is not counted at each run."""
    with error_notices.guarded():
        older = 0.0 if st.session_state.pop(_NOW, False) else float("inf")
        latest = explorer(context.session(), context.token(), older=older)
        if latest.problem is not None:
            error_notices.notice(_say("failed", problem=context.translated(latest.problem)))
        if latest.value is not None:
            _link(latest.value, hidden)
        _made(latest)


def _say(key: str, **values: object) -> str:
    return context.say(f"explorer.{key}", **values)


def _link(written: Snapshot, hidden: int) -> None:
    what = _say("what", queries=context.number(len(written.query_ids)), pairs=context.number(len(written.pairs)))
    link = html.fill('<a class="go" href="{address}" target="_blank">{open}</a>', address=address(), open=_say("open"))
    shut = _say("hidden", count=hidden) if hidden else _say("nothing_hidden")
    html.draw(html.fill('<p>{what}</p><p>{link}</p><p class="quiet">{shut}</p>', what=what, link=link, shut=shut))


def _made(latest: Latest[Snapshot]) -> None:
    """Draws when the explorer was written, and whether a new one is being written."""
    with st.container(horizontal=True, vertical_alignment="center", key="made"):
        written = latest.value
        if written is not None:
            ago = max(int((datetime.now(UTC) - written.computed_at).total_seconds()), 0)
            said = _say("made", at=f"{written.computed_at:%Y-%m-%d %H:%M:%S}", count=ago)
        else:
            said = "" if latest.problem else _say("first")
        running = _say("running") if latest.running and written is not None else ""
        html.draw(html.fill('<p class="quiet">{said} {running}</p>', said=said, running=running))
        st.button(_say("again"), key=_NOW, disabled=latest.running)
