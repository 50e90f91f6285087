"""Calls that cost money: each within a budget, and an end to it all once the server is lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quati_pool.errors import QuatiPoolError
from quati_pool.llm.answers import Completion, Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.client import Client
from quati_pool.llm.faults import CallError, ServerDown, Stopped
from quati_pool.llm.options import Request
from quati_pool.llm.prices import Price
from quati_pool.llm.tokens import estimate
from quati_pool.records import State

# Faults that speak of the server, not of what was asked.
_LOST = {"transport", "server", "timeout", "protocol"}


@dataclass(frozen=True, slots=True)
class Called:
    """A call's completion, or the fault for which it gave none; ``cost`` in US dollars is None where it is not
    known."""

    completion: Completion | None
    fault: CallError | None
    cost: float | None


def cost_of(fault: CallError) -> float | None:
    """What a call that failed has cost: nothing where the server would not take it. What a provider asks for
    one that broke off, or for a filtered prompt, is not known."""
    return 0.0 if fault.kind == "rejected" else None


def state_of(fault: CallError) -> State:
    """What became of a call that failed."""
    return State.refused if fault.kind == "content_filter" else State.failed


class Caller:
    """What all calls of one run share: the client, the price of its model, the budget."""

    def __init__(self, client: Client, price: Price | None, budget: Budget) -> None:
        self.client = client
        self.price = price
        self.budget = budget
        self.error: QuatiPoolError | None = None
        """Why no call can succeed any more; whoever runs the calls ends it then."""
        self._lost = 0

    async def call(self, request: Request) -> Called | None:
        """None where the run was stopped, the budget is spent or no call can succeed."""
        most = 0.0
        if self.budget.limit is not None or self.client.limits.tpm is not None:
            entered, left = self._most_tokens(request)
            request = replace(request, estimated_tokens=entered + left)
            most = (self.price and self.price.cost(Usage(entered, 0, left, 0))) or 0.0
        if not await self.budget.reserve(most):
            return None
        cost = 0.0
        try:
            completion = await self.client.complete(request)
            # A server that tells no usage leaves the cost unknown; the budget takes it at its highest.
            known = self.price.cost(completion.usage) if self.price and completion.usage else None
            cost = most if known is None else known
            self._lost = 0
        except Stopped:
            return None
        except QuatiPoolError as error:
            self.error = self.error or error
            return None
        except CallError as fault:
            self._watch(fault)
            return Called(None, fault, cost_of(fault))
        finally:
            self.budget.settle(most, cost)
        return Called(completion, None, known)

    def _most_tokens(self, request: Request) -> tuple[int, int]:
        """The tokens that a request holds, estimated, and the most that its answers may take."""
        model = self.client.endpoint.model
        return estimate(request.messages, model).tokens, request.n * self.client.options.most_tokens(model)

    def _watch(self, fault: CallError) -> None:
        """Gives up once so many calls in a row were lost, each with all its retries, that the rest would be
        lost too."""
        self._lost = self._lost + 1 if fault.kind in _LOST else 0
        if self._lost > 2 * self.client.limits.concurrency and self.error is None:
            self.error = ServerDown(
                f"{self._lost} calls in a row got no answer from {self.client.endpoint_name} ({fault.words}); "
                "see to the server and run the same command again: what is finished is kept"
            )
