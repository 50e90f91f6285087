"""Chat calls within a budget; a run ends once the server no longer answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.answers import Choice, Completion, Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.chat_client import ChatClient
from quati_pool.llm.faults import CallError, ServerDown, Stopped
from quati_pool.llm.options import Options, Request
from quati_pool.llm.prices import Price
from quati_pool.llm.tokens import estimate
from quati_pool.records import State

# Faults caused by the server, not by the request.
_LOST = {"transport", "server", "timeout", "protocol"}

# A text with at most this many tokens by our count is too short to check a server's count.
_SHORT = 50
# After _KNOWN answers, each further one is reserved at _ROOM times the longest so far.
_KNOWN = 20
_ROOM = 1.5


@dataclass(frozen=True, slots=True)
class Called:
    """A call's completion, or its fault if it has none; ``cost`` in US dollars is None if unknown. ``notes``: lines on
    implausible token counts of the server."""

    completion: Completion | None
    fault: CallError | None
    cost: float | None
    notes: tuple[str, ...] = ()


def cost_of(fault: CallError) -> float | None:
    """The cost in US dollars of a failed call: 0 if the server rejected it, else None, since it is unknown what a
    provider charges for an interrupted call or a filtered prompt."""
    return 0.0 if fault.kind == "rejected" else None


def state_of(fault: CallError) -> State:
    """The state to record for a failed call."""
    return State.refused if fault.kind == "content_filter" else State.failed


def most_of(request: Request, options: Options, model: str) -> Usage:
    """The most tokens a call can take: those of its messages by our count, and the limits of its answers."""
    return Usage(estimate(request.messages, model).tokens, 0, request.n * options.most_tokens(model), 0)


def written(choices: Sequence[Choice], count: Callable[[str], int]) -> int:
    """The number of tokens in answers, as ``count`` counts them, including refusals and thoughts."""
    return sum(count(text) for one in choices for text in (one.text, one.refusal, one.thoughts) if text)


def plausible(reported: Usage, ours: Usage) -> tuple[Usage, tuple[str, ...]]:
    """The server's token counts, and a note for each that was replaced: a count below half of ours gives way to ours,
    unless the text is short. Counts that are None are left alone."""
    usage, notes = reported, []
    for kind in ("input", "output"):
        count, own = getattr(reported, kind), getattr(ours, kind)
        if count is not None and own is not None and own > _SHORT and count < own / 2:
            usage = replace(usage, **{kind: own})
            notes.append(
                f"the server counts {count:,} {kind} tokens for a text of about {own:,}: its cost is computed "
                "from our count"
            )
    return usage, tuple(notes)


def spent_on(price: Price, usage: Usage, ours: Usage) -> float:
    """The US dollars booked to the budget for a call: at least what its texts cost by our own count."""
    entered, left = max(usage.input or 0, ours.input or 0), max(usage.output or 0, ours.output or 0)
    return price.cost(Usage(entered, usage.cached, left, None)) or 0.0


class Caller:
    """The state that all calls of one run share: the client, the price of its model, the budget."""

    def __init__(self, client: ChatClient, price: Price | None, budget: Budget) -> None:
        self.client = client
        self.price = price
        self.budget = budget
        self.error: QuatiPoolError | None = None
        """Why no further call can succeed; the code that runs the calls then ends the run."""
        self._count = client.count
        self._lost = 0
        self._answers = 0
        self._longest = 0

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.budget.exhausted

    async def call(self, request: Request) -> Called | None:
        """Makes one call. Returns None if the run was stopped, the budget is spent, or no call can succeed."""
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
            # Without the server's counts the cost is unknown; the budget then books the highest possible cost.
            if self.price is not None:
                known = usage if cost is not None else None
                highest = known or most_of(request, self.client.options, self.client.model)
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
        """The output tokens to reserve for a call: for each of its answers the limit of an answer or, after 20
        answers, 1.5 times the longest of them if that is less. A longer answer takes more than was reserved; the budget
        can be exceeded by no more than this excess per call in flight."""
        most = self.client.options.most_tokens(self.client.model)
        if self._answers >= _KNOWN:
            most = min(most, math.ceil(_ROOM * self._longest))
        return request.n * most

    def _learn(self, completion: Completion, ours: Usage) -> None:
        """Updates the length of the longest answer. If the server gives no count, the maximum is assumed, since the
        text may not include the thoughts."""
        reported = completion.usage.output if completion.usage else None
        most = self.client.options.most_tokens(self.client.model)
        count = len(completion.choices)
        longest = most if reported is None else math.ceil(max(reported, ours.output or 0) / count)
        self._answers += count
        self._longest = max(self._longest, longest)

    def _watch(self, fault: CallError) -> None:
        """Sets ``error`` once more calls in a row were lost, each after all its retries, than twice the concurrency."""
        self._lost = self._lost + 1 if fault.kind in _LOST else 0
        if self._lost > 2 * self.client.limits.concurrency and self.error is None:
            self.error = ServerDown(
                f"{self._lost} calls in a row got no answer from {self.client.endpoint_name} ({fault.words}); "
                "check the server and run the same command again: what is finished is kept"
            )
