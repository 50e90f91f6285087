"""The page where a lead sees people's disagreements one by one, and decides; ``assets/review.js`` has its keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import streamlit as st
from markupsafe import Markup

from annotator_app import context, error_notices, explorer, guide, html, open_remarks, theme
from annotator_app.labels_table import LabelRow, grade_name, labels_table
from annotator_app.words import Voice
from quati_pool.annotation.codes import new_token
from quati_pool.annotation.evidence import merged
from quati_pool.commands.annotate.annotation_pair import Ids
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.review import blinding, decisions, disagreements, drafts, training_pairs
from quati_pool.commands.annotate.review.disagreements import DisputedPair, Filter, JudgesLabel, PersonsLabel, Review
from quati_pool.commands.annotate.session import GradeMeaning
from quati_pool.errors import QuatiPoolError
from quati_pool.store.errors import ConflictError, StoreError

_Result = TypeVar("_Result")

_AT = "review.at"
_ADVANCE = "review.advance"
_LAST = "review.last"
_DRAWN = "review.drawn"
_CHANGED = "review.changed"
_SAID = "review.said"
_NONCES = "review.nonces"
_TYPED = "review.typed"


class _Stored(NamedTuple):
    """The last decision that was stored in this tab, and what the page says about it."""

    ids: Ids
    content_sha: str
    seq: int
    comment: str
    said: str


def page() -> None:
    style, title = Markup(theme.asset("lead.css")), context.say("app.review")
    html.draw(html.fill('<style>{style}</style><h1 class="unseen">{title}</h1>', style=style, title=title))
    open_remarks.section()
    _review()


@st.fragment
def _review() -> None:
    with error_notices.guarded():
        state, wanted = st.session_state, _filter()
        found = disagreements.disagreements(
            context.session(), context.token(), wanted, state.get(_AT), advance=state.get(_ADVANCE, False)
        )
        state[_AT], state[_ADVANCE] = found.pair and found.pair.ids, False
        with st.container(horizontal=True, key="where", vertical_alignment="center"):
            _where(found, wanted)
        # Where there may be nothing, a place is kept: a browser would otherwise make all that follows again.
        with st.empty():
            said = state.pop(_SAID, None)
            if said is not None:
                error_notices.notice(*said)
        if found.pair is not None:
            left, right = st.columns([0.68, 0.32], gap="large")
            with left:
                with st.container(key="pair"):
                    _pair(found.pair)
                with st.container(key="bar"):
                    _bar(found.pair)
            with right:
                html.draw(_meanings(wide=True))
        _left_out(found)


def _say(key: str, **values: object) -> str:
    return context.say(f"review.{key}", **values)


def _scale() -> list[GradeMeaning]:
    return context.session().scale_in(context.language())


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


def _where(found: Review, wanted: Filter) -> None:
    """One line: the dispute's place, what was stored last with the way back to it, the neighbours, and the filter."""
    total, undecided = len(found.ids), found.undecided
    chosen = [wanted.query_id, wanted.assessor, wanted.gap != 1 and _gap_option(wanted.gap)]
    chosen.append(wanted.undecided and _say("undecided_only"))
    key = "nothing" if not total else "all_decided" if not undecided else "progress"
    place = context.number(found.place)
    parts = [html.fill("<b>{text}</b>", text=_say(key, place=place, total=total, undecided=undecided))]
    parts += [html.text(html.short_line(one)) for one in chosen if one]
    last = st.session_state.get(_LAST)
    stored = html.fill('<span class="stored">{said}</span>', said=html.text(last.said)) if last else Markup("")
    html.draw(
        html.fill('<p class="place" role="status">{parts} {stored}</p>', parts=html.join(parts, " · "), stored=stored)
    )
    if last is not None and (found.pair is None or found.pair.ids != last.ids):
        st.button(_say("back"), key="back", shortcut="b", on_click=_go, args=(last.ids,))
        if found.pair is None or found.pair.decision is None:
            label = _say("take_last_back")
            st.button(label, key="take-last-back", shortcut="u", on_click=_take_last_back, args=(last,))
    for key, shortcut, ids in (("before", "k", found.before), ("next", "j", found.next)):
        st.button(_say(key), key=f"go-{key}", shortcut=shortcut, disabled=ids is None, on_click=_go, args=(ids,))
    with st.popover(_say("filter")):
        _choices(found, wanted)


