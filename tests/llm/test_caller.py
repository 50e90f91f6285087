"""What calls cost, by the server's count and by ours, and what a budget makes of both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.answers import Usage
from quati_pool.llm.budget import Budget
from quati_pool.llm.budgeted_calls import Called, Caller, most_of, plausible, spent_on, written
from quati_pool.llm.client import Client
from quati_pool.llm.options import Options
from quati_pool.llm.prices import Price
from quati_pool.llm.tokens import counting
from tests.llm.calling import QUICK, endpoint, request
from tests.llm.server import ServerProcess

PRICE = Price("gpt-4o", input=10.0, cached_input=1.0, output=1000.0, batch=0.5, as_of=date(2026, 1, 1), source="a test")
TEXT = "uma pergunta sobre o Jalapão e o que se faz por lá " * 20


def called(server: ServerProcess, texts: Sequence[str], budget: Budget, max_tokens: int = 100) -> list[Called]:
    """What became of calls about these texts, one after the other; those that the budget did not bear are left out."""

    async def run() -> list[Called]:
        async with Client(endpoint(server), Options(max_tokens=max_tokens), retry=QUICK) as client:
            caller = Caller(client, PRICE, budget)
            made = [await caller.call(request(text)) for text in texts]
            return [one for one in made if one is not None]

    return asyncio.run(run())


def ours(made: Called) -> Usage:
    """What a call about ``TEXT`` holds by our count."""
    assert made.completion is not None
    entered = most_of(request(TEXT), Options(), "gpt-4o").input
    return Usage(entered, 0, written(made.completion.choices, counting("gpt-4o")), 0)


def told(made: Called) -> Usage:
    """What the server counts for a call."""
    assert made.completion is not None
    assert made.completion.usage is not None
    return made.completion.usage


def one(server: ServerProcess, way: str) -> tuple[Called, float]:
    """A call that is answered so, and what the budget takes as spent on it."""
    server.script(default=way)
    budget = Budget(5.0)
    (made,) = called(server, [TEXT], budget)
    return made, budget.spent


def test_a_plausible_count_is_recorded_as_the_server_says(server: ServerProcess) -> None:
    made, spent = one(server, "well")
    usage = told(made)
    assert (made.cost, made.notes) == (PRICE.cost(usage), ())
    # The server takes four characters for a token, our count 3.5 bytes.
    assert spent == spent_on(PRICE, usage, ours(made)) > (made.cost or 0)


def test_a_count_that_is_too_low_is_noted_and_costs_by_ours(server: ServerProcess) -> None:
    made, spent = one(server, "usage_low")
    count = ours(made)
    assert made.notes == (
        f"the server counts 1 input tokens for a text of about {count.input}: its cost is computed from our count",
        f"the server counts 1 output tokens for a text of about {count.output}: its cost is computed from our count",
    )
    assert made.cost == spent == PRICE.cost(count)


@pytest.mark.parametrize("way", ["usage_none", "usage_negative", "usage_absurd"])
def test_a_count_that_is_none_leaves_the_cost_unknown_and_takes_the_most_from_the_budget(
    server: ServerProcess, way: str
) -> None:
    made, spent = one(server, way)
    assert (made.cost, made.notes) == (None, ())
    assert spent == PRICE.cost(most_of(request(TEXT), Options(max_tokens=100), "gpt-4o"))


def test_cached_tokens_that_cannot_be_are_noted_and_not_credited(server: ServerProcess) -> None:
    made, spent = one(server, "usage_cached")
    usage = told(made)
    assert made.completion is not None
    assert made.completion.notes == ("usage: cached_tokens is 1000000000, more than prompt_tokens",)
    assert made.cost == PRICE.cost(Usage(usage.input, 0, usage.output, 0))
    assert spent > (made.cost or 0)


COUNT = st.integers(0, 5000)


@given(COUNT, st.none() | COUNT, COUNT, COUNT, COUNT)
def test_no_count_makes_a_call_cheaper_than_its_own_text(
    entered: int, cached: int | None, left: int, own_entered: int, own_left: int
) -> None:
    # More than was given is no count of cached tokens where the usage is read.
    credited = None if cached is None else min(cached, entered)
    said, own = Usage(entered, credited, left, None), Usage(own_entered, 0, own_left, 0)
    usage, notes = plausible(said, own)
    low = [own_entered > 50 and entered < own_entered / 2, own_left > 50 and left < own_left / 2]
    assert usage == Usage(own_entered if low[0] else entered, credited, own_left if low[1] else left, None)
    assert len(notes) == sum(low)
    spent = spent_on(PRICE, usage, own)
    # Whatever is credited as cached is at most what the server says it was given.
    dearest = (max(own_entered, entered) - (credited or 0)) * 10 + (credited or 0) + max(own_left, left) * 1000
    assert spent == pytest.approx(dearest / 1e6)
    assert spent >= (PRICE.cost(usage) or 0.0) - 1e-12


@pytest.mark.parametrize("way", ["usage_none", "usage_negative", "usage_low", "usage_cached", "usage_absurd", "well"])
def test_a_budget_is_one_whatever_the_server_counts(server: ServerProcess, way: str) -> None:
    server.script(default=way)
    budget = Budget(1.0)
    made = called(server, [f"{TEXT} {number}" for number in range(40)], budget)
    assert budget.exhausted
    assert 0 < len(made) < 20
    # Only a count that can be is credited with its cached tokens.
    cached = [(told(one).cached or 0) if way == "well" else 0 for one in made]
    texts = [PRICE.cost(replace(ours(one), cached=part)) or 0.0 for one, part in zip(made, cached, strict=True)]
    assert sum(texts) <= budget.spent + 1e-9
    assert budget.spent <= 1.0
    assert budget.spent + budget.needed > 1.0


def test_after_20_answers_the_reservation_follows_them(server: ServerProcess) -> None:
    # A call may take 10 dollars, and an answer takes some 0.07: at most 30 of these would fit under the most.
    budget = Budget(12.0)
    made = called(server, [f"p{number}" for number in range(400)], budget, max_tokens=10_000)
    assert len(made) > 120
    assert 11.5 < budget.spent <= 12.0
    longest = max(written(one.completion.choices, counting("gpt-4o")) for one in made if one.completion)
    assert 1.5 * longest * 1000 / 1e6 <= budget.needed < 1.6 * longest * 1000 / 1e6


def test_where_the_server_does_not_count_the_most_is_reserved_to_the_end(server: ServerProcess) -> None:
    server.script(default="usage_none")
    budget = Budget(26.0)
    made = called(server, [f"p{number}" for number in range(40)], budget, max_tokens=1000)
    assert len(made) == 25
    assert budget.needed > 1.0
