"""What a person does in the rounds of authoring: the step they are shown, and the form that they send back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from quati_pool.annotation.authoring.base import Round
from quati_pool.annotation.authoring.forms import MACHINE, Doubt, Field, Step, WritingError, at_path, cleaned
from quati_pool.annotation.questions import similar_questions
from quati_pool.commands.annotate.authoring.sources import rounds_of
from quati_pool.commands.annotate.authoring.step import Outcome, OwnItem, SentStep, Undone, WritingStep
from quati_pool.commands.annotate.authoring.translator import Translation, as_typed, made_by, translatable
from quati_pool.commands.annotate.authoring.written_texts import written_texts
from quati_pool.commands.annotate.errors import AnswerError
from quati_pool.commands.annotate.grading.answer import check_nonce
from quati_pool.commands.annotate.own_labels import offset
from quati_pool.commands.annotate.questions.rules import COMMENT_CHARACTERS
from quati_pool.commands.annotate.references import mask
from quati_pool.commands.annotate.session import AnnotationSession, Person
from quati_pool.store.authoring_records import Entry, EntryAction, NewEntry, NewItem, Task, counting
from quati_pool.store.errors import ConflictError
from quati_pool.text.typed import UnprintableError, typed_lines

SIMILAR = "similar"
_MOST_SIMILAR = 3
_REFERENCE = re.compile("w([0-9a-f]{16})")
_SHA = re.compile("[0-9a-f]{64}")
_LONGEST_SECONDS = 1e9
_MOST_ROWS = 1 << 62


def next_step(session: AnnotationSession, token: str | None) -> WritingStep | None:
    """What a person does now; None if there is nothing for them. A task that is new to them is theirs from now on."""
    person = session.person(token)
    _, authoring = rounds_of(session)
    lead = person.role == "lead"
    task = authoring.next(person.name, lead=lead, lease_seconds=_lease(session))
    return None if task is None else _Work(session, person, task).step(undoable(session, token))


def submit(session: AnnotationSession, token: str | None, sent: SentStep) -> Outcome:
    """Stores a form. Without a seq in the outcome nothing is stored: the person is asked to confirm its doubts, and
    sends the same again with their reasons.

    Raises WritingError if a rule is broken, or with the reason ``unconfirmed`` if a translation was neither edited nor
    checked; ConflictError if the task is no longer theirs, or other content is shown in it by now.
    """
    person = session.person(token)
    work = _task_of(session, person, sent.item, sent.sha)
    nonce = work.nonce("given", sent.nonce)
    if (stored := work.stored(nonce)) is not None:
        if not work.says(stored, sent):
            raise ConflictError("changed", "another form was stored in this one's place; go on with the next one")
        return Outcome(stored.seq, again=True)
    work.check(sent.number, sent.sha)
    if not isinstance(sent.content, Mapping):
        raise WritingError("the form has no content; reload the page", None)
    step, design = work.current, work.design
    if work.round.most is not None and work.makes and len(work.own()) >= work.round.most:
        message = f"that is all that one person writes here ({work.round.most}); end the text"
        raise WritingError(message, "per_text", most=work.round.most)
    shown = work.shown()
    checked = design.checked(step, work.item, shown, sent.content)
    machine = work.machine(step, checked.content, sent.machine)
    doubts = (*checked.doubts, *work.repeating(shown, checked.content))
    if doubts := tuple(doubt for doubt in doubts if doubt.reason not in sent.confirmed):
        return Outcome(None, doubts=doubts)
    content = {**checked.content, **machine}
    entry = NewEntry(content, nonce, _seconds(sent.active_seconds), _seconds(sent.elapsed_seconds))
    makes = None
    if work.makes:
        made = design.made(step, work.item, checked.content, nonce)
        makes = NewItem(made.kind, made.source_id, made.content, design.place(made.source_id), work.item.item_id)
    outcome = work.authoring.submit(person.name, work.task.task_id, sent.number, entry, makes=makes)
    return Outcome(outcome.seq, again=outcome.again)


def translate(
    session: AnnotationSession, token: str | None, item: str, number: int, sha: str, language: str, content: object
) -> dict[str, Translation]:
    """Translates into the empty fields of a language what the form says in another, the first in which it says
    something; by field.

    Nothing is stored but what the model wrote. Raises WritingError if there is nothing to translate, or a text could
    not be stored; ConflictError as ``submit`` does.
    """
    person = session.person(token)
    work = _task_of(session, person, item, sha)
    work.check(number, sha)
    wanted = work.to_translate(language, content)
    if session.translator is None or not wanted:
        raise WritingError("there is nothing to translate; write it in one language first", "nothing_to_translate")
    return session.translator.translate(wanted)


def end(session: AnnotationSession, token: str | None, item: str, sha: str, nonce: str) -> int:
    """Completes a task that makes several items: the person makes no more of this one. Returns the entry's seq."""
    person = session.person(token)
    work = _task_of(session, person, item, sha)
    if not work.round.several:
        raise WritingError("this task ends with its last form; send that", None)
    return work.authoring.end(person.name, work.task.task_id, work.nonce("ended", nonce)).seq


