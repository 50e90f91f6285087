"""The page where a lead sees how far the rounds of writing are: what waits for whom, who did what, what is held and
what is out. Things that are held can be given back, and those that are out restored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from uuid import uuid4

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html, theme, words
from annotator_app.authoring_view import has_messages
from annotator_app.figures_table import figures_table
from quati_pool.commands.annotate.authoring import overview
from quati_pool.commands.annotate.authoring.overview import RoundsOverview
from quati_pool.store.errors import ConflictError

_LISTED = 50
_FEEDBACK = "rounds.feedback"


def page() -> None:
    style, title = Markup(theme.asset("lead.css")), context.say("app.rounds")
    html.draw(html.fill('<style>{style}</style><h1 class="page">{title}</h1>', style=style, title=title))
    kind, text = st.session_state.pop(_FEEDBACK, ("", ""))
    if text:
        error_notices.notice(text, kind)
    found = overview.rounds_overview(context.session(), context.token())
    _answer(found)
    _rounds(found)
    _people(found)
    _held(found)
    _out(found)


def _say(key: str, **values: object) -> str:
    return context.say(f"rounds.{key}", **values)


def _named(key: str, otherwise: str) -> str:
    """The message of a name that a design gives, or else the name itself."""
    known = key in words.messages(context.language())
    return context.say(key) if known else html.one_line(otherwise.replace("_", " "))


def _round(name: str) -> str:
    known = has_messages(context.session().design)
    return _named(f"authoring.round.{name}", name) if known else html.one_line(name.replace("_", " "))


def _kind(name: str) -> str:
    return _named(f"rounds.kind.{name}", name)


def _reason(name: str) -> str:
    return _named(f"authoring.refusal.{name}", _named(f"rounds.reason.{name}", name))


def _answer(found: RoundsOverview) -> None:
    """The page's answer: how much is kept, and what waits for whom; then what nobody may take."""
    design = context.session().design
    kept = sum(one.kept for one in found.items if design is None or one.kind == design.unit)
    waiting = []
    for leads, key in ((False, "waiting_people"), (True, "waiting_leads")):
        rounds = [
            _say("waits", count=one.open - found.unassignable.get(one.round, 0), round=_round(one.round))
            for one in found.rounds
            if (one.round in found.for_leads) is leads and one.open > found.unassignable.get(one.round, 0)
        ]
        if rounds:
            waiting.append(_say(key, rounds=", ".join(rounds)))
    if held := sum(one.held for one in found.rounds):
        waiting.append(_say("being_done", count=held))
    text = _say("answer", kept=_say("kept", count=kept), waiting=" ".join(waiting) or _say("nothing_waits"))
    html.draw(html.fill('<p class="answer">{text}</p>', text=text))
    for name, count in found.unassignable.items():
        if count:
            error_notices.notice(_say("nobody", count=count, round=_round(name)))


def _rounds(found: RoundsOverview) -> None:
    rows = [[_round(one.round), *map(context.number, (one.open, one.held, one.done))] for one in found.rounds]
    _table("rounds", ["round", "open", "held", "done"], rows, 1)
    counted = [[_kind(one.kind), *map(context.number, (one.open, one.kept, one.out))] for one in found.items]
    _table("items", ["kind", "open", "kept", "out"], counted, 1)


def _people(found: RoundsOverview) -> None:
    rows = [
        [
            html.text(one.person),
            _round(one.round),
            context.number(one.entries),
            context.number(None if one.seconds is None else one.seconds / 60, 1),
        ]
        for one in found.people
    ]
    if rows:
        _table("people", ["person", "round", "entries", "minutes"], rows, 2)
    else:
        _quiet(_say("nobody_yet"))


