"""Where drafts come from and where they go: questions proposed by a program, or items of the rounds of writing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quati_pool.annotation.authoring.pira import QUESTION, TEXT, Pira
from quati_pool.commands.annotate.authoring.sources import open_rounds, rounds_of
from quati_pool.commands.annotate.authoring.written_texts import written_texts
from quati_pool.commands.annotate.drafts.checking import HeldBack, Questions
from quati_pool.commands.annotate.drafts.requests import DraftSource, DraftText
from quati_pool.commands.annotate.questions import writing
from quati_pool.commands.annotate.questions.passages import drawn_passages
from quati_pool.commands.annotate.questions.rules import Draft, QuestionError, checked, one_line
from quati_pool.commands.annotate.session import AnnotationSession
from quati_pool.errors import ConfigError, TranslatableError
from quati_pool.stats.hashing import hashes, places
from quati_pool.store.authoring_records import NewItem
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
    def waiting(self) -> dict[str, bool]:
        """For each draft that is there, by its id, whether people are still to decide on it."""

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
    def add(self, drafts: Iterable[NewDraft], drafted_by: str) -> None:
        """Adds drafts of a registered version; those that are there are not added again."""


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

    def waiting(self) -> dict[str, bool]:
        waits = {one.question_id: writing.state_of(one) == "proposed" for one in self.session.questions.current()}
        return {draft_id: waits[question_id] for draft_id, question_id in self.session.questions.drafted().items()}

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

    def add(self, drafts: Iterable[NewDraft], drafted_by: str) -> None:
        for one in drafts:
            event = QuestionEvent(by="", action="proposed", nonce=one.draft_id, drafted_by=drafted_by, **one.content)
            self.session.questions.add_event(event)


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
        items = [item for item in self._authoring.items(TEXT) if item.state != "out"]
        ids = [item.source_id for item in items]
        found = []
        for place in places(hashes(PURPOSE, self._design.seed, ids), ids)[:count].tolist():
            texts: dict[str | None, str] = dict(items[place].content["text"])
            shown = next(texts[language] for language in self.languages if language in texts)
            found.append(DraftSource(ids[place], {"source": shown}, texts, items[place]))
        return found

    def waiting(self) -> dict[str, bool]:
        items = (item for item in self._authoring.items(QUESTION) if item.drafted_by is not None)
        return {item.source_id: item.state == "open" for item in items}

    def there(self) -> dict[str | None, list[str]]:
        written = written_texts(self.session)
        return {language: written.others(f"question.{language}", -1) for language in self._design.languages}

    def content(self, source: DraftSource, texts: Mapping[str, str]) -> Content:
        try:
            found = self._design.checked(self._step, source.place, {"text": source.place.content["text"]}, texts)
        except TranslatableError as error:
            raise HeldBackError(HeldBack(error.reason or "faulty", getattr(error, "field", None) or "")) from None
        return found.content

    def questions(self, content: Content) -> Questions:
        return {language: content[f"question.{language}"] for language in self._design.languages}

    def add(self, drafts: Iterable[NewDraft], drafted_by: str) -> None:
        self._authoring.add(
            [
                NewItem(
                    QUESTION, one.draft_id, one.content, self._design.place(one.draft_id),
                    one.source.place.item_id, drafted_by,
                )
                for one in drafts
            ]
        )  # fmt: skip


def home_of(session: AnnotationSession, origin: str) -> Home:
    """Where a session's drafts go. Raises ConfigError for an origin that does not fit its pool.yaml."""
    fits: Sequence[str]
    if session.design is None:
        fits, what = Proposals.origins, "without authoring:"
    elif isinstance(session.design, Pira):
        fits, what = PiraQuestions.origins, f"with authoring: {{design: {_design_name(session)}}}"
    else:
        raise ConfigError(
            f"{session.config.path}: authoring: questions of the design {_design_name(session)} cannot be drafted"
        )
    if origin not in fits:
        raise ConfigError(
            f"--from {origin} does not fit {session.config.path}: {what}, drafts are written from {' or '.join(fits)}"
        )
    return PiraQuestions(session) if session.design is not None else Proposals(session)


def _design_name(session: AnnotationSession) -> str:
    assert session.config.authoring is not None
    return session.config.authoring.design
