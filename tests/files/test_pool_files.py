"""Pools are read as they are written, and refused where they hold no pairs to judge; so are others' files of pairs."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError
from quati_pool.files.pools import PoolPair, read_pairs, read_pool, write_pool


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
        ([pair("q1", "d1"), pair("q1", "d1")], "2: query_id 'q1' and doc_id 'd1' occur twice"),
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


Q, T = '"query": "a"', '"text": "b"'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], ": holds no pairs; expected an object with query and text on each line"),
        (["", "  "], ": holds no pairs; expected an object with query and text on each line"),
        (["[1]"], ":1: is not a JSON object; expected one object per line"),
        (["{"], ":1: is not JSON (Expecting property name enclosed in double quotes, column 2); expected one object"),
        (["{}"], ":1: holds no query; its keys are none: add it"),
        ([f"{{{Q}, {T}}}", "", f"{{{T}}}"], ":3: holds no query; its keys are 'text': add it"),
        ([f'{{{Q}, "t": "b"}}'], ":1: holds no text, or passage; its keys are 'query', 't': add it"),
        ([f'{{{Q}, {T}, "passage": "b"}}'], ":1: holds both text and passage; expected one of them: rename the other"),
        ([f'{{{Q}, "passage": null}}'], ":1: passage is null; expected a string (it may be empty)"),
        ([f'{{{Q}, "text": ["b"]}}'], ":1: text is a list; expected a string"),
        ([f'{{{Q}, {T}, "doc_id": 7}}'], ':1: doc_id is the number 7; expected a string: write "7"'),
        ([f'{{{Q}, {T}, "query_id": null}}'], ":1: query_id is null; expected an id"),
        ([f'{{{Q}, {T}, "query_id": ""}}'], ":1: query_id is empty; expected an id"),
        ([f'{{{Q}, {T}, "doc_id": "a b"}}'], ":1: doc_id 'a b' holds white space"),
        ([f'{{{Q}, {T}, "query_id": "#1"}}'], ":1: query_id '#1' begins with '#', which marks a comment in TREC files"),
        ([f'{{{Q}, {T}, "narrative": 1}}'], ":1: narrative is the number 1; expected a string"),
        ([f'{{{Q}, "text": "\\ud83d"}}'], ":1: text holds half a surrogate pair"),
        ([f"{{{Q}, {T}, {T}}}"], ":1: an object holds 'text' twice"),
        ([f'{{{Q}, {T}, "grade": 1}}'], ":1: holds the key 'grade', under which the judge's answer is written; rename"),
        ([f"{{{Q}, {T}}}", f"{{{T}, {Q}}}"], ":2: holds the pair of line 1 again (query_id 'q"),
        (
            [f'{{{Q}, {T}, "query_id": "q", "doc_id": "d"}}', f'{{{Q}, "text": "c", "query_id": "q", "doc_id": "d"}}'],
            ":2: holds the pair of line 1 again (query_id 'q', doc_id 'd'); expected one line per pair",
        ),
        (
            [f'{{{Q}, {T}, "query_id": "q"}}', f'{{"query": "c", {T}, "query_id": "q"}}'],
            ":2: query_id 'q' has another query than in line 1; expected one query per id",
        ),
        (
            [f'{{{Q}, {T}, "query_id": "q"}}', f'{{{Q}, "text": "c", "query_id": "q", "narrative": "n"}}'],
            ":2: query_id 'q' has another narrative than in line 1; expected one query per id",
        ),
    ],
)  # fmt: skip
def test_a_fault_in_a_file_of_pairs_names_its_line(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(read_pairs(path, {"grade"}))
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


@given(st.lists(st.tuples(TEXT, TEXT, st.none() | TEXT), min_size=1, max_size=6, unique=True), st.randoms())
def test_made_ids_are_those_of_the_texts_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str | None]], random: Random
) -> None:
    def read(some: list[tuple[str, str, str | None]]) -> dict[tuple[str, ...], tuple[str, str]]:
        path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
        records = [dict(zip(("query", "passage", "narrative"), row, strict=True)) for row in some]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        found = list(read_pairs(path))
        for record, one in zip(records, found, strict=True):
            ids = {"query_id": one.pair.query_id, "doc_id": one.pair.doc_id}
            assert json.loads(one.head + "}") == {**record, **ids}
        return {(one.pair.query, one.pair.text, one.narrative or ""): one.pair[:2] for one in found}

    rows = list({(query, text, narrative or ""): (query, text, narrative) for query, text, narrative in rows}.values())
    ids = read(rows)
    shuffled = random.sample(rows, len(rows))
    assert read(shuffled) == ids
    assert len(set(ids.values())) == len(rows)