def _held(found: RoundsOverview) -> None:
    """What people hold, the longest held first; a lead may free it for others."""
    _title("held")
    if not found.held:
        return _quiet(_say("nothing_held"))
    _quiet(_say("give_back_help"))
    for one in sorted(found.held, key=lambda held: held.since)[:_LISTED]:
        lapses = "" if one.kept else f" · {_say('lapses')}"
        about = html.fill(
            '<p><b>{holder}</b> · {round} <span class="quiet">{since} {when}{lapses}</span><br>{text}</p>',
            holder=html.text(one.holder),
            round=_round(one.round),
            since=_say("column.since"),
            when=f"{one.since:%Y-%m-%d %H:%M}",
            lapses=lapses,
            text=html.text(html.short_line(one.text)),
        )
        _line(about, "give_back", one.task_id, partial(_give_back, one.task_id))
    return _more(len(found.held))


def _out(found: RoundsOverview) -> None:
    """What is out, by reason; a lead may restore it."""
    _title("out")
    if not found.out:
        return _quiet(_say("nothing_out"))
    counts = Counter((one.kind, one.reason) for one in found.out)
    rows = [[_reason(reason), _kind(kind), context.number(count)] for (kind, reason), count in counts.most_common()]
    _table(None, ["reason", "kind", "count"], rows, 2)
    reasons = dict.fromkeys(one.reason for one in found.out)
    chosen = st.selectbox(_say("show"), [None, *reasons], format_func=_filter_name, key="rounds.reason")
    listed = [one for one in found.out if chosen in (None, one.reason)]
    _quiet(_say("restore_help"))
    for one in listed[:_LISTED]:
        about = html.fill(
            "<p><b>{reason}</b> · {kind}{by}{comment}<br>{text}</p>",
            reason=_reason(one.reason),
            kind=_kind(one.kind),
            by="" if one.by is None else html.fill(" · {by}", by=html.text(one.by)),
            comment="" if one.comment is None else html.fill(": <q>{said}</q>", said=html.text(one.comment)),
            text=html.text(html.short_line(one.text)),
        )
        _line(about, "restore", one.item_id, partial(_restore, one.item_id) if one.restorable else None)
    return _more(len(listed))


def _filter_name(reason: str | None) -> str:
    return _say("all") if reason is None else html.short_line(_reason(reason))


def _line(about: Markup, does: str, number: int, act: Callable[[str], object] | None) -> None:
    """A thing with its button, if something may be done."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"rounds.{does}.row.{number}"):
        html.draw(about)
        if act is not None:
            done = "given_back" if does == "give_back" else "restored"
            # Before the page is drawn again: the thing may no longer be on it.
            press = partial(_attempt, f"{does}.{number}", act, done)
            st.button(_say(does), key=f"rounds.{does}.{number}", width="content", on_click=press)


def _give_back(task_id: int, nonce: str) -> None:
    overview.give_back(context.session(), context.token(), task_id, nonce)


def _restore(item_id: int, nonce: str) -> None:
    overview.restore(context.session(), context.token(), item_id, nonce)


def _attempt(what: str, act: Callable[[str], object], done: str) -> None:
    """Runs a button's action, the same each time that it is tried; its outcome is shown above the page."""
    nonces = st.session_state.setdefault("rounds.nonces", {})
    with error_notices.guarded():
        try:
            act(nonces.setdefault(what, uuid4().hex))
            st.session_state[_FEEDBACK] = ("good", _say(done))
        except ConflictError as error:
            reason = error.reason if error.reason in ("gone", "used") else "changed"
            st.session_state[_FEEDBACK] = ("warning", _say(f"conflict.{reason}"))
        del nonces[what]


def _title(name: str) -> None:
    html.draw(html.fill('<h2 class="section">{text}</h2>', text=_say(f"title.{name}")))


def _quiet(text: str) -> None:
    html.draw(html.fill('<p class="quiet">{text}</p>', text=text))


def _more(count: int) -> None:
    if count > _LISTED:
        _quiet(_say("more", count=count - _LISTED))


def _table(title: str | None, columns: Sequence[str], rows: Sequence[Sequence[Markup | str]], words: int) -> None:
    heads = [_say(f"column.{name}") for name in columns]
    html.draw(figures_table(heads, rows, words, caption=_say(f"title.{title}") if title else ""))
