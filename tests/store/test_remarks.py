"""Remarks on pairs: what is open for leads, what is unread for assessors, and that nothing is written twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from quati_pool.store.database import Store
from quati_pool.store.errors import StoreError
from quati_pool.store.records import Remark
from quati_pool.store.remarks import Remarks
from quati_pool.store.schema import remarks as table


@pytest.fixture
def remarks(store: Store) -> Remarks:
    return Remarks(store, "pira")


def remark(action: Any, text: str | None = None, doc_id: str = "d1", thread: str = "ana", **values: Any) -> Remark:
    by = thread if action in ("asked", "read") else "bia"
    return Remark(**{"query_id": "q1", "doc_id": doc_id, "thread": thread, "by": by, "action": action, "text": text,
                     **values})  # fmt: skip


def test_a_thread_from_question_to_answer(remarks: Remarks) -> None:
    asked = remarks.add(remark("asked", "Is a list an answer?"))
    assert [one.seq for one in remarks.open()] == [asked]
    assert remarks.unread("ana") == []
    answered = remarks.add(remark("answered", "Yes, grade 2."))
    assert remarks.open() == []
    assert [one.seq for one in remarks.unread("ana")] == [answered]
    remarks.add(remark("read"))
    assert remarks.unread("ana") == []
    assert [(one.by, one.action, one.text) for one in remarks.of("ana")] == [
        ("ana", "asked", "Is a list an answer?"), ("bia", "answered", "Yes, grade 2."), ("ana", "read", None)
    ]  # fmt: skip


def test_what_is_open(remarks: Remarks) -> None:
    for one in (
        remark("asked", "first?", "d1"),
        remark("asked", "d2?", "d2"),
        remark("answered", "so", "d2"),
        remark("asked", "and now?", "d2"),
        remark("asked", "d3?", "d3"),
        remark("closed", doc_id="d3"),
        remark("asked", "I too", "d3", thread="caio"),
        remark("asked", "first, again?", "d1"),
    ):
        remarks.add(one)
    # d1 and d2 were asked again, of d3 only another's thread is closed. The last question counts.
    assert [(one.thread, one.doc_id, one.text) for one in remarks.open()] == [
        ("ana", "d2", "and now?"), ("caio", "d3", "I too"), ("ana", "d1", "first, again?")
    ]  # fmt: skip


def test_reading_one_thread_leaves_the_others_unread(remarks: Remarks) -> None:
    for one in (remark("answered", "1", "d1"), remark("answered", "2", "d2"), remark("read", doc_id="d1"),
                remark("answered", "3", "d1"), remark("answered", "4", "d2", thread="caio")):  # fmt: skip
        remarks.add(one)
    assert [one.text for one in remarks.unread("ana")] == ["2", "3"]
    assert [one.text for one in remarks.unread("caio")] == ["4"]


def test_collections_and_pairs_are_kept_apart(store: Store, remarks: Remarks) -> None:
    remarks.add(remark("asked", "here"))
    remarks.add(remark("asked", "by another", thread="caio"))
    remarks.add(remark("asked", "of another pair", "d2"))
    Remarks(store, "quati").add(remark("asked", "there"))
    assert [one.text for one in remarks.of_pair("q1", "d1")] == ["here", "by another"]
    assert [one.text for one in remarks.of("ana")] == ["here", "of another pair"]
    assert [one.text for one in Remarks(store, "quati").open()] == ["there"]


def test_a_nonce_is_written_once(store: Store, remarks: Remarks) -> None:
    sent = remark("asked", "NUL \x00, lone \ud800, <b>ação</b>", nonce="n1")
    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(lambda _: remarks.add(sent), range(8)))) == 1
    [only] = remarks.of("ana")
    assert only.text == sent.text
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(table)).scalar() == 1


@pytest.mark.parametrize(
    "other", [remark("asked", "other", nonce="n1"), remark("asked", "same", "d2", nonce="n1"),
              remark("answered", "same", nonce="n1")]
)  # fmt: skip
def test_a_nonce_of_another_remark_is_refused(remarks: Remarks, other: Remark) -> None:
    remarks.add(remark("asked", "same", nonce="n1"))
    with pytest.raises(StoreError, match="this nonce was already used for another remark; reload the page"):
        remarks.add(other)
    assert len(remarks.of("ana")) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (remark("asked", " \n"), "q1 d1: write a text"),
        (remark("answered"), "q1 d1: write a text"),
        (remark("read", "seen"), "q1 d1: read has no text; leave it out"),
        (remark("closed", "done"), "q1 d1: closed has no text; leave it out"),
    ],
)
def test_only_questions_and_answers_have_a_text(remarks: Remarks, wrong: Remark, said: str) -> None:
    with pytest.raises(StoreError) as caught:
        remarks.add(wrong)
    assert str(caught.value) == said
    assert remarks.of("ana") == []
