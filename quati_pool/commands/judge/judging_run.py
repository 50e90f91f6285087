"""One run of a judge: grading or asking, storing the answers, and counting calls and costs."""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Container, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Protocol

from quati_pool.commands.judge.chosen_judge import JudgeOptions
from quati_pool.commands.judge.stored_answers import program_answer
from quati_pool.commands.llm_runs import (
    Ending,
    LlmSession,
    budget_spent,
    check_affordable,
    check_budget,
    check_price,
    cost_so_far,
    heard,
)
from quati_pool.errors import QuatiPoolError
from quati_pool.judging.base import Judge
from quati_pool.judging.pair import Pair
from quati_pool.judging.prompted_model import Answer, Asking, PromptedModel, Task
from quati_pool.judging.verdict import Verdict
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.labels.labelers import Grading, broken_judge
from quati_pool.llm.budget import Budget
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.project.events import Listener
from quati_pool.records import FAILURES, State
from quati_pool.store.records import Attempt, Entry


class Queue(Protocol):
    """What a judge is still to be asked about; ``tasks`` runs in one thread and ``landed`` in another."""

    @property
    def grading(self) -> Grading: ...
    @property
    def name(self) -> str:
        """The judge's name."""

    @property
    def samples(self) -> int: ...
    @property
    def coverage(self) -> LabelCoverage: ...
    @property
    def total(self) -> int: ...

    def tasks(self) -> Iterator[list[Task]]:
        """The tasks to ask about, in chunks."""

    def entries(self, task: Task, answers: Sequence[Answer], endpoint: str | None = None) -> list[Entry]:
        """A task's answers as store entries."""

    def landed(self, task: Task, answers: Sequence[Answer]) -> None:
        """Counts a task once its answers are committed."""

    def halt(self) -> None:
        """Called, from any thread, once no further task will be taken."""


class Calls:
    """Counts, tokens and costs of a run's attempts: one for each answer, one for each call without an answer, and the
    initial probe. ``unknown`` counts those with unknown cost."""

    def __init__(self) -> None:
        self.attempts = 0
        self.retries = 0
        self.tokens: Counter[str] = Counter()
        self.cost = 0.0
        self.unknown = 0
        self.models: Counter[str] = Counter()
        self.outputs: Counter[str] = Counter()
        self.seconds = array("d")

    def probe(self, cost: float | None) -> None:
        """Counts a call that was not about a pair."""
        self.attempts += 1
        self._pay(cost)

    def _pay(self, cost: float | None) -> None:
        if cost is None:
            self.unknown += 1
        else:
            self.cost += cost

    def add(self, attempt: Attempt) -> None:
        self.attempts += 1
        self.retries += attempt.retries
        for kind in ("input", "cached", "output", "reasoning"):
            self.tokens[kind] += getattr(attempt, f"{kind}_tokens") or 0
        if attempt.model is not None:
            self.models[attempt.model] += 1
        if attempt.output is not None:
            self.outputs[attempt.output] += 1
            if attempt.seconds is not None:
                self.seconds.append(attempt.seconds)
        self._pay(attempt.cost)


@dataclass(frozen=True)
class Money:
    """A run's budget, what it spent, and the highest possible cost of one more pair (``needed``), in US dollars;
    ``needed`` is 0 if the budget sufficed."""

    budget: float
    spent: float
    needed: float


def ended_early(
    ended: Ending | None, money: Money | None, left: str, one: str, answers: str
) -> QuatiPoolError | KeyboardInterrupt | None:
    """What is raised after a run although its ``answers`` are kept: its budget was spent on all but ``left``, of which
    ``one`` more may cost too much, or it was interrupted. None after any other run."""
    again = f"{left}; run the same command again"
    if ended == "budget":
        spent = "the budget is spent" if money is None else budget_spent(money.budget, money.spent, money.needed, one)
        return QuatiPoolError(f"{spent}: {again} with a larger --budget")
    if ended == "interrupted":
        stopped = KeyboardInterrupt(again)
        stopped.add_note(f"all {answers} so far ({left})")
        return stopped
    return None