def refuse(
    session: AnnotationSession,
    token: str | None,
    item: str,
    number: int,
    sha: str,
    reason: str,
    comment: str | None,
    nonce: str,
) -> int:
    """Refuses an item for one of the round's reasons; ``other`` needs a comment. Returns the entry's seq.

    Raises WritingError for another reason or a faulty comment, ConflictError as ``submit`` does.
    """
    person = session.person(token)
    work = _task_of(session, person, item, sha)
    nonce = work.nonce("refused", nonce)
    if (stored := work.stored(nonce)) is not None:
        if (stored.reason, stored.content.get("comment")) != (reason, _comment(comment)):
            raise ConflictError("changed", "another refusal was stored in this one's place; go on with the next one")
        return stored.seq
    work.check(number, sha)
    if reason not in work.round.refusals:
        among = ", ".join(work.round.refusals) or "none"
        raise WritingError(f"{str(reason)[:40]!r} is no reason to refuse this; there are: {among}", "refusal")
    comment = _comment(comment)
    if reason == "other" and comment is None:
        raise WritingError("say in a comment why it is refused", "no_comment", "comment")
    return work.authoring.refuse(person.name, work.task.task_id, number, reason, comment, nonce).seq


def skip(session: AnnotationSession, token: str | None, item: str, sha: str, nonce: str) -> None:
    """Puts a task off until the person has done their others; skipped again, it is given back."""
    person = session.person(token)
    work = _task_of(session, person, item, sha)
    work.authoring.skip(person.name, work.task.task_id, work.nonce("skipped", nonce))


def undo(session: AnnotationSession, token: str | None, nonce: str, seq: int | None = None) -> Undone | None:
    """Takes back an entry of a person, ``seq`` or their last one, and says what it was; None if they have none. Sent
    again with its nonce, it takes back nothing more. Raises ConflictError as ``Authoring.undo`` does."""
    person = session.person(token)
    _, authoring = rounds_of(session)
    nonce = _own_nonce(person, "undone", 0, nonce)
    if seq is None:
        if (known := authoring.entry(nonce=nonce)) is not None:
            seq = known.undoes
        elif (last := authoring.last(person.name)) is not None:
            seq = last.seq
        else:
            return None
    if type(seq) is not int or not 0 < seq < _MOST_ROWS:
        raise ConflictError("gone", "there is no such entry of yours; reload the page")
    authoring.undo(person.name, seq, nonce, _lease(session))
    return _undone(session, person, seq)


def undoable(session: AnnotationSession, token: str | None) -> int | None:
    """The seq of the person's last entry; None if there is none or something hidden was shown after it."""
    person = session.person(token)
    design, authoring = rounds_of(session)
    last = authoring.last(person.name)
    if last is None or last.round not in design.rules:
        return None
    revealed = last.action == "given" and last.step in design.rules[last.round].reveals
    return None if revealed else last.seq


def today(session: AnnotationSession, token: str | None, utc_offset: int = 0) -> int:
    """How many forms a person has stored since midnight and not taken back; midnight is that of a clock ``utc_offset``
    minutes ahead of UTC. Raises AnswerError for an impossible offset."""
    person = session.person(token)
    ahead = offset(utc_offset)
    midnight = (datetime.now(UTC) + ahead).replace(hour=0, minute=0, second=0, microsecond=0) - ahead
    return rounds_of(session)[1].said_since(person.name, midnight)


