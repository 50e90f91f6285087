"""Batches: the same bodies as live calls, found again by their key, and answers in any order."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.answers import Completion
from quati_pool.llm.batches import Batches, BatchState, read_line
from quati_pool.llm.client import Client
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, FatalError
from quati_pool.llm.options import Request
from tests.llm.calling import QUICK, request, with_client
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


@pytest.mark.parametrize("azure", [None, "2024-10-21"])
def test_every_call_carries_the_query_of_the_address(
    server: ServerProcess, monkeypatch: pytest.MonkeyPatch, azure: str | None
) -> None:
    monkeypatch.setenv("QUERY_KEY", "a b&c")
    address = f"{server.url}?feature=x&feature=y&empty=&key=${{QUERY_KEY}}"

    async def act() -> None:
        async with Client(Endpoint(model="m", base_url=address, api_version=azure), retry=QUICK) as client:
            await client.prepare()
            await client.complete(request("p"))
            if azure is None:
                batches = Batches(client)
                batch = await submitted(batches, {"one": request("p")})
                await batches.find("run-1")
                await batches.find_file("run-1.jsonl")
                await collected(batches, await finished(batches, batch.batch_id))

    asyncio.run(act())
    paths = [urlsplit(path) for path in server.state()["paths"]]
    assert len({path.path for path in paths}) == (1 if azure else 5)
    for path in paths:
        query = parse_qs(path.query, keep_blank_values=True)
        assert (query["feature"], query["empty"], query["key"]) == (["x", "y"], [""], ["a b&c"])
        assert query.get("api-version") == (azure and [azure])


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


STRANGE = {
    "line_not_json": (None, "the body is not JSON: <html>upstream said no</html>"),
    "line_list": (None, "a line of the batch's answers is not an object"),
    "line_without_id": (None, None),
    "line_of_another": ("nobody", None),
    "line_with_error": ("line_with_error", "Provider returned error"),
    "line_odd_status": ("line_odd_status", "the batch holds an answer without an HTTP status"),
    "line_without_body": ("line_without_body", "the body holds no choices: null"),
    "line_odd_response": ("line_odd_response", "the batch holds an answer without an HTTP status"),
    "redirect 307": ("redirect 307", "status 307"),
    "odd_choices": ("odd_choices", None),
    "error_beside": ("error_beside", "Provider returned error"),
}


def test_a_strange_line_is_one_strange_answer(server: ServerProcess) -> None:
    async def act(client: Client) -> list[tuple[str | None, Completion | CallError]]:
        batches = Batches(client)
        ways = [*STRANGE, "line_twice", "well", "odd_types"]
        batch = await submitted(batches, {way: request(f"{way} [[serve: {way}]]") for way in ways})
        batch = await finished(batches, batch.batch_id)
        files = filter(None, (batch.output_file_id, batch.error_file_id))
        return [found for file_id in files async for found in batches.results(file_id, "json_schema")]

    found = with_client(server, act)
    read = Counter(name for name, one in found if isinstance(one, Completion))
    assert read == {None: 1, "nobody": 1, "line_twice": 2, "well": 1, "odd_types": 1}
    errors = [(name, one.words) for name, one in found if isinstance(one, CallError)]
    odd = [words for name, words in errors if name == "odd_choices"]
    assert odd[0].startswith("the body holds no choices: {")
    expected = [told for way, told in STRANGE.items() if told[1] is not None]
    assert sorted(map(str, expected)) == sorted(str(one) for one in errors if one[0] != "odd_choices")


LINE_KEYS = ["custom_id", "response", "status_code", "body", "choices", "error", "code", "message"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(200),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(LINE_KEYS), inner, max_size=6),
    )
)
def test_any_line_is_an_answer(line: Any) -> None:
    name, result = read_line(json.dumps(line).encode(), "text")
    assert name is None or isinstance(name, str)
    assert isinstance(result, Completion) or result.words.isprintable()


def test_azure_names_the_route_without_its_version(server: ServerProcess) -> None:
    async def act(client: Client) -> str:
        line: dict[str, Any] = json.loads(Batches(client).line("a", request("p")))
        return str(line["url"])

    assert with_client(server, act) == "/v1/chat/completions"
    assert with_client(server, act, api_version="2024-10-21") == "/chat/completions"
