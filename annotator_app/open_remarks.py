"""What people asked about pairs and no lead has answered yet, for the review page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html
from quati_pool.annotation.codes import new_token
from quati_pool.commands.annotate import remarks
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.remarks import Conversation, Message
from quati_pool.store.errors import ConflictError, StoreError

_SAID = "remarks.said"
_NONCES = "remarks.nonces"


@st.fragment
def section() -> None:
    """A folded list of the questions that wait for an answer; nothing if there are none. Only for leads."""
    with error_notices.guarded():
        waiting = remarks.open_remarks(context.session(), context.token())
        said = st.session_state.pop(_SAID, None)
        if said is not None:
            error_notices.notice(*said)
        if waiting:
            with st.expander(_say("title", count=len(waiting)), key="questions-from-people"):
                for one in waiting:
                    _conversation(one)


def _say(key: str, **values: object) -> str:
    return context.say(f"review.remarks.{key}", **values)


def _conversation(one: Conversation) -> None:
    # A new remark makes another conversation of it, whose answer is yet to be written.
    key = f"remark-{one.last_seq}"
    with st.container(key=key, border=True):
        html.draw(
            html.fill(
                '<section class="pair asked-about"><h3 class="query unfolded">{query}</h3>'
                '<p class="quiet">{query_id} · {doc_id}</p>{text}{messages}</section>',
                query=html.text(one.query or ""),
                query_id=html.text(one.query_id),
                doc_id=html.text(one.doc_id),
                text=html.fill('<p class="quiet">{gone}</p>', gone=context.say("review.conflict_gone"))
                if one.text is None
                else html.passage(one.text),
                messages=html.join([_message(message) for message in one.messages]),
            )
        )
        st.text_area(_say("answer"), key=f"{key}-answer", height=68, max_chars=remarks.LONGEST_REMARK)
        with st.container(horizontal=True):
            st.button(_say("send"), key=f"{key}-send", type="primary", on_click=_answer, args=(one, key))
            st.button(_say("close"), key=f"{key}-close", type="tertiary", on_click=_close, args=(one, key))


def _message(message: Message) -> Markup:
    return html.fill(
        '<div class="message"><b>{by}</b> <span class="quiet">{when}</span>{text}</div>',
        by=html.text(message.by or ""),
        when=message.created_at.strftime("%Y-%m-%d %H:%M UTC"),
        text=html.passage(message.text, kind="note"),
    )


def _answer(one: Conversation, key: str) -> None:
    text = str(st.session_state.get(f"{key}-answer") or "").strip()
    pair = one.thread, one.query_id, one.doc_id
    _tried(
        lambda: remarks.answer_remark(context.session(), context.token(), *pair, text, _nonce(key, text)), "answered"
    )


def _close(one: Conversation, key: str) -> None:
    pair = one.thread, one.query_id, one.doc_id
    _tried(
        lambda: remarks.close(context.session(), context.token(), *pair, one.last_seq, _nonce(key, "close")), "closed"
    )


def _tried(step: Callable[[], object], done: str) -> None:
    """Does it, and says how it went; what was typed stays if it failed."""
    try:
        step()
        said = (_say(done), "good")
    except (SignedOutError, ForbiddenError):
        # The page reports this itself when it is drawn next.
        return
    except ConflictError:
        said = (_say("changed"), "warning")
    except AnswerError as error:
        said = (_say("empty") if error.reason == "remark_empty" else str(error), "warning")
    except StoreError:
        said = (context.say("review.not_stored"), "warning")
    st.session_state[_SAID] = said


def _nonce(key: str, text: str) -> str:
    """One nonce per text, so that a press that is sent twice is written once."""
    nonces = st.session_state.setdefault(_NONCES, {})
    found: str = nonces.setdefault((key, text), new_token())
    return found