class _Work:
    """A task in the hands of a person, with its item."""

    def __init__(self, session: AnnotationSession, person: Person, task: Task) -> None:
        self.session, self.person, self.task = session, person, task
        self.design, self.authoring = rounds_of(session)
        item = self.authoring.item(task.item_id)
        if item is None or task.round not in self.design.rounds:
            raise ConflictError("gone", "there is no such task any more; go on with the next one")
        self.item = item
        self.round: Round = self.design.rounds[task.round]
        self.entries = self.authoring.entries([item.item_id]).get(item.item_id, [])

    @property
    def current(self) -> Step:
        """The step that the person is at. A task that is done or of a design with fewer steps is at its last one."""
        return self.round.steps[min(self.task.step, len(self.round.steps) - 1)]

    @property
    def makes(self) -> bool:
        """Whether the step makes an item."""
        return self.round.several and self.current is self.round.steps[-1]

    def step(self, last: int | None) -> WritingStep:
        shown = self.shown()
        sha = self.sha(shown)
        similar = {SIMILAR: self._similar(shown)} if SIMILAR in self.current.shows else {}
        return WritingStep(
            item=self.reference(sha),
            round=self.round.name,
            number=self.task.step,
            steps=len(self.round.steps),
            step=self.current,
            shown={**shown, **similar},
            sha=sha,
            several=self.makes,
            refusals=self.round.refusals,
            own=self.own(),
            undoable=last,
            translatable=self.translatable(),
        )

    def translatable(self) -> frozenset[str]:
        """The names of the fields that the translator can fill."""
        if self.session.translator is None or self.current.name not in self.design.translated:
            return frozenset()
        return frozenset(field.name for fields in translatable(self.current).values() for field in fields.values())

    def to_translate(self, language: object, content: object) -> dict[str, tuple[str, Field]]:
        """The empty fields of a language that have text in another, by name, each with that text."""
        names = self.translatable()
        sent = content.items() if isinstance(content, Mapping) else ()
        written = {name: text for name, text in sent if name in names}
        optional = [field._replace(required=False) for field in self.current.fields if field.name in names]
        texts = cleaned(self.current._replace(fields=tuple(optional)), {}, written)
        found = {}
        for fields in translatable(self.current).values() if names else ():
            into = fields.get(str(language))
            text = next((texts[one.name] for one in fields.values() if one.name in texts), None)
            if into is not None and into.name not in texts and text is not None:
                found[into.name] = text, into
        return found

    def machine(self, step: Step, content: Mapping[str, Any], sent: object, stored: bool = False) -> dict[str, Any]:
        """What of a form's content began as a translation, as an entry's content has it (``MACHINE``); empty if nothing
        did. Unless it is ``stored`` already, raises WritingError for one that was neither edited nor checked."""
        found = {}
        fields = {field.name: field for of_name in translatable(step).values() for field in of_name.values()}
        for name, said in sent.items() if isinstance(sent, Mapping) else ():
            request = said.get("request") if isinstance(said, Mapping) else None
            made = made_by(self.session.config, request) if name in fields and name in content else None
            # Without it in the journal nobody can say any more that a model wrote it.
            if made is None or step.name not in self.design.translated:
                continue
            edited = as_typed(fields[name], made.text) != content[name]
            if not edited and not stored and said.get("checked") is not True:
                message = f"{name} is a model's translation; read it, and say that you have checked it, or correct it"
                raise WritingError(message, "unconfirmed", name)
            found[name] = {"by": made.by, "edited": edited, "request": request}
        return {MACHINE: found} if found else {}

    def reference(self, sha: str) -> str:
        """How the person's page refers to the task, with the digest of what it shows."""
        return f"w{self.task.task_id ^ mask(self.session.config.name, self.person.name, sha):016x}"

    def shown(self) -> dict[str, Any]:
        """What the step shows, but for the questions that are similar, which may change at any time."""
        return self._shown_in(self.current)

    def _shown_in(self, step: Step) -> dict[str, Any]:
        parent = None if self.item.parent_id is None else self.authoring.item(self.item.parent_id)
        entries = counting(self.entries)
        if self.round.apart:
            before = list(self.design.rounds)[: list(self.design.rounds).index(self.round.name)]
            entries = [one for one in entries if one.round in before or one.task_id == self.task.task_id]
        shown = self.design.shown(step, self.item, parent, entries)
        return {name: shown[name] for name in step.shows if name != SIMILAR}

    def sha(self, shown: Mapping[str, Any]) -> str:
        """A digest of what is shown and asked."""
        asked = [self.design.id, self.round.name, self.task.step, self.current, shown]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    def nonce(self, action: EntryAction, nonce: object) -> str:
        """A page's nonce made one that no other task, person or action can have."""
        return _own_nonce(self.person, action, self.task.task_id, nonce)

    def stored(self, nonce: str) -> Entry | None:
        """The entry on the item with this nonce; None if there is none."""
        return next((one for one in self.entries if one.nonce == nonce), None)

    def says(self, entry: Entry, sent: SentStep) -> bool:
        """Whether an entry of this task is what was sent."""
        if sent.number != entry.step or not isinstance(sent.content, Mapping):
            return False
        step = self.round.steps[entry.step]
        try:
            content = self.design.checked(step, self.item, self._shown_in(step), sent.content).content
            return {**content, **self.machine(step, content, sent.machine, stored=True)} == entry.content
        except WritingError:
            return False

    def check(self, number: int, sha: str) -> None:
        """Raises ConflictError if the task is not the person's to do, is at another step, or shows something else."""
        if self.task.state != "open":
            raise ConflictError(self.task.state, f"this task is {self.task.state} by now; go on with the next one")
        if self.task.holder != self.person.name:
            raise ConflictError("taken", "somebody else has this task now; go on with the next one")
        if type(number) is not int or number != self.task.step or sha != self.sha(self.shown()):
            raise ConflictError("changed", "what is shown has changed since; read it again")

    def own(self) -> tuple[OwnItem, ...]:
        """The items that the person has made in this task."""
        if not self.makes:
            return ()
        first = self.current.fields[0].name
        mine = (one for one in counting(self.entries) if one.task_id == self.task.task_id and one.action == "given")
        return tuple(OwnItem(one.seq, str(one.content[first])) for one in mine if first in one.content)

    def repeating(self, shown: Mapping[str, Any], content: Mapping[str, Any]) -> list[Doubt]:
        """A doubt for each text that was written or changed, should be unlike others, and is not."""
        doubts = []
        for field in self.current.fields:
            text = content.get(field.name)
            # What the form began with is shown with the texts like it.
            changed = field.prefilled is None or at_path(shown, field.prefilled) != text
            if field.unlike_others and isinstance(text, str) and changed:
                found = similar_questions(text, others := self._others(field.name), field.language)
                if found:
                    values = {"question": others[found[0].place], "similarity": found[0].similarity}
                    doubts.append(Doubt(SIMILAR, field.name, {**values, "exact": found[0].exact}))
        return doubts

    def _similar(self, shown: Mapping[str, Any]) -> dict[str, list[str]]:
        """The questions of other items that are like the shown one, in each language in which there are any."""
        similar = {}
        question = shown.get("question")
        for language, text in question.items() if isinstance(question, Mapping) else ():
            others = self._others(f"question.{language}")
            found = similar_questions(text, others, language)
            if found:
                similar[language] = [others[one.place] for one in found[:_MOST_SIMILAR]]
        return similar

    def _others(self, name: str) -> list[str]:
        """What every other item that is not out says now in the field of this name."""
        return written_texts(self.session).others(name, self.item.item_id)


