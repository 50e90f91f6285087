"""Where drafts come from and where they go: questions proposed by a program, or items of the rounds of writing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quati_pool.annotation.authoring.base import DRAFT_ROUND, Design, Step
from quati_pool.annotation.authoring.pira import QUESTION, TEXT, Pira
from quati_pool.annotation.authoring.romqa import DRAFT_STEP, QUERY, Romqa
from quati_pool.commands.annotate.authoring.sources import open_rounds, rounds_of
from quati_pool.commands.annotate.authoring.written_texts import written_texts
from quati_pool.commands.annotate.drafts.briefs import brief
from quati_pool.commands.annotate.drafts.checking import HeldBack, Questions
from quati_pool.commands.annotate.drafts.requests import DraftSource, DraftText, prompt_language
from quati_pool.commands.annotate.questions import writing
from quati_pool.commands.annotate.questions.passages import drawn_passages
from quati_pool.commands.annotate.questions.rules import Draft, QuestionError, checked, one_line
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, TranslatableError
from quati_pool.stats.hashing import hashes, places
from quati_pool.store.authoring_records import DRAFT, Entry, Item, NewItem, counting
from quati_pool.store.records import QuestionEvent

PURPOSE = "drafts"
"""What the order of sources is drawn for."""

Content = Mapping[str, Any]


class NewDraft(NamedTuple):
    """A draft to be added: its id, by which it is added once, and its content as people will see it."""

    draft_id: str
    source: DraftSource
    content: Content


class HeldBackError(Exception):
    """A draft breaks a rule that every question keeps."""

    def __init__(self, held: HeldBack) -> None:
        self.held = held
        super().__init__(held.reason)


class Home(ABC):
    """A collection that takes drafts. ``origins`` are what its drafts may be written from, ``languages`` those of its
    questions, with None for a language that is not known."""

    origins: tuple[str, ...]
    languages: tuple[str | None, ...]

    def __init__(self, session: AnnotationSession) -> None:
        self.session = session

    @property
    @abstractmethod
    def texts(self) -> list[DraftText]:
        """The texts of a draft."""

    @abstractmethod
    def sources(self, count: int) -> list[DraftSource]:
        """The first ``count`` sources in the order drawn by the collection's seed; those of a taxonomy are planned
        apart."""

    @abstractmethod
    def known(self, ids: Mapping[str, str], drafted_by: str) -> dict[str, bool | HeldBack]:
        """Of sources with the id of the draft that a version writes from each: for a draft that is there, whether
        people are still to decide on it; for a source that takes no draft now, why. Others are left out."""

    @abstractmethod
    def there(self) -> dict[str | None, list[str]]:
        """The questions that a draft should be unlike, by language."""

    @abstractmethod
    def content(self, source: DraftSource, texts: Mapping[str, str]) -> Content:
        """A draft's content as people's own is stored, from its texts by field. Raises HeldBackError where it breaks a
        rule."""

    @abstractmethod
    def questions(self, content: Content) -> Questions:
        """The question in a draft's content, by language."""

    @abstractmethod
    def add(self, drafts: Sequence[NewDraft], drafted_by: str) -> Mapping[str, HeldBack]:
        """Adds drafts of a registered version; those that are there are not added again. Returns, by source, why some
        were not added after all."""


class Proposals(Home):
    """The questions of a collection without rounds, proposed by nobody and drafted by a program."""

    origins = ("passages", "taxonomy")

    def __init__(self, session: AnnotationSession) -> None:
        super().__init__(session)
        self.languages = (writing.language(session.config),)

    @property
    def texts(self) -> list[DraftText]:
        return [DraftText("question", self.languages[0])]

    def sources(self, count: int) -> list[DraftSource]:
        found = drawn_passages(self.session.config, PURPOSE, count)
        return [DraftSource(one.doc_id, {"source": one.text}, {None: one.text}, one.doc_id) for one in found]

    def known(self, ids: Mapping[str, str], drafted_by: str) -> dict[str, bool | HeldBack]:
        waits = {one.question_id: writing.state_of(one) == "proposed" for one in self.session.questions.current()}
        drafted = self.session.questions.drafted()
        return {source: waits[drafted[draft_id]] for source, draft_id in ids.items() if draft_id in drafted}

    def there(self) -> dict[str | None, list[str]]:
        return {self.languages[0]: writing.texts_there(self.session)}

    def content(self, source: DraftSource, texts: Mapping[str, str]) -> Content:
        field = self.texts[0].field
        try:
            if isinstance(source.place, str):
                return {"query": one_line(texts[field]), "doc_id": source.place}
            made = checked(self.session.config, Draft(texts[field], *source.place))
        except QuestionError as error:
            raise HeldBackError(HeldBack(error.reason, field)) from None
        return {"query": made.query, "theme": made.theme, "scope": made.scope, "type": made.type}

    def questions(self, content: Content) -> Questions:
        return {self.languages[0]: content["query"]}

    def add(self, drafts: Sequence[NewDraft], drafted_by: str) -> Mapping[str, HeldBack]:
        for one in drafts:
            event = QuestionEvent(by="", action="proposed", nonce=one.draft_id, drafted_by=drafted_by, **one.content)
            self.session.questions.add_event(event)
        return {}


