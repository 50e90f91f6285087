"""Calls that cost money: each within a budget, and an end to it all once the server is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.answers import Choice, Completion, Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.client import Client
from quati_pool.llm.faults import CallError, ServerDown, Stopped
from quati_pool.llm.options import Options, Request
from quati_pool.llm.prices import Price
from quati_pool.llm.tokens import counting, estimate
from quati_pool.records import State

# Faults that speak of the server, not of what was asked.
_LOST = {"transport", "server", "timeout", "protocol"}

# Texts of so few tokens by our count say nothing about a server's.
_SHORT = 50
# After so many answers, one more is reserved at so many times the longest of them.
_KNOWN = 20
_ROOM = 1.5


@dataclass(frozen=True, slots=True)
class Called:
    """A call's completion, or the fault for which it gave none; ``cost`` in US dollars is None where it is not
    known. ``notes``: lines on what the server counted and cannot be."""

    completion: Completion | None
    fault: CallError | None
    cost: float | None
    notes: tuple[str, ...] = ()


def cost_of(fault: CallError) -> float | None:
    """What a call that failed has cost: nothing where the server would not take it. What a provider asks for
    one that broke off, or for a filtered prompt, is not known."""
    return 0.0 if fault.kind == "rejected" else None


def state_of(fault: CallError) -> State:
    """What became of a call that failed."""
    return State.refused if fault.kind == "content_filter" else State.failed


def most_of(request: Request, options: Options, model: str) -> Usage:
    """What a call takes at most: the tokens of its messages by our count, and all that its answers may have."""
    return Usage(estimate(request.messages, model).tokens, 0, request.n * options.most_tokens(model), 0)


def written(choices: Sequence[Choice], count: Callable[[str], int]) -> int:
    """The tokens, as ``count`` counts them, of what answers hold, refusals and thoughts included."""
    return sum(count(text) for one in choices for text in (one.text, one.refusal, one.thoughts) if text)


def plausible(reported: Usage, ours: Usage) -> tuple[Usage, tuple[str, ...]]:
    """What a server counted, by our own count where it says less than half of that of a text that is not short; and a
    note on each such place. Counts that are None are left alone."""
    usage, notes = reported, []
    for kind in ("input", "output"):
        count, own = getattr(reported, kind), getattr(ours, kind)
        if count is not None and own is not None and own > _SHORT and count < own / 2:
            usage = replace(usage, **{kind: own})
            notes.append(
                f"the server counts {count:,} {kind} tokens for a text of some {own:,}: its cost is by our count"
            )
    return usage, tuple(notes)


def spent_on(price: Price, usage: Usage, ours: Usage) -> float:
    """What a budget takes as spent on a call: never less than its texts cost by our own count."""
    entered, left = max(usage.input or 0, ours.input or 0), max(usage.output or 0, ours.output or 0)
    return price.cost(Usage(entered, usage.cached, left, None)) or 0.0


class Caller:
    """What all calls of one run share: the client, the price of its model, the budget."""

    def __init__(self, client: Client, price: Price | None, budget: Budget) -> None:
        self.client = client
        self.price = price
        self.budget = budget
        self.error: QuatiPoolError | None = None
        """Why no call can succeed any more; whoever runs the calls ends it then."""
        self._count = counting(client.endpoint.model)
        self._lost = 0
        self._answers = 0
        self._longest = 0

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.budget.exhausted

    async def call(self, request: Request) -> Called | None:
        """None where the run was stopped, the budget is spent or no call can succeed."""
        entered = self._count(request.messages)

        def most() -> float:
            return self._cost(Usage(entered, 0, self._reserved(request), 0))

        reserved = await self.budget.reserve(most)
        if reserved is None:
            return None
        spent = 0.0
        try:
            if self.client.limits.tpm is not None:
                request = replace(request, estimated_tokens=entered + self._reserved(request))
            completion = await self.client.complete(request)
            self._lost = 0
            ours = Usage(entered, 0, written(completion.choices, self._count), 0)
            self._learn(completion, ours)
            usage, notes = plausible(completion.usage, ours) if completion.usage else (None, ())
            cost = self.price.cost(usage) if self.price and usage else None
            # A server that does not count leaves the cost unknown; the budget takes it at its highest.
            if self.price is not None:
                known = usage if cost is not None else None
                highest = known or most_of(request, self.client.options, self.client.endpoint.model)
                spent = spent_on(self.price, highest, ours)
            return Called(completion, None, cost, notes)
        except Stopped:
            return None
        except QuatiPoolError as error:
            self.error = self.error or error
            return None
        except CallError as fault:
            self._watch(fault)
            return Called(None, fault, cost_of(fault))
        finally:
            self.budget.settle(reserved, spent)

    def _cost(self, usage: Usage) -> float:
        return (self.price and self.price.cost(usage)) or 0.0

    def _reserved(self, request: Request) -> int:
        """The output tokens to reserve for a call. For each of its answers these are all that it may have, and after
        20 answers 1.5 times the longest of them, if that is less. An answer that is longer takes more than was
        reserved: a budget is exceeded by no more than that, for each call in flight."""
        most = self.client.options.most_tokens(self.client.endpoint.model)
        if self._answers >= _KNOWN:
            most = min(most, math.ceil(_ROOM * self._longest))
        return request.n * most

    def _learn(self, completion: Completion, ours: Usage) -> None:
        """Remembers how long an answer was; as long as can be where the server does not say, as thoughts may not show
        in its text."""
        reported = completion.usage.output if completion.usage else None
        most = self.client.options.most_tokens(self.client.endpoint.model)
        count = len(completion.choices)
        longest = most if reported is None else math.ceil(max(reported, ours.output or 0) / count)
        self._answers += count
        self._longest = max(self._longest, longest)

    def _watch(self, fault: CallError) -> None:
        """Gives up once so many calls in a row were lost, each with all its retries, that the rest would be
        lost too."""
        self._lost = self._lost + 1 if fault.kind in _LOST else 0
        if self._lost > 2 * self.client.limits.concurrency and self.error is None:
            self.error = ServerDown(
                f"{self._lost} calls in a row got no answer from {self.client.endpoint_name} ({fault.words}); "
                "see to the server and run the same command again: what is finished is kept"
            )
