"""A batch is kept before it is sent, and an answer of it is collected once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Batch, BatchRequest
from tests.store.samples import entry

BATCH = Batch(
    key="k1", collection="pira", labeler_id="gpt", version="v1", endpoint="/v1/chat/completions", extra={"tokens": 9}
)
REQUESTS = [BatchRequest(custom_id=f"r{n}", query_id="q1", doc_id=f"d{n}", content_sha=f"x{n}") for n in range(3)]


@pytest.fixture
def prepared(store: Store) -> Store:
    store.prepare_batch(BATCH, REQUESTS)
    return store


def test_a_prepared_batch_is_there_with_its_requests(prepared: Store) -> None:
    [batch] = prepared.batches("pira")
    assert batch == replace(BATCH, requests=3, created_at=batch.created_at)
    assert batch.created_at is not None
    assert prepared.batch_requests("k1") == REQUESTS
    assert prepared.batch_requests("none") == []


def test_a_batch_key_is_used_once(prepared: Store) -> None:
    with pytest.raises(StoreError):
        prepared.prepare_batch(BATCH, REQUESTS)
    assert len(prepared.batch_requests("k1")) == 3


def test_what_the_provider_says_is_added_piece_by_piece(prepared: Store) -> None:
    prepared.update_batch("k1", file_id="file-1")
    prepared.update_batch("k1", status="submitted", batch_id="batch-1", extra={"window": "24h"})
    [batch] = prepared.batches("pira", "gpt", open_only=True)
    assert (batch.status, batch.file_id, batch.batch_id, batch.extra) == (
        "submitted", "file-1", "batch-1", {"window": "24h"},
    )  # fmt: skip


@pytest.mark.parametrize("values", [{"status": "submitted"}, {}])
def test_an_unknown_batch_is_named(prepared: Store, values: dict[str, str]) -> None:
    with pytest.raises(StoreError, match="holds no batch k2; see quati-pool batch status"):
        prepared.update_batch("k2", **values)  # type: ignore[arg-type]


def test_batches_are_listed_oldest_first_and_by_what_is_asked(prepared: Store) -> None:
    for key, labeler_id, collection in (("k0", "gpt", "pira"), ("k2", "other", "pira"), ("k3", "gpt", "else")):
        prepared.prepare_batch(replace(BATCH, key=key, labeler_id=labeler_id, collection=collection), [])
    assert [batch.key for batch in prepared.batches("pira")] == ["k1", "k0", "k2"]
    assert [batch.key for batch in prepared.batches("pira", "gpt")] == ["k1", "k0"]
    prepared.update_batch("k1", status="collected")
    prepared.update_batch("k2", status="abandoned")
    assert [batch.key for batch in prepared.batches("pira", open_only=True)] == ["k0"]


def test_labels_and_the_requests_they_answer_are_written_together(prepared: Store) -> None:
    prepared.append([entry(doc_id="d1")], collected=[("k1", "r1"), ("k1", "r1")])
    assert [request.custom_id for request in prepared.batch_requests("k1") if request.collected] == ["r1"]


@pytest.mark.parametrize("again", [("k1", "r1"), ("k1", "unknown"), ("k2", "r2")])
def test_an_answer_is_collected_once(prepared: Store, again: tuple[str, str]) -> None:
    prepared.append([entry(doc_id="d1")], collected=[("k1", "r1")])
    with pytest.raises(StoreError, match="an answer of a batch is collected already"):
        prepared.append([entry(doc_id="d2")], collected=[("k1", "r2"), again])
    assert [row.doc_id for row in prepared.current("pira", "gpt", "v1", ["q1"])] == ["d1"]
    assert [request.collected for request in prepared.batch_requests("k1")] == [False, True, False]


def test_a_request_belongs_to_a_batch(store: Store) -> None:
    """Foreign keys hold on SQLite too, where they are off unless asked for."""
    from sqlalchemy import insert

    from quati_pool.store.schema import batch_requests

    row = {"batch_key": "none", "custom_id": "r", "query_id": "q", "doc_id": "d", "content_sha": "x"}
    with pytest.raises(StoreError), store.writing() as connection:
        connection.execute(insert(batch_requests), {**row, "sample": 1, "extra": {}, "collected": False})
