"""A language model's answers to a list of questions, each asked once and kept in a journal."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from quati_pool.commands.llm_runs import Ending, LlmSession, budget_spent, check_price, cost_so_far, heard
from quati_pool.commands.model_answers.journal import Entry, Journal, open_journal
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.judging.llm_parameters import LlmParameters, client_for, model_identity, price_for
from quati_pool.llm.answer_prompts import AnswerRequest, Form, Unreadable
from quati_pool.llm.answers import withheld
from quati_pool.llm.budget import Budget
from quati_pool.llm.budgeted_calls import Called, Caller, state_of
from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.options import Request
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.llm.server_capabilities import Capabilities
from quati_pool.llm.thoughts import Marks, marks_of, split
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.records import State
from quati_pool.registry import nearest

REASK = 2
"""How many times an unreadable answer is asked for again."""

_UNREADABLE = (State.unparsed, State.truncated)

# How many questions are turned into messages at a time.
_CHUNK = 256


class ModelQuestions(Protocol):
    """Questions to a language model. ``label`` names them where progress is shown; ``ids`` are unique."""

    @property
    def label(self) -> str: ...
    @property
    def ids(self) -> Sequence[str]: ...
    def request(self, question_id: str, /) -> AnswerRequest: ...


@dataclass(eq=False)
class Answerer:
    """A judge of kind ``llm``, used only for its endpoint, options, limits and prices: its prompt, samples,
    aggregate and ``max_passage_tokens`` do not apply here, nor do the grades of its pool.yaml."""

    name: str
    parameters: LlmParameters
    folder: Path
    """The folder of pool.yaml, to which ``prices`` is relative."""
    said: set[str] = field(default_factory=set)
    """The lines about the endpoint that the user has already been shown, across all runs of this process."""
    capabilities: dict[str, Capabilities] = field(default_factory=dict)
    """What the server accepts, as found out in an earlier run of this process, by the digest of the answers' schema."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Every setting that can change the model's answers to the same messages."""
        settings = model_identity(self.parameters)
        # A judge may ask for several answers together; here they are always asked for one at a time.
        return {name: value for name, value in settings.items() if name != "together"}

    def key(self, request: AnswerRequest) -> str:
        """The key of a request in the journal: the digest of all that is sent and of the model's identity."""
        return digest([request.definition, self._identity_digest])

    @cached_property
    def _identity_digest(self) -> str:
        return digest(self.identity)

    @property
    def price(self) -> Price | None:
        return price_for(self.parameters, self.folder)

    @property
    def marks(self) -> Sequence[Marks]:
        """The marks around the thoughts in the model's answers."""
        return marks_of(self.parameters.thoughts)


def chosen_answerer(pool: Path | PoolConfig, name: str) -> Answerer:
    """The judge ``name`` of a pool.yaml as a model that answers questions.

    Raises ConfigError where there is none of this name, or where it is no language model.
    """
    config = load_config(pool) if isinstance(pool, Path) else pool
    settings = config.judges.get(name)
    models = [
        judge
        for judge, found in config.judges.items()
        if isinstance(found, JudgeConfig) and isinstance(found.parameters, LlmParameters)
    ]
    advice = nearest(name, models) if models else "add one under judges:, with model: and base_url:"
    if settings is None:
        raise ConfigError(f"{config.path}: there is no judge {name!r}; {advice}")
    if not isinstance(settings, JudgeConfig) or not isinstance(settings.parameters, LlmParameters):
        raise ConfigError(f"{config.path}: {name} is not a language model and answers no questions; {advice}")
    return Answerer(name, settings.parameters, config.folder)