def _choices(found: Review, wanted: Filter) -> None:
    queries = {one.query_id: one for one in found.queries}
    if wanted.query_id is not None and wanted.query_id not in queries:
        # The chosen query has no more pairs under this filter; it stays chosen until another one is chosen.
        queries = {wanted.query_id: disagreements.QueryCount(wanted.query_id, "", 0, 0, 0), **queries}

    def named(query_id: str) -> str:
        one = queries[query_id]
        return html.short_line(
            _say("query_option", query_id=query_id, query=one.query, pairs=one.pairs, undecided=one.undecided)
        )

    st.selectbox(
        _say("query"), list(queries), index=None, format_func=named, placeholder=_say("all_queries"),
        key="review.query", on_change=_go, args=(None,),
    )  # fmt: skip
    st.selectbox(
        _say("assessor"), found.assessors, index=None, format_func=html.short_line, placeholder=_say("anyone"),
        key="review.assessor", on_change=_go, args=(None,),
    )  # fmt: skip
    st.selectbox(
        _say("gap"), range(found.widest + 1), index=1, format_func=_gap_option,
        key="review.gap", on_change=_go, args=(None,),
    )  # fmt: skip
    st.toggle(_say("undecided_only"), key="review.undecided", on_change=_go, args=(None,))
    st.toggle(_say("with_judges"), key="review.judges", on_change=_go, args=(None,))


def _gap_option(gap: int) -> str:
    return _say("any_gap") if gap == 0 else _say("least_gap", gap=gap)


def _go(ids: Ids | None) -> None:
    """Shows a pair next; None: the first undecided one."""
    st.session_state[_AT] = ids


def _left_out(found: Review) -> None:
    if found.pair is not None and found.pair.judges is not None:
        # Until then not even the judges' names are shown.
        for name, problem in found.problems.items():
            error_notices.notice(_say("left_out", name=name, problem=context.translated(problem)))
    if found.history:
        html.draw(html.fill('<p class="quiet">{text}</p>', text=_say("history", count=found.history)))


# A pair


def _key(ids: Ids) -> str:
    return hashlib.sha256("\t".join(ids).encode()).hexdigest()[:12]


def _pair(row: DisputedPair) -> None:
    """The passage comes last, so that a long one does not push away what a decision needs."""
    key, prompt = _key(row.ids), context.session().prompt
    spoken = html.fill(' lang="{language}"', language=prompt.language) if prompt else Markup("")
    html.draw(
        html.fill(
            '<section class="pair"{spoken}><h2 class="query unfolded">{query}</h2>{narrative}</section>',
            spoken=spoken,
            query=html.text(row.query),
            narrative=html.passage(row.narrative, kind="narrative") if row.narrative else Markup(""),
        )
    )
    with st.container(horizontal=True, key="about", vertical_alignment="center"):
        html.draw(
            html.fill(
                '<p class="quiet ids"><span class="badge">{gap}</span> {query_id} · {doc_id} · '
                '<a class="go" href="{address}" target="_blank">{explorer}</a></p>',
                gap=_say("gap_is", gap=row.gap) if row.gap else _say("split") if row.split else _say("same"),
                query_id=html.text(row.query_id),
                doc_id=html.text(row.doc_id),
                address=explorer.address(row.query_id),
                explorer=context.say("explorer.of_query"),
            )
        )
        if row.judges is None:
            # Without a key: a slip would mark the decision for good.
            st.button(_say("reveal"), key=f"reveal-{key}", type="tertiary", help=_say("reveal_help"),
                      on_click=_reveal, args=(row,))  # fmt: skip
        with st.popover(_say("practised" if row.training else "practise"), type="tertiary"):
            _training(row, key)
    labels = labels_table(
        [_of_person(one, row.text) for one in row.people] + [_of_judge(one) for one in row.judges or ()]
    )
    html.draw(labels + html.fill('<p class="quiet">{text}</p>', text=_say("revealed")) if row.judges else labels)
    # Presses on what was drawn before are not meant for this: the script lets one through for each drawing.
    st.session_state[_DRAWN] = st.session_state.get(_DRAWN, 0) + 1
    html.draw(
        html.fill(
            '<section class="pair" data-dispute="{key}.{changed}" data-drawn="{drawn}"{spoken}>{text}</section>',
            key=key,
            changed=st.session_state.get(_CHANGED, 0),  # what somebody else changed is to be read before the next press
            drawn=st.session_state[_DRAWN],
            spoken=spoken,
            text=html.passage(row.text, merged(span for one in row.people for span in one.evidence)),
        )
    )


