"""The collection that people annotate, opened once for many threads: its pool, scale, guidelines and store.

An annotation session is the collection opened by a process. A person's being signed in is called a sign-in and is
proved by a token: every command that people use takes the session and a token.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from quati_pool.annotation.authoring.base import Design
from quati_pool.annotation.codes import token_sha
from quati_pool.commands.annotate.annotation_pair import shown_pair
from quati_pool.commands.annotate.authoring.translator import Translator
from quati_pool.commands.annotate.errors import ForbiddenError, SignedOutError
from quati_pool.commands.annotate.pool_view import CurrentPoolView, PoolView
from quati_pool.commands.annotate.similar_passages import SimilarPassages
from quati_pool.errors import ConfigError, InputError
from quati_pool.files.lines import read_bytes
from quati_pool.judging.llm_parameters import LlmParameters
from quati_pool.judging.local import LocalParameters
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompts import Example, Prompt, load_prompt, standard_prompt
from quati_pool.labels.base import Labeler
from quati_pool.labels.labelers import Grading, people_definition, people_version
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.inputs import load_queries
from quati_pool.store.assignments import Assignments
from quati_pool.store.authoring import Authoring
from quati_pool.store.database import Store
from quati_pool.store.designs import Designs
from quati_pool.store.people import People
from quati_pool.store.questions import Questions
from quati_pool.store.records import Role
from quati_pool.store.remarks import Remarks
from quati_pool.store.reveals import Reveals
from quati_pool.store.training import TrainingPairs

T = TypeVar("T")

# Longer than any guidelines: a larger file is probably a corpus.
_LONGEST_GUIDELINES = 1_000_000


@dataclass(frozen=True)
class GradeMeaning:
    """A grade as people see it; ``meaning``, which does not repeat the name, and ``example`` are None if no prompt has
    them."""

    grade: int
    name: str
    meaning: str | None = None
    example: Example | None = None


@dataclass(frozen=True)
class Guidelines:
    """The guidelines in Markdown, and the SHA-256 of the text."""

    text: str
    sha: str


@dataclass(frozen=True)
class Person:
    """A person who is signed in; ``language`` is the one they chose, or else the collection's, or None."""

    name: str
    role: Role
    language: str | None
    settings: Mapping[str, Any]


class AnnotationSession:
    """A collection opened for annotation, to be used in a ``with`` statement, by any number of threads. A person's
    sign-in is a ``SignIn``."""

    def __init__(
        self,
        config: PoolConfig,
        store: Store,
        say: Callable[[str], None] = lambda _: None,
        database: str | None = None,
    ) -> None:
        self.config = config
        self.store = store
        self.database = database
        """The store's URL, if it is another one than that in ``pool.yaml``."""
        self.people = People(store, config.name)
        self.assignments = Assignments(store, config.name)
        self.designs = Designs(store, config.name)
        self.training = TrainingPairs(store, config.name)
        self.questions = Questions(store, config.name)
        self.reveals = Reveals(store, config.name)
        self.remarks = Remarks(store, config.name)
        self.design: Design[Any] | None = None
        """The design of the rounds in which questions are written; None without ``authoring:``."""
        self.translator: Translator | None = None
        """What translates in people's forms; None without ``authoring: translator``."""
        self.authoring: Authoring | None = None
        if config.authoring is not None:
            self.design = config.authoring.make_design(config.seed)
            self.authoring = Authoring(store, config.name, self.design.id, self.design)
            if config.authoring.translator is not None:
                self.translator = Translator(config, store)
        self.prompt = _prompt(config)
        self.scale = self.scale_in(config.annotation.language)
        self.version = people_version(config)
        self.similar_passages = SimilarPassages()
        self._pool_view = CurrentPoolView(config, say)
        queries = config.queries.path
        self._narratives: Rereading[dict[str, str]] | None = (
            None if queries is None else Rereading(config.folder / queries, lambda _: _narratives(config))
        )
        guidelines = config.annotation.guidelines
        self._guidelines = None if guidelines is None else Rereading(config.folder / guidelines, _read_guidelines)

    @classmethod
    def open(
        cls, config_path: Path, database: str | None = None, say: Callable[[str], None] = lambda _: None
    ) -> AnnotationSession:
        """Opens a workspace, with its store at ``database`` or as set in ``pool.yaml``.

        Raises QuatiPoolError if pool.yaml, the prompt, the guidelines or the judge to reveal is faulty, if the
        prompt's scale differs from the collection's, or if the store cannot be opened. The pool need not exist yet:
        ``pool_view`` raises if it is missing.
        """
        config = load_config(config_path, writing=True)
        store = Store.open(database or config.labels.url, config.folder)
        try:
            session = cls(config, store, say, database)
            session.guidelines  # noqa: B018  # raises if they are faulty
            session.revealed  # noqa: B018
            store.register(session.version, "assessor", people_definition(config))
        except BaseException:
            store.close()
            raise
        return session

    def close(self) -> None:
        if self.translator is not None:
            self.translator.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pool_view(self) -> PoolView:
        """The current pool. Raises InputError if there is none."""
        return self._pool_view.get()

    @property
    def narratives(self) -> Mapping[str, str]:
        """The narratives in the current queries file, by query_id; empty if there is no file."""
        return (self._narratives and self._narratives.get()) or {}

    def pair(self, query_id: str, doc_id: str) -> Pair | None:
        """A pair with its current texts; None if it is not in the pool. Raises InputError if there is no pool."""
        return shown_pair(self.pool_view, self.narratives, query_id, doc_id)

    @property
    def guidelines(self) -> Guidelines | None:
        """The current guidelines. Raises InputError if pool.yaml names a file that cannot be read."""
        if self._guidelines is None:
            return None
        found = self._guidelines.get()
        if found is None:
            raise InputError(
                self.config.folder / str(self.config.annotation.guidelines),
                None,
                "there is no such file; write it, or drop annotation.guidelines",
            )
        return found

    @cached_property
    def grading(self) -> Grading:
        """The collection's labelers over this store."""
        return Grading(self.config, self.store)

    @cached_property
    def revealed(self) -> Labeler | None:
        """The labeler whose grade is shown after a person's own label; None if none is set."""
        reveal = self.config.annotation.reveal
        return None if reveal is None else self.grading.labeler(reveal)

    def scale_in(self, language: str | None) -> list[GradeMeaning]:
        """The scale as people see it whose pages are in ``language`` (None: English), in ascending order.

        Names are those of ``grades:`` in ``pool.yaml`` if it is set, else the prompt's, in the prompt's language;
        meanings and examples are the prompt's. For the default scale without a prompt, all three are those of the
        bundled prompt ``quati-<language>``.
        """
        return _scale(self.config, self.prompt, language or "en")

    @property
    def lease(self) -> float:
        """Seconds for which a person holds a pair from the open queue."""
        return self.config.annotation.lease * 60

    def person(self, token: str | None, role: Role | None = None) -> Person:
        """The person whose sign-in this token proves. A lead may do everything that an assessor may.

        Raises SignedOutError if the token has no valid sign-in, ForbiddenError if ``role`` is "lead" and the person
        is not a lead.
        """
        sign_in = self.people.signed_in(token_sha(token)) if token else None
        if sign_in is None:
            raise SignedOutError
        if role == "lead" and sign_in.role != "lead":
            raise ForbiddenError(f"{sign_in.name} is not a lead of {self.config.name}; ask one to do this")
        language = sign_in.settings.get("language", self.config.annotation.language)
        return Person(sign_in.name, sign_in.role, language, sign_in.settings)