@dataclass
class Answers:
    """A model's answers: ``values`` by question id, and in ``failed`` the state and reason of questions without one.

    A question in neither was not asked: ``ended`` or ``error`` says why. ``asked`` is the number of questions asked in
    this run, ``reused`` that of questions asked in an earlier run or with the same messages as another question.
    ``cost`` is that of this run without calls of unknown cost, which ``unknown`` counts; ``spent`` is what the run took
    from its budget, which includes some of these calls at their highest price; ``needed`` is the highest price of one
    more call where the budget ended the run. All three are in US dollars. ``tokens`` counts input, cached, output and
    reasoning tokens; ``seconds`` is the duration of the run.
    """

    values: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    reused: int = 0
    calls: int = 0
    cost: float = 0.0
    spent: float = 0.0
    needed: float = 0.0
    unknown: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    ended: Ending | None = None
    error: BaseException | None = None

    def count(self, cost: float | None, usage: Mapping[str, int | None] | None) -> None:
        """Counts a call with its cost in US dollars (None where unknown) and its tokens by kind."""
        self.calls += 1
        if cost is None:
            self.unknown += 1
        else:
            self.cost += cost
        self.tokens.update({kind: number for kind, number in (usage or {}).items() if number})

    def cut_short(self, questions: int, budget: float | None, spent: float, one: str) -> str | None:
        """Why not all of so many questions were asked; None if they were. ``spent`` is what the command has taken from
        its ``budget``, in US dollars, and ``one`` what a question is called. Raises an error that is a bug in this
        program."""
        if not isinstance(self.error, (QuatiPoolError, OSError, type(None))):
            raise self.error
        if self.error is not None:
            return str(self.error)
        if self.ended is None and len(self.values) + len(self.failed) >= questions:
            return None
        if self.ended == "budget" and budget is not None:
            return budget_spent(budget, spent, self.needed, one)
        return "stopped" if self.ended == "interrupted" else "for an unknown reason"


def ask(
    questions: ModelQuestions,
    answerer: Answerer,
    journal: Path,
    listener: Listener,
    budget: float | None = None,
    stop: threading.Event | None = None,
) -> Answers:
    """Asks every question to which the journal holds no answer.

    The same messages are sent to the same model (``Answerer.identity``) only once, even if several questions share
    them. Refusals and answers that stay unreadable are kept as the model's answers; the next run repeats failed calls,
    and unreadable answers that were asked for again fewer than ``REASK`` times. One process at a time writes the
    journal: a second one waits and then reuses its answers. ``stop``, set from another thread, ends the run as Ctrl-C
    does. ``budget`` is the most that may be spent, in US dollars; None means no limit.

    An error during the run becomes ``Answers.error``, and earlier answers are kept. Raises QuatiPoolError where nothing
    can be asked: if the journal cannot be read, or there is a budget but no known price.
    """
    if budget is not None:
        check_price(answerer.price, answerer.parameters.model)
    started = time.monotonic()
    with open_journal(journal, listener) as book:
        run = _AnswerRun(questions, answerer, book, listener)
        if run.pending:
            run.ask(Budget(budget), stop or threading.Event())
        answers = run.finished()
    answers.seconds = time.monotonic() - started
    return answers


@dataclass(frozen=True, slots=True)
class _Task:
    """A question to ask; ``key`` is the digest of its request and the model's identity."""

    question_id: str
    key: str
    request: AnswerRequest


@dataclass(frozen=True, slots=True)
class _Answer:
    """The outcome of all tries of one question; ``text`` is what the model wrote in the last one."""

    state: State
    value: str | tuple[str, ...] | None
    problem: str | None
    text: str | None
    tries: tuple[Called, ...]


class _AnswerCaller(Caller):
    """Makes the calls of one run."""

    def __init__(self, client: Client, price: Price | None, budget: Budget, answerer: Answerer) -> None:
        super().__init__(client, price, budget)
        self._seed = answerer.parameters.seed
        self._marks = answerer.marks

    async def ask(self, task: _Task) -> list[_Answer]:
        """One answer; an empty list where the run stopped, failed or ran out of budget before an answer arrived."""
        messages = list(task.request.messages)
        schema = task.request.form.schema()
        tries: list[Called] = []
        answer: _Answer | None = None
        while answer is None or (answer.state in _UNREADABLE and len(tries) <= REASK):
            again = []
            if answer is not None:
                again = task.request.reask(split(answer.text or "", self._marks).said, answer.problem or "")
            called = await self.call(Request([*messages, *again], schema, seed=self._seed))
            if called is None:
                break
            tries.append(called)
            answer = _read(called, task.request.form, tuple(tries), self._marks)
        return [] if answer is None else [answer]