class PiraQuestions(Home):
    """The questions on the texts of Pirá's rounds, with their answers."""

    origins = ("passages",)

    def __init__(self, session: AnnotationSession) -> None:
        super().__init__(session)
        design, self._authoring = rounds_of(session)
        assert isinstance(design, Pira)
        self._design = design
        self.languages = design.languages
        (self._step,) = design.rounds["create"].steps
        open_rounds(session)

    @property
    def texts(self) -> list[DraftText]:
        return [DraftText(role, language) for language in self._design.languages for role in ("question", "answer")]

    def sources(self, count: int) -> list[DraftSource]:
        found = []
        items = [item for item in self._authoring.items(TEXT) if item.state != "out"]
        for item in _drawn(items, self._design.seed, count):
            texts: dict[str | None, str] = dict(item.content["text"])
            shown = next(texts[language] for language in self.languages if language in texts)
            found.append(DraftSource(item.source_id, {"source": shown}, texts, item))
        return found

    def known(self, ids: Mapping[str, str], drafted_by: str) -> dict[str, bool | HeldBack]:
        items = {item.source_id: item for item in self._authoring.items(QUESTION) if item.drafted_by is not None}
        texts = {item.source_id: item for item in self._authoring.items(TEXT) if item.source_id in ids}
        entries = self._authoring.entries([item.item_id for item in (*items.values(), *texts.values())])
        found: dict[str, bool | HeldBack] = {}
        for source, draft_id in ids.items():
            if (item := items.get(draft_id)) is not None:
                found[source] = item.state == "open" and not _decided(entries.get(item.item_id, ()))
            elif not self._written_from(texts[source], entries.get(texts[source].item_id, ())):
                found[source] = HeldBack("subject", TEXT, words="nobody has said that the text is about the subject")
        return found

    def _written_from(self, text: Item, entries: Iterable[Entry]) -> bool:
        """Whether people may write questions from a text by now: an unrelated one leaves the collection."""
        return any(name == "create" for name, _ in self._design.wanted(text, counting(list(entries))).tasks)

    def there(self) -> dict[str | None, list[str]]:
        written = written_texts(self.session)
        return {language: written.others(f"question.{language}", -1) for language in self._design.languages}

    def content(self, source: DraftSource, texts: Mapping[str, str]) -> Content:
        shown = {"text": source.place.content["text"]}
        return _checked(self._design, self._step, source.place, shown, texts)

    def questions(self, content: Content) -> Questions:
        return {language: content[f"question.{language}"] for language in self._design.languages}

    def add(self, drafts: Sequence[NewDraft], drafted_by: str) -> Mapping[str, HeldBack]:
        self._authoring.add(
            [
                NewItem(
                    QUESTION, one.draft_id, one.content, self._design.place(one.draft_id),
                    one.source.place.item_id, drafted_by,
                )
                for one in drafts
            ]
        )  # fmt: skip
        return {}


