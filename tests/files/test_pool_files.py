"""Pools are read as they are written, and refused where they hold no pairs to judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.files.pools import PoolPair, read_pool, write_pool


def pair(query_id: str, doc_id: str, query: str = "a query", text: str = "a text") -> PoolPair:
    return {
        "query_id": query_id, "doc_id": doc_id, "query": query, "text": text,
        "runs": {"bm25": 1}, "round": 1, "reason": "depth", "inclusion": 1.0,
    }  # fmt: skip


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("pool") / "pool.jsonl.gz"
    pairs = [pair(f"q{i // 2}", f"d{i}", text=text) for i, text in enumerate(texts)]
    write_pool(path, pairs)
    blocks = list(read_pool(path))
    assert [[tuple(row) for row in block] for block in blocks] == [
        [(row["query_id"], row["doc_id"], row["query"], row["text"]) for row in pairs if row["query_id"] == query_id]
        for query_id in dict.fromkeys(row["query_id"] for row in pairs)
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([pair("q1", "d1"), pair("q1", "d1")], "2: query_id 'q1' and doc_id 'd1' stand together twice"),
        ([pair("q1", "d1"), pair("q2", "d1"), pair("q1", "d2")], "3: query_id 'q1' comes again after other queries"),
        ([pair("q1", "d1"), pair("q1", "d2", query="b")], "2: query_id 'q1' has another query than in the line before"),
        ([{"query_id": "q1", "doc_id": "d1", "query": "a"}], "1: no column 'text'"),
        ([{**pair("q1", "d1"), "text": None}], "1: text is null"),
        ([{**pair("q1", "d1"), "doc_id": 7}], "1: doc_id is the number 7"),
        ([pair("q 1", "d1")], "1: query_id 'q 1' holds white space"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, rows: list[object], message: str) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_pool(path))
    assert str(caught.value).startswith(f"{path}:{message}")


def test_an_empty_passage_is_a_passage(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    write_pool(path, [pair("q1", "d1", text="")])
    assert [block[0].text for block in read_pool(path)] == [""]
