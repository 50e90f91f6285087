"""The page where people write questions for the collection and decide on each other's questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from uuid import uuid4

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html, theme, words
from quati_pool.commands.annotate.questions import passages
from quati_pool.commands.annotate.questions import writing as questions
from quati_pool.commands.annotate.questions.passages import NoPassagesError
from quati_pool.commands.annotate.questions.rules import (
    AXES,
    COMMENT_CHARACTERS,
    NARRATIVE_CHARACTERS,
    QUERY_CHARACTERS,
    Draft,
    QuestionError,
    Similar,
    taxonomy,
)
from quati_pool.commands.annotate.questions.writing import ListedQuestion
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.store.errors import ConflictError
from quati_pool.store.records import QuestionEvent

_SHOWN = 10
_ALIKE = 5
_STATES = ("proposed", "sent_back", "accepted", "withdrawn")


def page() -> None:
    html.draw(html.fill("<style>{css}</style>", css=Markup(theme.asset("questions.css"))))
    write, decide, covered = st.tabs([_say("write"), _say("list"), _say("coverage")])
    with write, st.container(key="question-form"), error_notices.guarded():
        _writing()
    with decide, st.container(key="question-list"), error_notices.guarded():
        _list()
    with covered, error_notices.guarded():
        _coverage()


def _say(key: str, **values: object) -> str:
    return context.say(f"questions.{key}", **values)


def _asked() -> tuple[AnnotationSession, str]:
    return context.session(), context.token()


# Writing


def _writing() -> None:
    _show_feedback("write")
    ways = {"free": _say("freely"), "passage": _say("from_passage")}
    way = st.segmented_control(_say("way"), list(ways), default="free", format_func=ways.__getitem__, key="q.way")
    doc_id = _sample() if way == "passage" else None
    if way == "passage" and doc_id is None:
        return
    # A new form has new keys, so it is empty.
    form = f"q.form{st.session_state.setdefault('q.number', 0)}"
    draft, alike = _fields(form, None)
    confirmed = _confirm(form, alike)
    if st.button(_say("propose"), key=f"{form}.propose", type="primary"):
        _attempt("write", partial(_propose, form, draft, doc_id, confirmed))


def _propose(form: str, draft: Draft, doc_id: str | None, confirmed: bool) -> str:
    whole = Draft(draft.query, draft.theme, draft.scope, draft.type, draft.narrative, doc_id)
    questions.propose(*_asked(), whole, _nonce(form), confirmed=confirmed)
    st.session_state["q.number"] += 1
    return _say("proposed", query=draft.query)


def _sample() -> str | None:
    """Shows a passage and returns its doc_id; None if there is none to show."""
    try:
        another = st.button(_say("another"), key="q.another", icon=":material/refresh:")
        found = questions.sampled_passage(*_asked(), another=another)
    except NoPassagesError:
        error_notices.notice(_say("no_passages"))
        return None
    html.draw(html.passage(found.text, kind="sampled"))
    return found.doc_id


def _fields(form: str, old: QuestionEvent | None) -> tuple[Draft, list[Similar]]:
    """The fields of a question, filled from ``old``, with similar questions shown beneath its text."""
    # First, so that they do not move away from the pointer when similar questions appear beneath the text.
    chosen = []
    for column, (axis, values) in zip(st.columns(len(AXES)), taxonomy(context.session().config).items(), strict=True):
        before = getattr(old, axis) if old else None
        with column:
            chosen.append(
                st.selectbox(
                    _say(axis),
                    values,
                    index=values.index(before) if before in values else None,
                    format_func=_value,
                    placeholder=_say("choose"),
                    key=f"{form}.{axis}",
                )
            )
    query = st.text_input(
        _say("query"),
        value=(old.query or "") if old else "",
        max_chars=QUERY_CHARACTERS,
        key=f"{form}.query",
        placeholder=_say("query_hint"),
    )
    alike = questions.similar(*_asked(), query, besides=old.question_id if old else None) if query.strip() else []
    html.draw(_alike(alike))
    narrative = st.text_area(
        _say("narrative"),
        value=(old.narrative or "") if old else "",
        max_chars=NARRATIVE_CHARACTERS,
        key=f"{form}.narrative",
        placeholder=_say("narrative_hint"),
        height=100,
    )
    theme_, scope, type_ = (value or "" for value in chosen)
    return Draft(query, theme_, scope, type_, narrative), alike


def _confirm(form: str, alike: Sequence[Similar]) -> bool:
    """Whether the author confirms a question that already exists."""
    return any(one.exact for one in alike) and st.checkbox(_say("confirm"), key=f"{form}.confirm")


def _alike(found: Sequence[Similar]) -> Markup:
    """A list of similar questions, the most similar first."""
    if not found:
        return Markup("")
    rows = [
        html.fill(
            "<li>{query} <span class='quiet'>{share} · {source}</span></li>",
            query=html.text(one.query),
            share=_say("equal") if one.exact else _say("share", share=f"{context.number(100 * one.similarity)}"),
            source=_source(one),
        )
        for one in found[:_ALIKE]
    ]
    if len(found) > _ALIKE:
        rows.append(html.fill("<li class='quiet'>{more}</li>", more=_say("more", count=len(found) - _ALIKE)))
    said = _say("repeats") if found[0].exact else _say("resembles")
    return html.fill(
        '<div class="alike" role="status"><p>{said}</p><ul>{rows}</ul></div>', said=said, rows=html.join(rows)
    )


def _source(one: Similar) -> Markup:
    if one.author is None:
        return html.fill("{text}", text=_say("of_the_file", query_id=one.query_id or ""))
    return html.fill("{by} {author}", by=_say("by"), author=_person(one.author))


# The list


def _list() -> None:
    _show_feedback("list")
    standing = questions.listed(*_asked())
    if not standing:
        html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("none")))
        return
    mine = context.person().name
    filters: dict[str, Callable[[ListedQuestion], bool]] = {
        "open": lambda one: "accepted" in one.may,
        "mine": lambda one: questions.writer_of(one.question) == mine,
        **{state: partial(_is, state) for state in _STATES},
        "all": lambda _: True,
    }
    counts = {name: sum(map(keep, standing)) for name, keep in filters.items()}
    st.session_state.setdefault("q.filter", "open" if counts["open"] else "all")
    chosen = st.segmented_control(
        _say("show"),
        list(filters),
        format_func=lambda name: f"{_say(f'filter.{name}')} ({context.number(counts[name])})",
        key="q.filter",
    )
    found = [one for one in standing if filters[chosen or "all"](one)]
    pages = max(1, -(-len(found) // _SHOWN))
    number = st.number_input(_say("page", count=pages), 1, pages, key="q.page") if pages > 1 else 1
    for one in found[(number - 1) * _SHOWN : number * _SHOWN]:
        with st.container(border=True):
            _card(one)
    if context.person().role == "lead" and counts["accepted"]:
        html.draw(
            html.fill(
                '<p>{text} <a class="go download" href="/download/questions?format=tsv">TSV</a>'
                '<a class="go download" href="/download/questions?format=jsonl">JSONL</a></p>',
                text=_say("download"),
            )
        )


def _is(state: str, one: ListedQuestion) -> bool:
    return one.state == state


def _card(one: ListedQuestion) -> None:
    question_id, author, last = one.question
    key = f"q.{question_id}.{last.seq}"
    history = questions.events(*_asked(), question_id)
    place = " · ".join(_value(value) for value in (getattr(last, axis) for axis in AXES) if value)
    html.draw(
        html.fill(
            '<article class="question"><p class="quiet"><span class="state {state}">{named}</span> {query_id} {author}'
            '{place}</p><p class="asked">{query}</p>{narrative}<ol>{events}</ol></article>',
            state=one.state,
            named=_say(f"state.{one.state}"),
            query_id=last.query_id or "",
            author=_person(author),
            place=html.fill(" · {place}", place=html.text(place)) if place else Markup(""),
            query=html.text(last.query or ""),
            narrative=html.passage(last.narrative, kind="feedback") if last.narrative else Markup(""),
            events=html.join([_event(event) for event in history]),
        )
    )
    if questions.drafted(one.question) and one.may and last.doc_id is not None:
        _passage(last.doc_id)
    if "revised" in one.may:
        with st.expander(_say("revise")):
            _revision(one, key)
    _decision(one, key)


def _passage(doc_id: str) -> None:
    """What a model's draft was written from: nobody who decides on it has read it yet."""
    text = None
    with suppress(NoPassagesError):
        text = passages.text_of(context.session().config, doc_id)
    if text is not None:
        with st.expander(_say("passage")):
            html.draw(html.passage(text, kind="sampled"))