def _read(called: Called, form: Form, tries: tuple[Called, ...], marks: Sequence[Marks]) -> _Answer:
    """The answer that a call returned."""
    if called.fault is not None:
        return _Answer(state_of(called.fault), None, called.fault.words, None, tries)
    assert called.completion is not None
    choice = called.completion.choices[0]
    problem = withheld(choice.refusal, choice.finish_reason, choice.error)
    if problem is not None:
        state, words = problem
        return _Answer(state, None, words, choice.text, tries)
    return _Answer(*_outcome(choice.text or "", form, marks), choice.text, tries)


def _outcome(text: str, form: Form, marks: Sequence[Marks]) -> tuple[State, str | tuple[str, ...] | None, str | None]:
    """Reads an answer's text without its thoughts; returns its state, and the answer or the problem."""
    spoken = split(text, marks)
    if not spoken.closed:
        return State.truncated, None, "the answer ended within its thoughts"
    if spoken.thoughts and not spoken.said:
        return State.unparsed, None, "the answer holds thoughts alone"
    try:
        return State.ok, form.read(spoken.said), None
    except Unreadable as error:
        return State.unparsed, None, str(error)


def _read_again(entry: Entry, form: Form, marks: Sequence[Marks]) -> Entry:
    """A journal entry with its text read again, as an earlier version may have read thoughts as the answer."""
    if entry["state"] not in (State.ok, State.unparsed) or not isinstance(entry.get("text"), str):
        return entry
    kept = {name: value for name, value in entry.items() if name not in ("state", "value", "problem")}
    return {**kept, **_outcome_entry(*_outcome(entry["text"], form, marks))}


def _outcome_entry(state: State, value: str | tuple[str, ...] | None, problem: str | None) -> Entry:
    if state is not State.ok:
        return {"state": state.value, "problem": problem}
    return {"state": state.value, "value": list(value) if isinstance(value, tuple) else value}