def _task_of(session: AnnotationSession, person: Person, reference: str, sha: str) -> _Work:
    """The task of a reference that this person's page was given. Raises ConflictError if there is none."""
    found = _REFERENCE.fullmatch(str(reference))
    _, authoring = rounds_of(session)
    task_id = -1
    if found is not None and _SHA.fullmatch(str(sha)):
        task_id = int(found[1], 16) ^ mask(session.config.name, person.name, sha)
    task = authoring.task(task_id) if 0 < task_id < _MOST_ROWS else None
    if task is None:
        raise ConflictError("gone", "there is no such task any more; go on with the next one")
    return _Work(session, person, task)


def _undone(session: AnnotationSession, person: Person, seq: int) -> Undone | None:
    """What an entry said that was taken back; None if its task is not there any more."""
    _, authoring = rounds_of(session)
    entry = authoring.entry(seq=seq)
    task = None if entry is None or entry.task_id is None else authoring.task(entry.task_id)
    if entry is None or task is None:
        return None
    work = _Work(session, person, task)
    content = dict(entry.content) if entry.action == "given" else {}
    machine = {
        name: {"request": one["request"], "edited": one["edited"]} for name, one in content.pop(MACHINE, {}).items()
    }
    return Undone(work.reference(work.sha(work.shown())), task.step, content, machine)


def _own_nonce(person: Person, action: EntryAction, number: int, nonce: object) -> str:
    try:
        check_nonce(nonce)
    except AnswerError as error:
        raise WritingError(str(error), None) from None
    return f"{action}:{number}:{person.name}:{nonce}"


def _seconds(seconds: object) -> float | None:
    """A duration; None for what is none, since a form is worth more than its time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_SECONDS:
        return None
    return round(float(seconds), 3)


def _comment(text: object) -> str | None:
    if not isinstance(text, str | None):
        raise WritingError("the comment is not text; write one, or leave it out", None, "comment")
    try:
        comment = typed_lines(text or "")
    except UnprintableError:
        message = "the comment holds control characters; type it again, or paste it as plain text"
        raise WritingError(message, "comment_control", "comment") from None
    if len(comment) > COMMENT_CHARACTERS:
        message = f"the comment has at most {COMMENT_CHARACTERS:,} characters, not {len(comment):,}; shorten it"
        raise WritingError(message, "comment_long", "comment", most=COMMENT_CHARACTERS, count=len(comment))
    return comment or None


def _lease(session: AnnotationSession) -> float:
    assert session.config.authoring is not None, "rounds_of refuses sessions without rounds"
    return session.config.authoring.lease * 60
