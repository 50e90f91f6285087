"""The embedding call against the local server: every way to answer, and what becomes of the call."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.llm.client import Client
from quati_pool.llm.connection import Event
from quati_pool.llm.embeddings import EmbeddingRequest, Embeddings, fitted, read_embeddings, size, surely_fitted
from quati_pool.llm.endpoint import Endpoint
from quati_pool.llm.faults import CallError, FatalError, Fault
from quati_pool.llm.limits import Limits
from quati_pool.llm.retries import Retry
from quati_pool.llm.tokens import estimate
from tests.llm.calling import QUICK
from tests.llm.conftest import KEY
from tests.llm.embedding_server import ODD, WRONG, EmbeddingServer

TEXTS = ["uma pergunta", "outra: ação ✓", 'aspas " e \\ e \n e \x07']


@pytest.fixture
def embedding_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    for variable in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with EmbeddingServer() as server:
        yield server


def embed(
    server: EmbeddingServer,
    texts: list[str] = TEXTS,
    *,
    dimensions: int | None = None,
    limits: Limits | None = None,
    retry: Retry = QUICK,
    events: list[Event] | None = None,
    calls: int = 1,
    query: str = "",
    **more: Any,
) -> list[Embeddings]:
    """The answers of so many calls, one after the other; ``more`` goes to the endpoint."""
    endpoint = Endpoint(model="text-embedding-3-small", base_url=server.url + query, **more)
    told = events.append if events is not None else None

    async def run() -> list[Embeddings]:
        async with Client(endpoint, None, limits, retry, told) as client:
            return [await client.embed(EmbeddingRequest(texts, dimensions, 10)) for _ in range(calls)]

    return asyncio.run(run())


def test_the_vectors_are_the_servers_bit_by_bit(embedding_server: EmbeddingServer) -> None:
    (made,) = embed(embedding_server)
    assert made.vectors.dtype == np.float32
    assert np.array_equal(made.vectors, embedding_server.vectors_of(TEXTS))
    assert made.usage
    assert made.usage.input == embedding_server.tokens_of(TEXTS)
    assert (made.model, made.retries) == ("text-embedding-3-small", 0)
    assert made.seconds > 0


def test_the_query_of_the_address_is_kept(embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERY_KEY", "distinctive")
    embed(embedding_server, query="?v=1&key=${QUERY_KEY}")
    assert embedding_server.asked[0].path == "/v1/embeddings?v=1&key=distinctive"


def test_the_body_holds_model_texts_form_and_dimensions(embedding_server: EmbeddingServer) -> None:
    (made,) = embed(embedding_server, dimensions=4)
    (asked,) = embedding_server.asked
    assert asked.body == {
        "model": "text-embedding-3-small",
        "input": TEXTS,
        "encoding_format": "base64",
        "dimensions": 4,
    }
    assert (asked.path, asked.key) == ("/v1/embeddings", KEY)
    assert np.array_equal(made.vectors, embedding_server.vectors_of(TEXTS, 4))


def test_azure_has_its_own_route(embedding_server: EmbeddingServer) -> None:
    base_url = embedding_server.url.removesuffix("/v1")
    endpoint = Endpoint(model="my deployment", base_url=base_url, api_version="2024-10-21")

    async def run() -> Embeddings:
        async with Client(endpoint, retry=QUICK) as client:
            return await client.embed(EmbeddingRequest(TEXTS))

    assert np.array_equal(asyncio.run(run()).vectors, embedding_server.vectors_of(TEXTS))
    (asked,) = embedding_server.asked
    assert asked.path == "/openai/deployments/my%20deployment/embeddings?api-version=2024-10-21"
    assert asked.key == KEY


@pytest.mark.parametrize("way", ODD)
def test_an_answer_may_be_written_in_several_ways(embedding_server: EmbeddingServer, way: str) -> None:
    embedding_server.queue = [way]
    (made,) = embed(embedding_server)
    assert np.array_equal(made.vectors, embedding_server.vectors_of(TEXTS))
    assert len(embedding_server.asked) == 1
    counted = None if way == "no_usage" else embedding_server.tokens_of(TEXTS)
    assert (made.usage.input if made.usage else None) == counted


def test_a_server_that_refuses_the_form_is_asked_without_it_from_then_on(embedding_server: EmbeddingServer) -> None:
    embedding_server.takes_encoding_format = False
    made = embed(embedding_server, calls=2)
    assert all(np.array_equal(one.vectors, embedding_server.vectors_of(TEXTS)) for one in made)
    assert ["encoding_format" in asked.body for asked in embedding_server.asked] == [True, False, False]


PASSING = ["429", "429 0.05", "500", "drop", *WRONG]


@pytest.mark.parametrize("way", PASSING)
def test_what_may_pass_is_asked_again(embedding_server: EmbeddingServer, way: str) -> None:
    embedding_server.queue = [way, way]
    (made,) = embed(embedding_server)
    assert made.retries == 2
    assert [asked.way for asked in embedding_server.asked] == [way, way, "well"]
    assert np.array_equal(made.vectors, embedding_server.vectors_of(TEXTS))


def test_retry_after_is_kept(embedding_server: EmbeddingServer) -> None:
    embedding_server.queue = ["429 0.4"]
    events: list[Event] = []
    (made,) = embed(embedding_server, events=events)
    assert made.retries == 1
    assert [event.kind for event in events] == ["slower", "retry"]
    assert all(event.seconds >= 0.4 for event in events)


def test_a_server_that_hangs_is_a_time_out(embedding_server: EmbeddingServer) -> None:
    embedding_server.queue = ["hang", "hang"]
    with pytest.raises(CallError) as caught:
        embed(embedding_server, timeout=0.2, retry=Retry(attempts=2, first=0.01))
    assert (caught.value.kind, caught.value.words) == ("timeout", "no answer within 0.2 s")


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("too_few", "the answer holds 2 embeddings for 3 texts"),
        ("too_many_rows", "the answer holds 4 embeddings for 3 texts"),
        ("same_index", "the answer does not say which embedding is which text's"),
        ("uneven", "the answer holds embeddings of 15 and of 16 components"),
        ("no_vector", "the answer holds an embedding that is not a vector"),
        ("half_vector", "the answer holds an embedding that is not a vector"),
        ("not_json", "the body is not JSON: <html>upstream said no</html>"),
        ("error_in_200", "Provider returned error"),
        ("half_body", "the connection broke off in the middle of the answer"),
    ],
)
def test_what_does_not_pass_says_why(embedding_server: EmbeddingServer, way: str, words: str) -> None:
    embedding_server.queue = [way] * QUICK.attempts
    with pytest.raises(CallError) as caught:
        embed(embedding_server)
    assert (caught.value.words, caught.value.retries) == (words, QUICK.attempts - 1)


def test_a_refused_text_is_asked_once(embedding_server: EmbeddingServer) -> None:
    embedding_server.queue = ["400"]
    with pytest.raises(CallError) as caught:
        embed(embedding_server)
    assert (caught.value.kind, caught.value.words) == ("rejected", "This value is not allowed.")
    assert len(embedding_server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(embedding_server: EmbeddingServer, status: int) -> None:
    embedding_server.queue = [f"redirect {status}"]
    with pytest.raises(CallError) as caught:
        embed(embedding_server)
    address = embedding_server.url.replace("/v1", "/elsewhere/v1")
    assert (caught.value.kind, caught.value.status) == ("rejected", status)
    assert caught.value.words == f"the server redirects to {address}"
    assert len(embedding_server.asked) == 1


def test_a_wrong_key_is_told_in_one_line_that_does_not_show_it(embedding_server: EmbeddingServer) -> None:
    embedding_server.key = "another"
    with pytest.raises(FatalError) as caught:
        embed(embedding_server)
    line = str(caught.value)
    assert line.startswith("127.0.0.1:")
    assert line.endswith(
        " refuses the key in OPENAI_API_KEY (Incorrect API key provided: (key)); set OPENAI_API_KEY to a key of that "
        "server"
    )
    assert KEY not in line
    assert len(embedding_server.asked) == 1


def test_an_unknown_model_is_told_in_one_line(embedding_server: EmbeddingServer) -> None:
    embedding_server.model = "another"
    with pytest.raises(FatalError, match=r"does not serve the model 'text-embedding-3-small' \(The model does not"):
        embed(embedding_server)


def test_a_lone_surrogate_is_no_text(embedding_server: EmbeddingServer) -> None:
    with pytest.raises(CallError, match="a lone surrogate"):
        embed(embedding_server, ["a\ud800"])
    assert not embedding_server.asked


def test_no_more_calls_run_at_once_than_are_allowed(embedding_server: EmbeddingServer) -> None:
    embedding_server.latency = 0.05
    endpoint = Endpoint(model="m", base_url=embedding_server.url)

    async def run() -> list[Embeddings]:
        async with Client(endpoint, limits=Limits(concurrency=3), retry=QUICK) as client:
            return await asyncio.gather(*(client.embed(EmbeddingRequest([str(i)])) for i in range(9)))

    made = asyncio.run(run())
    assert np.array_equal(
        np.concatenate([one.vectors for one in made]), embedding_server.vectors_of([str(i) for i in range(9)])
    )
    assert embedding_server.peak == 3


@pytest.mark.parametrize("count", [-1, 10**30, 1.5, "7", True, None])
def test_a_count_that_is_none_counts_as_absent(count: object) -> None:
    body = {"data": [{"embedding": [1.0]}], "usage": {"prompt_tokens": count}}
    assert read_embeddings(json.dumps(body).encode(), 1, 0.0, 0).usage is None


KEYS = st.sampled_from(["data", "embedding", "index", "usage", "prompt_tokens", "error", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)


@given(JSON)
def test_any_json_is_an_answer_or_a_fault(data: Any) -> None:
    for value in (data, {"data": data}, {"data": [data]}, {"data": [{"embedding": data}], "usage": data}):
        with contextlib.suppress(Fault):
            made = read_embeddings(json.dumps(value).encode(), 1, 0.0, 0)
            assert made.vectors.shape[0] == 1
            assert made.vectors.shape[1] >= 1


def test_numbers_that_are_none_stay_visible() -> None:
    rows = [{"index": 0, "embedding": [None, 1e300, 0.5]}]
    made = read_embeddings(json.dumps({"data": rows}).encode(), 1, 0.0, 0)
    assert np.isnan(made.vectors[0, 0])
    assert np.isinf(made.vectors[0, 1])
    assert made.vectors[0, 2] == 0.5


@given(st.text(max_size=400), st.integers(16, 100))
def test_a_cut_text_is_a_beginning_that_keeps_the_bound(text: str, limit: int) -> None:
    usual, surely = fitted(text, limit), surely_fitted(text, limit)
    assert text.startswith(usual)
    assert text.startswith(surely)
    assert estimate(usual).tokens <= limit
    # No byte-level encoding has more tokens than bytes.
    assert size(surely) == len(surely.encode()) <= limit
    if size(text) <= limit:
        assert usual == text
    if estimate(text).tokens <= limit:
        assert usual == text


def test_a_megabyte_is_cut_to_what_the_bound_allows() -> None:
    assert len(fitted("a" * 2**20, 8192)) == 28672  # 8,192 × 3.5 bytes
    assert len(surely_fitted("a" * 2**20, 8192)) == 8190  # the most below 8,192 that 3.5 divides, rounded down
