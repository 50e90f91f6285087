"""Label files without ids, joined to a pool's pairs by texts."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.agreement.pool_join import UnmatchedRow, join_to_pool
from quati_pool.files.label_files import LabelFile
from quati_pool.files.pools import PooledPair

POOL = [
    PooledPair("q1", "d1", "Who was Ana?", "Ana was a queen."),
    PooledPair("q1", "d2", "Who was Ana?", "São Paulo é grande."),
    PooledPair("q2", "d1", "What is x²?", "Ana was a queen."),
    PooledPair("q2", "d3", "What is x²?", "A square."),
]


def rows(*relevance: int | None, **columns: list[str]) -> LabelFile:
    names: dict[str, Any] = dict.fromkeys(("query_id", "query", "doc_id", "text"), None)
    return LabelFile(
        Path("a.tsv"), "table", range(2, len(relevance) + 2), **{**names, **columns}, relevance=[*relevance]
    )


def join(file: LabelFile, pool: list[PooledPair] = POOL, **queries: str) -> tuple[list[Any], list[UnmatchedRow]]:
    joined, unmatched = join_to_pool({"A": file}, pool, queries)
    made = joined["A"]
    assert made.query_id is not None
    assert made.doc_id is not None
    return list(zip(made.lines, made.query_id, made.doc_id, made.relevance, strict=True)), unmatched


@pytest.mark.parametrize(
    "written",
    [
        "São Paulo é grande.",
        "  são\u00a0paulo \n é GRANDE. ",
        unicodedata.normalize("NFD", "São Paulo é grande."),
        "\ufeffSão Paulo é grande.",
    ],
)
def test_white_space_case_accents_and_byte_order_marks_make_no_other_text(written: str) -> None:
    assert join(rows(3, query=["who was  ana?"], text=[written])) == ([(2, "q1", "d2", 3)], [])


def test_compatibility_forms_are_other_texts() -> None:
    joined, (left_out,) = join(rows(1, query=["What is x2?"], text=["A square."]))
    assert joined == []
    assert (left_out.line, left_out.query, left_out.relevance) == (2, "What is x2?", 1)
    assert left_out.reason == "the query text 'What is x2?' is not in the pool"


def test_a_passage_is_that_of_the_row_s_query() -> None:
    file = rows(0, 2, query=["Who was Ana?", "What is x²?"], text=["Ana was a queen."] * 2)
    assert join(file) == ([(2, "q1", "d1", 0), (3, "q2", "d1", 2)], [])


def test_what_is_unknown_or_pooled_for_another_query_is_given_back() -> None:
    file = rows(1, None, query=["Who was Ana?"] * 2, text=["Nobody wrote this.", "A square."])
    joined, left_out = join(file)
    assert joined == []
    assert [(row.line, row.relevance, row.reason, row.candidates) for row in left_out] == [
        (2, 1, "the passage text 'Nobody wrote this.' is not in the pool", ()),
        (3, None, "the passage text 'A square.' is pooled for other queries only, not for 'q1'", ()),
    ]


def test_a_text_of_two_pairs_is_not_guessed() -> None:
    pool = [*POOL, PooledPair("q1", "d9", "Who was Ana?", "ana was a QUEEN.")]
    exact = rows(1, query=["Who was Ana?"], text=["Ana was a queen."])
    assert join(exact, pool) == ([(2, "q1", "d1", 1)], [])
    joined, (left_out,) = join(rows(1, query=["Who was Ana?"], text=["ANA was a queen."]), pool)
    assert joined == []
    assert left_out.candidates == (("q1", "d1"), ("q1", "d9"))
    assert left_out.reason == "its texts are those of the pairs 'q1' with 'd1', 'q1' with 'd9'"


def test_a_passage_id_decides_between_queries_of_one_text_where_the_pool_has_one_of_the_pairs() -> None:
    pool = [*POOL, PooledPair("q7", "d7", "Who was Ana?", "Else.")]
    assert join(rows(1, 2, query=["Who was Ana?"] * 2, doc_id=["d7", "d2"]), pool)[0] == [
        (2, "q7", "d7", 1),
        (3, "q1", "d2", 2),
    ]
    pool += [PooledPair("q7", "d2", "Who was Ana?", "São Paulo é grande.")]
    joined, (left_out,) = join(rows(2, query=["Who was Ana?"], doc_id=["d2"]), pool)
    assert joined == []
    assert left_out.candidates == (("q1", "d2"), ("q7", "d2"))
    assert left_out.reason == "the query text 'Who was Ana?' is that of query_id 'q1' and 'q7'"


def test_a_passage_id_with_a_known_query_needs_no_pool() -> None:
    assert join(rows(1, query=["Who?"], doc_id=["elsewhere"]), [], q5="who?") == ([(2, "q5", "elsewhere", 1)], [])


def test_files_with_ids_stay_and_their_texts_have_ids_too() -> None:
    whole = rows(1, query_id=["q5"], query=["Why?"], doc_id=["d5"], text=["So."])
    joined, unmatched = join_to_pool({"A": whole, "B": rows(2, query=["why?"], text=["so."])}, [], {})
    assert joined["A"] is whole
    assert unmatched == []
    assert (joined["B"].query_id, joined["B"].doc_id) == (["q5"], ["d5"])


_TEXTS = st.sampled_from(["Who was Ana?", "who was ana?", "What is x²?", "A square.", "Ana was a queen.", "?"])


@given(st.lists(st.tuples(_TEXTS, _TEXTS, st.none() | st.integers(0, 3))))
def test_every_row_is_joined_or_given_back(content: list[tuple[str, str, int | None]]) -> None:
    file = rows(*(row[2] for row in content), query=[row[0] for row in content], text=[row[1] for row in content])
    joined, left_out = join(file)
    assert sorted([row[0] for row in joined] + [row.line for row in left_out]) == list(file.lines)
    pooled = {(pair.query_id, pair.doc_id) for pair in POOL}
    assert all((query_id, doc_id) in pooled for _, query_id, doc_id, _ in joined)
