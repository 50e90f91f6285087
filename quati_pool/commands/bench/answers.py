"""What a language model answers to an exam's questions, each asked once and kept in a journal."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from quati_pool.commands.bench.journal import Entry, Journal, opened
from quati_pool.commands.llm_runs import check_price, heard, prepare, run_through
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.judging.llm import LlmParameters, client_for, model_identity, price_for
from quati_pool.llm.answers import withheld
from quati_pool.llm.budget import Budget
from quati_pool.llm.budgeted_calls import Called, Caller, state_of
from quati_pool.llm.client import Client, Counters, Event
from quati_pool.llm.options import Request
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.llm.thoughts import Marks, marks_of, split
from quati_pool.project.config import JudgeConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.qa_benchmarks.asking import Asked, Form, Unreadable
from quati_pool.qa_benchmarks.base import AnswerTaskRun
from quati_pool.records import State
from quati_pool.registry import nearest

REASK = 2
"""How often an unreadable answer is asked for again."""

_UNREADABLE = (State.unparsed, State.truncated)

Ending = Literal["budget", "interrupted"]

# Questions whose messages are made at a time.
_CHUNK = 256


@dataclass(eq=False)
class Answerer:
    """A judge of kind ``llm``, used only for its endpoint, options, limits and prices: its prompt, samples,
    aggregate and ``max_passage_tokens`` say nothing here, nor do the grades of its pool.yaml."""

    name: str
    parameters: LlmParameters
    folder: Path
    """That of the pool.yaml, to which ``prices`` is relative."""
    said: set[str] = field(default_factory=set)
    """What the user has been told of the endpoint, over all exams."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that changes its answers to the same messages."""
        told = model_identity(self.parameters)
        # One answer is asked for at a time, whatever a judge would do.
        return {name: value for name, value in told.items() if name != "together"}

    @property
    def price(self) -> Price | None:
        return price_for(self.parameters, self.folder)

    @property
    def marks(self) -> Sequence[Marks]:
        """The marks of thoughts in its answers."""
        return marks_of(self.parameters.thoughts)


def chosen_answerer(pool_yaml: Path, name: str) -> Answerer:
    """The judge ``name`` of a pool.yaml as one who answers questions.

    Raises ConfigError where there is none of this name, or where it is no language model.
    """
    config = load_config(pool_yaml)
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
        raise ConfigError(f"{config.path}: {name} is no language model and answers no questions; {advice}")
    return Answerer(name, settings.parameters, config.folder)


@dataclass
class Answers:
    """What a model answers, by question id; ``failed`` gives for others their state and its reason.

    A question in neither was not asked: ``ended`` or ``error`` says why. ``asked`` questions were asked in this
    run, ``reused`` ones had been before, or are the same as another. ``cost`` (US dollars, of this run) leaves
    out ``unknown`` calls whose cost is not known; ``spent`` is what the run took from its budget, which takes
    some of these at their highest, and ``needed`` what one more call needs at most where the budget ended the run.
    ``tokens`` counts input, cached, output and reasoning; ``seconds`` is the
    time that the run took.
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
        """Counts a call."""
        self.calls += 1
        if cost is None:
            self.unknown += 1
        else:
            self.cost += cost
        self.tokens.update({kind: number for kind, number in (usage or {}).items() if number})


def ask(
    exam: AnswerTaskRun,
    answerer: Answerer,
    journal: Path,
    listener: Listener,
    budget: float | None = None,
    stop: threading.Event | None = None,
) -> Answers:
    """Asks every question of an exam that the journal holds no answer to.

    The same messages to the same model (all that changes its answers; nothing of how they are got) are asked
    once, whichever question they belong to. Refusals and answers that stay unreadable are kept as what the
    model says; calls that failed, and unreadable answers that the end of a run left no time to ask for again,
    are made again by the next run. One process at a time writes the journal: a
    second waits, and finds the work done. ``stop``, set from another thread, ends the run as Ctrl-C does.

    What goes wrong on the way is ``error``: what is answered by then is kept. Raises QuatiPoolError where
    nothing can be asked: a journal that cannot be read, a budget without a known price. ``budget`` is what may
    be spent, in US dollars; None: any sum.
    """
    if budget is not None:
        check_price(answerer.price, answerer.parameters.model)
    started = time.monotonic()
    with opened(journal, listener) as book:
        work = _Work(exam, answerer, book, listener)
        if work.pending:
            work.ask(Budget(budget), stop or threading.Event())
        answers = work.finished()
    answers.seconds = time.monotonic() - started
    return answers


@dataclass(frozen=True, slots=True)
class _Task:
    question_id: str
    request: str
    asked: Asked


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the tries of one question came to; ``text`` is what the model wrote at the last."""

    state: State
    value: str | tuple[str, ...] | None
    problem: str | None
    text: str | None
    tries: tuple[Called, ...]


