"""The page where a lead gives out access codes, makes designs, and adds pairs with a known grade."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html, theme, words
from annotator_app.figures_table import figures_table
from quati_pool.annotation.codes import new_token
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.assessors import ListedAssessor
from quati_pool.commands.annotate.assigning.assign import AssignReport
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.pair_sampling import STRATIFIED_BY
from quati_pool.commands.annotate.errors import AnswerError, ForbiddenError, SignedOutError
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.commands.annotate.team import DesignChoices, ListedDesign, PastedRowsError
from quati_pool.errors import QuatiPoolError, TranslatableError
from quati_pool.store.errors import ConflictError, StoreError
from quati_pool.store.records import Role

_Said = tuple[str, str]
"""A sentence for the page, and the kind of its notice."""


class _Preview(NamedTuple):
    """What a design of these options would be. It can be made one once, by the press with the token ``create``."""

    options: AssignOptions
    report: AssignReport
    create: str


_LOGGER = logging.getLogger("annotator_app")

_SAID = "team.said"
_DONE = "team.done"
_KNOWN = "team.known"
_PREVIEW = "team.preview"
_WISH = "team.wish"
_FORM = "team.form"
_KIND = "team.kind"
_ROWS = "team.rows"
_ROLES = ("assessor", "lead")
_METHODS = ("all", "random", "stratified", "queries")
_STRATA = 40


def page() -> None:
    style = Markup(theme.asset("lead.css") + theme.asset("team.css"))
    html.draw(
        html.fill('<style>{style}</style><h1 class="page">{title}</h1>', style=style, title=context.say("app.team"))
    )
    _people()
    _designs()
    _known_pairs()


def _say(key: str, **values: object) -> str:
    return context.say(f"team.{key}", **values)


def _asked() -> tuple[AnnotationSession, str]:
    return context.session(), context.token()


def _section(name: str) -> None:
    """The heading of a section, and what its last press did."""
    html.draw(html.fill('<h2 class="section">{title}</h2>', title=_say(f"title.{name}")))
    said = st.session_state.pop(f"{_SAID}.{name}", None)
    if said is not None:
        error_notices.notice(*said)


# People


@st.fragment
def _people() -> None:
    with error_notices.guarded():
        found = team.people(*_asked())
        _section("people")
        _new_code()
        with st.container(key="people-table"):
            columns = ["name", "role", "code", "since", "seen", "open", "done"]
            _table(columns, [_person(one) for one in found], 5)
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
    name = str(st.session_state.get(f"team.name{number}") or "").strip()
    _give(number, name, st.session_state[f"team.role{number}"], False)


def _give(number: int, name: str, role: Role, returning: bool) -> None:
    state = st.session_state
    state.pop(_KNOWN, None)

    def step() -> None:
        try:
            code = team.add_person(*_asked(), name, role, returning=returning)
        except AnswerError as error:
            if error.reason == "name_known":
                state[_KNOWN] = (name, role, _refusal(error))
            raise
        state[context.NEW_CODE] = (name, code)
        # A new form has new keys, so it is empty.
        state[_FORM] = number + 1

    _press("people", ("add", number), step)
    if _KNOWN in state:
        # That is asked under the form.
        state.pop(f"{_SAID}.people", None)


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
                        _say("release"), value=True, key=f"team.release-{one.handle}", help=_say("release_help")
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
        code = team.new_code(*_asked(), one.name, one.handle)
        st.session_state[context.NEW_CODE] = (one.name, code)

    _press("people", ("code", one.handle), step)


def _revoke(one: ListedAssessor) -> None:
    release = bool(st.session_state.get(f"team.release-{one.handle}"))

    def step() -> _Said:
        released = team.revoke(*_asked(), one.name, release=release)
        if st.session_state.get(context.NEW_CODE, ("", ""))[0] == one.name:
            del st.session_state[context.NEW_CODE]
        said = _say("revoked", name=html.one_line(one.name))
        if release:
            return (f"{said} {_say('released', count=released)}", "good")
        (kept,) = [person.open for person in team.people(*_asked()) if person.name == one.name]
        return (f"{said} {_say('kept', count=kept)}", "good")

    _press("people", ("revoke", one.handle), step)


def _release(one: ListedAssessor) -> None:
    def step() -> _Said:
        return (_say("released", count=team.release(*_asked(), one.name)), "good")

    _press("people", ("release", one.handle, one.open), step)


# Designs


@st.fragment
def _designs() -> None:
    with error_notices.guarded():
        session, token = _asked()
        session.person(token, "lead")
        # Filled last: creating a design, while the fields are drawn, changes what is said and listed here.
        top = st.container()
        # Without a pool there are designs, but no new one.
        with error_notices.guarded():
            _new_design(team.design_choices(session, token))
        with top:
            _section("designs")
            _listed_designs(team.designs(session, token))


def _listed_designs(found: Sequence[ListedDesign]) -> None:
    if not found:
        html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("no_design")))
        return
    columns = ["design", "created", "method", "to", "chosen", "overlap", "seed", "open", "done"]
    rows: list[list[Markup | str]] = [
        [
            str(one.design_id),
            f"{one.created_at:%Y-%m-%d %H:%M}",
            _method(one.method, one.judge),
            html.join([html.text(name) for name in one.to], ", ") or _say("anyone"),
            context.number(one.pairs),
            context.number(one.overlap),
            str(one.seed),
            context.number(one.open),
            context.number(one.done),
        ]
        for one in found
    ]
    with st.container(key="designs-table"):
        _table(columns, rows, 4)
    undone = {one.design_id: one for one in found if one.open}
    if not undone:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        design_id = st.selectbox(
            _say("withdraw_from"), list(undone), index=None, key="team.withdraw", placeholder=_say("choose"),
            format_func=lambda one: f"{one} · {_method_name(undone[one].method)}" if one in undone else str(one),
        )  # fmt: skip
        one = undone.get(design_id or 0)
        if one is not None:
            with st.popover(_say("withdraw"), key=f"team.withdraw-{one.design_id}"):
                sure = _say("withdraw_sure", design=str(one.design_id), count=one.open)
                html.draw(html.fill("<p>{text}</p>", text=sure))
                st.button(
                    _say("withdraw_button"), key=f"team.withdraw-{one.design_id}-sure", type="primary",
                    on_click=_withdraw, args=(one,),
                )  # fmt: skip


def _withdraw(one: ListedDesign) -> None:
    def step() -> _Said:
        count = team.withdraw_design(*_asked(), one.design_id)
        return (_say("withdrawn", design=str(one.design_id), count=count), "good")

    _press("designs", ("withdraw", one.design_id, one.open, one.done), step)


def _new_design(choices: DesignChoices) -> None:
    with st.container(key="design", border=True):
        html.draw(html.fill("<b>{text}</b>", text=_say("new_design")))
        options = _options(choices)
        st.button(_say("preview"), key="team.preview-button", on_click=_wish, args=(None,))
        _fulfil(options)
        previewed = st.session_state.get(_PREVIEW)
        if previewed is not None:
            with st.container(key="design-preview"):
                _previewed(previewed, changed=previewed.options != options)


def _method(method: str, judge: str | None) -> Markup:
    by = Markup("") if judge is None else html.fill(' <span class="quiet">{judge}</span>', judge=html.text(judge))
    return html.fill("{method}{by}", method=_method_name(method), by=by)


def _method_name(method: str) -> str:
    key = f"method.{method}"
    return _say(key) if f"team.{key}" in words.messages(context.language()) else method


def _options(choices: DesignChoices) -> AssignOptions:
    """The fields of a new design, and what they say."""
    method = st.radio(
        _say("which"), _METHODS, key="team.method", horizontal=True, format_func=lambda name: _say(f"method.{name}")
    )
    chosen: dict[str, Any] = {}
    if method == "all":
        chosen["everything"] = True
    elif method == "random":
        chosen["random"] = str(_size(choices, "team.size"))
    elif method == "stratified":
        chosen = _strata_fields(choices)
    else:
        texts = dict(choices.queries)
        chosen["queries"] = tuple(
            st.multiselect(
                _say("queries"), list(texts), key="team.queries", placeholder=_say("choose"),
                format_func=lambda query_id: f"{html.one_line(query_id)} · {html.short_line(texts[query_id])}",
                select_all=False,
            )
        )  # fmt: skip
    overlap, load, seed = st.columns(3)
    with overlap:
        chosen["overlap"] = st.number_input(_say("overlap"), 1, value=1, key="team.overlap", help=_say("overlap_help"))
    with load:
        chosen["load"] = st.number_input(
            _say("load"), 1, value=None, key="team.load", placeholder=_say("unlimited"), help=_say("load_help")
        )
    with seed:
        chosen["seed"] = st.number_input(
            _say("seed"), 0, value=None, key="team.seed", placeholder=str(choices.seed), help=_say("seed_help")
        )
    chosen["to"] = tuple(
        st.multiselect(
            _say("to"), choices.people, key="team.to", format_func=html.short_line, placeholder=_say("anyone"),
            help=_say("to_help"), select_all=False,
        )
    )  # fmt: skip
    return AssignOptions(**chosen)


def _size(choices: DesignChoices, key: str, least: int = 1) -> int:
    most = max(choices.pairs, 1)
    return st.number_input(_say("size", pairs=choices.pairs), 1, most, value=min(max(100, least), most), key=key)


def _strata_fields(choices: DesignChoices) -> dict[str, Any]:
    left, middle, right = st.columns(3)
    with left:
        size = _size(choices, "team.size-stratified", choices.strata)
    with middle:
        judge = st.selectbox(
            _say("judge"),
            choices.judges,
            index=None,
            key="team.judge",
            format_func=html.short_line,
            placeholder=_say("nobody"),
        )
    with right:
        minimum = st.number_input(_say("minimum"), 0, value=1, key="team.minimum", help=_say("minimum_help"))
    # Grades form strata exactly if there is a judge who gave them.
    usual = [name for name in STRATIFIED_BY if name != "grade"]
    by = st.multiselect(
        _say("by"), usual, default=[] if judge else usual, key=f"team.by-{judge is not None}",
        format_func=lambda name: _say(f"by_name.{name}"), placeholder=_say("choose"),
        select_all=False,
    )  # fmt: skip
    return {
        "stratified": size, "judge": judge, "minimum": minimum, "by": (*by, *(("grade",) if judge else ())),
    }  # fmt: skip


def _wish(create: str | None) -> None:
    """Notes that a preview is wished, or with the token ``create`` a design. A press does no more: just before it a
    field may have been changed, and what the fields hold is known when they are drawn."""
    st.session_state[_WISH] = (create,)


def _fulfil(options: AssignOptions) -> None:
    """Does what was wished, with what the fields say now."""
    state = st.session_state
    wish = state.pop(_WISH, None)
    if wish is None:
        return
    (create,) = wish
    previewed = state.get(_PREVIEW)
    if create is None:
        _preview(options)
    elif ("create", create) in state.get(_DONE, {}) or (previewed is not None and previewed.options == options):
        _create(options, create)
    else:
        _preview(options)
        if _PREVIEW in state:
            state[f"{_SAID}.designs"] = (_say("not_previewed"), "warning")


def _preview(options: AssignOptions) -> None:
    state = st.session_state
    state.pop(_PREVIEW, None)

    def step() -> None:
        if options.queries == ():
            raise AnswerError("no query is chosen; choose one", "no_query")
        if options.by == ():
            raise AnswerError("nothing forms strata; choose something", "no_strata")
        state[_PREVIEW] = _Preview(options, team.preview_design(*_asked(), options), new_token())

    _press("designs", new_token(), step)


def _previewed(preview: _Preview, *, changed: bool) -> None:
    report = preview.report
    strata = team.shown_strata(report.strata)
    said = [_say("would", chosen=len(report.sample), pairs=report.frame_pairs, count=report.overlap)]
    if report.known is not None:
        said.append(_say("known", design=str(report.known)))
    else:
        said.append(_say("slots", count=report.added_slots))
    html.draw(html.fill("<p><b>{said}</b></p>", said=" ".join(said)))
    for note in report.notes:
        html.draw(html.fill('<p class="quiet" lang="en">{note}</p>', note=html.text(note)))
    if report.people:
        rows: list[list[Markup | str]] = [
            [_say("anyone") if name is None else html.text(name), context.number(count)]
            for name, count in report.people.items()
        ]
        _table(["for", "slots"], rows, 1)
    shown: list[list[Markup | str]] = [
        [html.text(one.name), context.number(one.pairs), context.number(one.selected), _probability(one)]
        for one in strata[:_STRATA]
    ]
    more = len(strata) - len(shown)
    _table(
        ["stratum", "in_pool", "chosen", "inclusion"], shown, 1, note=_say("more_strata", count=more) if more else ""
    )
    # Below all else and without taking the button away: this comes up between pressing and letting go of it.
    if report.known is None and len(report.sample):
        st.button(_say("create"), key="team.create", type="primary", on_click=_wish, args=(preview.create,))
    if changed:
        html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("fields_changed")))


def _probability(one: team.ShownStratum) -> str:
    ends = (context.number(value, 4) for value in (one.lowest, one.highest))
    return next(ends) if one.lowest == one.highest else " – ".join(ends)


def _create(options: AssignOptions, press: str) -> None:
    def step() -> _Said:
        report = team.create_design(*_asked(), options)
        st.session_state.pop(_PREVIEW, None)
        if report.known is not None:
            return (_say("known", design=str(report.known)), "warning")
        if report.design_id is None:
            return (_say("none_chosen"), "warning")
        said = _say("created", design=str(report.design_id), count=len(report.sample))
        return (f"{said} {_say('slots', count=report.added_slots)}", "good")

    _press("designs", ("create", press), step)


# Pairs with a known grade


@st.fragment
def _known_pairs() -> None:
    with error_notices.guarded():
        practice, gold = team.known_pairs(*_asked())
        _section("known_pairs")
        with st.container(key="known-pairs", border=True):
            html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("known_now", practice=practice, gold=gold)))
            kind = st.radio(
                _say("kind"), ("practice", "gold"), key=_KIND, format_func=lambda name: _say(f"kind_name.{name}")
            )
            number = st.session_state.setdefault(_ROWS, 0)
            st.text_area(
                _say("rows"), key=f"team.rows{number}", height=160, max_chars=team.LONGEST_PASTE,
                help=_say("rows_help"),
                placeholder="q1\td7\t3\t…" if kind == "practice" else "q1\td7\t3",
            )  # fmt: skip
            st.button(_say("rows_add"), key="team.rows-add", type="primary", on_click=_paste, args=(number,))


def _paste(number: int) -> None:
    gold = st.session_state[_KIND] == "gold"
    text = str(st.session_state.get(f"team.rows{number}") or "")
    if number and not text.strip():
        # The second click of two, which finds the field empty because the first one added its rows: the same press.
        number -= 1

    def step() -> _Said:
        report = team.add_known_pairs(*_asked(), text, gold=gold)
        st.session_state[_ROWS] = number + 1
        said = _say("rows_added", added=report.added, count=report.pairs, total=report.total)
        if report.assigned:
            said += " " + _say("assigned_gold" if gold else "assigned_practice", count=report.assigned)
        return (said, "good")

    _press("known_pairs", ("rows", number), step)


# What all share


def _press(section: str, press: Hashable, step: Callable[[], _Said | None]) -> None:
    """Does a step once, however often its button was pressed, and says under the section's heading how it went: what
    the step returns, or why it was refused. A refused step may be tried again."""
    state = st.session_state
    done = state.setdefault(_DONE, {})
    if press not in done:
        try:
            done[press] = step()
        except (SignedOutError, ForbiddenError):
            # The page reports this itself when it is drawn next.
            return
        except QuatiPoolError as error:
            state[f"{_SAID}.{section}"] = (_refusal(error), "warning")
            return
    state[f"{_SAID}.{section}"] = done[press]


def _refusal(error: QuatiPoolError) -> str:
    if isinstance(error, PastedRowsError) and error.line is not None:
        return _say("line", line=str(error.line), problem=error.problem)
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
    return str(error)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Markup | str]], words: int, note: str = "") -> None:
    html.draw(figures_table([_say(f"column.{name}") for name in columns], rows, words, note=note))