class Rereading(Generic[T]):
    """A value read from a file, and read again when the file has changed; None while there is no file."""

    def __init__(self, path: Path, read: Callable[[Path], T]) -> None:
        self._path = path
        self._read = read
        self._lock = threading.Lock()
        self._held: tuple[tuple[int, int], T] | None = None

    def get(self) -> T | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        state = (status.st_size, status.st_mtime_ns)
        held = self._held
        if held is not None and held[0] == state:
            return held[1]
        with self._lock:
            if self._held is None or self._held[0] != state:
                self._held = (state, self._read(self._path))
            return self._held[1]


def _prompt(config: PoolConfig) -> Prompt | None:
    """The prompt whose scale is shown to people."""
    name = config.annotation.prompt
    if name is None:
        single = [judge for judge in config.judges.values() if isinstance(judge, JudgeConfig)]
        asking = [
            judge.parameters for judge in single if isinstance(judge.parameters, (LlmParameters, LocalParameters))
        ]
        if not asking:
            return None
        name = asking[0].prompt
    prompt = load_prompt(name, config.folder)
    if sorted(prompt.scale) != sorted(config.grades):
        has, wants = (", ".join(map(str, sorted(scale))) for scale in (prompt.scale, config.grades))
        raise ConfigError(
            f"{config.path}: annotation.prompt: {prompt.id} explains the grades {has}, and grades: has {wants}; "
            "name a prompt of the same scale"
        )
    return prompt


def _scale(config: PoolConfig, prompt: Prompt | None, language: str) -> list[GradeMeaning]:
    grades = sorted(config.grades)
    names: Mapping[int, str] = config.grades
    if "grades" not in config.model_fields_set:
        standard = standard_prompt(language if prompt is None else prompt.language)
        prompt = prompt or standard
        names = (prompt and prompt.names) or (standard and standard.names) or names
    if prompt is None:
        return [GradeMeaning(grade, names[grade]) for grade in grades]
    return [
        GradeMeaning(grade, names[grade], prompt.meaning_of(grade, names[grade]), prompt.example_of(grade))
        for grade in grades
    ]


def _narratives(config: PoolConfig) -> dict[str, str]:
    return {query.query_id: query.narrative for query in load_queries(config).queries if query.narrative}


def _read_guidelines(path: Path) -> Guidelines:
    if path.is_dir():
        raise InputError(path, None, "is a folder; expected a Markdown file")
    if path.stat().st_size > _LONGEST_GUIDELINES:
        raise InputError(path, None, "is longer than a megabyte; expected guidelines for people, in Markdown")
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(path, line, "is not UTF-8; save it as UTF-8") from None
    return Guidelines(text, hashlib.sha256(text.encode()).hexdigest())