def _bar(row: DisputedPair) -> None:
    """The decision: the comment first, then the buttons with their keys."""
    key = _key(row.ids)
    early = html.fill('<p class="notice warning" role="status" id="early" hidden>{text}</p>', text=_say("too_quick"))
    with st.container(horizontal=True, key="decided", vertical_alignment="center"):
        html.draw(early + _decided(row))
        if row.decision is not None:
            st.button(_say("take_back"), key=f"back-{key}", shortcut="u", on_click=_take_back, args=(row,))
    with st.container(key="comment"):
        _comment(row, key)
    with st.container(horizontal=True, key="decide"):
        for meaning in _scale():
            chosen = row.decision is not None and row.decision.relevance == meaning.grade
            st.button(
                html.label(f"{meaning.grade} {meaning.name}"), key=f"grade-{key}-{meaning.grade}",
                shortcut=str(meaning.grade) if 0 <= meaning.grade <= 9 else None,
                type="primary" if chosen else "secondary", on_click=_decide, args=(row, meaning.grade),
            )  # fmt: skip
        nobody = row.decision is not None and row.decision.relevance is None
        st.button(
            _say("cannot"), key=f"cannot-{key}", shortcut="x", type="primary" if nobody else "secondary",
            on_click=_decide, args=(row, None),
        )  # fmt: skip
    html.draw(_meanings(wide=False))


def _comment(row: DisputedPair, key: str) -> None:
    state, field = st.session_state, f"comment-{key}"
    typed = state.get(_TYPED, {})
    kept = typed if row.ids in typed else drafts.drafts(context.session(), context.token())
    text = kept.get(row.ids, _stored_comment(row))
    # A field keeps its text from run to run; only another lead's comment changes it.
    if field not in state or state[field].strip() != text.strip():
        state[field] = text
    draft = row.decision is not None and text != _stored_comment(row)
    label = _say("comment_draft" if draft else "comment_decided" if row.decision else "comment")
    st.text_area(label, key=field, height=68, max_chars=decisions.LONGEST_COMMENT, on_change=_commented, args=(row,))


def _meanings(*, wide: bool) -> Markup:
    """The meanings of the grades, in a column of their own or folded; the style sheet shows one of the two."""
    title, meanings = context.say("annotate.scale"), guide.meanings(Voice(context.language()), _scale())
    if wide:
        return html.fill(
            '<aside class="scale wide" aria-label="{title}"><h2>{title}</h2>{meanings}</aside>',
            title=title,
            meanings=meanings,
        )
    return html.fill(
        '<details class="scale folded"><summary>{title}</summary>{meanings}</details>', title=title, meanings=meanings
    )


def _of_person(one: PersonsLabel, text: str) -> LabelRow:
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
    evidence = [text[span.start : span.end] for span in one.evidence]
    return LabelRow(one.name, "person", grade_name(one.relevance, one.status), one.seconds, notes, evidence=evidence)


def _of_judge(one: JudgesLabel) -> LabelRow:
    grade = grade_name(one.relevance, one.status)
    if one.samples:
        grade += f" ({', '.join(map(str, one.samples))})"
    return LabelRow(one.name, one.kind, grade, None, [], one.rationales, one.thoughts)


def _decided(row: DisputedPair) -> Markup:
    if row.decision is None:
        return Markup("")
    by, grade = row.decision.by, grade_name(row.decision.relevance, None)
    said = _say("decided_revealed" if row.decision.revealed else "decided", by=html.short_line(by), grade=grade)
    comment = html.text(html.short_line(row.decision.comment or ""))
    return html.fill('<p class="decided">{said} <span>{comment}</span></p>', said=said, comment=comment)


def _training(row: DisputedPair, key: str) -> None:
    """The form that marks the pair as a training pair, or the button that drops it."""
    known = row.training
    if known is not None:
        html.draw(html.fill("<p>{text}</p>{why}", text=_say("practice_is", grade=grade_name(known.relevance, None)),
                            why=html.passage(known.explanation, kind="why")))  # fmt: skip
        st.button(_say("practice_drop"), key=f"drop-{key}", on_click=_drop, args=(known.training_id,))
        return
    grades = [meaning.grade for meaning in _scale()]
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


def _decide(row: DisputedPair, relevance: int | None) -> None:
    state, ids = st.session_state, row.ids
    if state.get(_AT) != ids or state.get(_ADVANCE):
        state[_SAID] = (_say("late"), "warning")
        return
    comment, seen = _typed(row), _seen(row)
    stored = _tried(
        lambda: decisions.decide(
            context.session(), context.token(), *ids, row.content_sha, relevance, comment,
            _nonce(f"{ids} {relevance} {comment}", seen), seen,
        ),
    )  # fmt: skip
    if stored is None:
        _draft(row.ids, comment)
    else:
        _keep(row, stored.seq, grade_name(relevance, None), comment)
        state[_ADVANCE] = True


