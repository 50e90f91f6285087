"""``quati-pool judge``: grades the pool's pairs that a judge has not graded yet."""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Callable, Container, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from quati_pool.commands.judge.judging_queue import JudgingQueue, program_answer
from quati_pool.commands.llm_runs import check_affordable, check_budget, check_price, heard, prepare, run_through
from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.files.artifacts import digest
from quati_pool.judging.base import Judge, Pair, Program
from quati_pool.judging.llm import Answer, Asking, LlmJudge, Task
from quati_pool.judging.verdict import Verdict
from quati_pool.labels import failures
from quati_pool.labels.labelers import Graded, Grading, broken_judge, judge_definition
from quati_pool.labels.rereading import Rereading, read_again
from quati_pool.llm.budget import Budget
from quati_pool.llm.client import Counters
from quati_pool.llm.faults import FatalError
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.llm.secrets import filled, variables
from quati_pool.project.config import JudgeConfig, PoolConfig, load_config
from quati_pool.project.events import Listener
from quati_pool.records import FAILURES, State
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.records import Attempt
from quati_pool.store.rereading import Owner
from quati_pool.store.upgrade import judges_lock_name


@dataclass(frozen=True)
class JudgeOptions:
    """What one run may change of a judge: only how it asks, never what its grades are."""

    limit: int | None = None
    budget: float | None = None
    reask: int = 2
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    max_passage_tokens: int | None = None
    pool: Path | None = None
    reread: bool = False
    """Only read the stored answers by the rules of today, and ask nothing."""


DEFAULT = JudgeOptions()

Ending = Literal["limit", "budget", "interrupted"]


class Calls:
    """What the attempts of a run took: one for each answer, one for each call that gave none, and the
    question that began it. ``unknown`` counts those whose cost is not known."""

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
        """Counts a call that asked about no pair."""
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
    """A run's budget, what it spent, and what one more pair needs at most, in US dollars; ``needed`` is 0 where the
    budget sufficed."""

    budget: float
    spent: float
    needed: float


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """A run that is over: where the judge stands over the whole pool, and what this run did.

    ``calls`` is None for a judge that makes none. ``ended`` says what ended the run before all pairs
    were asked, ``error`` what went wrong on the way; both are None after a whole run. ``example`` is one of the
    answers that are no grade, where there are any. ``money`` is None where the run had no budget.
    """

    judge: str
    config: PoolConfig
    version: str
    pending: JudgingQueue
    calls: Calls | None
    seconds: float
    ended: Ending | None
    error: BaseException | None
    example: FailedAnswer | None = None
    money: Money | None = None
    reread: Rereading | None = None
    """What became of the stored answers that newer rules had not read yet."""
    written: Path | None = None
    """Where the pairs are with their grades, if they came from a file without a workspace."""


def pick_judge(config: PoolConfig, name: str | None) -> str:
    """The judge to run: the one named, or the only one there is."""
    if name is not None:
        return name
    names = [name for name, settings in config.judges.items() if isinstance(settings, JudgeConfig)]
    if len(names) != 1:
        there = f"name one of {', '.join(names)}" if names else "add one, such as  lexical: {judge: lexical}"
        raise ConfigError(f"{config.path}: judges: holds {len(names)} judges; {there}")
    return names[0]


