"""The HTML of the page with a person's own labels: the list, and the passages of one query.

The page's script (``assets/own_labels.js``) puts these pieces in place. Everything untrusted in them is escaped here,
by ``html``. Passages are referred to by their label (``l`` and its seq) or their slot (``s`` and its number); the slot
stays when the label is changed or taken back.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence

from markupsafe import Markup

from annotator_app import html
from annotator_app.grading_view import GradingView
from annotator_app.words import Voice
from quati_pool.commands.annotate.grading.answer import LONGEST_NOTE, REASONS, Answer
from quati_pool.commands.annotate.own_labels import (
    LISTED,
    LONGEST_SEARCH,
    START,
    OwnLabel,
    OwnLabels,
    OwnPassage,
    OwnQuery,
    OwnQueryCount,
)
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.records import State
from quati_pool.text.sentences import sentences

UNSURE = "unsure"
"""The filter's value for labels without a grade."""

_QUERY_START = 80
_SAID_BY_THE_SCRIPT = (
    "stored",
    "stored_first",
    "stored_note",
    "stored_evidence",
    "same",
    "cannot_select",
    "passage_gone",
)
_SAID_AS_WHERE_PEOPLE_GRADE = ("chosen", "not_stored", "note_needed", "evidence_needed", "evidence_keys")
_COUNTED_BY_THE_SCRIPT = ("selected", "confirm", "changed")


