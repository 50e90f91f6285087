"""The page where a lead sees people's disagreements, query by query, and decides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, explorer, html, theme
from annotator_app.labels_table import LabelRow, grade_name, labels_table
from quati_pool.annotation.codes import new_token
from quati_pool.annotation.unicode_display import visible
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.review import blinding, decisions, disagreements, training_pairs
from quati_pool.commands.annotate.review.disagreements import DisputedPair, Filter, JudgesLabel, PersonsLabel, Review
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import ConflictError, StoreError

_SAID = "review.said"
_NONCES = "review.nonces"
_START = "review.start"
_LONGEST_OPTION = 90


def page() -> None:
    style, title = Markup(theme.asset("lead.css")), context.say("app.review")
    html.draw(html.fill('<style>{style}</style><h1 class="page">{title}</h1>', style=style, title=title))
    _review()


@st.fragment
def _review() -> None:
    with error_notices.guarded():
        wanted = _filter()
        found = disagreements.disagreements(context.session(), context.token(), wanted, st.session_state.get(_START, 0))
        _choices(found, wanted)
        _outcome(found)
        query = None
        for row in found.pairs:
            if row.query_id != query:
                query = row.query_id
                _query(row)
            _pair(row)
        _pages(found)


def _say(key: str, **values: object) -> str:
    return context.say(f"review.{key}", **values)


# What to show


def _filter() -> Filter:
    """The filter from the widgets' values in the last run; they are drawn later, when their options are known."""
    state = st.session_state
    gap = state.get("review.gap")
    return Filter(
        query_id=state.get("review.query"),
        assessor=state.get("review.assessor"),
        gap=1 if gap is None else gap,
        undecided=bool(state.get("review.undecided")),
        judges=bool(state.get("review.judges")),
    )


def _choices(found: Review, wanted: Filter) -> None:
    queries = {one.query_id: one for one in found.queries}
    if wanted.query_id is not None and wanted.query_id not in queries:
        # The chosen query has no more pairs under this filter; it stays chosen until another one is chosen.
        queries = {wanted.query_id: disagreements.QueryCount(wanted.query_id, "", 0, 0, 0), **queries}

    def named(query_id: str) -> str:
        one = queries[query_id]
        return _plain(
            _say("query_option", query_id=query_id, query=one.query, pairs=one.pairs, undecided=one.undecided)
        )

    with st.container(key="choices"):
        one, two, three = st.columns([0.5, 0.25, 0.25])
        with one:
            st.selectbox(
                _say("query"), list(queries), index=None, format_func=named, placeholder=_say("all"),
                key="review.query", on_change=_from_the_start,
            )  # fmt: skip
        with two:
            st.selectbox(
                _say("assessor"), found.assessors, index=None, format_func=_plain, placeholder=_say("all"),
                key="review.assessor", on_change=_from_the_start,
            )  # fmt: skip
        with three:
            st.selectbox(
                _say("gap"), range(found.widest + 1), index=1, format_func=_gap_option,
                key="review.gap", on_change=_from_the_start,
            )  # fmt: skip
        with st.container(horizontal=True):
            st.toggle(_say("undecided_only"), key="review.undecided", on_change=_from_the_start)
            st.toggle(_say("with_judges"), key="review.judges", on_change=_from_the_start)


def _gap_option(gap: int) -> str:
    return _say("any_gap") if gap == 0 else _say("least_gap", gap=gap)


def _from_the_start() -> None:
    st.session_state[_START] = 0


def _outcome(found: Review) -> None:
    """Draws the number of pairs, and the outcome of the last button press."""
    said = st.session_state.pop(_SAID, None)
    if said is not None:
        error_notices.notice(*said)
    counts = _say("counts", count=found.total, undecided=found.undecided)
    html.draw(html.fill('<p class="quiet">{counts}</p>', counts=counts if found.total else _say("nothing")))
    for name, problem in found.problems.items():
        error_notices.notice(_say("left_out", name=name, problem=problem))
    if found.history:
        html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("history", count=found.history)))