def _event(event: QuestionEvent) -> Markup:
    when = event.created_at.strftime("%Y-%m-%d %H:%M UTC") if event.created_at else ""
    return html.fill(
        '<li><span class="quiet">{when}</span> {said} {by}{comment}</li>',
        when=when,
        said=_say(f"event.{event.action}"),
        by=_person(event.by),
        comment=html.fill(": <q>{comment}</q>", comment=html.marked(event.comment)) if event.comment else Markup(""),
    )


def _decision(one: ListedQuestion, key: str) -> None:
    """The buttons for a person's actions on a question, and for an undecided one the similar questions."""
    question_id, _, last = one.question
    acts: list[tuple[str, str, Callable[[], str]]] = []
    if one.state == "proposed":
        html.draw(_alike(questions.similar(*_asked(), last.query or "", besides=question_id)))
    says_why = questions.drafted(one.question) and one.state == "proposed"
    comment = ""
    if "accepted" in one.may or says_why:
        comment = st.text_area(_say("comment"), max_chars=COMMENT_CHARACTERS, key=f"{key}.comment", height=68)
    if "accepted" in one.may:
        acts.append(("accept", "primary", partial(_accept, one, key, comment)))
    if "sent_back" in one.may:
        acts.append(("send_back", "secondary", partial(_send_back, one, key, comment)))
    if "withdrawn" in one.may:
        kind = "tertiary" if acts and not says_why else "secondary"
        acts.append(("withdraw", kind, partial(_withdraw, one, key, comment)))
    with st.container(horizontal=True):
        pressed = [st.button(_say(name), key=f"{key}.{name}", type=kind) for name, kind, _ in acts]  # type: ignore[arg-type]
    for (_, _, act), is_pressed in zip(acts, pressed, strict=True):
        if is_pressed:
            _attempt("list", act)