class OwnLabelsView:
    """Draws the page of a session in one language."""

    def __init__(self, session: AnnotationSession, voice: Voice) -> None:
        self._session = session
        self._voice = voice
        self._grading = GradingView(session, voice)

    def _say(self, key: str, **values: object) -> str:
        return self._voice.say(f"own_labels.{key}", **values)

    # The frame

    def frame(self) -> Markup:
        """What stays: the filters, places for the list and a query's passages, the bar for many, its dialog."""
        return html.fill(
            '<div class="own" data-stage="list"><div class="said" role="status"></div>'
            '<section data-stages="list">{filters}<p class="count" role="status"></p><ol class="rows"></ol>'
            '<div class="pages"></div><p class="quiet keys">{keys_list}</p></section>'
            '<section data-stages="query"><div><div class="head"></div><div class="cards"></div>{bar}</div>{scale}'
            "</section>{dialog}</div>",
            filters=self._filters(),
            keys_list=self._say("keys_list"),
            bar=self._bar(),
            scale=self._grading.scale_aside(),
            dialog=self._dialog(),
        )

    def words(self) -> dict[str, str]:
        """The messages that the script shows by itself, with ``{grade}``, ``{was}`` and ``{count}`` to be filled in;
        those that count have both forms."""
        unfilled = {name: f"{{{name}}}" for name in ("grade", "was", "count")}
        said = {key: self._say(key, **unfilled) for key in _SAID_BY_THE_SCRIPT}
        said |= {key: self._voice.say(f"annotate.{key}", **unfilled) for key in _SAID_AS_WHERE_PEOPLE_GRADE}
        for key in _COUNTED_BY_THE_SCRIPT:
            said |= {f"{key}.{form}": self._say(f"{key}.{form}", **unfilled) for form in ("one", "other")}
        return {**said, "unreachable": self._voice.say("app.unreachable")}

    def _filters(self) -> Markup:
        grades = [(str(meaning.grade), self._grading.grade_name(meaning.grade)) for meaning in self._grading.scale]
        grades.append((UNSURE, self._voice.say("annotate.cannot")))
        return html.fill(
            '<form class="filters" role="search">'
            '<label class="wide">{search} <input type="search" name="text" maxlength="{most}" autocomplete="off" '
            'spellcheck="false" aria-keyshortcuts="/"></label>'
            '<label class="wide">{query} <select name="query"></select></label>'
            '<label>{grade} <select name="grade">{grades}</select></label>'
            '<label>{day} <input type="date" name="day"></label>{clear}</form>',
            search=self._say("search"),
            most=LONGEST_SEARCH,
            query=self._say("query"),
            grade=self._say("grade"),
            grades=html.join([self._option("", self._say("all")), *(self._option(*one) for one in grades)]),
            day=self._say("day"),
            clear=html.button("clear", self._say("clear")),
        )

    def _option(self, value: str, name: str, chosen: bool = False) -> Markup:
        return html.fill(
            '<option value="{value}"{chosen}>{name}</option>',
            value=value,
            chosen=Markup(" selected") if chosen else Markup(""),
            name=html.one_line(name),
        )

    def _bar(self) -> Markup:
        """The bar for the labels that are selected."""
        grades = [
            html.button("many", self._grading.name_of(meaning), _key(meaning.grade), value=meaning.grade)
            for meaning in self._grading.scale
        ]
        return html.fill(
            '<div class="bar" hidden><div class="bar-said" role="status"></div><div class="choices">'
            '<p class="selected" role="status"></p><div class="grades">{grades}</div><div class="moves">{clear}</div>'
            "</div></div>",
            grades=html.join(grades),
            clear=html.button("unselect", self._say("clear_selection"), "Esc"),
        )

    def _dialog(self) -> Markup:
        return html.fill(
            '<dialog class="confirm" aria-labelledby="confirm"><h2 id="confirm"></h2><p class="quiet">{former}</p>'
            '<ol class="former"></ol><div class="grades">'
            '<button type="button" class="primary" data-do="confirm" data-value=""><span>{change}</span>'
            '<kbd>Enter</kbd></button><button type="button" data-do="cancel" data-value=""><span>{cancel}</span>'
            "<kbd>Esc</kbd></button></div></dialog>",
            former=self._say("former"),
            change=self._say("change"),
            cancel=self._say("cancel"),
        )

    # The list

    def count(self, found: OwnLabels, filtered: bool) -> str:
        """How many labels there are, in a sentence."""
        if not found.total:
            return self._say("not_found" if filtered else "nothing")
        return self._say("found" if filtered else "given", count=found.total)

    def rows(self, labels: Sequence[OwnLabel]) -> Markup:
        """The labels on one page of the list."""
        return html.join([self._row(label) for label in labels])

    def _row(self, label: OwnLabel) -> Markup:
        note = (
            html.fill('<span class="row-note">{note}</span>', note=html.text(label.note)) if label.note else Markup("")
        )
        return html.fill(
            '<li><button type="button" class="row" data-do="open" data-value="{slot}" data-query="{query_id}">'
            '<span class="badge{kind}">{name}</span><span class="row-text"><b class="row-query">{query}</b>'
            '<span class="row-start">{start}</span>{note}</span><time datetime="{day}">{day}</time></button></li>',
            slot=_slot(label.assignment_id),
            query_id=label.query_id,
            kind="" if label.status is State.ok else " none",
            name=self.name(label),
            query=html.text(label.query),
            start=html.text(label.text_start + "…" * (len(label.text_start) == START)),
            note=note,
            day=label.day.isoformat(),
        )

    def queries(self, queries: Sequence[OwnQueryCount], chosen: str | None) -> Markup:
        """The choices of the filter by query."""
        options = [self._option("", self._say("all"))]
        for query_id, query, labels in queries:
            name = query if len(query) <= _QUERY_START else query[:_QUERY_START] + "…"
            counted = f"{name} ({self._voice.number(labels)})"
            options.append(self._option(query_id, counted, query_id == chosen))
        return html.join(options)

    def pages(self, found: OwnLabels) -> Markup:
        """Where this page of the list is, with buttons to the others; nothing if there is one page."""
        if found.total <= LISTED:
            return Markup("")
        last = found.start + len(found.labels)
        before = found.start - LISTED if found.start else None
        after = last if last < found.total else None
        return html.fill(
            "{before}<span>{here}</span>{after}",
            before=self._page("before", before, "←"),
            here=self._say("page", first=found.start + 1, last=last, total=found.total),
            after=self._page("next", after, "→"),
        )

    def _page(self, key: str, start: int | None, shown: str) -> Markup:
        return html.button("page", self._say(key), shown, value=start) if start is not None else Markup("")

    # The passages of a query

    def head(self, found: OwnQuery) -> Markup:
        """The query, above its passages."""
        graded = sum(one.label is not None for one in found.passages)
        left = len(found.passages) - graded
        counts = [self._say("graded", count=graded), *([self._say("open", count=left)] if left else [])]
        return html.fill(
            '<div class="moves">{back}{select_all}</div><section class="pair"{spoken}><h1 class="query">{query}</h1>'
            '{narrative}</section><p class="quiet">{counts}</p><p class="quiet keys">{keys}</p>',
            back=html.button("back", self._say("back"), "b"),
            select_all=html.button("select_all", self._say("select_all"), "a"),
            spoken=self._spoken(),
            query=html.text(found.query),
            narrative=html.passage(found.narrative, kind="narrative") if found.narrative else Markup(""),
            counts=" ".join(counts),
            keys=self._say("keys_query"),
        )

    def cards(self, found: OwnQuery, why_not: str | None) -> Markup:
        """All passages, those to grade last; see ``card``."""
        order = sorted(found.passages, key=lambda one: one.label is None)
        return html.join([self.card(one, why_not) for one in order])

    def card(self, passage: OwnPassage, why_not: str | None) -> Markup:
        """A passage with its label and the buttons that change it; one that is not graded yet with those that grade it,
        unless ``why_not`` is the key of the message why nothing can be graded here."""
        label = passage.label
        if label is not None:
            why_not = None if label.fixed is None else f"own_labels.fixed.{label.fixed}"
        reason = Markup("")
        if why_not is not None:
            reason = html.fill('<p class="quiet fixed">{text}</p>', text=self._voice.say(why_not))
        return html.fill(
            '<article class="card" tabindex="-1" data-ref="{ref}" data-slot="{slot}" data-sha="{sha}" '
            'data-nonce="{nonce}" data-name="{name}" data-answer="{answer}" data-sentences="{sentences}">'
            '<header>{pick}<span class="badge{kind}">{name}</span>{day}</header>{stored}'
            '<div class="pair"{spoken}>{text}</div>{note}{reason}{buttons}<div class="card-said" role="status"></div>'
            "</article>",
            ref=_slot(passage.assignment_id) if label is None else f"l{label.seq}",
            slot=_slot(passage.assignment_id),
            sha=passage.content_sha,
            nonce=secrets.token_hex(16),
            name=self._say("to_grade") if label is None else self.name(label),
            answer=json.dumps(None if label is None else self._answer(label)),
            sentences=json.dumps([] if why_not or self._evidence == "off" else sentences(passage.text)),
            pick=Markup("") if label is None or why_not else self._pick(),
            kind="" if label is not None and label.status is State.ok else " none",
            day=Markup("")
            if label is None
            else html.fill('<time class="quiet">{day}</time>', day=label.day.isoformat()),
            stored=html.fill(
                '<div class="stored" role="status" hidden><span></span>{undo}</div>',
                undo=html.button("undo", self._say("undo"), "u"),
            ),
            spoken=self._spoken(),
            text=html.passage(passage.text),
            note=self._note(label),
            reason=reason,
            buttons=Markup("") if why_not else self._buttons(),
        )

    @property
    def _evidence(self) -> str:
        return self._session.config.annotation.evidence

    def _spoken(self) -> Markup:
        # The interface may be in another language: screen readers need to know each.
        prompt = self._session.prompt
        return html.fill(' lang="{language}"', language=prompt.language) if prompt else Markup("")

    def _pick(self) -> Markup:
        return html.fill('<input type="checkbox" aria-label="{select}" tabindex="-1">', select=self._say("select"))

    def _note(self, label: OwnLabel | None) -> Markup:
        if label is None or not label.note:
            return Markup("")
        return html.fill(
            '<div class="noted"><span class="quiet">{name}</span> {note}</div>',
            name=self._say("note"),
            note=html.passage(label.note, kind="note-text"),
        )

    def _buttons(self) -> Markup:
        say = self._voice.say
        grades = [
            html.button("grade", self._grading.name_of(meaning), _key(meaning.grade), value=meaning.grade)
            for meaning in self._grading.scale
        ]
        reasons = [
            html.button("because", say(f"annotate.reason.{reason}"), str(place), value=reason)
            for place, reason in enumerate(REASONS, 1)
        ]
        moves = [
            html.button("cannot", say("annotate.cannot"), "x"),
            html.button("note", say("annotate.note"), "n"),
        ]
        if self._evidence != "off":
            moves.append(html.button("evidence", say("annotate.evidence"), "e"))
        return html.fill(
            '<div class="note" hidden><label>{label} <span class="quiet">{help}</span>'
            '<textarea rows="2" maxlength="{most}"></textarea></label></div>'
            '<div class="grades">{grades}</div><div class="reasons" hidden><p class="quiet">{why}</p>'
            '<div class="grades">{reasons}{back}</div></div><div class="moves">{moves}</div>',
            label=say("annotate.note_label"),
            help=self._say("note_help"),
            most=LONGEST_NOTE,
            grades=html.join(grades),
            why=say("annotate.why"),
            reasons=html.join(reasons),
            back=html.button("cannot", say("annotate.back"), "x"),
            moves=html.join(moves),
        )

    # Messages

    def conflict(self) -> Markup:
        """That a label or its passage is no longer as shown, with a button that shows it as it is."""
        return self.outdated(self._say("conflict"))

    def conflict_many(self, count: int) -> Markup:
        return self.outdated(self._say("conflict_many", count=count))

    def outdated(self, text: str) -> Markup:
        return html.fill(
            '<div class="notice warning"><p>{text}</p>{reload}</div>',
            text=text,
            reload=html.button("reload", self._say("reload"), "g"),
        )

    def notice(self, text: str) -> Markup:
        """A message in a box."""
        return html.fill('<p class="notice warning">{text}</p>', text=text)

    def name(self, label: OwnLabel) -> str:
        """What the person said: a grade with its name, or why there is none."""
        if label.status is State.ok:
            return self._grading.grade_name(label.relevance)
        return self._grading.stored(Answer(status=label.status, reason=label.reason, nonce=""))

    def _answer(self, label: OwnLabel) -> dict[str, object]:
        """What the script sends of a label where it changes something else, as it is stored; without the evidence if
        it was switched off since."""
        return {
            "status": label.status,
            "relevance": label.relevance,
            "reason": label.reason,
            "note": label.note,
            "evidence": () if self._evidence == "off" else label.evidence,
        }


def _slot(assignment_id: int | None) -> str:
    return "" if assignment_id is None else f"s{assignment_id}"


def _key(grade: int) -> str | None:
    return str(grade) if 0 <= grade <= 9 else None
