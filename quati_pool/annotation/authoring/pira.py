"""Pirá's way of writing questions and answers on texts (Paschoal et al. 2021; Pirá 2.0, Pirozelli et al. 2024, section
2): written in every language from a text, edited, answered and evaluated by somebody else, curated. People decide first
on what a model drafted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field as Setting
from pydantic import model_validator

from quati_pool.annotation.authoring import text_checks
from quati_pool.annotation.authoring.base import DRAFT_ROUND, Design, Made, Parameters, Round, Source, Version
from quati_pool.annotation.authoring.forms import (
    MACHINE,
    Checked,
    Doubt,
    Field,
    Step,
    WritingError,
    at_path,
    cleaned,
)
from quati_pool.stats.hashing import hashes
from quati_pool.store.authoring_records import Entry, Item, ItemState, Wanted
from quati_pool.text.typed import UnprintableError, has_words, typed_lines

TEXT, QUESTION, DERIVED, CHOICES = "text", "question", "derived", "choices"
"""The kinds of items: a text; a question written from it, with its answer; a text derived from a question, an answer or
a text; a set of choices for a question."""

TYPES = ("who", "what", "where", "when", "why", "how", "none")
EVALUATION = ("generic", "in_text", "sense", "hard", "equivalent", "type")

UNRELATED = "unrelated"
_REFUSED_QUESTION = ("decontextualised", "not_in_text", "repeated", "language", "other")
_REFUSED_DRAFT = ("decontextualised", "not_in_text", "copied", "wrong", "unnatural", "repeated", "language", "other")
_REFUSED_DERIVED = ("wrong", "unnatural", "not_distinct", "other")

_QUESTION_CHARACTERS = 500
_DERIVED_CHARACTERS = 20_000
_DERIVED = re.compile(
    r"(?P<numbered>paraphrase|answer_paraphrase)\.(?P<number>[1-9][0-9]?)\.(?P<of>[a-z]{2})"
    r"|(?P<text>translation\.text)\.(?P<into>[a-z]{2})"
    r"|(?P<question>translation\.question)\.(?P<one>[a-z]{2})-(?P<other>[a-z]{2})"
)


class PiraParameters(Parameters):
    """Who writes and assesses how much."""

    subject: Annotated[str | None, Setting(description="asked of each text first: whether it is about this")] = None
    subject_when: Annotated[
        dict[str, str] | None, Setting(description="asked only of texts with these values in kept columns")
    ] = None
    per_text: Annotated[int, Setting(ge=1, le=100, description="most questions of one person and text")] = 10
    writers: Annotated[int, Setting(ge=1, le=20, description="people who write from each text")] = 1
    edited: Annotated[float, Setting(ge=0, le=1, description="share of questions that a lead edits first")] = 1.0
    assessors: Annotated[int, Setting(ge=1, le=10, description="people who assess each question")] = 1

    @model_validator(mode="after")
    def _subject(self) -> Self:
        if self.subject is not None and not has_words(self.subject):
            raise ValueError("subject: expected words, such as  subject: the ocean; or drop it")
        if self.subject_when is not None and self.subject is None:
            raise ValueError("subject_when: has no effect without subject; add it, or drop subject_when")
        return self


class DerivedField(NamedTuple):
    """What a derived text is: ``what`` is paraphrase, answer_paraphrase, translation.text or translation.question;
    ``origin`` is the language of the text that it derives from, None for the translation of a text from any."""

    what: str
    number: int | None
    language: str
    origin: str | None


def derived_field(name: str, languages: Sequence[str]) -> DerivedField | None:
    """Reads the name of a derived text, such as ``paraphrase.1.en``; None if it is none in these languages."""
    found = _DERIVED.fullmatch(name)
    if found is None:
        return None
    if found["numbered"]:
        field = DerivedField(found["numbered"], int(found["number"]), found["of"], found["of"])
    elif found["text"]:
        field = DerivedField(found["text"], None, found["into"], None)
    else:
        field = DerivedField(found["question"], None, found["other"], found["one"])
        if field.language == field.origin:
            return None
    return field if {field.language, field.origin or field.language} <= set(languages) else None


@dataclass(frozen=True, slots=True)
class _Assessment:
    """One person's stored steps of an assessment, with the entry of each text."""

    task_id: int | None
    by: str
    content: Mapping[str, Any]
    entries: Sequence[Entry]

    @property
    def complete(self) -> bool:
        return {entry.step for entry in self.entries} >= set(range(_ASSESSMENT_STEPS))


