"""``quati-pool judge --dry-run``: what a run would ask, and what that would cost; asks nothing, writes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quati_pool.commands.judge.judge import DEFAULT, JudgeOptions, chosen_judge
from quati_pool.judging.llm import LlmJudge
from quati_pool.llm.answers import Usage
from quati_pool.llm.tokens import ESTIMATED, estimate
from quati_pool.project.config import PoolConfig
from quati_pool.project.events import Listener

# What an answer with its reasoning takes, where this judge has not answered yet.
_ASSUMED_OUTPUT = 200


@dataclass(frozen=True)
class JudgePlan:
    """``cost`` in US dollars is None where the price is unknown, ``seconds`` where nothing bounds the time.

    ``no_text`` pairs are not asked about; ``with_template_tokens`` are asked again, as their texts are shown otherwise
    now.
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
        pending = chosen.pending(listener.say, dry=True, reread=reread)
        llm = chosen.judge if isinstance(chosen.judge, LlmJudge) else None
        to_ask = calls = entered = answers = 0
        for tasks in pending.tasks():
            for task in tasks:
                if options.limit is not None and to_ask >= options.limit:
                    break
                to_ask += 1
                if llm is None:
                    continue
                size = estimate(llm.request(task.pair, task.samples[0]).messages, llm.parameters.model).tokens
                asked = 1 if llm.parameters.together else len(task.samples)
                calls += asked
                entered += size * asked
                answers += len(task.samples)
        used = chosen.grading.store.usage(chosen.grading.config.name, chosen.name, chosen.version)
    name, with_tokens = chosen.name, pending.with_tokens
    pairs = pending.total
    if llm is None:
        return JudgePlan(
            name, pairs, pending.without_text, 0, to_ask, pending.shared, pending.in_batches, 0, 0, 0, 0.0, None, ()
        )
    told = used.answers > 0 and used.output_tokens is not None
    each = used.output_tokens / used.answers if told and used.output_tokens else _ASSUMED_OUTPUT
    left = round(each * answers)
    price = llm.price()
    cost = None if price is None else price.cost(Usage(entered, 0, left, 0))
    how = estimate("", llm.parameters.model).how
    notes = (
        *(
            [f"{with_tokens:,} are asked again, as tokens of chat templates are neutralised in them now"]
            if with_tokens
            else []
        ),
        f"input tokens {how if how == ESTIMATED else 'counted as ' + how}",
        f"output tokens by the mean of {used.answers:,} answers so far"
        if told
        else f"output tokens taken as {_ASSUMED_OUTPUT} an answer",
        f"cost by the list prices of {price.as_of}, without the discount for cached tokens, and without answers that "
        "are asked again"
        if price
        else f"the price of {llm.parameters.model} is unknown: name a file with it under prices:",
    )
    bounds = []
    parameters = llm.parameters
    if parameters.rpm:
        bounds.append(60 * calls / parameters.rpm)
    if parameters.tpm:
        bounds.append(60 * (entered + left) / parameters.tpm)
    if len(used.seconds):
        bounds.append(calls * float(used.seconds.mean()) / parameters.concurrency)
    seconds = max(bounds) if bounds and calls else None
    return JudgePlan(
        name, pairs, pending.without_text, with_tokens, to_ask, pending.shared, pending.in_batches, calls, entered,
        left, cost, seconds, notes,
    )  # fmt: skip