def _pages(found: Review) -> None:
    if found.total <= disagreements.SHOWN:
        return
    last = found.start + len(found.pairs)
    with st.container(horizontal=True, key="pages"):
        st.button(_say("before"), disabled=found.start == 0, on_click=_go, args=(found.start - disagreements.SHOWN,))
        st.button(_say("next"), disabled=last >= found.total, on_click=_go, args=(found.start + disagreements.SHOWN,))
        html.draw(
            html.fill(
                '<p class="quiet">{text}</p>', text=_say("place", first=found.start + 1, last=last, total=found.total)
            )
        )


def _go(start: int) -> None:
    st.session_state[_START] = max(start, 0)


# A pair


def _query(row: DisputedPair) -> None:
    narrative = html.passage(row.narrative, kind="narrative") if row.narrative else Markup("")
    html.draw(
        html.fill(
            '<section class="pair"><h2 class="query">{query}</h2><p class="quiet">{ids} · '
            '<a class="go" href="{address}" target="_blank">{explorer}</a></p>{narrative}</section>',
            query=html.text(row.query),
            ids=html.text(row.query_id),
            address=explorer.address(row.query_id),
            explorer=context.say("explorer.of_query"),
            narrative=narrative,
        )
    )


def _pair(row: DisputedPair) -> None:
    key = hashlib.sha256(f"{row.query_id}\t{row.doc_id}".encode()).hexdigest()[:12]
    with st.container(key=f"dispute-{key}", border=True):
        head = _say("gap_is", gap=row.gap) if row.gap else _say("split") if row.split else _say("same")
        rows = [_of_person(one) for one in row.people] + [_of_judge(one) for one in row.judges or ()]
        html.draw(
            html.fill(
                '<section class="dispute"><p><span class="badge">{head}</span> <span class="quiet">{doc_id}</span></p>'
                "{text}{table}</section>",
                head=head,
                doc_id=html.text(row.doc_id),
                text=html.passage(row.text),
                table=labels_table(rows),
            )
        )
        if row.judges is None:
            st.button(_say("reveal"), key=f"reveal-{key}", type="tertiary", help=_say("reveal_help"),
                      on_click=_reveal, args=(row,))  # fmt: skip
        elif row.judges:
            html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("revealed")))
        _decision(row)
        with st.container(horizontal=True, key=f"decide-{key}"):
            for meaning in context.session().scale:
                chosen = row.decision is not None and row.decision.relevance == meaning.grade
                st.button(
                    html.label(f"{meaning.grade} {meaning.name}"), key=f"grade-{key}-{meaning.grade}",
                    type="primary" if chosen else "secondary", on_click=_decide, args=(row, key, meaning.grade),
                )  # fmt: skip
            nobody = row.decision is not None and row.decision.relevance is None
            st.button(
                _say("cannot"), key=f"cannot-{key}", type="primary" if nobody else "secondary",
                on_click=_decide, args=(row, key, None),
            )  # fmt: skip
            if row.decision is not None:
                st.button(_say("take_back"), key=f"back-{key}", on_click=_take_back, args=(row, key))
            with st.popover(_say("practised" if row.training else "practise")):
                _training(row, key)
        st.text_area(
            _say("comment"), key=f"comment-{key}", height=68, max_chars=decisions.LONGEST_COMMENT,
            value=(row.decision.comment or "") if row.decision else "",
        )  # fmt: skip


def _of_person(one: PersonsLabel) -> LabelRow:
    notes = []
    if one.reason:
        known = one.reason in ("broken_text", "other_language", "needs_context", "other")
        notes.append(context.say(f"annotate.reason.{one.reason}") if known else one.reason)
    if one.note:
        notes.append(one.note)
    if one.second is not None:
        notes.append(_say("second", grade=grade_name(one.second.relevance, one.second.status)))
        if one.second.note:
            notes.append(one.second.note)
    return LabelRow(one.name, "person", grade_name(one.relevance, one.status), one.seconds, notes)


def _of_judge(one: JudgesLabel) -> LabelRow:
    grade = grade_name(one.relevance, one.status)
    if one.samples:
        grade += f" ({', '.join(map(str, one.samples))})"
    return LabelRow(one.name, one.kind, grade, None, [], one.rationales, one.thoughts)


def _decision(row: DisputedPair) -> None:
    if row.decision is None:
        return
    by, grade = row.decision.by, grade_name(row.decision.relevance, None)
    said = _say("decided_revealed" if row.decision.revealed else "decided", by=_plain(by), grade=grade)
    html.draw(html.fill('<p class="decided">{text}</p>', text=said))