class _Asking(Caller):
    """What all calls of one run share."""

    def __init__(self, client: Client, price: Price | None, budget: Budget, answerer: Answerer) -> None:
        super().__init__(client, price, budget)
        self._seed = answerer.parameters.seed
        self._marks = answerer.marks

    async def ask(self, task: _Task) -> list[_Answer]:
        """One answer; none where the run was stopped, its budget is spent or ``error`` came between."""
        messages = list(task.asked.messages)
        schema = task.asked.form.schema()
        tries: list[Called] = []
        made: _Answer | None = None
        while made is None or (made.state in _UNREADABLE and len(tries) <= REASK):
            again = task.asked.reask(split(made.text or "", self._marks).said, made.problem or "") if made else []
            called = await self.call(Request([*messages, *again], schema, seed=self._seed))
            if called is None:
                break
            tries.append(called)
            made = _read(called, task.asked, tuple(tries), self._marks)
        return [] if made is None else [made]


def _read(called: Called, asked: Asked, tries: tuple[Called, ...], marks: Sequence[Marks]) -> _Answer:
    """What a call gives as the answer."""
    if called.fault is not None:
        return _Answer(state_of(called.fault), None, called.fault.words, None, tries)
    assert called.completion is not None
    choice = called.completion.choices[0]
    problem = withheld(choice.refusal, choice.finish_reason, choice.error)
    if problem is not None:
        state, words = problem
        return _Answer(state, None, words, choice.text, tries)
    return _Answer(*_outcome(choice.text or "", asked.form, marks), choice.text, tries)


def _outcome(text: str, form: Form, marks: Sequence[Marks]) -> tuple[State, str | tuple[str, ...] | None, str | None]:
    """What a text says without its thoughts: its state, and the answer or the problem."""
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
    """A line of the journal as its text is read today: an earlier version may have read thoughts as the answer."""
    if entry["state"] not in (State.ok, State.unparsed) or not isinstance(entry.get("text"), str):
        return entry
    kept = {name: value for name, value in entry.items() if name not in ("state", "value", "problem")}
    return {**kept, **_told(*_outcome(entry["text"], form, marks))}


def _told(state: State, value: str | tuple[str, ...] | None, problem: str | None) -> Entry:
    if state is not State.ok:
        return {"state": state.value, "problem": problem}
    return {"state": state.value, "value": list(value) if isinstance(value, tuple) else value}