def _accept(one: ListedQuestion, key: str, comment: str) -> str:
    seen = one.question.last.seq or 0
    query_id = questions.accept(*_asked(), one.question.question_id, seen, _nonce(key), comment)
    return _say("accepted", query_id=query_id)


def _send_back(one: ListedQuestion, key: str, comment: str) -> str:
    questions.send_back(*_asked(), one.question.question_id, one.question.last.seq or 0, _nonce(key), comment)
    return _say("sent_back", name=one.question.author)


def _withdraw(one: ListedQuestion, key: str, comment: str) -> str:
    questions.withdraw(*_asked(), one.question.question_id, one.question.last.seq or 0, _nonce(key), comment)
    return _say("withdrawn")


def _revision(one: ListedQuestion, key: str) -> None:
    draft, alike = _fields(key, one.question.last)
    comment = st.text_input(_say("comment"), max_chars=COMMENT_CHARACTERS, key=f"{key}.revision")
    confirmed = _confirm(key, alike)
    if st.button(_say("propose_again"), key=f"{key}.revise", type="primary"):
        _attempt("list", partial(_revise, one, key, draft, comment, confirmed))


def _revise(one: ListedQuestion, key: str, draft: Draft, comment: str, confirmed: bool) -> str:
    question_id, _, last = one.question
    questions.revise(*_asked(), question_id, last.seq or 0, draft, _nonce(key), comment=comment, confirmed=confirmed)
    return _say("proposed", query=draft.query)


