"""The HTML of the grading page: the frame, drawn once, and what changes with every pair.

The page's script (``assets/grading.js``) puts these pieces in place. Everything untrusted in them is escaped here, by
``html``; the script inserts no text of its own making as HTML.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from annotator_app import guide, html
from annotator_app.words import Voice
from quati_pool.annotation.highlight import highlights
from quati_pool.commands.annotate.grading.answer import LONGEST_NOTE, REASONS, Answer
from quati_pool.commands.annotate.grading.item import Item, SimilarPassage
from quati_pool.commands.annotate.grading.next_item import Progress
from quati_pool.commands.annotate.grading.pace import Pace
from quati_pool.commands.annotate.grading.reveal import Reveal
from quati_pool.commands.annotate.remarks import LONGEST_REMARK, Conversation
from quati_pool.commands.annotate.session import AnnotationSession, GradeMeaning
from quati_pool.store.records import Training

_START = 90
_SAID_BY_THE_SCRIPT = (
    "chosen",
    "not_stored",
    "too_quick",
    "note_needed",
    "evidence_needed",
    "evidence_needed_touch",
    "evidence_keys",
    "evidence_touch",
    "ask_unsent",
    "try_again",
)


class GradingView:
    """Draws the grading page of a session in one language."""

    def __init__(self, session: AnnotationSession, voice: Voice) -> None:
        self._session = session
        self._voice = voice
        self.scale: Sequence[GradeMeaning] = session.scale_in(voice.language)

    def _say(self, key: str, **values: object) -> str:
        return self._voice.say(f"annotate.{key}", **values)

    # The frame

    def frame(self, highlight: bool) -> Markup:
        """What stays from pair to pair: places for the pair and the messages, all buttons, the scale, the guide."""
        return html.fill(
            '<div class="desk" data-stage="begin"><div class="left"><div class="where"></div>'
            '<div class="answers" role="status"></div><div class="said" role="status"></div>'
            '<div class="feedback-place"></div>'
            '<div class="pair-place"></div>{bar}</div>{scale}{guide}</div>',
            bar=self._bar(highlight),
            scale=self.scale_aside(),
            guide=guide.drawer(self._session, self._voice, self._say("scale"), guide.meanings(self._voice, self.scale)),
        )

    def words(self) -> dict[str, str]:
        """The messages that the script shows by itself, with ``{grade}`` to be filled in."""
        said = {key: self._say(key, grade="{grade}") for key in _SAID_BY_THE_SCRIPT}
        return {**said, "unreachable": self._voice.say("app.unreachable")}

    def _bar(self, highlight: bool) -> Markup:
        grades = [
            html.button("grade", self.name_of(meaning), _key(meaning.grade), value=meaning.grade)
            for meaning in self.scale
        ]
        reasons = [
            html.button("because", self._say(f"reason.{reason}"), str(place), value=reason)
            for place, reason in enumerate(REASONS, 1)
        ]
        note = html.fill(
            '<div class="note" hidden><label for="note">{label} <span class="quiet">{help}</span></label>'
            '<textarea id="note" rows="2" maxlength="{most}"></textarea></div>',
            label=self._say("note_label"),
            help=self._say("note_help"),
            most=LONGEST_NOTE,
        )
        question = html.fill(
            '<div class="note question" hidden><label for="question">{label}</label>'
            '<textarea id="question" rows="2" maxlength="{most}"></textarea>{send}</div>',
            label=self._say("ask_label"),
            most=LONGEST_REMARK,
            send=html.button("send", self._say("ask_send"), None),
        )
        moves = [
            html.button("undo", self._say("undo"), "u", stages="ask reasons end"),
            html.button("later", self._say("later"), "s", stages="ask"),
            html.button("cannot", self._say("cannot"), "x", stages="ask"),
            html.button("cannot", self._say("back"), "x", stages="reasons"),
            html.button("more", self._say("more"), None, stages="ask reasons reveal practice end"),
        ]
        folded = [
            html.button("note", self._say("note"), "n", stages="ask reasons reveal"),
            html.button("highlight", self._say("highlight_on"), "h", stages="ask reasons", value="on"),
            html.button("highlight", self._say("highlight_off"), "h", stages="ask reasons", value="off"),
            html.button("ask", self._say("ask"), "q", stages="ask reasons reveal practice"),
            html.button("guide", self._say("guide"), "?", stages="ask reasons reveal practice end"),
        ]
        if self._session.config.annotation.evidence != "off":
            folded.insert(1, html.button("evidence", self._say("evidence"), "e", stages="ask"))
        return html.fill(
            '<div class="bar" data-highlight="{highlight}">{note}{question}'
            '<p class="quiet" data-stages="reasons">{why}</p>'
            '<div class="grades" data-stages="ask reveal">{grades}</div>'
            '<div class="grades" data-stages="reasons">{reasons}</div>'
            '<div class="grades" data-stages="practice">{go_on}</div>'
            '<div class="grades" data-stages="end">{again}</div>'
            '<div class="moves">{keep}{moves}<span class="folded">{folded}</span></div></div>',
            highlight="on" if highlight else "off",
            note=note,
            question=question,
            why=self._say("why"),
            grades=html.join(grades),
            reasons=html.join(reasons),
            go_on=html.button("go_on", self._say("go_on"), "g", primary=True),
            again=html.button("go_on", self._say("look_again"), "g", primary=True),
            keep=html.button("go_on", self._say("keep"), "g", stages="reveal"),
            moves=html.join(moves),
            folded=html.join(folded),
        )

    def scale_aside(self) -> Markup:
        """What the grades mean, next to what is graded."""
        return html.fill(
            '<aside class="scale wide" aria-label="{title}"><h2>{title}</h2>{meanings}</aside>',
            title=self._say("scale"),
            meanings=guide.meanings(self._voice, self.scale),
        )

    # What changes

    def progress(self, item: Item | None, done: Progress, pace: Pace, stored: str | None) -> Markup:
        """Where the person is, and what was stored last."""
        if item is not None and item.kind == "training":
            return html.fill(
                '<p class="progress"><span class="badge">{practice}</span> {hint}</p>',
                practice=self._say("practice"),
                hint=self._say("practice_hint"),
            )
        parts = []
        if item is not None and done.query_total:
            parts.append(self._measure(self._say("this_query"), done.query_done, done.query_total))
        parts.append(self._measure(self._say("all"), done.done, done.about, exact=done.total is not None))
        if stored is not None:
            parts.append(html.fill('<span class="quiet stored">{text}</span>', text=stored))
        if done.skipped:
            parts.append(html.fill('<span class="quiet">{text}</span>', text=self._say("put_off", count=done.skipped)))
        parts.append(self._pace(pace))
        return html.fill('<div class="progress">{parts}</div>', parts=html.join(parts))

    def _pace(self, pace: Pace) -> Markup:
        """What the person did today, how fast, and how their practice went."""
        parts = [self._say("today", count=pace.today)]
        if pace.seconds is not None and round(pace.seconds):
            parts.append(self._say("seconds", seconds=self._voice.number(pace.seconds)))
        if pace.practice.answered:
            parts.append(self._say("practised", right=pace.practice.right, answered=pace.practice.answered))
        return html.fill('<span class="quiet pace">{text}</span>', text=" · ".join(parts))

    def _measure(self, name: str, done: int, total: int, exact: bool = True) -> Markup:
        number = self._voice.number
        figure = f"{number(done)} / {number(total)}" if exact else self._say("about", done=done, total=total)
        bar = (
            Markup("")
            if not total
            else html.fill(
                '<progress max="{total}" value="{done}" aria-label="{name}"></progress>',
                total=total,
                done=done,
                name=name,
            )
        )
        return html.fill('<span class="measure">{name} <b>{figure}</b>{bar}</span>', name=name, figure=figure, bar=bar)

    def pair(self, item: Item, highlight: bool) -> Markup:
        """The query and the passage; ``highlight`` marks the query's words in it."""
        prompt = self._session.prompt
        language = None if prompt is None else prompt.language.split("-")[0].lower()
        spans = highlights(item.query, item.text, language) if highlight else ()
        narrative = html.passage(item.narrative, kind="narrative") if item.narrative else Markup("")
        return html.fill(
            '<section class="pair"{spoken}><h1 class="query">{query}</h1>{narrative}{similar}{text}</section>',
            # The interface may be in another language: screen readers need to know each.
            spoken=html.fill(' lang="{language}"', language=prompt.language) if prompt else Markup(""),
            query=html.text(item.query),
            narrative=narrative,
            similar=html.join([self._similar(passage) for passage in item.similar]),
            text=html.passage(item.text, spans),
        )

    def _similar(self, passage: SimilarPassage) -> Markup:
        start = passage.text_start[:_START] + ("…" if len(passage.text_start) > _START else "")
        values = {"share": self._voice.number(100 * passage.similarity), "grade": self.grade_name(passage.grade)}
        said = self._say("twin_open" if passage.grade is None else "twin", **values)
        return html.fill('<p class="twin">{said} <q>{start}</q></p>', said=said, start=html.text(start))

    def practice(self, answer: Answer, known: Training) -> Markup:
        """The known grade of a training pair, after the answer."""
        right = answer.relevance == known.relevance
        return html.fill(
            '<div class="card feedback {kind}" role="status"><p><b>{verdict}</b> {known}</p>{why}</div>',
            kind="good" if right else "warning",
            verdict=self._say("practice_right" if right else "practice_other", grade=self.answer_name(answer)),
            known=self._say("practice_known", grade=self.grade_name(known.relevance)),
            why=html.passage(known.explanation, kind="why") if known.explanation else Markup(""),
        )

    def reveal(self, answer: Answer, judge: Reveal) -> Markup:
        """A judge's grade, after the person's own."""
        graded = answer.status == "ok"
        own = self._say("reveal_own", grade=self.grade_name(answer.relevance)) if graded else self.stored(answer)
        return html.fill(
            '<div class="card feedback" role="status"><p>{own}</p><p><b>{judge}</b></p>{why}'
            '<p class="quiet">{again}</p></div>',
            own=own,
            judge=self._say("reveal_judge", name=html.one_line(judge.name), grade=self.grade_name(judge.grade)),
            why=html.passage(judge.reasoning, kind="why") if judge.reasoning else Markup(""),
            again=self._say("reveal_again"),
        )

    def answers(self, conversations: Sequence[Conversation]) -> Markup:
        """What leads answered to this person's questions, each with a button that says it was read."""
        return html.join([self._conversation(one) for one in conversations])

    def _conversation(self, one: Conversation) -> Markup:
        about = html.fill('<p class="quiet">{query}</p>', query=html.text(one.query)) if one.query else Markup("")
        messages = [
            html.fill(
                "<p><b>{by}</b> {text}</p>",
                by=self._say("answered" if message.answer else "you_asked"),
                text=html.text(message.text),
            )
            for message in one.messages
        ]
        return html.fill(
            '<div class="notice good answer">{about}{messages}{read}</div>',
            about=about,
            messages=html.join(messages),
            read=html.button("read", self._say("answer_read"), None, value=one.last_seq),
        )

    def end(self, done: Progress) -> Markup:
        """What is said when there is nothing to grade."""
        whole = done.free == 0 and done.total is not None and done.done >= done.total
        return html.fill(
            '<div class="card end"><h1>{title}</h1><p>{text}</p></div>',
            title=self._say("end_title" if whole and done.done else "pause_title"),
            text=self._say("end_text" if whole and done.done else "nothing_text" if whole else "pause_text"),
        )

    def stored(self, answer: Answer) -> str:
        """What was stored, in a sentence."""
        if answer.status == "skipped":
            return self._say("stored_later")
        if answer.status == "unsure":
            return self._say("stored_reason", reason=self._say(f"reason.{answer.reason}").lower())
        return self._say("stored", grade=self.grade_name(answer.relevance))

    def notice(self, key: str, kind: str = "info") -> Markup:
        """A message in a box; ``kind`` is info, good or warning."""
        return html.fill('<p class="notice {kind}">{text}</p>', kind=kind, text=self._say(key))

    # Names

    def name_of(self, meaning: GradeMeaning) -> str:
        """What the button of a grade says: its name, and its number if no key shows it."""
        return meaning.name if _key(meaning.grade) else f"{meaning.grade} {meaning.name}"

    def grade_name(self, grade: int | None) -> str:
        name = next((meaning.name for meaning in self.scale if meaning.grade == grade), None)
        return "–" if grade is None else html.one_line(f"{grade} {name}") if name else str(grade)

    def answer_name(self, answer: Answer) -> str:
        if answer.status == "ok":
            return self.grade_name(answer.relevance)
        return self._say(f"reason.{answer.reason}") if answer.status == "unsure" else self._say("later")


def _key(grade: int) -> str | None:
    return str(grade) if 0 <= grade <= 9 else None
