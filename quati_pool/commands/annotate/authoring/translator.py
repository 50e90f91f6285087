"""A model that translates what people write in their forms (``authoring: translator``).

Each text has a journal of its own in ``cache/drafts/translations``, named by its request: the same text is asked for
once, and people who want others translated do not wait for it. With a budget, texts are asked for one after another, as
only then it is known what is left.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from quati_pool.annotation.authoring.forms import Field, Step
from quati_pool.commands.annotate.drafts.drafters import registered_drafter
from quati_pool.commands.annotate.drafts.requests import DraftRequests, DraftSource, DraftText, writing_prompt
from quati_pool.commands.model_answers.asking import Answers, ask, chosen_answerer, final
from quati_pool.commands.model_answers.journal import Entry, read_journal
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import locked_output
from quati_pool.judging.llm_parameters import client_for
from quati_pool.llm.faults import FatalError
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.project.workspace import Workspace
from quati_pool.records import State
from quati_pool.store.database import Store
from quati_pool.text.typed import UnprintableError, has_words, typed_line, typed_lines

LONGEST_SECONDS = 120.0
"""How long a person's translation may take before no further call is made for it."""

BUDGET = "budget"
"""Why a text was not translated: it might cost more than is left. Others are the states of answers that are none."""

_TRANSLATION = DraftText("translation", None).name
_REQUEST = re.compile("[0-9a-f]{64}")


class Translation(NamedTuple):
    """The translation of a text, and the ``request`` under which it is kept. ``text`` is None where there is none: the
    ``state`` then says why, and ``problem`` in words that may name the model."""

    request: str
    text: str | None
    state: str | None = None
    problem: str | None = None


class Made(NamedTuple):
    """What a model wrote at some time, and its version."""

    text: str
    by: str


class Translator:
    """The translator of a collection, used by any number of threads; ``close`` ends what is under way."""

    def __init__(self, config: PoolConfig, store: Store) -> None:
        """Raises ConfigError where there is a budget and the model's price is not known."""
        settings = config.authoring
        assert settings is not None
        assert settings.translator is not None
        self._languages = settings.languages
        self._budget = settings.translator_budget
        self._answerer = chosen_answerer(config, settings.translator)
        self._folder = _folder(config)
        self._store = store
        self._prompt = writing_prompt("translate", self._languages)
        self._lock = threading.Lock()
        self._under_way: set[threading.Event] = set()
        self._closed = False
        if self._budget is not None and self._answerer.price is None:
            raise ConfigError(
                f"{config.path}: authoring.translator_budget: needs the price of {self._answerer.parameters.model}, "
                f"which is not known; name a file with it under prices: of judges.{settings.translator}, or drop "
                "translator_budget"
            )

    @property
    def problem(self) -> str | None:
        """Why the model cannot be asked, such as a missing key; None if it can."""
        try:
            client_for(self._answerer.parameters)
        except FatalError as error:
            return str(error)
        return None

    @cached_property
    def _version(self) -> str:
        return registered_drafter(self._store, self._answerer, self._prompt)

    def translate(self, texts: Mapping[str, tuple[str, Field]]) -> dict[str, Translation]:
        """Translates each text into the language of its field. A text that was translated before costs nothing. Raises
        StoreError if the database cannot be reached."""
        version = self._version
        with ThreadPoolExecutor(max(1, len(texts)), "translation") as pool:
            found = {name: pool.submit(self._one, text, field, version) for name, (text, field) in texts.items()}
        return {name: one.result() for name, one in found.items()}

    def close(self) -> None:
        """Makes no further call."""
        with self._lock:
            self._closed = True
            for stop in self._under_way:
                stop.set()

    def _one(self, text: str, field: Field, version: str) -> Translation:
        asked = DraftText("translation", field.language)
        # The version is the journal's id of the request, so that it can be found by the request alone.
        source = DraftSource(version, {"wording": text}, {}, None)
        requests = DraftRequests("translate", "translate", self._languages, [asked], [source])
        key = self._answerer.key(requests.request(version))
        path = _journal(self._folder, key)
        try:
            entry = read_journal(path).get(key)
            if entry is None or not final(entry):
                answers = self._asked(requests, path)
                entry = read_journal(path).get(key)
        except (QuatiPoolError, OSError) as error:  # such as a journal that cannot be read
            return Translation(key, None, State.failed.value, str(error))
        if entry is None:
            return Translation(key, None, *_why(answers))
        if entry["state"] != State.ok:
            return Translation(key, None, entry["state"], str(entry.get("problem")))
        written = as_typed(field, entry["value"][0])
        if written is None:
            return Translation(key, None, State.unparsed.value, "the translation has no words, or control characters")
        return Translation(key, written)

    def _asked(self, requests: DraftRequests, journal: Path) -> Answers:
        if self._budget is None:
            return self._ask(requests, journal, None)
        ledger = self._folder / "spent.jsonl"
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked_output(ledger, lambda _: None):
            answers = self._ask(requests, journal, self._budget - _spent(ledger))
            if answers.spent:
                _book(ledger, answers.spent)
        return answers

    def _ask(self, requests: DraftRequests, journal: Path, budget: float | None) -> Answers:
        stop = threading.Event()
        timer = threading.Timer(LONGEST_SECONDS, stop.set)
        timer.daemon = True
        with self._lock:
            if self._closed:
                return Answers(ended="interrupted")
            self._under_way.add(stop)
        timer.start()
        try:
            return ask(requests, self._answerer, journal, Listener(), budget, stop)
        finally:
            timer.cancel()
            with self._lock:
                self._under_way.discard(stop)


