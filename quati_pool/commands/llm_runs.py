"""Code shared by all commands that ask a language model: the budget, the connection, and the end of a run."""

from __future__ import annotations

import math
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.llm.answers import Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.budgeted_calls import plausible, spent_on, written
from quati_pool.llm.chat_client import ChatClient
from quati_pool.llm.client import PROBE
from quati_pool.llm.connection import Counters, Event
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.project.events import Listener

Ending = Literal["limit", "budget", "interrupted"]
"""What ended a run early."""


def check_budget(budget: float | None, option: str = "--budget") -> None:
    """Raises ConfigError for a budget that is not positive."""
    if budget is not None and not budget > 0:  # nan is not either
        raise ConfigError(f"{option} must be more than 0 US dollars")


def heard(name: str, say: Callable[[str], None]) -> Callable[[Event], None]:
    """An event handler for a client that reports changed request parameters and long waits to the user; ``name`` is the
    user's name for the model."""

    def hear(event: Event) -> None:
        if event.kind in ("dialect", "wait", "note"):
            say(f"{name}: {event.words}")

    return hear


def dollars(amount: float) -> str:
    """An amount with four decimals, or two significant digits if it is too small for them."""
    places = 4 if amount <= 0 else max(4, 1 - math.floor(math.log10(amount)))
    return f"US$ {amount:,.{places}f}"


def cost_so_far(cost: float, unknown: int) -> str:
    """The cost of a run's calls with two decimals, of which ``unknown`` have no known cost; "" if only those cost."""
    return "" if unknown and not cost else f"{'≥ ' if unknown else ''}US$ {cost:.2f}"


def _limit(budget: float) -> str:
    """A budget as the user gave it."""
    return f"US$ {budget:,.10f}".rstrip("0").rstrip(".")


def check_affordable(budget: float, needed: float) -> None:
    """Raises QuatiPoolError if ``budget`` is too small for a pair that costs up to ``needed``."""
    if needed > budget:
        raise QuatiPoolError(
            f"the budget of {_limit(budget)} is too small for even one pair, which needs up to {dollars(needed)}: "
            "nothing was asked; run the same command again with a larger --budget"
        )


def budget_spent(limit: float, spent: float, needed: float, one: str) -> str:
    """A line on how much of a budget is spent, and what ``one`` more would cost at most, if known (not 0)."""
    whole = f"{dollars(spent)} of the budget of {_limit(limit)} is spent"
    return f"{whole}, nothing is reserved, and one more {one} needs up to {dollars(needed)}" if needed else whole


def check_price(price: Price | None, model: str) -> None:
    """Raises ConfigError if ``price`` is None, since a budget needs the price of the model."""
    if price is None:
        raise ConfigError(
            f"--budget needs the price of {model}, which is not known; "
            "name a file with it under prices: in pool.yaml (with --pairs: --set prices=FILE), or leave --budget out"
        )


class LlmSession:
    """One run's connection to a language model: opens it, counts its calls, and runs to the end."""

    def __init__(
        self,
        name: str,
        price: Price | None,
        budget: Budget,
        listener: Listener,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """``name`` is the user's name for the model; ``say`` takes the line on its endpoint (default: the listener)."""
        self.counters = Counters()
        self.endpoint: str | None = None
        """The name of the endpoint, once connected."""
        self._name = name
        self._price = price
        self._budget = budget
        self._listener = listener
        self._say = say or listener.say

    @asynccontextmanager
    async def connected(
        self, client: ChatClient, schema: Mapping[str, Any], count: Callable[[float | None], None]
    ) -> AsyncIterator[None]:
        """Opens the client and prepares it for answers of this schema; ``count`` is called with the cost of each call
        that this took, None if unknown."""
        async with client:
            self.counters = client.counters
            await client.prepare(schema)
            self._book(client, count)
            self.endpoint = client.endpoint_name
            self._say(f"{self._name}: {client.described}")
            yield

    def _book(self, client: ChatClient, count: Callable[[float | None], None]) -> None:
        """Counts the calls that prepared the client, and books them to the budget at no less than their texts cost
        by our own count."""
        tokens = client.count
        for probe in client.probes:
            ours = Usage(tokens(PROBE), 0, written(probe.choices, tokens), 0)
            usage = plausible(probe.usage, ours)[0] if probe.usage else ours
            count(self._price.cost(usage) if self._price and probe.usage else None)
            self._budget.spent += spent_on(self._price, usage, ours) if self._price else 0.0

    def run(self, runner: Runner[Any, Any], stop: threading.Event, progress: Callable[[], None]) -> Ending | None:
        """Runs to the end, and returns what ended the run early, if anything; errors are in the runner's ``error``.
        After Ctrl-C, or once ``stop`` is set, calls in flight finish; a second Ctrl-C drops them."""
        with self._listener.stage(f"{self._name}: asking"):
            runner.run(progress, lambda: self._listener.say("finishing what is in flight; Ctrl-C again drops it"), stop)
        if runner.interrupted:
            return "interrupted"
        if self._budget.exhausted:
            return "budget"
        return "limit" if runner.limited else None