class RomqaQuestions(Home):
    """The questions on the queries of RoMQA's clusters. A query takes one draft, as long as nobody has opened it."""

    origins = ("clusters",)

    def __init__(self, session: AnnotationSession) -> None:
        super().__init__(session)
        design, self._authoring = rounds_of(session)
        assert isinstance(design, Romqa)
        self._design = design
        self.languages = design.languages
        (self._text,) = self.texts
        (self._step,) = design.rounds[DRAFT_ROUND].steps
        assert self._step.name == DRAFT_STEP
        open_rounds(session)

    @property
    def texts(self) -> list[DraftText]:
        return [DraftText("question", self._design.language)]

    def sources(self, count: int) -> list[DraftSource]:
        language = prompt_language(self.languages)
        return [
            DraftSource(
                item.source_id,
                {"brief": brief(item.content["constraints"], language), "source": "\n".join(_lines(item))},
                {},
                item,
            )
            for item in _drawn(self._authoring.items(QUERY), self._design.seed, count)
        ]

    def known(self, ids: Mapping[str, str], drafted_by: str) -> dict[str, bool | HeldBack]:
        items = [item for item in self._authoring.items(QUERY) if item.source_id in ids]
        entries = self._authoring.entries([item.item_id for item in items])
        found: dict[str, bool | HeldBack] = {}
        for item in items:
            said = entries.get(item.item_id, ())
            if DRAFT in item.content and item.drafted_by == drafted_by:
                found[item.source_id] = not _decided(said)
            elif DRAFT in item.content:
                found[item.source_id] = HeldBack("drafted", self._text.field, words="there is another draft of it")
            elif said:
                found[item.source_id] = self._begun()
        return found

    def there(self) -> dict[str | None, list[str]]:
        # A draft is not among the texts of the rounds until somebody has accepted it.
        waiting = {item.item_id: item.content[DRAFT] for item in self._authoring.items(QUERY) if DRAFT in item.content}
        entries = self._authoring.entries(list(waiting))
        drafts = [draft for item_id, draft in waiting.items() if not _decided(entries.get(item_id, ()))]
        written = written_texts(self.session).others(self._text.field, -1)
        return {self._design.language: written + [draft[self._text.field] for draft in drafts]}

    def content(self, source: DraftSource, texts: Mapping[str, str]) -> Content:
        return _checked(self._design, self._step, source.place, {}, texts)

    def questions(self, content: Content) -> Questions:
        return {self._design.language: content[self._text.field]}

    def add(self, drafts: Sequence[NewDraft], drafted_by: str) -> Mapping[str, HeldBack]:
        taken = self._authoring.draft({one.source.place.item_id: one.content for one in drafts}, drafted_by)
        return {one.source.source_id: self._begun() for one in drafts if one.source.place.item_id not in taken}

    def _begun(self) -> HeldBack:
        return HeldBack("begun", self._text.field, words="somebody has begun to write it")


def _lines(item: Item) -> list[str]:
    """The answers of a query that people are shown, on one line each."""
    return [" ".join(answer.split()) for answer in item.content["answers"]]


def _drawn(items: Sequence[Item], seed: int, count: int) -> list[Item]:
    """The first ``count`` items in the order drawn by the collection's seed."""
    ids = [item.source_id for item in items]
    return [items[place] for place in places(hashes(PURPOSE, seed, ids), ids)[:count].tolist()]


def _decided(entries: Iterable[Entry]) -> bool:
    """Whether somebody has accepted or refused the draft that these are the entries of."""
    return any(entry.round == DRAFT_ROUND for entry in counting(list(entries)))


def _checked(
    design: Design[Any], step: Step, item: Item, shown: Mapping[str, Any], texts: Mapping[str, str]
) -> Content:
    """A draft's texts as a form of this step stores them. Raises HeldBackError where the design refuses them."""
    try:
        return design.checked(step, item, shown, texts).content
    except TranslatableError as error:
        raise HeldBackError(HeldBack(error.reason or "faulty", getattr(error, "field", None) or "")) from None


def home_of(session: AnnotationSession, origin: str) -> Home:
    """Where a session's drafts go. Raises ConfigError for an origin that does not fit its pool.yaml."""
    made: type[Home]
    if session.design is None:
        made, what = Proposals, "without authoring:"
    elif isinstance(session.design, Pira | Romqa):
        made = PiraQuestions if isinstance(session.design, Pira) else RomqaQuestions
        what = f"with authoring: {{design: {_design_name(session)}}}"
    else:
        raise ConfigError(
            f"{session.config.path}: authoring: questions of the design {_design_name(session)} cannot be drafted"
        )
    if origin not in made.origins:
        fits = " or ".join(made.origins)
        raise ConfigError(f"--from {origin} does not fit {session.config.path}: {what}, drafts are written from {fits}")
    return made(session)


def _design_name(session: AnnotationSession) -> str:
    assert session.config.authoring is not None
    return session.config.authoring.design