@dataclass(frozen=True)
class ChosenJudge:
    """A judge of a workspace over its open store, with what its grades are decided by."""

    grading: Grading
    name: str
    settings: JudgeConfig
    judge: Judge
    definition: Mapping[str, Any]
    version: str

    @contextmanager
    def alone(self, say: Callable[[str], None]) -> Iterator[None]:
        """One process at a time works for one judge; another waits here, and ``say`` tells for whom."""
        store = self.grading.store
        with store.lock(judges_lock_name(self.grading.config.name, self.name), say):
            store.register(self.version, "judge", self.definition)
            former = self._with_keys_written_out()
            if former is not None:
                store.rename_version(former, self.version)
            yield

    def as_stored(self) -> ChosenJudge:
        """The judge under the version that its labels have until it next works."""
        former = self._with_keys_written_out()
        known = former is not None and self.grading.store.definition(former) is not None
        return replace(self, version=former) if former is not None and known else self

    def _with_keys_written_out(self) -> str | None:
        """The version that the judge had when keys could be written into ``extra_body``; None where it has none that
        a variable stands for."""
        body = self.definition.get("extra_body")
        if not variables(body):
            return None
        try:
            return digest({**self.definition, "extra_body": filled(body, "extra_body")})
        except FatalError:
            return None

    def read_again(self, listener: Listener, *, write: bool = True) -> Rereading | None:
        """Reads the stored answers that were not read by the judge's rules of today, and says what became of them;
        None where there were none, or where the judge asks no model."""
        if not isinstance(self.judge, LlmJudge):
            return None
        owner = Owner(self.grading.config.name, self.name)
        reread = read_again(self.grading.store, owner, self.version, self.judge.reading, listener, write=write)
        if not reread.total:
            return None
        if reread.doubtful:
            pooled = self.pending(listener.say, dry=True).pooled(reread.doubtful)
            reread.doubtful = {key: cost for key, cost in reread.doubtful.items() if key in pooled}
        listener.say(reread.words(self.name))
        return reread

    def pending(
        self, say: Callable[[str], None], *, dry: bool = False, reread: Rereading | None = None
    ) -> JudgingQueue:
        """What the judge has still to grade; with ``dry`` nothing is written, and labels say what they did in
        ``reread``."""
        samples, aggregate = self.settings.samples, self.settings.aggregate
        otherwise = reread.changed if dry and reread else None
        return JudgingQueue(
            self.grading,
            self.name,
            self.judge,
            self.version,
            samples,
            aggregate,
            say,
            dry=dry,
            read_otherwise=otherwise,
        )

    def failed_answer(self, failed: Graded | None) -> FailedAnswer | None:
        """What the judge answered last of a pair that it gave no grade."""
        if failed is None:
            return None
        found = failed_answers(self.grading.store, self.grading.config.name, self.name, self.version, [failed.query_id])
        answer = found.get((failed.query_id, failed.doc_id))
        if answer is None or not isinstance(self.judge, LlmJudge):
            return answer
        return failures.without_thoughts(answer, self.judge.reading.thoughts)


@contextmanager
def chosen_judge(config: Path | PoolConfig, name: str | None, options: JudgeOptions) -> Iterator[ChosenJudge]:
    """The judge that is named, or the only one, as ``options`` have it ask; its store is open meanwhile.

    Raises QuatiPoolError where there is none, or where it cannot work.
    """
    config = load_config(config) if isinstance(config, Path) else config
    name = pick_judge(config, name)
    with Store.open(config.labels.url, config.folder) as store:
        grading = Grading(config, store, options.pool)
        settings, made = grading.judge(name)
        made = _adjusted(made, options)
        definition = judge_definition(settings, made)
        yield ChosenJudge(grading, name, settings, made, definition, digest(definition))


def _adjusted(made: Judge, options: JudgeOptions) -> Judge:
    """The judge with what the command line says of how it asks."""
    told = {
        name: value
        for name in ("concurrency", "rpm", "tpm", "max_passage_tokens")
        if (value := getattr(options, name)) is not None
    }
    if not told or not isinstance(made, LlmJudge):
        return made
    return LlmJudge(made.parameters.model_copy(update=told), made.setting)


def judge(
    config: Path | PoolConfig,
    name: str | None,
    listener: Listener,
    options: JudgeOptions = DEFAULT,
    stop: threading.Event | None = None,
) -> JudgeReport:
    """Asks a judge of a ``pool.yaml``, or of what one would hold, about every pair of the pool that has no grade by it,
    and stores what it says.

    One process at a time works for one judge; a second waits, and finds the work done. ``stop``, set
    from another thread, ends the run as Ctrl-C does: what is in flight finishes and is kept.
    Raises QuatiPoolError where nothing can be asked; what goes wrong later is the report's ``error``.
    """
    started = time.monotonic()
    with chosen_judge(config, name, options) as chosen, chosen.alone(listener.say):
        if options.reread and not isinstance(chosen.judge, LlmJudge):
            raise ConfigError(f"{chosen.name} asks no model, so there are no answers to read again; leave --reread out")
        reread = chosen.read_again(listener)
        made, pending = chosen.judge, chosen.pending(listener.say)
        work = _Work(pending, options, listener, stop or threading.Event())
        if isinstance(made, LlmJudge) and not options.reread:
            work.ask(made)
        elif isinstance(made, Program):
            work.grade(made)
        with suppress(QuatiPoolError) if work.error else nullcontext():
            pending.close()
        example = chosen.failed_answer(pending.coverage.failed)
    seconds = time.monotonic() - started
    # Whoever asked for as many pairs as there were has them all.
    ended = work.ended if work.ended == "interrupted" or pending.left else None
    return JudgeReport(
        chosen.name, chosen.grading.config, chosen.version, pending, work.calls, seconds, ended, work.error, example,
        work.money, reread,
    )  # fmt: skip


