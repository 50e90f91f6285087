"""The section where pairs with a known grade are pasted, for practice and as gold pairs."""

from __future__ import annotations

import streamlit as st

from annotator_app import context, error_notices, html
from annotator_app.team import section
from quati_pool.commands.annotate import team

_KIND = "team.kind"
_ROWS = "team.rows"


def _say(key: str, **values: object) -> str:
    return context.say(f"team.{key}", **values)


@st.fragment
def known_pairs() -> None:
    with error_notices.guarded():
        practice, gold = team.known_pairs(*section.asked())
        section.heading("known_pairs")
        with st.container(key="known-pairs", border=True):
            html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("known_now", practice=practice, gold=gold)))
            kind = st.radio(
                _say("kind"),
                ("practice", "gold"),
                key=_KIND,
                format_func=lambda name: _say(f"kind_name.{name}"),
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

    def step() -> section.Said:
        report = team.add_known_pairs(*section.asked(), text, gold=gold)
        st.session_state[_ROWS] = number + 1
        said = _say("rows_added", added=report.added, count=report.pairs, total=report.total)
        if report.assigned:
            said += " " + _say("assigned_gold" if gold else "assigned_practice", count=report.assigned)
        return (said, "good")

    section.press("known_pairs", ("rows", number), step)
