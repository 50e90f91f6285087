"""The page where people grade: a query, one passage, and the scale. A button press reruns only this page's fragment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html
from annotator_app.grading import Grading
from quati_pool.annotation.highlight import highlights
from quati_pool.commands.annotate.access import set_preference
from quati_pool.commands.annotate.grading.answer import LONGEST_NOTE, REASONS, Answer
from quati_pool.commands.annotate.grading.item import SimilarPassage
from quati_pool.commands.annotate.session import GradeMeaning
from quati_pool.store.errors import StoreError

_STATE = "grading"
_RETRY = 2.0
_START = 90


def page() -> None:
    _session()


@st.fragment
def _session() -> None:
    with error_notices.guarded():
        grading = _grading()
        grading.draw()
        left, right = st.columns([0.68, 0.32], gap="large")
        with left:
            _progress(grading)
            _notice(grading)
            if grading.stage == "end":
                _end(grading)
                return
            _pair(grading)
            with st.container(key="bar"):
                _bar(grading)
        with right:
            html.draw(_scale("wide"))


def _grading() -> Grading:
    """The grading state of this browser tab; a different sign-in starts over."""
    found = st.session_state.get(_STATE)
    if not isinstance(found, Grading) or found.token != context.token():
        found = Grading(context.session(), context.token(), bool(context.person().settings.get("highlight")))
        st.session_state[_STATE] = found
    return found


def _say(key: str, **values: object) -> str:
    return context.say(f"annotate.{key}", **values)


# What is seen


def _progress(grading: Grading) -> None:
    item = grading.item
    if item is not None and item.kind == "training":
        html.draw(
            html.fill(
                '<p class="progress"><span class="badge">{practice}</span> {hint}</p>',
                practice=_say("practice"),
                hint=_say("practice_hint"),
            )
        )
        return
    done = grading.progress()
    if done is None:
        return
    parts = []
    if item is not None and done.query_total:
        parts.append(_measure(_say("this_query"), done.query_done, done.query_total))
    parts.append(_measure(_say("all"), done.done, done.total))
    if grading.last is not None and grading.stage in ("ask", "reasons"):
        stored = _say("stored", grade=_answer_name(grading.last))
        parts.append(html.fill('<span class="quiet stored" role="status">{text}</span>', text=stored))
    if done.skipped:
        parts.append(html.fill('<span class="quiet">{text}</span>', text=_say("put_off", count=done.skipped)))
    html.draw(html.fill('<div class="progress">{parts}</div>', parts=html.join(parts)))


def _measure(name: str, done: int, total: int | None) -> Markup:
    figure = context.number(done) if total is None else f"{context.number(done)} / {context.number(total)}"
    bar = (
        Markup("")
        if not total
        else html.fill(
            '<progress max="{total}" value="{done}" aria-label="{name}"></progress>', total=total, done=done, name=name
        )
    )
    return html.fill('<span class="measure">{name} <b>{figure}</b>{bar}</span>', name=name, figure=figure, bar=bar)


def _notice(grading: Grading) -> None:
    if grading.stage == "pending":
        _pending(grading)
    elif grading.notice is not None:
        notice = grading.notice
        error_notices.notice(notice.text or _say(notice.key), notice.kind)


def _pair(grading: Grading) -> None:
    item = grading.item
    assert item is not None
    if grading.stage == "practice":
        _practice(grading)
    elif grading.stage == "reveal":
        _reveal(grading)
    session = context.session()
    language = None if session.prompt is None else session.prompt.language.split("-")[0].lower()
    spans = highlights(item.query, item.text, language) if grading.highlight else ()
    narrative = html.passage(item.narrative, kind="narrative") if item.narrative else Markup("")
    html.draw(
        html.fill(
            '<section class="pair" data-item="{nonce}"{spoken}><h1 class="query">{query}</h1>'
            "{narrative}{similar}{text}</section>",
            nonce=grading.nonce,
            # The interface may be in another language: screen readers need to know each.
            spoken=html.fill(' lang="{language}"', language=session.prompt.language) if session.prompt else Markup(""),
            query=html.text(item.query),
            narrative=narrative,
            similar=html.join([_similar(passage) for passage in item.similar]),
            text=html.passage(item.text, spans),
        )
    )


def _similar(passage: SimilarPassage) -> Markup:
    start = passage.text_start[:_START] + ("…" if len(passage.text_start) > _START else "")
    values = {"share": context.number(100 * passage.similarity), "grade": _grade_name(passage.grade)}
    said = _say("twin_open" if passage.grade is None else "twin", **values)
    return html.fill('<p class="twin">{said} <q>{start}</q></p>', said=said, start=html.text(start))


def _practice(grading: Grading) -> None:
    assert grading.outcome is not None
    assert grading.answer is not None
    feedback = grading.outcome.feedback
    assert feedback is not None
    right = grading.answer.relevance == feedback.relevance
    html.draw(
        html.fill(
            '<div class="card feedback {kind}" role="status"><p><b>{verdict}</b> {known}</p>{why}</div>',
            kind="good" if right else "warning",
            verdict=_say("practice_right" if right else "practice_other", grade=_answer_name(grading.answer)),
            known=_say("practice_known", grade=_grade_name(feedback.relevance)),
            why=html.passage(feedback.explanation, kind="why") if feedback.explanation else Markup(""),
        )
    )


def _reveal(grading: Grading) -> None:
    assert grading.outcome is not None
    assert grading.last is not None
    reveal = grading.outcome.reveal
    assert reveal is not None
    html.draw(
        html.fill(
            '<div class="card feedback" role="status"><p>{own}</p><p><b>{judge}</b></p>{why}'
            '<p class="quiet">{again}</p></div>',
            own=_say("reveal_own", grade=_answer_name(grading.last)),
            judge=_say("reveal_judge", name=reveal.name, grade=_grade_name(reveal.grade)),
            why=html.passage(reveal.reasoning, kind="why") if reveal.reasoning else Markup(""),
            again=_say("reveal_again"),
        )
    )


def _scale(kind: str) -> Markup:
    """The meanings of the grades, with the examples expanded (wide) or collapsed (narrow)."""
    meanings = html.join([_meaning(meaning, kind == "wide") for meaning in context.session().scale])
    if kind == "wide":
        return html.fill(
            '<aside class="scale wide" aria-label="{title}"><h2>{title}</h2>{meanings}</aside>',
            title=_say("scale"),
            meanings=meanings,
        )
    return html.fill(
        '<details class="scale narrow" open><summary>{title}</summary>{meanings}</details>',
        title=_say("scale"),
        meanings=meanings,
    )


def _meaning(meaning: GradeMeaning, opened: bool) -> Markup:
    example = Markup("")
    if meaning.example is not None:
        reasoning = Markup("")
        if meaning.example.reasoning is not None:
            reasoning = html.fill(
                "<details><summary>{why}</summary><p>{reasoning}</p></details>",
                why=_say("example_why"),
                reasoning=html.text(meaning.example.reasoning),
            )
        example = html.fill(
            '<p class="asked">{title} {query}</p>{passage}{reasoning}',
            title=html.fill('<span class="quiet">{title}:</span>', title=_say("example")) if opened else Markup(""),
            query=html.text(meaning.example.query),
            passage=html.passage(meaning.example.passage, kind="shown"),
            reasoning=reasoning,
        )
        example = (
            html.fill('<div class="example">{example}</div>', example=example)
            if opened
            else html.fill(
                '<details class="example"><summary>{title}</summary>{example}</details>',
                title=_say("example"),
                example=example,
            )
        )
    return html.fill(
        '<div class="meaning{explained}"><h3><kbd>{grade}</kbd> {name}</h3>{meaning}{example}</div>',
        explained=" explained" if meaning.meaning else "",
        grade=meaning.grade,
        name=html.text(meaning.name),
        meaning=html.fill("<p>{text}</p>", text=html.text(meaning.meaning)) if meaning.meaning else Markup(""),
        example=example,
    )


def _grade_name(grade: int | None) -> str:
    name = next((meaning.name for meaning in context.session().scale if meaning.grade == grade), None)
    return "–" if grade is None else f"{grade} {name}" if name else str(grade)


def _answer_name(answer: Answer) -> str:
    if answer.status == "ok":
        return _grade_name(answer.relevance)
    return _say(f"reason.{answer.reason}") if answer.status == "unsure" else _say("later")


# What is pressed


def _bar(grading: Grading) -> None:
    if grading.stage == "pending":
        return
    if grading.stage == "practice":
        _button(grading, "go_on", "g", _say("go_on"), Grading.go_on, kind="primary")
        return
    if grading.noting:
        _note(grading)
    if grading.stage == "reasons":
        html.draw(html.fill('<p class="quiet">{why}</p>', why=_say("why")))
        with st.container(key="grades", horizontal=True):
            for place, reason in enumerate(REASONS, 1):
                _button(grading, reason, str(place), _say(f"reason.{reason}"), Grading.because, reason)
    else:
        if not grading.noting:
            html.draw(_scale("narrow"))
        with st.container(key="grades", horizontal=True):
            for meaning in context.session().scale:
                shortcut = str(meaning.grade) if 0 <= meaning.grade <= 9 else None
                name = f"{meaning.grade} {meaning.name}" if shortcut is None else meaning.name
                _button(grading, f"grade-{meaning.grade}", shortcut, name, Grading.grade, meaning.grade)
    with st.container(key="moves", horizontal=True):
        if grading.stage == "reveal":
            _button(grading, "go_on", "g", _say("keep"), Grading.go_on)
            return
        _button(grading, "undo", "u", _say("undo"), Grading.undo)
        if grading.stage == "ask":
            _button(grading, "later", "s", _say("later"), Grading.later)
        _button(grading, "cannot", "x", _say("cannot" if grading.stage == "ask" else "back"), Grading.cannot)
        _button(grading, "note", "n", _say("note"), _open_note)
        shown = _say("highlight_off" if grading.highlight else "highlight_on")
        _button(grading, "highlight", "h", shown, _toggle_highlight)


def _button(
    grading: Grading,
    name: str,
    shortcut: str | None,
    text: str,
    act: Callable[..., None],
    *arguments: Any,
    kind: Any = "secondary",
) -> None:
    """A button for the current pair; it has no effect once the next pair is shown."""
    nonce = grading.nonce

    def press() -> None:
        grading.note = str(st.session_state.get(_note_key(nonce)) or "")
        act(grading, nonce, *arguments)

    st.button(html.label(text), key=f"{name}-{nonce}", shortcut=shortcut, on_click=press, type=kind)


def _note_key(nonce: str) -> str:
    return f"note-text-{nonce}"


def _note(grading: Grading) -> None:
    with st.container(key="note"):
        st.text_area(
            _say("note_label"),
            key=_note_key(grading.nonce),
            max_chars=LONGEST_NOTE,
            height=80,
            help=_say("note_help"),
        )


def _open_note(grading: Grading, nonce: str) -> None:
    if nonce == grading.nonce:
        grading.noting = True


def _toggle_highlight(grading: Grading, nonce: str) -> None:
    if nonce != grading.nonce:
        return
    grading.highlight = not grading.highlight
    try:
        set_preference(context.session(), grading.token, "highlight", grading.highlight)
    except StoreError:
        # The setting still applies on this page.
        return


# What goes wrong, and the end


def _pending(grading: Grading) -> None:
    assert grading.answer is not None
    html.draw(
        html.fill(
            '<div class="notice warning pending" role="alert"><p><b>{chosen}</b></p><p>{said}</p></div>',
            chosen=_say("chosen", grade=_answer_name(grading.answer)),
            said=_say("not_stored"),
        )
    )
    st.session_state["pending_drawn"] = False
    _retrying()


@st.fragment(run_every=_RETRY)
def _retrying() -> None:
    """Retries every few seconds until the answer is stored; the first run only draws the page."""
    if st.session_state.get("pending_drawn") and _grading().retry():
        st.rerun()
    st.session_state["pending_drawn"] = True


def _end(grading: Grading) -> None:
    done = grading.progress()
    whole = done is not None and done.free == 0 and done.total is not None and done.done >= done.total
    any_done = done is not None and done.done > 0
    html.draw(
        html.fill(
            '<div class="card end"><h1>{title}</h1><p>{text}</p></div>',
            title=_say("end_title" if whole and any_done else "pause_title"),
            text=_say("end_text" if whole and any_done else "nothing_text" if whole else "pause_text"),
        )
    )
    with st.container(key="moves", horizontal=True):
        _button(grading, "go_on", "g", _say("look_again"), Grading.go_on, kind="primary")
        if any_done:
            _button(grading, "undo", "u", _say("undo"), Grading.undo)
