"""The dashboard page: everybody's progress and agreement as last computed; drawing does not wait for a computation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, html, theme
from annotator_app.downloads import address
from annotator_app.figures_table import figures_table
from quati_pool.agreement.estimates import Estimates
from quati_pool.agreement.pairwise import PairAgreement
from quati_pool.annotation.quality_control import Finding
from quati_pool.commands.annotate.review import consistency, downloads
from quati_pool.commands.annotate.review.background import Latest
from quati_pool.commands.annotate.review.consistency import GoldResult, SelfAgreement
from quati_pool.commands.annotate.review.dashboard import Agreement, Dashboard, dashboard
from quati_pool.commands.annotate.review.interval_width import IntervalWidth

_AGAIN = 5.0
# Long enough for the first dashboard of a typical pool, so that the page is not empty.
_PATIENCE = 2.0
_COEFFICIENTS = ("kappa", "kappa_quadratic", "agreement", "difference")
_REPEATED = consistency.COEFFICIENTS
_TOGETHER = ("alpha_ordinal", "alpha_nominal", "alpha_interval", "gwet_ac2", "fleiss_kappa")
_QUERIES = 200
_WIDTH_DIGITS = 3
_DIGITS = {"one_grade": 0, "too_fast": 1, "long_run": 0, "disagreement": 2, "gold_equal": 0, "gold_distance": 2}
"""The decimal places of a finding's figure, by its pattern."""


def page() -> None:
    style, title = Markup(theme.asset("lead.css")), context.say("app.dashboard")
    html.draw(html.fill('<style>{style}</style><h1 class="page">{title}</h1>', style=style, title=title))
    _board()


@st.fragment(run_every=_AGAIN)
def _board() -> None:
    with error_notices.guarded():
        asked = bool(st.session_state.pop("dashboard.recompute", False))
        latest = dashboard(context.session(), context.token(), refresh=asked)
        if latest.value is None and latest.problem is None:
            latest = dashboard(context.session(), context.token(), _PATIENCE)
        _state(latest)
        if latest.value is not None:
            _draw(latest.value)


def _say(key: str, **values: object) -> str:
    return context.say(f"dashboard.{key}", **values)


def _state(latest: Latest[Dashboard]) -> None:
    """Draws when the dashboard was computed, whether a new one is being computed, and what failed."""
    with st.container(horizontal=True, vertical_alignment="center", key="made"):
        board = latest.value
        if board is not None:
            ago = max(int((datetime.now(UTC) - board.computed_at).total_seconds()), 0)
            said = _say(
                "made", at=f"{board.computed_at:%Y-%m-%d %H:%M:%S}", count=ago, took=context.number(board.seconds, 1)
            )
        else:
            said = "" if latest.problem else _say("first")
        html.draw(
            html.fill(
                '<p class="quiet">{said} {running}</p>', said=said, running=_say("running") if latest.running else ""
            )
        )
        st.button(_say("recompute"), key="dashboard.recompute", disabled=latest.running)
    if latest.problem is not None:
        error_notices.notice(_say("failed", problem=context.translated(latest.problem)))


def _draw(board: Dashboard) -> None:
    _findings(board.findings)
    _people(board)
    _width(board.width)
    _agreement(board.agreement)
    _repeats(board.repeats)
    _gold(board.gold)
    _queries(board)
    _exports(board)


def _findings(findings: Sequence[Finding]) -> None:
    if not findings:
        return
    rows = []
    for one in findings:
        digits = _DIGITS[one.pattern]
        scale = 100 if one.pattern in ("one_grade", "gold_equal") else 1
        figure, threshold = (context.number(scale * value, digits) for value in (one.figure, one.threshold))
        grade = "–" if one.grade is None else str(one.grade)
        said = _say(f"pattern.{one.pattern}", figure=figure, threshold=threshold, labels=one.labels, grade=grade)
        rows.append(html.fill("<li><b>{name}</b>: {said}</li>", name=html.text(one.labeler_id), said=said))
    html.draw(
        html.fill(
            '<div class="notice warning" role="status"><p>{title}</p><ul class="findings">{rows}</ul></div>',
            title=_say("look_at"),
            rows=html.join(rows),
        )
    )


def _people(board: Dashboard) -> None:
    columns = ["name", "progress", "open", "done", "skipped", "graded", "cannot", "seconds"]
    rows = []
    for one in board.people:
        role = "" if one.role is None else f" · {_say(f'role.{one.role}')}"
        name = html.fill('{name}<span class="quiet">{role}</span>', name=html.text(one.name), role=role)
        figures = [one.open, one.done, one.skipped, one.graded, one.cannot]
        seconds = context.number(one.seconds, 1)
        rows.append([name, _bar(one.done, one.open + one.done), *map(context.number, figures), seconds])
    history = sum(one.history for one in board.people)
    note = _say("decisions", count=board.decisions) + (" " + _say("history", count=history) if history else "")
    _table("people", columns, rows, 2, note)


def _queries(board: Dashboard) -> None:
    columns = ["query", "progress", "open", "free", "done", "skipped", "labels"]
    rows = [
        [
            html.fill(
                '{id} <span class="quiet">{query}</span>', id=html.text(one.query_id), query=html.text(one.query)
            ),
            _bar(one.done, one.open + one.done),
            *map(context.number, [one.open, one.free, one.done, one.skipped, one.labels]),
        ]
        for one in board.queries[:_QUERIES]
    ]
    more = len(board.queries) - len(rows)
    _table("queries", columns, rows, 2, _say("more_queries", count=more) if more else "")


