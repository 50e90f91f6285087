"""The section where designs are listed, previewed, created and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html, words
from annotator_app.team import section
from quati_pool.annotation.codes import new_token
from quati_pool.commands.annotate import team
from quati_pool.commands.annotate.assigning.assign import AssignReport
from quati_pool.commands.annotate.assigning.options import AssignOptions
from quati_pool.commands.annotate.assigning.pair_sampling import STRATIFIED_BY
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.team import DesignChoices, ListedDesign
from quati_pool.errors import TranslatableText

_PREVIEW = "team.preview"
_WISH = "team.wish"
_METHODS = ("all", "random", "stratified", "random-queries", "active", "queries")
_STRATA = 40
_QUERIES = 15


class _Preview(NamedTuple):
    """What a design of these options would be. It can be made one once, by the press with the token ``create``."""

    options: AssignOptions
    report: AssignReport
    create: str


def _say(key: str, **values: object) -> str:
    return context.say(f"team.{key}", **values)


@st.fragment
def designs() -> None:
    with error_notices.guarded():
        session, token = section.asked()
        session.person(token, "lead")
        # Filled last: creating a design, while the fields are drawn, changes what is said and listed here.
        top = st.container()
        # Without a pool there are designs, but no new one.
        with error_notices.guarded():
            _new_design(team.design_choices(session, token))
        with top:
            section.heading("designs")
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
            _method(one),
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
        section.table(columns, rows, 4)
    undone = {one.design_id: one for one in found if one.open}
    if not undone:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        design_id = st.selectbox(
            _say("withdraw_from"), list(undone), index=None, key="team.withdraw", placeholder=_say("choose"),
            format_func=lambda one: f"{one} · {_method_name(undone[one])}" if one in undone else str(one),
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
    def step() -> section.Said:
        count = team.withdraw_design(*section.asked(), one.design_id)
        return (_say("withdrawn", design=str(one.design_id), count=count), "good")

    section.press("designs", ("withdraw", one.design_id, one.open, one.done), step)


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


def _method(one: ListedDesign) -> Markup:
    weighted = None if one.by is None else _known("weighted", one.by)
    names = (one.measure, weighted, one.strata, *one.judges)
    details = html.join([html.text(name) for name in names if name is not None], " · ")
    by = html.fill(' <span class="quiet">{details}</span>', details=details) if details else Markup("")
    return html.fill("{method}{by}", method=_method_name(one), by=by)


def _method_name(one: ListedDesign) -> str:
    return _known("method", one.method) if one.queue is None else _known("queue", one.queue)


def _known(group: str, name: str) -> str:
    """The name of one of a group in the page's language, as it is if the page has none."""
    key = f"{group}.{name}"
    return _say(key) if f"team.{key}" in words.messages(context.language()) else name


def _options(choices: DesignChoices) -> AssignOptions:
    """The fields of a new design, and what they say."""
    method = st.radio(
        _say("which"),
        _METHODS,
        key="team.method",
        horizontal=True,
        format_func=lambda name: _say(f"method.{name}"),
    )
    chosen = _pairs_fields(method, choices)
    overlap, load, seed = st.columns(3)
    with overlap:
        chosen["overlap"] = st.number_input(_say("overlap"), 1, value=1, key="team.overlap", help=_say("overlap_help"))
    with load:
        chosen["load"] = st.number_input(
            _say("load"),
            1,
            value=None,
            key="team.load",
            placeholder=_say("unlimited"),
            help=_say("load_help"),
        )
    with seed:
        chosen["seed"] = st.number_input(
            _say("seed"),
            0,
            value=None,
            key="team.seed",
            placeholder=str(choices.seed),
            help=_say("seed_help"),
        )
    chosen["to"] = tuple(
        st.multiselect(
            _say("to"), choices.people, key="team.to", format_func=html.short_line, placeholder=_say("anyone"),
            help=_say("to_help"), select_all=False,
        )
    )  # fmt: skip
    return AssignOptions(**chosen)


def _pairs_fields(method: str, choices: DesignChoices) -> dict[str, Any]:
    """The fields of one way to choose pairs, and what they say."""
    if method == "all":
        return {"everything": True}
    if method == "random":
        return {"random": str(_size(choices, "team.size"))}
    if method == "stratified":
        return _strata_fields(choices)
    if method == "random-queries":
        return _random_queries_fields(choices)
    if method == "active":
        return _measure_fields(choices)
    texts = dict(choices.queries)
    queries = st.multiselect(
        _say("queries"), list(texts), key="team.queries", placeholder=_say("choose"),
        format_func=lambda query_id: f"{html.one_line(query_id)} · {html.short_line(texts[query_id])}",
        select_all=False,
    )  # fmt: skip
    return {"queries": tuple(queries)}


