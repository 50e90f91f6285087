"""``quati-pool judge --dry-run``: estimates the calls and the cost of a run, without any call or write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.judge.chosen_judge import DEFAULT, JudgeOptions, chosen_judge
from quati_pool.judging.prompted_model import PromptedModel, Task
from quati_pool.llm.answers import Usage
from quati_pool.llm.limits import Limits
from quati_pool.llm.prices import FREE
from quati_pool.llm.tokens import ESTIMATED, estimate
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener
from quati_pool.store.records import Usage as StoredUsage

# Tokens of an answer with its reasoning, assumed until this judge has answered.
_ASSUMED_OUTPUT = 200


@dataclass(frozen=True, kw_only=True)
class JudgePlan:
    """The estimate for a run. ``cost`` in US dollars is None if the price is unknown, ``seconds`` if nothing bounds the
    time.

    ``no_text`` pairs are not asked about; ``with_template_tokens`` pairs are asked about again, since their texts are
    now shown differently.
    """

    judge: str
    pairs: int
    no_text: int
    with_template_tokens: int
    to_ask: int
    shared: int
    in_batches: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float | None
    notes: tuple[str, ...]


def plan(config: Path | PoolConfig, name: str | None, listener: Listener, options: JudgeOptions = DEFAULT) -> JudgePlan:
    """Reads the pool as ``judge`` would; needs no key and no server."""
    with chosen_judge(config, name, options) as chosen:
        chosen = chosen.as_stored()
        reread = chosen.read_again(listener, write=False)
        queue = chosen.pending(listener.say, dry=True, reread=reread)
        model, calls, to_ask = chosen.judge.model, PlannedCalls(), 0
        for tasks in queue.tasks():
            # Tasks beyond the limit are read too, for the counts of the queue.
            for task in tasks if options.limit is None else tasks[: options.limit - to_ask]:
                to_ask += 1
                if model is not None:
                    calls.add(model, task)
        used = chosen.grading.store.usage(chosen.grading.config.name, chosen.name, chosen.version)
    forecast = Forecast.of(model, calls, used)
    return JudgePlan(
        judge=chosen.name,
        pairs=queue.total,
        no_text=queue.without_text,
        with_template_tokens=0 if model is None else queue.with_tokens,
        to_ask=to_ask,
        shared=queue.shared,
        in_batches=queue.in_batches,
        calls=calls.count,
        input_tokens=calls.input_tokens,
        output_tokens=forecast.output_tokens,
        cost=forecast.cost,
        seconds=forecast.seconds,
        notes=() if model is None else tuple(_notes(model, used, queue.with_tokens)),
    )


@dataclass
class PlannedCalls:
    """The number of a run's calls and of the answers they ask for; ``input_tokens`` are estimated."""

    count: int = 0
    answers: int = 0
    input_tokens: int = 0

    def add(self, model: PromptedModel, task: Task) -> None:
        size = estimate(model.request(task.pair, task.samples[0]).messages, model.name).tokens
        calls = 1 if model.together else len(task.samples)
        self.count += calls
        self.answers += len(task.samples)
        self.input_tokens += size * calls


@dataclass(frozen=True)
class Forecast:
    """The output tokens, the cost in US dollars (None if the price is unknown) and the least seconds (None if nothing
    bounds them) of planned calls."""

    output_tokens: int
    cost: float | None
    seconds: float | None

    @classmethod
    def of(cls, model: PromptedModel | None, calls: PlannedCalls, used: StoredUsage) -> Forecast:
        """The forecast by what the judge's answers so far ``used``."""
        if model is None:
            return cls(0, 0.0, None)
        output_tokens = round(_output_per_answer(used) * calls.answers)
        price = model.price()
        cost = None if price is None else price.cost(Usage(calls.input_tokens, 0, output_tokens, 0))
        return cls(output_tokens, cost, _seconds(model.limits, calls, output_tokens, used))


def _output_per_answer(used: StoredUsage) -> float:
    """The mean output tokens of the answers so far."""
    return used.output_tokens / used.answers if used.answers and used.output_tokens else _ASSUMED_OUTPUT


def _seconds(limits: Limits, calls: PlannedCalls, output_tokens: int, used: StoredUsage) -> float | None:
    """The least seconds the calls take, from the limits and the mean latency so far."""
    bounds = []
    if limits.rpm:
        bounds.append(60 * calls.count / limits.rpm)
    if limits.tpm:
        bounds.append(60 * (calls.input_tokens + output_tokens) / limits.tpm)
    if len(used.seconds):
        bounds.append(calls.count * float(used.seconds.mean()) / limits.concurrency)
    return max(bounds) if bounds and calls.count else None


def _notes(model: PromptedModel, used: StoredUsage, with_tokens: int) -> Iterator[str]:
    if with_tokens:
        yield f"{with_tokens:,} are asked again, as tokens of chat templates are neutralised in them now"
    yield from assumptions(model, used)


def assumptions(model: PromptedModel, used: StoredUsage) -> Iterator[str]:
    """Lines on the assumptions behind a forecast."""
    how = estimate("", model.name).how
    yield f"input tokens {how if how == ESTIMATED else 'counted as ' + how}"
    if used.answers and used.output_tokens is not None:
        yield f"output tokens by the mean of {used.answers:,} answers so far"
    else:
        yield f"output tokens assumed to be {_ASSUMED_OUTPUT} per answer"
    price = model.price()
    if price == FREE:
        return
    if price is not None:
        yield (
            f"cost by the list prices of {price.as_of}, without the discount for cached tokens, and without answers "
            "that are asked again"
        )
    else:
        yield f"the price of {model.name} is unknown: name a file with it under prices:"