class JudgingRun:
    """One run of a judge over a queue, with its counts; ``error`` is the error during the run, if any."""

    def __init__(self, pending: Queue, options: JudgeOptions, listener: Listener, stop: threading.Event) -> None:
        self.pending = pending
        self.store = pending.grading.store
        self.options = options
        self.listener = listener
        self.stop = stop
        self.calls: Calls | None = None
        self.money: Money | None = None
        self.session: LlmSession | None = None
        self.ended: Ending | None = None
        self.error: BaseException | None = None

    def grade(self, judge: Judge) -> None:
        """Grades with a judge that asks no model."""
        try:
            self._grade(judge)
        except KeyboardInterrupt:
            self.ended = "interrupted"

    def _grade(self, judge: Judge) -> None:
        left = self.options.limit
        for tasks in self.pending.tasks():
            tasks = tasks if left is None else tasks[:left]
            if tasks:
                verdicts = self._verdicts(judge, [task.pair for task in tasks])
                self._write([(task, program_answer(verdict)) for task, verdict in zip(tasks, verdicts, strict=True)])
                left = left if left is None else left - len(tasks)
            self._progress()
            if left == 0 or self.stop.is_set():
                self.ended = "interrupted" if self.stop.is_set() else "limit"
                return

    def _verdicts(self, judge: Judge, pairs: Sequence[Pair]) -> list[Verdict]:
        """The judge's verdict on each pair; a grade of a plug-in must be on the scale too.

        Raises ConfigError, with the judge's name, if its code fails.
        """
        try:
            verdicts = [_sound(verdict, judge.setting.grades) for verdict in judge.grade(pairs)]
            if len(verdicts) != len(pairs):
                raise ValueError(f"{len(verdicts)} verdicts for {len(pairs)} pairs")
        except QuatiPoolError:
            raise
        except Exception as error:
            raise broken_judge(self.pending.name, error) from error
        return verdicts

    def ask(self, model: PromptedModel) -> None:
        """Asks a language model, within the options' budget."""
        price = model.price()
        check_budget(self.options.budget)
        if self.options.budget is not None:
            check_price(price, model.name)
        calls = self.calls = Calls()
        budget = Budget(self.options.budget)
        session = self.session = LlmSession(self.pending.name, price, budget, self.listener)

        @asynccontextmanager
        async def connect() -> AsyncIterator[Asking]:
            client = model.client(heard(self.pending.name, self.listener.say))
            async with session.connected(client, model.prompt.schema(), calls.probe):
                yield Asking(model, client, price, budget, self.options.reask)

        tasks = self._affordable(model, price, budget.limit) if price and budget.limit else self.pending.tasks()
        runner = Runner(tasks, connect, self._write, self.options.limit, halt=self.pending.halt)
        self.ended = session.run(runner, self.stop, self._progress)
        self.error = runner.error
        if budget.limit is not None:
            calls_per_pair = 1 if model.together else self.pending.samples
            self.money = Money(budget.limit, budget.spent, budget.needed * calls_per_pair)

    def _affordable(self, model: PromptedModel, price: Price, budget: float) -> Iterator[list[Task]]:
        """The tasks to ask about. Raises QuatiPoolError, before any call is made, if the budget is too small for the
        first pair."""
        first = True
        for tasks in self.pending.tasks():
            if tasks and first:
                first = False
                check_affordable(budget, sum(price.cost(most) or 0.0 for most in model.most_of(tasks[0])))
            yield tasks

    def _write(self, landed: Sequence[tuple[Task, Sequence[Answer]]]) -> None:
        endpoint = None if self.session is None else self.session.endpoint
        entries = [entry for task, answers in landed for entry in self.pending.entries(task, answers, endpoint)]
        self.store.append(entries)
        for task, answers in landed:
            self.pending.landed(task, answers)
        if self.calls is not None:
            for entry in entries:
                for attempt in entry.attempts:
                    self.calls.add(attempt)

    def _progress(self) -> None:
        coverage = self.pending.coverage
        failed = ", ".join(f"{count:,} {state}" for state, count in coverage.states.items() if state in FAILURES)
        parts = [failed]
        if self.calls is not None and self.session is not None:
            retries = self.session.counters.retries
            parts.append(f"{retries:,} retries" if retries else "")
            parts.append(cost_so_far(self.calls.cost, self.calls.unknown))
        detail = ", ".join(filter(None, parts))
        self.listener.progress(self.pending.name, coverage.pairs, self.pending.total, detail, unit="pairs")


def _sound(verdict: Verdict, grades: Container[int]) -> Verdict:
    """The verdict, or a failure instead if its grade is not a whole number on the scale."""
    if verdict.status is not State.ok:
        return replace(verdict, relevance=None)
    if not isinstance(verdict.relevance, Integral) or isinstance(verdict.relevance, bool):
        return Verdict(State.unparsed, problem=f"{verdict.relevance!r} is not a whole number")
    if verdict.relevance not in grades:
        return Verdict(State.off_scale, problem=f"{verdict.relevance} is not on the scale")
    # A judge of a user's own may return a number of numpy's.
    return verdict if type(verdict.relevance) is int else replace(verdict, relevance=int(verdict.relevance))