def translatable(step: Step) -> dict[str, dict[str, Field]]:
    """The text fields of a step that differ from others in their language alone: by what their names have in common,
    and by language."""
    found: dict[str, dict[str, Field]] = {}
    for field in step.fields:
        if field.kind in ("line", "prose") and field.language is not None:
            name = field.name.removesuffix(f".{field.language}")
            found.setdefault(name, {})[field.language] = field
    return {name: fields for name, fields in found.items() if len(fields) > 1}


def made_by(config: PoolConfig, request: object) -> Made | None:
    """What a model wrote at some time for a request; None if there is no such translation."""
    if not isinstance(request, str) or not _REQUEST.fullmatch(request):
        return None
    try:
        entry: Entry | None = read_journal(_journal(_folder(config), request)).get(request)
    except (QuatiPoolError, OSError):
        return None
    if entry is None or entry["state"] != State.ok:
        return None
    return Made(entry["value"][0], str(entry.get("id")))


def as_typed(field: Field, text: str) -> str | None:
    """A translation as the field would store it; None if it could not be stored."""
    try:
        typed = typed_line(" ".join(text.split())) if field.kind == "line" else typed_lines(text)
    except UnprintableError:
        return None
    return typed if has_words(typed) else None


def _folder(config: PoolConfig) -> Path:
    return Workspace(config.folder).drafting("translations")


def _journal(folder: Path, request: str) -> Path:
    return folder / f"{request}.jsonl"


def _why(answers: Answers) -> tuple[str, str]:
    """Why a text was not asked for."""
    if answers.ended == "budget":
        return BUDGET, "the budget is spent"
    if answers.error is not None and not isinstance(answers.error, QuatiPoolError | OSError):
        raise answers.error  # a bug in this program
    return State.failed.value, str(answers.error or "it took too long")


def _spent(ledger: Path) -> float:
    """What translations have cost, in US dollars."""
    lines = ledger.read_bytes().splitlines(keepends=True) if ledger.exists() else []
    # A process that was killed while it wrote leaves part of a line.
    return sum(float(json.loads(line)["spent"]) for line in lines if line.endswith(b"}\n"))


def _book(ledger: Path, spent: float) -> None:
    torn = ledger.exists() and not ledger.read_bytes().endswith(b"\n")
    with ledger.open("ab") as file:
        file.write(("\n" if torn else "").encode() + json.dumps({"spent": spent}).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
