"""Batches: the same bodies as live calls, found again by their key, and answers in any order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quati_pool.llm.answers import Completion
from quati_pool.llm.batches import Batches, BatchState
from quati_pool.llm.client import Client
from quati_pool.llm.faults import CallError, FatalError
from quati_pool.llm.options import Request
from tests.llm.calling import request, with_client
from tests.llm.server import ServerProcess, grade_of


async def submitted(batches: Batches, requests: dict[str, Request], key: str = "run-1") -> BatchState:
    lines = b"".join(batches.line(custom_id, one) for custom_id, one in requests.items())
    return await batches.create(await batches.upload(lines, f"{key}.jsonl"), key)


async def collected(batches: Batches, batch: BatchState) -> dict[str, Completion | CallError]:
    found = {}
    for file_id in (batch.output_file_id, batch.error_file_id):
        if file_id is not None:
            async for custom_id, result in batches.results(file_id, "json_schema"):
                assert custom_id not in found
                found[custom_id] = result
    return found


async def finished(batches: Batches, batch_id: str) -> BatchState:
    batch = await batches.retrieve(batch_id)
    while not batch.over:
        batch = await batches.retrieve(batch_id)
    return batch


def test_a_batch_answers_as_live_calls_do(server: ServerProcess) -> None:
    server.script(keep_bodies=True, polls=2)
    texts = {f"pair-{number}": f"pergunta {number}" for number in range(5)}

    async def act(client: Client) -> tuple[dict[str, Completion], dict[str, Any], BatchState]:
        batches = Batches(client)
        live = {name: await client.complete(request(text)) for name, text in texts.items()}
        batch = await submitted(batches, {name: request(text) for name, text in texts.items()})
        assert (batch.status, batch.total, batch.key, batch.over) == ("in_progress", 5, "run-1", False)
        batch = await finished(batches, batch.batch_id)
        return live, await collected(batches, batch), batch

    live, found, batch = with_client(server, act)
    assert (batch.status, batch.completed, batch.failed, batch.error_file_id) == ("completed", 5, 0, None)
    assert set(found) == set(live)
    for name, completion in live.items():
        assert found[name].choices == completion.choices
        assert json.loads(completion.choices[0].text or "")["Pontuação"] == grade_of(texts[name])
    bodies = [entry["body"] for entry in server.log()]
    assert sorted(map(json.dumps, bodies[:5])) == sorted(map(json.dumps, bodies[5:]))


def test_what_failed_in_a_batch_is_told_apart(server: ServerProcess) -> None:
    ways = {"well": "well", "filtered": "filtered_prompt", "refused": "refusal", "too-long": "too_long", "lost": "drop"}

    async def act(client: Client) -> dict[str, Completion | CallError]:
        batches = Batches(client)
        asked = {name: request(f"{name} [[serve: {way}]]") for name, way in ways.items()}
        batch = await submitted(batches, asked)
        return await collected(batches, await finished(batches, batch.batch_id))

    found = with_client(server, act)
    errors = {name: (one.kind, one.words) for name, one in found.items() if isinstance(one, CallError)}
    assert errors == {
        "filtered": ("content_filter", "The prompt was filtered."),
        "too-long": ("rejected", "This model's maximum context length is 8192 tokens."),
        "lost": ("server", "This request could not be executed in time."),
    }
    refused = found["refused"]
    assert isinstance(refused, Completion)
    assert refused.choices[0].refusal


def test_a_batch_and_its_file_are_found_again(server: ServerProcess) -> None:
    async def act(client: Client) -> None:
        batches = Batches(client)
        assert await batches.find("nothing") is None
        assert await batches.find_file("nothing.jsonl") is None
        # More than one page of each.
        for number in range(30):
            await submitted(batches, {"a": request("p")}, f"key-{number}")
        for number in (0, 17, 29):
            found = await batches.find(f"key-{number}")
            assert found
            assert found.key == f"key-{number}"
            assert await batches.find_file(f"key-{number}.jsonl") == found.input_file_id

    with_client(server, act)


@pytest.mark.parametrize("way", ["500", "429", "drop"])
def test_a_creation_whose_answer_is_lost_makes_one_batch(server: ServerProcess, way: str) -> None:
    key = f"once-{way}"

    async def act(client: Client) -> tuple[BatchState, int]:
        batches = Batches(client)
        file_id = await batches.upload(batches.line("a", request("p")), "f.jsonl")
        server.script(queue=[way])
        batch = await batches.create(file_id, key)

        async def count(sdk: Any) -> int:
            return len(
                [one async for one in sdk.batches.list(limit=100) if (one.metadata or {}).get("quati_pool") == key]
            )

        return batch, await client.call(count)

    batch, made = with_client(server, act)
    assert (batch.key, made) == (key, 1)


def test_a_batch_that_cannot_be_made_says_why(server: ServerProcess) -> None:
    with pytest.raises(CallError, match="Invalid input_file_id"):
        with_client(server, lambda client: Batches(client).create("file-none", "k"))


def test_no_quota_ends_a_submission(server: ServerProcess) -> None:
    async def act(client: Client) -> None:
        batches = Batches(client)
        file_id = await batches.upload(batches.line("a", request("p")), "f.jsonl")
        server.script(queue=["insufficient_quota"])
        await batches.create(file_id, "k")

    with pytest.raises(FatalError, match="no money or quota left"):
        with_client(server, act)


def test_a_file_that_holds_no_answers_is_refused(server: ServerProcess) -> None:
    async def act(client: Client) -> None:
        batches = Batches(client)
        file_id = await batches.upload(b'\n{"custom_id": "a"}\n[]\n', "odd.jsonl")
        results = batches.results(file_id, "json_schema")
        assert (await anext(results))[0] == "a"
        with pytest.raises(CallError, match=rf"line 3 of the file {file_id} is no answer of a batch"):
            await anext(results)

    with_client(server, act)


def test_azure_names_the_route_without_its_version(server: ServerProcess) -> None:
    async def act(client: Client) -> str:
        line: dict[str, Any] = json.loads(Batches(client).line("a", request("p")))
        return str(line["url"])

    assert with_client(server, act) == "/v1/chat/completions"
    assert with_client(server, act, api_version="2024-10-21") == "/chat/completions"