# Coverage


def _coverage() -> None:
    found = questions.coverage(*_asked())
    values = taxonomy(context.session().config)
    empty = sum(not (cell.proposed or cell.accepted) for cell in found.cells)
    text = _say("covered", empty=empty, cells=len(found.cells))
    if found.outside:
        text += " " + _say("outside", count=found.outside)
    cells = iter(found.cells)
    rows = []
    for value in values["theme"]:
        filled = [_cell(next(cells)) for _ in range(len(values["scope"]) * len(values["type"]))]
        rows.append(
            html.fill("<tr><th scope='row'>{theme}</th>{cells}</tr>", theme=_shown(value), cells=html.join(filled))
        )
    scopes = [
        html.fill("<th scope='colgroup' colspan='{n}'>{scope}</th>", n=len(values["type"]), scope=_shown(scope))
        for scope in values["scope"]
    ]
    types = [html.fill("<th scope='col'>{type}</th>", type=_shown(type_)) for type_ in values["type"]]
    html.draw(
        html.fill(
            '<p>{text}</p><div class="coverage" tabindex="0"><table><thead><tr><td></td>{scopes}</tr>'
            "<tr><td></td>{types}</tr></thead><tbody>{rows}</tbody></table></div>",
            text=text,
            scopes=html.join(scopes),
            types=html.join(types * len(scopes)),
            rows=html.join(rows),
        )
    )


def _cell(cell: questions.CoverageCell) -> Markup:
    if not (cell.proposed or cell.accepted):
        return Markup('<td class="empty">–</td>')
    said = _say("cell", accepted=cell.accepted, proposed=cell.proposed)
    return html.fill(
        '<td title="{said}" aria-label="{said}"><span class="accepted">{accepted}</span>{more}</td>',
        said=said,
        accepted=context.number(cell.accepted),
        more=f" + {context.number(cell.proposed)}" if cell.proposed else "",
    )


# What all share


def _person(name: str) -> Markup:
    """Who did something: a person, or a model, whose name nobody is shown."""
    return html.text(name) if name else html.fill("{model}", model=_say("a_model"))


def _value(value: str) -> str:
    """A value of the taxonomy, translated to the person's language if it is one of the default taxonomy."""
    key = f"questions.value.{value.replace(' ', '_')}"
    return context.say(key) if key in words.messages(context.language()) else value


def _shown(value: str) -> Markup:
    return html.text(_value(value))


def _nonce(form: str) -> str:
    """The nonce of a form, the same each time the form is sent."""
    nonces = st.session_state.setdefault("q.nonces", {})
    return str(nonces.setdefault(form, uuid4().hex))


def _attempt(where: str, act: Callable[[], str]) -> None:
    """Runs a button's action; its outcome is shown above the list or the form after a rerun."""
    try:
        st.session_state[f"q.feedback.{where}"] = ("good", act())
    except QuestionError as error:
        st.session_state[f"q.feedback.{where}"] = ("warning", _refusal(error))
    except ConflictError:
        st.session_state[f"q.feedback.{where}"] = ("warning", _say("refused.changed"))
    st.rerun()


def _refusal(error: QuestionError) -> str:
    key = f"questions.refused.{error.reason}"
    return context.say(key) if key in words.messages(context.language()) else str(error)


def _show_feedback(where: str) -> None:
    kind, text = st.session_state.pop(f"q.feedback.{where}", ("", ""))
    if text:
        error_notices.notice(text, kind)
