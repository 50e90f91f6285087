"""Calls a second: quati-pool's client against the bare openai SDK, over the same local server.

The bare SDK is ``AsyncOpenAI`` with ``DefaultAioHttpClient``, its calls gathered under a semaphore; the messages are
as long as a few-shot judge's. Ways alternate within a round, each with a client of its own, and medians are printed.

Run from the checkout: python -m tests.benchmarks.bench_llm_client [--calls 5000] [--latency 0.05] [--concurrency 64]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from quati_pool.llm.client import Client
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from tests.llm.server import ServerProcess

SCHEMA = {
    "type": "object",
    "properties": {"Razão": {"type": "string"}, "Pontuação": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["Razão", "Pontuação"],
    "additionalProperties": False,
}
EXAMPLES = [
    {"role": "system", "content": "Avalie se o trecho responde à pergunta, numa escala de 0 a 3. " * 12},
    {"role": "user", "content": "Pergunta e trecho de exemplo. " * 25},
    {"role": "assistant", "content": '{"Razão": "Responde em parte.", "Pontuação": 1}'},
    {"role": "user", "content": "Outra pergunta e outro trecho de exemplo. " * 25},
    {"role": "assistant", "content": '{"Razão": "Responde por inteiro.", "Pontuação": 3}'},
]


def messages(number: int) -> list[dict[str, str]]:
    passage = f"Trecho {number} sobre a pergunta, com acentuação. " * 20
    return [*EXAMPLES, {"role": "user", "content": passage}]


async def bare(url: str, calls: int, concurrency: int, transport: str) -> float:
    import openai

    http = openai.DefaultAioHttpClient() if transport == "aiohttp" else openai.DefaultAsyncHttpxClient()
    form: Any = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    slots = asyncio.Semaphore(concurrency)
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http) as client:

        async def one(number: int) -> None:
            async with slots:
                asked: Any = messages(number)
                answer = await client.chat.completions.create(
                    model="m", messages=asked, temperature=0.0, max_tokens=1024, response_format=form
                )
                assert answer.choices[0].message.content

        began = time.perf_counter()
        await asyncio.gather(*[one(number) for number in range(calls)])
        return calls / (time.perf_counter() - began)


async def ours(url: str, calls: int, concurrency: int) -> float:
    endpoint = Endpoint(model="m", base_url=url, api_key_env=None)
    async with Client(endpoint, Options(output="json_schema"), Limits(concurrency=concurrency)) as client:

        async def one(number: int) -> None:
            answer = await client.complete(Request(messages(number), SCHEMA, "verdict"))
            assert answer.choices[0].text

        began = time.perf_counter()
        await asyncio.gather(*[one(number) for number in range(calls)])
        return calls / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--httpx", action="store_true", help="measure the SDK's default transport too")
    chosen = parser.parse_args()
    ways: dict[str, Callable[[str], Awaitable[float]]] = {
        "bare SDK, aiohttp": lambda url: bare(url, chosen.calls, chosen.concurrency, "aiohttp"),
        "quati-pool client": lambda url: ours(url, chosen.calls, chosen.concurrency),
    }
    if chosen.httpx:
        ways["bare SDK, httpx"] = lambda url: bare(url, chosen.calls, chosen.concurrency, "httpx")
    rates: dict[str, list[float]] = {way: [] for way in ways}
    with ServerProcess(latency=chosen.latency) as server:
        for number in range(chosen.rounds):
            for way, measure in ways.items():
                server.clear()

                async def run(measure: Callable[[str], Awaitable[float]] = measure) -> float:
                    return await measure(server.url)

                rates[way].append(asyncio.run(run()))
                print(f"round {number + 1}  {way:<20} {rates[way][-1]:8.0f} calls/s", file=sys.stderr)
    base = statistics.median(rates["bare SDK, aiohttp"])
    print(
        f"{chosen.calls} calls, {chosen.latency * 1000:g} ms, concurrency {chosen.concurrency}, "
        f"{os.cpu_count()} cores, median of {chosen.rounds}"
    )
    for way, found in rates.items():
        median = statistics.median(found)
        print(f"{way:<20} {median:8.0f} calls/s  {median / base:5.2f} × bare   {min(found):.0f}–{max(found):.0f}")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
