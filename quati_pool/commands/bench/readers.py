"""The answers of readers, models on this machine, to a task's questions: each is computed once, and kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from quati_pool.commands.model_answers.journal import Entry, Journal, open_journal
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest, file_digest
from quati_pool.models.loading import require_neural
from quati_pool.models.parameters import ModelParameters
from quati_pool.models.readers.base import Reader, ReaderAnswer, ReaderQuestion
from quati_pool.models.readers.opening import open_reader
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.base import AnswerTaskRun
from quati_pool.records import State

# Answers are written to the journal when this many are there, or this many seconds have passed.
_ANSWERS, _SECONDS = 256, 2.0


@dataclass(frozen=True, eq=False)
class NamedReader:
    """A reader, and the name of its rows."""

    name: str
    reader: Reader


@dataclass(frozen=True)
class HomeEnvironment:
    """Looks models up from the current folder."""

    folder: Path = field(default_factory=Path)

    def digest(self, path: Path) -> str:
        return file_digest(path)


def open_readers(
    given: Sequence[tuple[str, str]], device: str | None, batch_tokens: int | None, listener: Listener
) -> list[NamedReader]:
    """The readers in the folders, or of the names on the hub, that are ``given`` with the names of their rows.

    Raises MissingExtraError without torch, ConfigError for a name that occurs twice, and the errors of ``open_reader``.
    """
    if not given:
        return []
    require_neural("--reader")
    twice = [name for name, count in Counter(name for name, _ in given).items() if count > 1]
    if twice:
        raise ConfigError(f"--reader {twice[0]}: two readers have this name; give one as NAME=PATH")
    settings: dict[str, Any] = {"device": device}
    if batch_tokens is not None:
        settings["batch_tokens"] = batch_tokens
    environment = HomeEnvironment()
    return [
        NamedReader(name, open_reader(ModelParameters(model=model, **settings), environment, listener.say))
        for name, model in given
    ]


@dataclass
class ReaderAnswers:
    """A reader's answers as the task measures them, by question id; questions that it could not read have none.
    ``notes`` are about them."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_answers(task_run: AnswerTaskRun, named: NamedReader, folder: Path, listener: Listener) -> ReaderAnswers:
    """Answers every question, those first that the journal in ``folder`` has no answer to.

    The same input to the same reader (``Reader.identity``) is computed once, even if several questions share it. One
    process at a time writes a reader's journal: a second one waits and then reuses its answers. Raises ConfigError
    where the reader cannot answer questions of this form.
    """
    identity = digest(named.reader.identity)
    questions = {question_id: task_run.reader_question(question_id) for question_id in task_run.ids}
    for question_id, question in questions.items():
        if (why := named.reader.refusal(question)) is not None:
            raise ConfigError(f"--reader {named.name} cannot answer {question_id}: {why}; drop it, or name another")
    keys = {question_id: digest([asdict(question), identity]) for question_id, question in questions.items()}
    with open_journal(folder / f"reader-{identity[:16]}.jsonl", listener) as journal:
        pending: dict[str, str] = {}
        for question_id, key in keys.items():
            if key not in journal.entries:
                pending.setdefault(key, question_id)
        label = " ".join(filter(None, (named.name, *task_run.case)))
        some = {key: (question_id, questions[question_id]) for key, question_id in pending.items()}
        _compute(task_run, named, some, journal, listener, label)
        entries = {question_id: journal.entries[key] for question_id, key in keys.items()}
    found = ReaderAnswers()
    shortened = 0
    unread: dict[str, str] = {}
    for question_id, entry in entries.items():
        answer = ReaderAnswer.from_json(entry["value"])
        shortened += answer.shortened
        if answer.unread is not None:
            unread[question_id] = answer.unread
            continue
        found.values[question_id] = _value(task_run, named, question_id, answer)
    about = f"{named.name}, {' '.join(filter(None, task_run.case))}"
    if shortened:
        found.notes.append(
            f"{about}: {shortened:,} of {len(entries):,} questions had a context that was shortened to fit"
        )
    if unread:
        first, why = next(iter(unread.items()))
        found.notes.append(
            f"{about}: {len(unread):,} of {len(entries):,} questions are unanswered, as the reader cannot read them "
            f"({first}: {why})"
        )
    return found


def _value(task_run: AnswerTaskRun, named: NamedReader, question_id: str, answer: ReaderAnswer) -> Any:
    """An answer as the task measures it. Raises ConfigError for one of another form than the task's."""
    try:
        return task_run.from_reader(question_id, answer)
    except ValueError as error:
        raise ConfigError(f"--reader {named.name}: its answer to {question_id} {error}; name another") from None


def _compute(
    task_run: AnswerTaskRun,
    named: NamedReader,
    pending: dict[str, tuple[str, ReaderQuestion]],
    journal: Journal,
    listener: Listener,
    label: str,
) -> None:
    """Answers the ``pending`` questions, by key, and writes the answers to the journal as they become ready; stops at
    the first that is of another form than the task's."""
    if not pending:
        return
    keys = list(pending)
    done = 0
    with _buffered(journal) as append:
        for position, answer in named.reader.answers([pending[key][1] for key in keys]):
            key = keys[position]
            question_id = pending[key][0]
            if answer.unread is None:
                _value(task_run, named, question_id, answer)
            append({"request": key, "id": question_id, "state": State.ok.value, "value": answer.as_json()})
            done += 1
            listener.progress(label, done, len(keys), unit="questions")
    if done < len(keys):
        raise QuatiPoolError(f"{label}: {len(keys) - done:,} of {len(keys):,} questions got no answer")


class _Buffer:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._entries: list[Entry] = []
        self._written = time.monotonic()

    def append(self, entry: Entry) -> None:
        self._entries.append(entry)
        if len(self._entries) >= _ANSWERS or time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        if self._entries:
            self._journal.append(self._entries)
            self._entries = []
        self._written = time.monotonic()


@contextmanager
def _buffered(journal: Journal) -> Iterator[Any]:
    """Appends to the journal a few answers at a time; an error, or Ctrl-C, loses none that is ready."""
    buffer = _Buffer(journal)
    try:
        yield buffer.append
    finally:
        buffer.write()