def _commented(row: DisputedPair) -> None:
    """Keeps a comment as it is left: with the decision if there is one, else until there is one."""
    if st.session_state.get(_ADVANCE):
        return  # The press that left the field stored it.
    comment, seen, decision = _typed(row), _seen(row), row.decision
    if decision is not None and seen is not None:
        stored = _tried(
            lambda: decisions.change_comment(
                context.session(), context.token(), *row.ids, row.content_sha, comment,
                _nonce(f"{row.ids} {comment}", seen), seen,
            ),
        )  # fmt: skip
        if stored is not None:
            _keep(row, stored.seq, grade_name(decision.relevance, None), comment)
            return
    _draft(row.ids, comment if comment != _stored_comment(row) else None)


def _typed(row: DisputedPair) -> str:
    """The comment in the field."""
    return str(st.session_state.get(f"comment-{_key(row.ids)}") or "").strip()


def _draft(ids: Ids, comment: str | None) -> None:
    """Keeps a comment as a draft, in this tab too for when the database is away; None: it is stored."""
    typed = st.session_state.setdefault(_TYPED, {})
    typed.pop(ids, None)
    if comment is not None:
        typed[ids] = comment
    _tried(lambda: drafts.keep_draft(context.session(), context.token(), ids, comment))


def _stored_comment(row: DisputedPair) -> str:
    return (row.decision and row.decision.comment) or ""


def _keep(row: DisputedPair, seq: int, grade: str, comment: str) -> None:
    """Remembers what was stored, to be said on the next dispute's page; its comment is no draft any more."""
    _draft(row.ids, None)
    said = (
        _say("stored_comment", grade=grade, comment=html.short_line(comment))
        if comment
        else _say("stored", grade=grade)
    )
    st.session_state[_LAST] = _Stored(row.ids, row.content_sha, seq, comment, said)


def _seen(row: DisputedPair) -> int | None:
    """The pair's last decision as this tab knows it: a comment may have been stored since the pair was drawn."""
    last = st.session_state.get(_LAST)
    ours = last.seq if last is not None and last.ids == row.ids else 0
    return max(ours, row.last_seq or 0) or None


def _take_back(row: DisputedPair) -> None:
    assert row.decision is not None
    mine = row.decision.by == context.person().name
    _undo(row.ids, row.content_sha, _seen(row), _stored_comment(row) if mine else "")


def _take_last_back(last: _Stored) -> None:
    if st.session_state.get(_LAST) != last:
        st.session_state[_SAID] = (_say("late"), "warning")
        return
    _undo(last.ids, last.content_sha, last.seq, last.comment)


def _undo(ids: Ids, content_sha: str, seen: int | None, comment: str) -> None:
    """Takes a decision back and shows its pair; the comment stays in the field."""
    assert seen is not None
    nonce = _nonce(f"{ids} back", seen)
    st.session_state[_AT] = ids
    if _tried(lambda: decisions.take_back(context.session(), context.token(), *ids, content_sha, nonce, seen)):
        if comment:
            _draft(ids, comment)
        st.session_state[_LAST] = None
        st.session_state[_SAID] = (_say("taken_back"), "good")


def _mark(row: DisputedPair, key: str) -> None:
    grade, why = st.session_state.get(f"known-{key}"), st.session_state.get(f"why-{key}")
    if grade is None or not (why or "").strip():
        st.session_state[_SAID] = (_say("practice_needs"), "warning")
        return
    if _tried(lambda: training_pairs.mark_training(context.session(), context.token(), *row.ids, grade, why or "")):
        st.session_state[_SAID] = (_say("practice_marked"), "good")


def _drop(training_id: int) -> None:
    if _tried(lambda: training_pairs.drop_training(context.session(), context.token(), training_id)):
        st.session_state[_SAID] = (_say("practice_dropped"), "good")


def _tried(step: Callable[[], _Result]) -> _Result | None:
    """What a command returns; None if it failed: the reason is then shown above the pair."""
    try:
        return step()
    except (SignedOutError, ForbiddenError):
        # The page reports this itself when it is drawn next.
        return None
    except ConflictError as error:
        st.session_state[_CHANGED] = st.session_state.get(_CHANGED, 0) + 1
        said = _say(f"conflict_{error.reason}") if error.reason in ("changed", "gone") else str(error)
    except StoreError:
        said = _say("not_stored")
    except QuatiPoolError as error:
        said = str(error)
    st.session_state[_SAID] = (said, "warning")
    return None


def _nonce(what: str, last: int | None) -> str:
    """One nonce per button press on a pair in its current state, so that a press that is sent twice is written once."""
    nonces = st.session_state.setdefault(_NONCES, {})
    found: str = nonces.setdefault((what, last), new_token())
    return found