class _Work:
    """One run over an exam's questions."""

    def __init__(self, exam: AnswerTaskRun, answerer: Answerer, journal: Journal, listener: Listener) -> None:
        self.exam = exam
        self.answerer = answerer
        self.journal = journal
        self.listener = listener
        self.answers = Answers()
        self.counters = Counters()
        identity = digest(answerer.identity)
        self.requests: dict[str, str] = {}
        otherwise: dict[str, Entry] = {}
        for question_id in exam.ids:
            asked = self._asked(question_id)
            request = self.requests[question_id] = digest([asked.definition, identity])
            entry = journal.entries.get(request)
            if entry is not None and (again := _read_again(entry, asked.form, answerer.marks)) != entry:
                otherwise[request] = again
        if otherwise:
            journal.append(list(otherwise.values()))
        first: dict[str, str] = {}
        for question_id, request in self.requests.items():
            if not self._finished(request):
                first.setdefault(request, question_id)
        self.pending = {question_id: request for request, question_id in first.items()}
        """The questions to ask, each with its request; of several with the same one, the first."""
        self._before = len(self.requests) - len(self.pending)
        self._lost: set[str] = set()
        self._landed = 0
        self._failures = 0

    def _asked(self, question_id: str) -> Asked:
        try:
            return self.exam.asked(question_id)
        except QuatiPoolError as error:
            raise QuatiPoolError(f"the question {question_id}: {error}") from None

    def _finished(self, request: str) -> bool:
        entry = self.journal.entries.get(request)
        return entry is not None and _final(entry)

    def ask(self, budget: Budget, stop: threading.Event) -> None:
        answerer, answers, price = self.answerer, self.answers, self.answerer.price
        if budget.limit is not None and budget.limit <= 0:
            answers.ended = "budget"
            return

        @asynccontextmanager
        async def connect() -> AsyncIterator[_Asking]:
            first = next(iter(self.pending))
            async with client_for(answerer.parameters, self._heard) as client:
                self.counters = client.counters
                for cost in await prepare(client, self.exam.asked(first).form.schema(), price, budget):
                    answers.count(cost, None)
                self._say(f"{answerer.name}: asking {client.endpoint_name}, answers as {client.output}")
                yield _Asking(client, price, budget, answerer)

        runner = Runner(self._tasks(), connect, self._write)
        run_through(runner, stop, self.listener, self._progress)
        answers.spent, answers.needed = budget.spent, budget.needed
        answers.error = runner.error
        if runner.interrupted:
            answers.ended = "interrupted"
        elif budget.exhausted:
            answers.ended = "budget"

    def finished(self) -> Answers:
        """All that is known of the exam's questions by now."""
        answers = self.answers
        answers.asked = self._landed
        for question_id, request in self.requests.items():
            entry = self.journal.entries.get(request)
            if entry is None or not (_final(entry) or request in self._lost):
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
            yield [_Task(one, self.pending[one], self.exam.asked(one)) for one in ids[start : start + _CHUNK]]

    def _write(self, landed: Sequence[tuple[_Task, Sequence[_Answer]]]) -> None:
        self.journal.append([self._entry(task, answer) for task, answers in landed for answer in answers])
        for task, answers in landed:
            for answer in answers:
                self._landed += 1
                if answer.state is not State.ok:
                    self._failures += 1
                if answer.state is State.failed:
                    self._lost.add(task.request)
                for called in answer.tries:
                    self.answers.count(called.cost, _usage(called))

    def _entry(self, task: _Task, answer: _Answer) -> Entry:
        """A line of the journal: ``cost``, ``usage`` and ``seconds`` are those of all tries, ``notes`` what the
        server counted and cannot be."""
        completions = [called.completion for called in answer.tries if called.completion is not None]
        tokens: Counter[str] = Counter()
        for called in answer.tries:
            tokens.update(_usage(called))
        costs = [called.cost for called in answer.tries]
        notes = [note for called in answer.tries for note in called.notes]
        return {
            "request": task.request,
            "id": task.question_id,
            **_told(answer.state, answer.value, answer.problem),
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
        """Says it once, over all exams."""
        if line not in self.answerer.said:
            self.answerer.said.add(line)
            self.listener.say(line)

    def _progress(self) -> None:
        answers = self.answers
        parts = [
            f"{self._failures:,} without an answer" if self._failures else "",
            f"{self.counters.retries:,} retries" if self.counters.retries else "",
            f"{'≥ ' if answers.unknown else ''}US$ {answers.cost:.2f}",
        ]
        label = " ".join(filter(None, (self.answerer.name, *self.exam.case)))
        self.listener.progress(label, self._before + self._landed, len(self.requests), ", ".join(filter(None, parts)))


def _final(entry: Entry) -> bool:
    """Whether a line is an answer, or what stands for one: not a call that failed, nor an unreadable answer that
    was not asked for as often as it should be."""
    if entry["state"] in _UNREADABLE:
        return bool(entry.get("tries", 0) > REASK)
    return bool(entry["state"] != State.failed)


def _usage(called: Called) -> dict[str, int]:
    usage = called.completion.usage if called.completion else None
    if usage is None:
        return {}
    told = {kind: getattr(usage, kind) for kind in ("input", "cached", "output", "reasoning")}
    return {kind: number for kind, number in told.items() if number is not None}