def _agreement(found: Agreement) -> None:
    columns = ["a", "b", "pairs", *_COEFFICIENTS]
    reasons: list[str] = []
    for title, pairs in (("among", found.pairs), ("judged", found.judged)):
        if pairs:
            _table(title, columns, [_pair(pair, reasons) for pair in pairs], 2, "")
    if found.overall is not None:
        over = found.overall
        rows = []
        for name in _TOGETHER:
            rows.append([_say(f"coefficient.{name}"), context.number(over.n[name]), _value(over, name)])
            if name in over.undefined:
                reasons.append(f"{_say(f'coefficient.{name}')}: {context.translated(over.undefined[name])}.")
        _table("together", ["coefficient_name", "pairs", "value"], rows, 1, "")
    notes = [_say("intervals", draws=found.draws, seed=str(found.seed)) if found.pairs or found.judged else ""]
    for name, problem in found.problems.items():
        notes.append(_say("left_out", name=name, problem=context.translated(problem)))
    notes += reasons
    if found.why is not None:
        notes.append(_say("no_agreement", why=context.translated(found.why)))
    html.draw(html.join([html.fill('<p class="quiet">{note}</p>', note=html.text(note)) for note in notes if note]))


def _width(found: IntervalWidth | None) -> None:
    """Draws how precise estimates under people's grades are so far."""
    if found is None:
        return
    if found.half_width is None:
        said = (
            _say("width.missing", count=found.missing)
            if found.problem is None
            else _say("width.none", why=context.translated(found.problem))
        )
    else:
        now = context.number(found.half_width, _WIDTH_DIGITS)
        said = _say(f"width.{found.unit}", count=found.graded, measure=found.measure, width=now)
        if found.more:
            later = context.number(found.later, _WIDTH_DIGITS)
            said += " " + _say(f"width.more_{found.unit}", count=found.more, now=now, later=later)
    html.draw(html.fill('<p class="width"><b>{title}</b>: {said}</p>', title=_say("title.width"), said=html.text(said)))


def _repeats(found: Sequence[SelfAgreement]) -> None:
    if not found:
        return
    names = [_say("everybody") if one.name is None else one.name for one in found]
    rows = [
        [html.text(name), context.number(one.n), *(context.number(one.values[key], 2) for key in _REPEATED)]
        for name, one in zip(names, found, strict=True)
    ]
    reasons = [
        f"{name}, {_say(f'column.{key}')}: {context.translated(reason)}."
        for name, one in zip(names, found, strict=True)
        for key, reason in one.undefined.items()
    ]
    _table("repeats", ["name", "pairs", *_REPEATED], rows, 1, " ".join([_say("repeats_note"), *reasons]))


def _gold(found: Sequence[GoldResult]) -> None:
    columns = ["name", "pairs", "equal", "difference", "distance", "cannot"]
    rows = [
        [
            html.text(one.name),
            context.number(one.n),
            *(context.number(value, 2) for value in (one.equal, one.difference, one.distance)),
            context.number(one.cannot),
        ]
        for one in found
    ]
    if rows:
        _table("gold", columns, rows, 1, _say("gold_note"))


def _pair(pair: PairAgreement, reasons: list[str]) -> list[Markup | str]:
    for name in _COEFFICIENTS:
        if name in pair.undefined:
            reasons.append(f"{pair.a}, {pair.b}, {_say(f'column.{name}')}: {context.translated(pair.undefined[name])}.")
    values = [_value(pair, name) for name in _COEFFICIENTS]
    return [html.text(pair.a), html.text(pair.b), context.number(pair.n), *values]


def _value(found: Estimates, name: str) -> Markup:
    """A coefficient with its interval below."""
    ends = found.intervals.get(name)
    interval = Markup("")
    if ends is not None and ends.low is not None and ends.high is not None:
        text = f"{context.number(ends.low, 2)} – {context.number(ends.high, 2)}"
        interval = html.fill('<span class="interval">{text}</span>', text=text)
    return html.fill("{value}{interval}", value=context.number(found.values[name], 2), interval=interval)


def _exports(board: Dashboard) -> None:
    rows = []
    for name in board.exports:
        links = [
            html.fill(
                '<a class="go" href="{href}" download>{text}</a>', href=address(kind, name), text=_say(f"kind.{kind}")
            )
            for kind in downloads.KINDS
        ]
        rows.append([html.text(name), html.join(links, " · ")])
    if rows:
        ties = [_say("tied", name=html.short_line(name), count=count) for name, count in board.tied.items()]
        _table("exports", ["name", "files"], rows, 2, " ".join([_say("exports_note"), *ties]))


def _bar(done: int, total: int) -> Markup:
    if not total:
        return Markup("–")
    return html.fill(
        '<progress max="{total}" value="{done}" aria-label="{done} / {total}"></progress>', total=total, done=done
    )


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Markup | str]], words: int, note: str) -> None:
    """A table whose first ``words`` columns contain words, the others numbers."""
    head = [_say(f"column.{name}") for name in columns]
    html.draw(figures_table(head, rows, words, _say(f"title.{title}"), note))
