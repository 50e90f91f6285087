"""The client against a server that is not ours: ``transformers serve`` with a tiny random model.

What it does differently from ours, and what shows that it is independent: it takes ``response_format``,
``n``, ``seed`` and ``logprobs`` and ignores them, tells no fingerprint and no cached tokens, refuses unknown keys
with 422 and FastAPI's form of error, and a model it does not have with a bare 500.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from quati_pool.llm.client import Client
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, ServerDown
from quati_pool.llm.limits import Limits
from quati_pool.llm.options import Options, Request
from quati_pool.llm.retries import Retry
from tests.llm.calling import SCHEMA
from tests.other_processes import free_port

pytestmark = pytest.mark.neural

PROGRAM = Path(__file__).with_name("transformers_server.py")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    model, port = tmp_path_factory.mktemp("model"), free_port()
    log = (tmp_path_factory.mktemp("log") / "log.txt").open("w+b")
    command = [sys.executable, PROGRAM, str(model), str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    with log, subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            while not well(port):
                assert process.poll() is None, (log.seek(0), log.read().decode())[1]
                time.sleep(0.2)
            yield Endpoint(model=str(model), base_url=f"http://127.0.0.1:{port}/v1", api_key_env=None)
        finally:
            process.terminate()


def well(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_calls_are_answered_and_a_form_that_is_not_kept_is_given_up(other: Endpoint) -> None:
    async def run() -> None:
        async with Client(other, Options(max_tokens=8), Limits(concurrency=4)) as client:
            await client.prepare(SCHEMA)
            # It says nothing against json_schema and json_object, but answers noise to all three.
            assert (client.output, len(client.probes)) == ("text", 3)
            asked = [Request([{"role": "user", "content": f"olá {number}"}], SCHEMA, seed=1) for number in range(12)]
            answers = await asyncio.gather(*map(client.complete, asked))
        assert len(answers) == 12
        for answer in answers:
            (choice,) = answer.choices
            assert choice.text is not None
            assert choice.finish_reason in ("stop", "length")
            assert choice.logprobs is None
            assert answer.model
            assert answer.model.startswith(other.model)
            assert answer.fingerprint is None
            usage = answer.usage
            assert usage
            assert usage.input
            assert usage.output is not None
            assert (usage.cached, usage.reasoning) == (None, None)

    asyncio.run(run())


def test_the_same_request_gets_the_same_answer(other: Endpoint) -> None:
    async def run() -> list[str | None]:
        async with Client(other, Options(max_tokens=16, output="text")) as client:
            request = Request([{"role": "user", "content": "olá"}])
            return [(await client.complete(request)).choices[0].text for _ in range(2)]

    one, other_one = asyncio.run(run())
    assert one
    assert one == other_one


def test_fewer_choices_than_asked_for_are_an_answer(other: Endpoint) -> None:
    async def run() -> int:
        async with Client(other, Options(max_tokens=4, logprobs=True)) as client:
            return len((await client.complete(Request([{"role": "user", "content": "olá"}], n=3))).choices)

    assert asyncio.run(run()) == 1


def test_its_refusals_are_told_in_its_own_words(other: Endpoint) -> None:
    async def run() -> None:
        async with Client(other, Options(extra_body={"no_such_key": 1})) as client:
            with pytest.raises(CallError) as refused:
                await client.complete(Request([{"role": "user", "content": "olá"}]))
            assert (refused.value.kind, refused.value.status) == ("rejected", 422)
            assert refused.value.words == "Unexpected fields in the request: {'no_such_key'}"
        absent = other.model_copy(update={"model": "nobody/nothing"})
        async with Client(absent, retry=Retry(attempts=2, first=0.01)) as client:
            with pytest.raises(ServerDown, match="does not answer as it should"):
                await client.prepare()

    asyncio.run(run())
