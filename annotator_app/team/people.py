"""The section where access codes are given out and taken away."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html
from annotator_app.team import section
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.store.records import Role

_KNOWN = "team.known"
_FORM = "team.form"
_ROLES = ("assessor", "lead")


def _say(key: str, **values: object) -> str:
    return context.say(f"team.{key}", **values)


@st.fragment
def people() -> None:
    with error_notices.guarded():
        found = team.people(*section.asked())
        section.heading("people")
        _new_code()
        with st.container(key="people-table"):
            columns = ["name", "role", "code", "since", "seen", "open", "done"]
            section.table(columns, [_person(one) for one in found], 5)
        left, right = st.columns(2, gap="large")
        with left:
            _add_form()
        with right:
            _of_somebody(found)


def _person(one: ListedAssessor) -> list[Markup | str]:
    code = "has" if one.has_code else "never" if one.never_had else "revoked"
    seen = "–" if one.last_seen is None else f"{one.last_seen:%Y-%m-%d %H:%M}"
    figures = [context.number(one.open), context.number(one.labels)]
    since = f"{one.since:%Y-%m-%d}"
    return [html.text(one.name), _say(f"role.{one.role}"), _say(f"code.{code}"), since, seen, *figures]


def _new_code() -> None:
    """The code that was just made. It is in the state of this tab until the lead has noted it or leaves the page, and
    nowhere else."""
    made = st.session_state.get(context.NEW_CODE)
    if made is None:
        return
    name, code = made
    with st.container(key="new-code"):
        html.draw(
            html.fill(
                '<p role="status"><b>{said}</b></p><p><code>{code}</code> '
                '<button type="button" class="copy" data-copied="{copied}">{copy}</button></p><p>{only_now}</p>',
                said=_say("new_code", name=html.one_line(name)),
                code=code,
                copied=_say("copied"),
                copy=_say("copy"),
                only_now=_say("only_now"),
            )
        )
        st.button(_say("noted"), key="team.noted", on_click=st.session_state.pop, args=(context.NEW_CODE, None))


def _add_form() -> None:
    number = st.session_state.setdefault(_FORM, 0)
    with st.form(f"team.add{number}"):
        html.draw(html.fill("<b>{text}</b>", text=_say("add")))
        st.text_input(_say("name"), key=f"team.name{number}", placeholder=_say("name_hint"), autocomplete="off")
        st.radio(
            _say("role_of"), _ROLES, key=f"team.role{number}", horizontal=True,
            format_func=lambda role: _say(f"role.{role}"), help=_say("role_help"),
        )  # fmt: skip
        st.form_submit_button(_say("add_button"), type="primary", on_click=_add, args=(number,))
    known = st.session_state.get(_KNOWN)
    if known is not None:
        name, role, asked = known
        error_notices.notice(asked)
        st.button(
            _say("same_person", name=html.label(name)), key="team.same-person", on_click=_give,
            args=(number, name, role, True),
        )  # fmt: skip


def _add(number: int) -> None:
    state = st.session_state
    # The second click of two may find that Streamlit has dropped the fields of a form that the first one replaced.
    name = str(state.get(f"team.name{number}") or "").strip()
    _give(number, name, state.get(f"team.role{number}", _ROLES[0]), False)


def _give(number: int, name: str, role: Role, returning: bool) -> None:
    state = st.session_state
    state.pop(_KNOWN, None)

    def step() -> None:
        try:
            code = team.add_person(*section.asked(), name, role, returning=returning)
        except AnswerError as error:
            if error.reason == "name_known":
                state[_KNOWN] = (name, role, section.refusal(error))
            raise
        state[context.NEW_CODE] = (name, code)
        # A new form has new keys, so it is empty.
        state[_FORM] = number + 1

    section.press("people", ("add", number), step)
    if _KNOWN in state:
        # That is asked under the form.
        state.pop(f"{section.SAID}.people", None)


def _of_somebody(found: Sequence[ListedAssessor]) -> None:
    people = {one.name: one for one in found}
    with st.container(border=True):
        html.draw(html.fill("<b>{text}</b>", text=_say("of_somebody")))
        name = st.selectbox(
            _say("person"),
            list(people),
            index=None,
            format_func=html.short_line,
            placeholder=_say("choose"),
            key="team.person",
        )
        one = people.get(name or "")
        if one is None:
            return
        with st.container(horizontal=True):
            if one.name != context.person().name:
                with st.popover(_say("replace"), key=f"team.replace-{one.handle}"):
                    html.draw(html.fill("<p>{text}</p>", text=_say("replace_sure", name=html.short_line(one.name))))
                    st.button(
                        _say("replace_button"), key=f"team.replace-{one.handle}-sure", type="primary",
                        on_click=_replace, args=(one,),
                    )  # fmt: skip
            if one.has_code:
                with st.popover(_say("revoke"), key=f"team.revoke-{one.handle}"):
                    html.draw(html.fill("<p>{text}</p>", text=_say("revoke_sure", name=html.short_line(one.name))))
                    st.checkbox(
                        _say("release"),
                        value=True,
                        key=f"team.release-{one.handle}",
                        help=_say("release_help"),
                    )
                    st.button(
                        _say("revoke_button"), key=f"team.revoke-{one.handle}-sure", type="primary",
                        on_click=_revoke, args=(one,),
                    )  # fmt: skip
            elif one.open:
                with st.popover(_say("open_to_all", count=one.open), key=f"team.open-{one.handle}"):
                    html.draw(html.fill("<p>{text}</p>", text=_say("open_sure", name=html.short_line(one.name))))
                    st.button(
                        _say("open_button"), key=f"team.open-{one.handle}-sure", type="primary", on_click=_release,
                        args=(one,),
                    )  # fmt: skip


def _replace(one: ListedAssessor) -> None:
    def step() -> None:
        code = team.new_code(*section.asked(), one.name, one.handle)
        st.session_state[context.NEW_CODE] = (one.name, code)

    section.press("people", ("code", one.handle), step)


def _revoke(one: ListedAssessor) -> None:
    release = bool(st.session_state.get(f"team.release-{one.handle}"))

    def step() -> section.Said:
        released = team.revoke(*section.asked(), one.name, release=release)
        if st.session_state.get(context.NEW_CODE, ("", ""))[0] == one.name:
            del st.session_state[context.NEW_CODE]
        said = _say("revoked", name=html.one_line(one.name))
        if release:
            return (f"{said} {_say('released', count=released)}", "good")
        (kept,) = [person.open for person in team.people(*section.asked()) if person.name == one.name]
        return (f"{said} {_say('kept', count=kept)}", "good")

    section.press("people", ("revoke", one.handle), step)


def _release(one: ListedAssessor) -> None:
    def step() -> section.Said:
        return (_say("released", count=team.release(*section.asked(), one.name)), "good")

    section.press("people", ("release", one.handle, one.open), step)
