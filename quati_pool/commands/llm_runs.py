"""What all commands that ask a language model share: the budget they are given, and their way to the end."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from quati_pool.errors import ConfigError, QuatiPoolError
from quati_pool.llm.answers import Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.budgeted_calls import plausible, spent_on, written
from quati_pool.llm.client import PROBE, Client, Event
from quati_pool.llm.prices import Price
from quati_pool.llm.runner import Runner
from quati_pool.llm.tokens import counting
from quati_pool.project.events import Listener


def check_budget(budget: float | None) -> None:
    """Raises ConfigError for a budget that buys nothing."""
    if budget is not None and budget <= 0:
        raise ConfigError("--budget is nothing; name US dollars above 0")


def heard(name: str, say: Callable[[str], None]) -> Callable[[Event], None]:
    """Says what a user should hear of the client of ``name``: how the server wants to be asked, and long waits."""

    def hear(event: Event) -> None:
        if event.kind in ("dialect", "wait"):
            say(f"{name}: {event.words}")

    return hear


async def prepare(client: Client, schema: Mapping[str, Any], price: Price | None, budget: Budget) -> list[float | None]:
    """Prepares a client for answers of this form; gives the cost of each call that took, None where it is not
    known, and books them to the budget, at no less than their texts cost by our count."""
    await client.prepare(schema)
    count, costs = counting(client.endpoint.model), []
    for probe in client.probes:
        ours = Usage(count(PROBE), 0, written(probe.choices, count), 0)
        usage = plausible(probe.usage, ours)[0] if probe.usage else ours
        costs.append(price.cost(usage) if price and probe.usage else None)
        budget.spent += spent_on(price, usage, ours) if price else 0.0
    return costs


def dollars(amount: float) -> str:
    """An amount with four decimals, or two digits where these would hide it."""
    places = 4 if amount <= 0 else max(4, 1 - math.floor(math.log10(amount)))
    return f"US$ {amount:,.{places}f}"


def _limit(budget: float) -> str:
    """A budget as it was named."""
    return f"US$ {budget:,.10f}".rstrip("0").rstrip(".")


def check_affordable(budget: float, needed: float) -> None:
    """Raises QuatiPoolError where a budget is too small for a pair that needs so much."""
    if needed > budget:
        raise QuatiPoolError(
            f"the budget of {_limit(budget)} is too small for even one pair, which needs up to {dollars(needed)}: "
            "nothing was asked; run the same command again with a larger --budget"
        )


def budget_spent(limit: float, spent: float, needed: float, one: str) -> str:
    """What became of a budget, and what ``one`` more would need, where that is known (not 0)."""
    whole = f"{dollars(spent)} of the budget of {_limit(limit)} is spent"
    return f"{whole}, nothing is reserved, and one more {one} needs up to {dollars(needed)}" if needed else whole


def check_price(price: Price | None, model: str) -> None:
    """Raises ConfigError for a model whose cost nobody can count, where there is a budget."""
    if price is None:
        raise ConfigError(
            f"--budget needs the price of {model}, which is not known; "
            "name a file with it under prices: in pool.yaml (with --pairs: --set prices=FILE), or leave --budget out"
        )


def run_through(
    runner: Runner[Any, Any], stop: threading.Event, listener: Listener, progress: Callable[[], None]
) -> None:
    """Runs to the end; Ctrl-C, or ``stop``, lets what is in flight finish, and Ctrl-C once more drops it."""
    runner.run(progress, lambda: listener.say("finishing what is in flight; Ctrl-C again drops it"), stop)