def _sound(verdict: Verdict, grades: Container[int]) -> Verdict:
    """The verdict itself, or what it is where its grade is none of the scale."""
    if verdict.status is not State.ok:
        return replace(verdict, relevance=None)
    if type(verdict.relevance) is not int:
        return Verdict(State.unparsed, problem=f"{verdict.relevance!r} is no whole number")
    if verdict.relevance not in grades:
        return Verdict(State.off_scale, problem=f"{verdict.relevance} is not on the scale")
    return verdict


class _Work:
    """One run over what is pending."""

    def __init__(self, pending: JudgingQueue, options: JudgeOptions, listener: Listener, stop: threading.Event) -> None:
        self.pending = pending
        self.store = pending.grading.store
        self.options = options
        self.listener = listener
        self.stop = stop
        self.calls: Calls | None = None
        self.money: Money | None = None
        self.endpoint: str | None = None
        self.counters = Counters()
        self.ended: Ending | None = None
        self.error: BaseException | None = None

    def grade(self, program: Program) -> None:
        try:
            self._grade(program)
        except KeyboardInterrupt:
            self.ended = "interrupted"

    def _grade(self, program: Program) -> None:
        left = self.options.limit
        for tasks in self.pending.tasks():
            tasks = tasks if left is None else tasks[:left]
            if tasks:
                verdicts = self._verdicts(program, [task.pair for task in tasks])
                self._write([(task, program_answer(verdict)) for task, verdict in zip(tasks, verdicts, strict=True)])
                left = left if left is None else left - len(tasks)
            self._progress()
            if left == 0 or self.stop.is_set():
                self.ended = "interrupted" if self.stop.is_set() else "limit"
                return

    def _verdicts(self, program: Program, pairs: Sequence[Pair]) -> list[Verdict]:
        """What the judge says of each pair; a plug-in's grade must be one of the scale like any other.

        Raises ConfigError, with its name, where its code fails.
        """
        try:
            verdicts = [_sound(verdict, program.setting.grades) for verdict in program.grade(pairs)]
            if len(verdicts) != len(pairs):
                raise ValueError(f"{len(verdicts)} verdicts for {len(pairs)} pairs")
        except QuatiPoolError:
            raise
        except Exception as error:
            raise broken_judge(self.pending.name, error) from error
        return verdicts

    def ask(self, judge: LlmJudge) -> None:
        price = judge.price()
        check_budget(self.options.budget)
        if self.options.budget is not None:
            check_price(price, judge.parameters.model)
        calls = self.calls = Calls()
        budget = Budget(self.options.budget)

        @asynccontextmanager
        async def connect() -> AsyncIterator[Asking]:
            async with judge.client(heard(self.pending.name, self.listener.say)) as client:
                self.counters = client.counters
                for cost in await prepare(client, judge.prompt.schema(), price, budget):
                    calls.probe(cost)
                asking = Asking(judge, client, price, budget, self.options.reask)
                self.endpoint = client.endpoint_name
                self.listener.say(f"{self.pending.name}: asking {self.endpoint}, answers as {client.output}")
                yield asking

        tasks = self._affordable(judge, price, budget.limit) if price and budget.limit else self.pending.tasks()
        runner = Runner(tasks, connect, self._write, self.options.limit)
        run_through(runner, self.stop, self.listener, self._progress)
        if budget.limit is not None:
            calls_a_pair = 1 if judge.parameters.together else self.pending.samples
            self.money = Money(budget.limit, budget.spent, budget.needed * calls_a_pair)
        self.error = runner.error
        if runner.interrupted:
            self.ended = "interrupted"
        elif budget.exhausted:
            self.ended = "budget"
        elif runner.limited:
            self.ended = "limit"

    def _affordable(self, judge: LlmJudge, price: Price, budget: float) -> Iterator[list[Task]]:
        """What is to be asked. Raises QuatiPoolError, before anything is asked, where the budget is too small for the
        first pair."""
        first = True
        for tasks in self.pending.tasks():
            if tasks and first:
                first = False
                check_affordable(budget, sum(price.cost(most) or 0.0 for most in judge.most_of(tasks[0])))
            yield tasks

    def _write(self, landed: Sequence[tuple[Task, Sequence[Answer]]]) -> None:
        entries = [entry for task, answers in landed for entry in self.pending.entries(task, answers, self.endpoint)]
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
        if self.calls is not None:
            parts.append(f"{self.counters.retries:,} retries" if self.counters.retries else "")
            parts.append(f"{'≥ ' if self.calls.unknown else ''}US$ {self.calls.cost:.2f}")
        self.listener.progress(self.pending.name, coverage.pairs, self.pending.total, ", ".join(filter(None, parts)))