class _AnswerRun:
    """One run over all questions."""

    def __init__(self, questions: ModelQuestions, answerer: Answerer, journal: Journal, listener: Listener) -> None:
        self.questions = questions
        self.answerer = answerer
        self.journal = journal
        self.listener = listener
        self.answers = Answers()
        self.keys: dict[str, str] = {}
        changed: dict[str, Entry] = {}
        for question_id in questions.ids:
            request = self._request(question_id)
            key = self.keys[question_id] = answerer.key(request)
            entry = journal.entries.get(key)
            if entry is not None and (again := _read_again(entry, request.form, answerer.marks)) != entry:
                changed[key] = again
        if changed:
            journal.append(list(changed.values()))
        first: dict[str, str] = {}
        for question_id, key in self.keys.items():
            if not self._finished(key):
                first.setdefault(key, question_id)
        self.pending = {question_id: key for key, question_id in first.items()}
        """The questions to ask, each with the key of its request; of several with the same key, the first."""
        self._before = len(self.keys) - len(self.pending)
        self._lost: set[str] = set()
        self._landed = 0
        self._failures = 0

    def _request(self, question_id: str) -> AnswerRequest:
        try:
            return self.questions.request(question_id)
        except QuatiPoolError as error:
            raise QuatiPoolError(f"the question {question_id}: {error}") from None

    def _finished(self, key: str) -> bool:
        entry = self.journal.entries.get(key)
        return entry is not None and final(entry)

    def ask(self, budget: Budget, stop: threading.Event) -> None:
        answerer, answers, price = self.answerer, self.answers, self.answerer.price
        if budget.limit is not None and budget.limit <= 0:
            answers.ended = "budget"
            return

        session = LlmSession(answerer.name, price, budget, self.listener, self._say)

        @asynccontextmanager
        async def connect() -> AsyncIterator[_AnswerCaller]:
            schema = self.questions.request(next(iter(self.pending))).form.schema()
            known = answerer.capabilities.get(key := digest(schema))
            client = client_for(answerer.parameters, self._heard, known)
            async with session.connected(client, schema, lambda cost: answers.count(cost, None)):
                answerer.capabilities[key] = client.capabilities
                yield _AnswerCaller(client, price, budget, answerer)

        runner = Runner(self._tasks(), connect, self._write)
        answers.ended = session.run(runner, stop, lambda: self._progress(session.counters.retries))
        answers.spent, answers.needed = budget.spent, budget.needed
        answers.error = runner.error

    def finished(self) -> Answers:
        """The answers to all questions, from this run and earlier ones."""
        answers = self.answers
        answers.asked = self._landed
        for question_id, key in self.keys.items():
            entry = self.journal.entries.get(key)
            if entry is None or not (final(entry) or key in self._lost):
                continue
            answers.reused += question_id not in self.pending
            if entry["state"] == State.ok:
                value = entry["value"]
                answers.values[question_id] = tuple(value) if isinstance(value, list) else value
            else:
                answers.failed[question_id] = f"{entry['state']}: {entry.get('problem')}"
        return answers

    def _tasks(self) -> Iterator[list[_Task]]:
        ids = list(self.pending)
        for start in range(0, len(ids), _CHUNK):
            yield [_Task(one, self.pending[one], self.questions.request(one)) for one in ids[start : start + _CHUNK]]

    def _write(self, landed: Sequence[tuple[_Task, Sequence[_Answer]]]) -> None:
        self.journal.append([self._entry(task, answer) for task, answers in landed for answer in answers])
        for task, answers in landed:
            for answer in answers:
                self._landed += 1
                if answer.state is not State.ok:
                    self._failures += 1
                if answer.state is State.failed:
                    self._lost.add(task.key)
                for called in answer.tries:
                    self.answers.count(called.cost, _usage(called))

    def _entry(self, task: _Task, answer: _Answer) -> Entry:
        """A journal entry: ``cost``, ``usage`` and ``seconds`` are sums over all tries; ``notes`` report counts from
        the server that cannot be right."""
        completions = [called.completion for called in answer.tries if called.completion is not None]
        tokens: Counter[str] = Counter()
        for called in answer.tries:
            tokens.update(_usage(called))
        costs = [called.cost for called in answer.tries]
        notes = [note for called in answer.tries for note in called.notes]
        return {
            "request": task.key,
            "id": task.question_id,
            **_outcome_entry(answer.state, answer.value, answer.problem),
            "text": answer.text,
            "tries": len(answer.tries),
            "usage": dict(tokens),
            "cost": sum(cost for cost in costs if cost is not None) if None not in costs else None,
            "seconds": round(sum(completion.seconds for completion in completions), 3),
            "model": completions[-1].model if completions else None,
            **({"notes": notes} if notes else {}),
        }

    def _heard(self, event: Event) -> None:
        heard(self.answerer.name, self.listener.say if event.kind == "wait" else self._say)(event)

    def _say(self, line: str) -> None:
        """Shows a line to the user, but only once across all runs."""
        if line not in self.answerer.said:
            self.answerer.said.add(line)
            self.listener.say(line)

    def _progress(self, retries: int) -> None:
        answers = self.answers
        parts = [
            f"{self._failures:,} without an answer" if self._failures else "",
            f"{retries:,} retries" if retries else "",
            cost_so_far(answers.cost, answers.unknown),
        ]
        label = " ".join(filter(None, (self.answerer.name, self.questions.label)))
        done, detail = self._before + self._landed, ", ".join(filter(None, parts))
        self.listener.progress(label, done, len(self.keys), detail, unit="questions")


def final(entry: Entry) -> bool:
    """Whether a journal entry is final and not asked again: all are but failed calls, and unreadable answers that were
    asked for again fewer than ``REASK`` times."""
    if entry["state"] in _UNREADABLE:
        return bool(entry.get("tries", 0) > REASK)
    return bool(entry["state"] != State.failed)


def _usage(called: Called) -> dict[str, int]:
    usage = called.completion.usage if called.completion else None
    if usage is None:
        return {}
    tokens = {kind: getattr(usage, kind) for kind in ("input", "cached", "output", "reasoning")}
    return {kind: number for kind, number in tokens.items() if number is not None}