def _training(row: DisputedPair, key: str) -> None:
    """The form that marks the pair as a training pair, or the button that drops it."""
    known = row.training
    if known is not None:
        html.draw(html.fill("<p>{text}</p>{why}", text=_say("practice_is", grade=grade_name(known.relevance, None)),
                            why=html.passage(known.explanation, kind="why")))  # fmt: skip
        st.button(_say("practice_drop"), key=f"drop-{key}", on_click=_drop, args=(known.training_id,))
        return
    grades = [meaning.grade for meaning in context.session().scale]
    usual = row.decision.relevance if row.decision and row.decision.relevance is not None else None
    # A form, because a choice would otherwise rerun the page and close the popover.
    with st.form(f"practice-{key}", border=False):
        st.selectbox(
            _say("practice_grade"), grades, index=None if usual is None else grades.index(usual), key=f"known-{key}",
            format_func=lambda grade: grade_name(grade, None), placeholder=_say("choose"),
        )  # fmt: skip
        st.text_area(_say("practice_why"), key=f"why-{key}", max_chars=decisions.LONGEST_COMMENT)
        st.form_submit_button(_say("practice_mark"), key=f"mark-{key}", on_click=_mark, args=(row, key))


# What a press does: the step first, then a sentence about it


def _reveal(row: DisputedPair) -> None:
    _tried(lambda: blinding.reveal(context.session(), context.token(), row.query_id, row.doc_id))


def _decide(row: DisputedPair, key: str, relevance: int | None) -> None:
    comment = st.session_state.get(f"comment-{key}")
    nonce = _nonce(f"{key} {relevance}", row.last_seq)
    done = _tried(
        lambda: decisions.decide(
            context.session(), context.token(), row.query_id, row.doc_id, row.content_sha, relevance, comment, nonce,
            row.last_seq,
        ),
    )  # fmt: skip
    if done:
        st.session_state[_SAID] = (_say("stored", grade=grade_name(relevance, None)), "good")


def _take_back(row: DisputedPair, key: str) -> None:
    assert row.last_seq is not None
    seen, nonce = row.last_seq, _nonce(f"{key} back", row.last_seq)
    done = _tried(
        lambda: decisions.take_back(
            context.session(), context.token(), row.query_id, row.doc_id, row.content_sha, nonce, seen
        ),
    )
    if done:
        st.session_state[_SAID] = (_say("taken_back"), "good")


def _mark(row: DisputedPair, key: str) -> None:
    grade, why = st.session_state.get(f"known-{key}"), st.session_state.get(f"why-{key}")
    if grade is None or not (why or "").strip():
        st.session_state[_SAID] = (_say("practice_needs"), "warning")
        return
    ids = (row.query_id, row.doc_id)
    if _tried(lambda: training_pairs.mark_training(context.session(), context.token(), *ids, grade, why or "")):
        st.session_state[_SAID] = (_say("practice_marked"), "good")


def _drop(training_id: int) -> None:
    if _tried(lambda: training_pairs.drop_training(context.session(), context.token(), training_id)):
        st.session_state[_SAID] = (_say("practice_dropped"), "good")


def _tried(step: Callable[[], object]) -> bool:
    """Whether a command succeeded; if not, the reason is shown above the pairs."""
    try:
        step()
    except (SignedOutError, ForbiddenError):
        # The page reports this itself when it is drawn next.
        return False
    except ConflictError as error:
        said = _say(f"conflict_{error.reason}") if error.reason in ("changed", "gone") else str(error)
    except StoreError:
        said = _say("not_stored")
    except QuatiPoolError as error:
        said = str(error)
    else:
        return True
    st.session_state[_SAID] = (said, "warning")
    return False


def _nonce(what: str, last: int | None) -> str:
    """One nonce per button press on a pair in its current state, so that a press that is sent twice is written once."""
    nonces = st.session_state.setdefault(_NONCES, {})
    found: str = nonces.setdefault((what, last), new_token())
    return found


def _plain(text: str) -> str:
    """An untrusted text for a widget's options, which are not Markdown: on one line, with hidden characters shown."""
    shown = " ".join("".join(part.shown for part in visible(text)).split())
    return shown if len(shown) <= _LONGEST_OPTION else shown[: _LONGEST_OPTION - 1] + "…"
