"""What all commands that ask a language model share: the budget they are given, and their way to the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from quati_pool.errors import ConfigError
from quati_pool.llm.budget import Budget
from quati_pool.llm.client import Client
from quati_pool.llm.prices import Price
from quati_pool.llm.running import Run
from quati_pool.steps.listener import Listener


def check_budget(budget: float | None) -> None:
    """Raises ConfigError for a budget that buys nothing."""
    if budget is not None and budget <= 0:
        raise ConfigError("--budget is nothing; name US dollars above 0")


async def prepare(client: Client, schema: Mapping[str, Any], price: Price | None, budget: Budget) -> list[float | None]:
    """Prepares a client for answers of this form; gives the cost of each call that took, None where it is not
    known, and books those known to the budget."""
    await client.prepare(schema)
    costs = [price.cost(probe.usage) if price and probe.usage else None for probe in client.probes]
    budget.spent = sum(cost for cost in costs if cost is not None)
    return costs


def check_price(price: Price | None, model: str) -> None:
    """Raises ConfigError for a model whose cost nobody can count, where there is a budget."""
    if price is None:
        raise ConfigError(
            f"--budget needs the price of {model}, which is not known; "
            "name a file with it under prices: in pool.yaml, or leave --budget out"
        )


def run_through(run: Run[Any, Any], stop: threading.Event, listener: Listener, progress: Callable[[], None]) -> None:
    """Starts a run and waits for its end. Ctrl-C, or ``stop``, lets what is in flight finish; Ctrl-C once more
    drops it."""
    run.start()
    while not _waited(run, listener, progress):
        if stop.is_set():
            run.stop()


def _waited(run: Run[Any, Any], listener: Listener, progress: Callable[[], None]) -> bool:
    try:
        done = run.wait(0.2)
        progress()
        return done
    except KeyboardInterrupt:
        if run.stopped:
            run.cancel()
        else:
            listener.say("finishing what is in flight; Ctrl-C again drops it")
            run.stop()
        return False