def _random_queries_fields(choices: DesignChoices) -> dict[str, Any]:
    left, right = st.columns(2)
    most = max(len(choices.queries), 1)
    with left:
        size = st.number_input(
            _say("size_queries", queries=len(choices.queries)), 1, most, value=min(_QUERIES, most),
            key="team.size-queries", help=_say("size_queries_help"),
        )  # fmt: skip
    with right:
        strata = st.selectbox(
            _say("strata"), choices.columns, index=None, key="team.strata", format_func=html.short_line,
            placeholder=_say("no_strata"), disabled=not choices.columns,
        )  # fmt: skip
    return {"random_queries": size, "strata": strata}


def _measure_fields(choices: DesignChoices) -> dict[str, Any]:
    left, middle, right = st.columns(3)
    most = max(choices.pairs, 1)
    with left:
        measure = st.selectbox(_say("measure"), choices.measures, key="team.measure")
    with middle:
        expect = st.number_input(
            _say("expect", pairs=choices.pairs), 1, most, value=min(100, most), key="team.expect",
            help=_say("expect_help"),
        )  # fmt: skip
    with right:
        judge = st.selectbox(
            _say("weigh"), choices.judges, index=None, key="team.weigh", format_func=html.short_line,
            placeholder=_say("nobody"),
        )  # fmt: skip
    return {"pairs_for": measure, "expect": expect, "judge": judge}


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
    elif section.is_done(("create", create)) or (previewed is not None and previewed.options == options):
        _create(options, create)
    else:
        _preview(options)
        if _PREVIEW in state:
            state[f"{section.SAID}.designs"] = (_say("not_previewed"), "warning")


def _preview(options: AssignOptions) -> None:
    state = st.session_state
    state.pop(_PREVIEW, None)

    def step() -> None:
        if options.queries == ():
            raise AnswerError("no query is chosen; choose one", "no_query")
        if options.by == ():
            raise AnswerError("nothing forms strata; choose something", "no_strata")
        state[_PREVIEW] = _Preview(options, team.preview_design(*section.asked(), options), new_token())

    section.press("designs", new_token(), step)


def _previewed(preview: _Preview, *, changed: bool) -> None:
    report = preview.report
    strata = team.shown_strata(report.strata, report.sample.probabilities)
    said = []
    if report.queries:
        queries, drawn = (sum(counts) for counts in zip(*report.queries.values(), strict=True))
        said.append(_say("would_queries", drawn=drawn, count=queries))
    said += [_say("would", chosen=len(report.sample), pairs=report.frame_pairs, count=report.overlap)]
    if report.known is not None:
        said.append(_say("known", design=str(report.known)))
    else:
        said.append(_say("slots", count=report.added_slots))
    html.draw(html.fill("<p><b>{said}</b></p>", said=" ".join(said)))
    for note in report.notes:
        # The probabilities of a note that no pair is certain are in the table below.
        if isinstance(note, TranslatableText) and (note.keyword, note.values.get("count")) == ("certain", 0):
            continue
        html.draw(html.fill('<p class="quiet">{note}</p>', note=html.text(context.translated(note))))
    if report.people:
        rows: list[list[Markup | str]] = [
            [_say("anyone") if name is None else html.text(name), context.number(count)]
            for name, count in report.people.items()
        ]
        section.table(["for", "slots"], rows, 1)
    shown: list[list[Markup | str]] = [
        [html.text(one.name), context.number(one.pairs), context.number(one.selected), _probability(one)]
        for one in strata[:_STRATA]
    ]
    more = len(strata) - len(shown)
    section.table(
        ["stratum", "in_pool", "chosen", "inclusion"],
        shown,
        1,
        note=_say("more_strata", count=more) if more else "",
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
    def step() -> section.Said:
        report = team.create_design(*section.asked(), options)
        st.session_state.pop(_PREVIEW, None)
        if report.known is not None:
            return (_say("known", design=str(report.known)), "warning")
        if report.design_id is None:
            return (_say("none_chosen"), "warning")
        said = _say("created", design=str(report.design_id), count=len(report.sample))
        return (f"{said} {_say('slots', count=report.added_slots)}", "good")

    section.press("designs", ("create", press), step)