_ASSESSMENT_STEPS = 3


class Pira(Design[PiraParameters]):
    id = "authoring/pira"
    Parameters = PiraParameters
    summary = "questions and answers on texts, edited, assessed and curated, as for Pirá 2.0"
    example = "languages: [pt, en], sources: {path: texts.csv}"
    unit = QUESTION
    formats: ClassVar[tuple[str, ...]] = ("pira", "jsonl", "hf")
    translated: ClassVar[tuple[str, ...]] = ("set", "draft", "edit")

    def __init__(self, parameters: PiraParameters, languages: Sequence[str], seed: int) -> None:
        super().__init__(parameters, languages, seed)
        self.rounds = {one.name: one for one in _rounds(parameters, self.languages)}

    @classmethod
    def columns(cls, parameters: PiraParameters) -> Mapping[str, str]:
        return dict.fromkeys(parameters.subject_when or (), "subject_when")

    def first(self, source: Source) -> Made:
        return Made(TEXT, source.source_id, {"text": dict(source.text), "kept": dict(source.kept)})

    def made(self, step: Step, item: Item, content: Mapping[str, Any], nonce: str) -> Made:
        return Made(QUESTION, hashlib.sha256(nonce.encode("utf-8", "surrogatepass")).hexdigest()[:32], content)

    # What an item wants. Tasks that are done stay wanted, so that undoing one is seen to take away those after it.

    def wanted(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        if item.kind == TEXT:
            return self._wanted_of_text(item, entries)
        if item.kind == QUESTION:
            return self._wanted_of_question(item, entries)
        given = entries[-1] if entries else None
        state: ItemState = "open" if given is None else "kept" if given.action == "given" else "out"
        tasks = frozenset({("accept" if item.kind == DERIVED else "choices", 1)})
        return Wanted(tasks, state, given.reason if given is not None and state == "out" else None)

    def _wanted_of_text(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        tasks = set()
        if self._asks_subject(item):
            tasks.add(("subject", 1))
            related = _related(entries)
            if related is False:
                return Wanted(frozenset(tasks), "out", UNRELATED)
            if related is None:
                return Wanted(frozenset(tasks))
        tasks |= {("create", replicate) for replicate in range(1, self.parameters.writers + 1)}
        ended = sum(entry.action == "ended" for entry in entries)
        return Wanted(frozenset(tasks), "kept" if ended >= self.parameters.writers else "open")

    def _asks_subject(self, item: Item) -> bool:
        when = self.parameters.subject_when or {}
        kept = item.content["kept"]
        return self.parameters.subject is not None and all(kept.get(name) == value for name, value in when.items())

    def _wanted_of_question(self, item: Item, entries: Sequence[Entry]) -> Wanted:
        tasks = set()
        if item.drafted_by is not None:
            tasks.add((DRAFT_ROUND, 1))
            decided = next((entry for entry in reversed(entries) if entry.round == DRAFT_ROUND), None)
            if decided is None:
                return Wanted(frozenset(tasks))
            if decided.action == "refused":
                return Wanted(frozenset(tasks), "out", decided.reason)
        assessments = _assessments(entries)
        edited = any(entry.round == "edit" for entry in entries)
        # Evaluations belong to the texts as they were: what somebody assessed is edited no more.
        to_edit = edited or (self._to_be_edited(item) and not assessments)
        if to_edit:
            tasks.add(("edit", 1))
        refused = next((entry for entry in reversed(entries) if entry.action == "refused"), None)
        if refused is not None and refused.round == "edit":
            return Wanted(frozenset(tasks), "out", refused.reason)
        if to_edit and not edited:
            return Wanted(frozenset(tasks))
        tasks |= {("assess", replicate) for replicate in range(1, self.parameters.assessors + 1)}
        assessed = len(_complete(entries)) >= self.parameters.assessors
        curated = any(entry.round == "curate" for entry in entries)
        if assessed or curated:
            tasks.add(("curate", 1))
        if refused is not None:
            return Wanted(frozenset(tasks), "out", refused.reason)
        return Wanted(frozenset(tasks), "kept" if assessed and curated else "open")

    def _to_be_edited(self, item: Item) -> bool:
        place = int(hashes("authoring edit", self.seed, [item.source_id])[0])
        return place < self.parameters.edited * 2.0**64

    # What a person sees and may write.

    def shown(self, step: Step, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any]:
        if item.kind == QUESTION:
            values = self._shown_of_question(step, item, parent, entries)
            return {name: values[name]() for name in step.shows if name != "similar"}
        found = dict(item.content) | ({"subject": self.parameters.subject} if item.kind == TEXT else {})
        return {name: found.get(name) for name in step.shows}

    def _shown_of_question(
        self, step: Step, item: Item, parent: Item | None, entries: Sequence[Entry]
    ) -> dict[str, Callable[[], Any]]:
        now = _current(item, entries)
        # Numbered as in the fields of curation; of an assessment under way, the one that its own task sees.
        numbers = [number for number, one in enumerate(_assessments(entries), 1) if one.complete]
        numbers = numbers[: self.parameters.assessors]

        def assessed(name: str) -> dict[str, dict[str, str]]:
            return {str(place): self._by_language(now, f"{name}.{number}") for place, number in enumerate(numbers, 1)}

        own = (lambda: self._by_language(now, "validation.1")) if step.name == "evaluation" else None
        return {
            "text": lambda: {} if parent is None else parent.content["text"],
            "question": lambda: self._by_language(now, "question"),
            "answer": lambda: self._by_language(now, "answer"),
            "evidence": lambda: now.get("evidence", []),
            "validation": own or (lambda: assessed("validation")),
            "paraphrase": lambda: assessed("paraphrase"),
            "evaluations": lambda: {
                str(number): {name: one.content.get(name) for name in EVALUATION}
                for number, one in enumerate(_complete(entries)[: self.parameters.assessors], 1)
            },
            "versions": lambda: {
                name: [version.text for version in found]
                for name, found in versions(item, entries).items()
                if len(found) > 1
            },
            "flags": lambda: [
                {"reason": flag.reason, "field": flag.field, "values": dict(flag.values)}
                for flag in text_checks.flags(self._record_of_question(item, parent, entries))
            ],
        }

    def _by_language(self, texts: Mapping[str, Any], name: str) -> dict[str, str]:
        return {language: texts[f"{name}.{language}"] for language in self.languages if f"{name}.{language}" in texts}

    def checked(self, step: Step, item: Item, shown: Mapping[str, Any], content: Mapping[str, Any]) -> Checked:
        found = cleaned(step, shown, content)
        if step.name == "accept":
            _check_derived(shown, found)
            return Checked(found)
        doubts = []
        for name, languages in self._questions(found):
            for one, other in combinations(languages, 2):
                if text_checks.same_words(found[f"{name}.{one}"], found[f"{name}.{other}"]):
                    field = f"{name}.{other}"
                    message = f"{field} is the same text as {name}.{one}; write it in {other}"
                    raise WritingError(message, "languages_equal", field, one=one, other=other)
            for language in languages:
                field = f"{name}.{language}"
                question = at_path(shown, f"question.{language}")
                if name != "question" and question is not None and text_checks.same_words(found[field], question):
                    raise WritingError(
                        f"{field} has the words of the question itself; say it in other words", "same_words", field
                    )
                if words := text_checks.decontextualised(found[field], language):
                    doubts.append(Doubt("decontextualised", field, {"words": words}))
        return Checked(found, tuple(doubts))

    def _questions(self, content: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
        """The question and its paraphrases among the texts of a form, each with the languages that it is in."""
        names = dict.fromkeys(name.rpartition(".")[0] for name in content)
        for name in names:
            if name.partition(".")[0] in ("question", "paraphrase"):
                yield name, [language for language in self.languages if f"{name}.{language}" in content]

    # What is released.

    def record(self, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any] | None:
        """What is released of an item; None for one that is out, and for a derived text that was not accepted.

        Of a text: ``kind, item_id, source_id, text`` by language, ``kept, related`` (None: not asked), ``drafted_by``.

        Of a question, also of one that is still open: ``kind, item_id, text_id`` and ``source_id`` of its text,
        ``languages, text, kept``; ``question`` and ``answer`` by language, as edited; ``evidence`` as spans with
        language and words; ``by``, the author, None without the entry that made the item, as for a model's draft;
        ``edited`` and ``curated``, whether a lead did; ``assessments``, in the order of their tasks, each with ``by,
        task_id, validation`` and ``paraphrase`` by language, ``curated`` (one that was asked for later is not), and the
        evaluation's ``generic, in_text`` (bool), ``sense, hard, equivalent`` (1 to 5) and ``type`` (``TYPES``), None
        until they are stored; ``at_label``, whether the first assessor found the question answerable (``sense`` 4 or 5:
        1; 1 or 2: 0; 3 or none: None; as in Pirá 2.0); ``versions`` of every text as of ``versions``, each with
        ``machine`` (the ``translator``'s version, ``edited``) where a model translated it; ``drafted_by``.

        Of a derived text: ``kind, item_id, parent_id, field``, its parts as of ``DerivedField``, ``original, text`` as
        accepted, ``by`` whom, ``changed`` on acceptance, ``drafted_by``. Of a set of choices: ``kind, item_id,
        parent_id, digest, languages, question, answer, choices, correct, by, drafted_by``.
        """
        if item.state == "out":
            return None
        if item.kind == TEXT:
            return {
                "kind": TEXT,
                "item_id": item.item_id,
                "source_id": item.source_id,
                "text": item.content["text"],
                "kept": item.content["kept"],
                "related": _related(entries),
                "drafted_by": item.drafted_by,
            }
        if item.kind == QUESTION:
            return self._record_of_question(item, parent, entries)
        accepted = next((entry for entry in reversed(entries) if entry.item_id == item.item_id), None)
        if accepted is None or accepted.action != "given":
            return None
        common = {"kind": item.kind, "item_id": item.item_id, "parent_id": item.parent_id}
        by = {"by": accepted.by, "drafted_by": item.drafted_by}
        if item.kind == CHOICES:
            return common | dict(item.content) | by
        field = derived_field(item.content["field"], self.languages)
        about = {"what": None, "number": None} if field is None else {"what": field.what, "number": field.number}
        text = accepted.content["text"]
        kept = {name: item.content[name] for name in ("field", "language", "original")}
        return common | kept | about | {"text": text, "changed": text != _as_typed(item.content["text"])} | by

    def _record_of_question(self, item: Item, parent: Item | None, entries: Sequence[Entry]) -> dict[str, Any]:
        own = [entry for entry in entries if entry.item_id == item.item_id]
        now = _current(item, own)
        assessments = _assessments(own)
        curated = {task_id for tasks in _curations(own).values() for task_id in tasks.values()}
        rows = [
            {
                "by": one.by,
                "task_id": one.task_id,
                "validation": self._by_language(now, f"validation.{number}"),
                **{name: one.content.get(name) for name in EVALUATION},
                "paraphrase": self._by_language(now, f"paraphrase.{number}") or None,
                "curated": one.task_id in curated,
            }
            for number, one in enumerate(assessments, 1)
        ]
        return {
            "kind": QUESTION,
            "item_id": item.item_id,
            "text_id": item.parent_id,
            "source_id": "" if parent is None else parent.source_id,
            "languages": list(self.languages),
            "text": {} if parent is None else parent.content["text"],
            "kept": {} if parent is None else parent.content["kept"],
            "question": self._by_language(now, "question"),
            "answer": self._by_language(now, "answer"),
            "evidence": now.get("evidence", []),
            "by": next((entry.by for entry in entries if entry.seq == item.made_by), None),
            "edited": any(entry.round == "edit" and entry.action == "given" for entry in own),
            "curated": bool(curated),
            "assessments": rows,
            "at_label": at_label(assessments[0].content.get("sense")) if assessments else None,
            "versions": {
                name: [_public(version) for version in found] for name, found in versions(item, entries).items()
            },
            "drafted_by": item.drafted_by,
        }


def at_label(sense: int | None) -> int | None:
    """Whether a question is answerable, by how much sense it makes from 1 to 5; None for 3, which Pirá 2.0 leaves out,
    and where it was not evaluated."""
    return None if sense is None or sense == 3 else int(sense > 3)


def versions(item: Item, entries: Sequence[Entry]) -> dict[str, list[Version]]:
    """The versions of a question's texts, oldest first, by name: ``question.L``, ``answer.L``, and of the assessment
    with number N ``validation.N.L``, ``paraphrase.N.L``. A version equal to the one before it is left out. The author
    of the first ones is "" without the entry that made the item; those of a model's draft are of the round ``draft``,
    with the seq 0."""
    own = [entry for entry in entries if entry.item_id == item.item_id]
    maker = next((entry for entry in entries if entry.seq == item.made_by), None)
    author = "" if maker is None else maker.by
    begun = "create" if item.drafted_by is None else DRAFT_ROUND
    found: dict[str, list[Version]] = {}

    def add(name: str, value: Any, by: str, round_name: str, seq: int, entry: Entry | None) -> None:
        of_name = found.setdefault(name, [])
        if isinstance(value, str) and (not of_name or of_name[-1].text != value):
            machine = None if entry is None else entry.content.get(MACHINE, {}).get(name)
            of_name.append(Version(value, by, round_name, seq, machine))

    for name, value in item.content.items():
        if name != "evidence":
            add(name, value, author, begun, item.made_by or 0, maker)
    for name, value, entry in _written(own):
        if name.partition(".")[0] in ("question", "answer", "validation", "paraphrase"):
            add(name, value, entry.by, entry.round, entry.seq, entry)
    return found


def _public(version: Version) -> dict[str, Any]:
    """A version in a record. The translator is no person, so that it is not under ``by``."""
    text, by, round_name, seq, machine = version
    found = {"text": text, "by": by, "round": round_name, "seq": seq}
    if machine is None:
        return found
    return found | {"machine": {"translator": machine["by"], "edited": machine["edited"]}}


def _current(item: Item, entries: Sequence[Entry]) -> dict[str, Any]:
    """The last value of every text of a question, and of its evidence."""
    return dict(item.content) | {name: value for name, value, _ in _written(entries)}


def _written(entries: Sequence[Entry]) -> Iterator[tuple[str, Any, Entry]]:
    """What people wrote on a question, in order; texts of assessments have the number of the assessment."""
    numbers = {one.task_id: number for number, one in enumerate(_assessments(entries), 1)}
    curations = _curations(entries)
    for entry in entries:
        if entry.action != "given":
            continue
        for name, value in entry.content.items():
            if name == MACHINE:
                continue
            kind, _, rest = name.partition(".")
            if entry.round == "assess" and kind in ("validation", "paraphrase"):
                yield f"{kind}.{numbers[entry.task_id]}.{rest}", value, entry
            elif entry.round == "curate":
                number, _, language = rest.partition(".")
                yield f"{kind}.{numbers[curations[entry.seq][number]]}.{language}", value, entry
            else:
                yield name, value, entry
        if entry.round in (DRAFT_ROUND, "edit") and "evidence" not in entry.content:
            yield "evidence", [], entry


def _assessments(entries: Sequence[Entry]) -> list[_Assessment]:
    """The assessments with at least one stored step, in the order of their tasks."""
    by_task: dict[int | None, list[Entry]] = {}
    for entry in entries:
        if entry.round == "assess" and entry.action == "given":
            by_task.setdefault(entry.task_id, []).append(entry)
    return [
        _Assessment(task_id, of_task[-1].by, {k: v for entry in of_task for k, v in entry.content.items()}, of_task)
        for task_id, of_task in sorted(by_task.items(), key=lambda pair: pair[0] or 0)
    ]


def _complete(entries: Sequence[Entry]) -> list[_Assessment]:
    return [one for one in _assessments(entries) if one.complete]


def _curations(entries: Sequence[Entry]) -> dict[int, dict[str, int | None]]:
    """Which assessments each curation is of, by the curation's seq: their tasks by their number in its form, which
    counts the assessments that were complete by then."""
    found = {}
    for place, entry in enumerate(entries):
        if entry.round == "curate" and entry.action == "given":
            complete = {str(number): one.task_id for number, one in enumerate(_complete(entries[:place]), 1)}
            numbers = {name.split(".")[1] for name in entry.content}
            found[entry.seq] = {number: complete[number] for number in sorted(numbers)}
    return found


def _related(entries: Sequence[Entry]) -> bool | None:
    """What was last said of a text's being about the subject."""
    said = (entry.content["related"] for entry in reversed(entries) if "related" in entry.content)
    return next(said, None)


def _as_typed(text: str) -> str:
    """A derived text as a form stores it that nobody changed."""
    try:
        return typed_lines(text)
    except UnprintableError:
        return text


def _check_derived(shown: Mapping[str, Any], content: dict[str, Any]) -> None:
    """Raises WritingError for a paraphrase that repeats its original, and for a question of several lines."""
    field = str(shown["field"])
    if "\n" in content["text"] and not field.startswith(("answer", "translation.text")):
        message = "text: a question is one line without control characters; type it again"
        raise WritingError(message, "control", "text")
    if "paraphrase" in field and text_checks.same_words(content["text"], shown["original"]):
        raise WritingError(
            "text has the words of the original; refuse it, or say it in other words", "same_words", "text"
        )


def _rounds(parameters: PiraParameters, languages: Sequence[str]) -> Iterator[Round]:
    def question(prefix: str = "question", prefilled: bool = False, label: str | None = None) -> list[Field]:
        return [
            Field(
                f"{prefix}.{language}",
                "line",
                label or prefix,
                language,
                most=_QUESTION_CHARACTERS,
                prefilled=f"{prefix}.{language}" if prefilled else None,
                unlike_others=prefix == "question",
            )
            for language in languages
        ]

    def answer(prefix: str = "answer", prefilled: bool = False, label: str | None = None) -> list[Field]:
        return [
            Field(
                f"{prefix}.{language}",
                "prose",
                label or prefix,
                language,
                prefilled=f"{prefix}.{language}" if prefilled else None,
            )
            for language in languages
        ]

    def both(prefilled: bool) -> tuple[Field, ...]:
        pairs = zip(question(prefilled=prefilled), answer(prefilled=prefilled), strict=True)
        evidence = Field("evidence", "spans", "evidence", required=False, prefilled="evidence" if prefilled else None)
        return (*(field for pair in pairs for field in pair), evidence)

    yield Round("subject", (Step("subject", ("text", "subject"), (Field("related", "yes_no", "related"),)),))
    yield Round("create", (Step("set", ("text",), both(prefilled=False)),), several=True, most=parameters.per_text)
    yield Round(
        DRAFT_ROUND,
        (Step("draft", ("text", "question", "answer", "evidence", "similar"), both(prefilled=True)),),
        refusals=_REFUSED_DRAFT,
    )
    yield Round(
        "edit",
        (Step("edit", ("text", "question", "answer", "evidence", "similar"), both(prefilled=True)),),
        for_leads=True,
        refusals=_REFUSED_QUESTION,
    )
    evaluation = (
        Field("generic", "yes_no", "generic"),
        Field("in_text", "yes_no", "in_text"),
        *(Field(name, "scale", name, values=("1", "5")) for name in ("sense", "hard", "equivalent")),
        Field("type", "choice", "type", values=TYPES),
    )
    yield Round(
        "assess",
        (
            Step("validation", ("text", "question"), tuple(answer("validation")), reveals=True),
            Step("evaluation", ("text", "question", "answer", "validation"), evaluation),
            Step("paraphrase", ("question",), tuple(question("paraphrase"))),
        ),
        apart="item",
    )
    curated = [
        field
        for number in range(1, parameters.assessors + 1)
        for field in (
            *answer(f"validation.{number}", prefilled=True, label="validation"),
            *question(f"paraphrase.{number}", prefilled=True, label="paraphrase"),
        )
    ]
    everything = (
        *("text", "question", "answer", "evidence", "validation", "paraphrase"),
        *("evaluations", "versions", "flags", "similar"),
    )
    yield Round(
        "curate",
        (Step("curate", everything, tuple(curated)),),
        for_leads=True,
        refusals=_REFUSED_QUESTION,
    )
    derived = Field("text", "prose", "derived", most=_DERIVED_CHARACTERS, prefilled="text")
    yield Round(
        "accept",
        (Step("accept", ("field", "language", "original", "text", "question", "answer"), (derived,)),),
        refusals=_REFUSED_DERIVED,
    )
    yield Round(
        "choices",
        (Step("choices", ("question", "answer", "choices", "correct"), ()),),
        refusals=_REFUSED_DERIVED,
    )
