"""Label files matched: which pairs are the same, what is told of the others, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.agreement.matching import Duplicate, Matched, match
from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files.label_files import LabelFile, read_label_file
from quati_pool.records import Qrels
from tests.shared_data import shared

Triple = tuple[str, str, int | None]


def labels(rows: Iterable[Triple], name: str = "x", query: str = "query_id", doc: str = "doc_id") -> LabelFile:
    """A file whose rows hold a query, a passage and a grade; ``query`` and ``doc`` say which column they are."""
    content = list(rows)
    columns: dict[str, list[str] | None] = {"query_id": None, "query": None, "doc_id": None, "text": None}
    columns[query] = [row[0] for row in content]
    columns[doc] = [row[1] for row in content]
    lines = range(1, len(content) + 1)
    return LabelFile(Path(name), "table", lines, **columns, relevance=[row[2] for row in content])


def graded(qrels: Qrels) -> list[tuple[str, str, int]]:
    columns = qrels.queries.decode(qrels.query), qrels.docs.decode(qrels.doc)
    return list(zip(*(column.to_pylist() for column in columns), qrels.relevance.tolist(), strict=True))


def everything(matched: Matched) -> dict[str, Any]:
    """All of it but the lines."""
    return {
        "qrels": {name: graded(qrels) for name, qrels in matched.qrels.items()},
        "names": matched.query_names,
        "duplicates": sorted((one.labeler, *one[4:]) for one in matched.duplicates),
        "ungraded": matched.ungraded,
        "by": (matched.matched_by, matched.passages_by),
    }


def refused(files: dict[str, LabelFile], queries: dict[str, str] | None = None) -> str:
    with pytest.raises(QuatiPoolError) as caught:
        match(files, queries)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Real files

QUATI = "quati/annotator_{}_240_annotations_with_questions.tsv"


def people() -> dict[str, LabelFile]:
    return {f"HA{number}": read_label_file(shared(QUATI.format(f"0{number}"))) for number in (1, 2)}


def test_the_released_annotations_match_on_query_text_and_passage_id() -> None:
    matched = match(people())
    assert (matched.matched_by, matched.passages_by) == ("query text", "doc_id")
    assert {name: len(qrels) for name, qrels in matched.qrels.items()} == {"HA1": 240, "HA2": 240}
    assert not matched.duplicates
    assert matched.ungraded == {"HA1": 0, "HA2": 0}
    assert len(matched.query_names) == 24
    # The confusion matrix of annotators 1 and 2 that arXiv 2404.06976 prints.
    confusion = np.zeros((4, 4), dtype=int)
    first, second = matched.qrels.values()
    assert np.array_equal(first.query, second.query)
    assert np.array_equal(first.doc, second.doc)
    np.add.at(confusion, (first.relevance, second.relevance), 1)
    assert confusion.tolist() == [[41, 6, 4, 1], [13, 25, 28, 2], [4, 11, 42, 8], [1, 5, 18, 31]]


def test_people_s_texts_match_qrels_by_a_map_of_the_queries() -> None:
    files = {**people(), "LLM": read_label_file(shared("quati/quati_1M_qrels.txt"))}
    texts = sorted(set(files["HA1"].query or ()))
    # What the qrels call four of the 24 queries; the other ids are made up.
    known = {
        "60": "Quando foi criada a consolidação das leis trabalhistas no brasil?",
        "153": "Quais os tipos de denominação (DO) que os vinhos podem receber?",
        "182": "Quais as origens de pessoas com olhos verdes?",
        "28": "Existem vantagens ao definir uma moeda única?",
    }
    queries = {**known, **{f"made-up-{n}": text for n, text in enumerate(texts) if text not in known.values()}}
    assert len(queries) == 24
    matched = match(files, queries)
    assert matched.matched_by == "query_id"
    ids = {text: query_id for query_id, text in queries.items()}
    human = {
        (ids[query], doc_id) for query, doc_id in zip(files["HA1"].query or (), files["HA1"].doc_id or (), strict=True)
    }
    llm = set(zip(files["LLM"].query_id or (), files["LLM"].doc_id or (), strict=True))
    theirs, judged = ({row[:2] for row in graded(matched.qrels[name])} for name in ("HA1", "LLM"))
    assert (theirs, judged) == (human, llm)
    assert len(theirs & judged) == 11
    assert {query_id: matched.query_names[query_id] for query_id in queries} == queries
    message = refused(files)
    assert message.startswith(f"HA1 ({files['HA1'].path}), HA2 ({files['HA2'].path}): only query texts; LLM (")
    assert message.endswith("name the texts' ids with --queries FILE (query_id <tab> query)")


# Duplicates


def test_a_pair_graded_twice_alike_is_kept_once_and_listed() -> None:
    file = labels([("q", "a", 1), ("q", "b", 0), ("q", "a", 1), ("q", "a", 1), ("r", "a", 2)])
    matched = match({"one": file})
    assert graded(matched.qrels["one"]) == [("q", "a", 1), ("q", "b", 0), ("r", "a", 2)]
    assert matched.duplicates == [
        Duplicate("one", Path("x"), 3, 1, "q", "a", 1),
        Duplicate("one", Path("x"), 4, 1, "q", "a", 1),
    ]


def test_a_pair_graded_twice_in_two_ways_is_refused() -> None:
    file = labels([("q", "a", 1), ("q", "b", 3), ("q", "b", 0), ("q", "a", 2)])
    assert refused({"one": file}) == (
        "x:3: query_id 'q' and doc_id 'b' have the grade 0 here and 3 in line 2; keep the correct row"
    )
    assert refused({"one": labels([("why", "t", 1), ("why", "t", 2)], query="query", doc="text")}) == (
        "x:2: query text 'why' and passage text 't' have the grade 2 here and 1 in line 1; keep the correct row"
    )


def test_texts_that_are_one_query_can_conflict() -> None:
    file = labels([("Why?", "a", 1), ("why?", "a", 2)], query="query")
    assert "have the grade 2 here and 1 in line 1" in refused({"one": file}, {"7": "Why?"})


# What is told


def test_pairs_without_a_grade_are_counted() -> None:
    one = labels([("q", "a", 0), ("q", "b", 1), ("r", "a", 1), ("s", "z", None)], "one")
    two = labels([("r", "a", 3), ("q", "c", 2), ("q", "b", None)], "two")
    assert match({"one": one, "two": two}).ungraded == {"one": 1, "two": 1}


def test_a_pair_graded_in_another_row_is_not_without_a_grade() -> None:
    matched = match({"one": labels([("q", "a", None), ("q", "a", 2), ("q", "b", None), ("q", "b", None)])})
    assert matched.ungraded == {"one": 1}


def test_labelers_without_grades_and_no_labelers_at_all() -> None:
    matched = match({"one": labels([("q", "a", None)]), "two": labels([])})
    assert [len(qrels) for qrels in matched.qrels.values()] == [0, 0]
    assert match({}).qrels == {}


def test_a_query_s_name_is_the_known_one_or_the_first_file_s() -> None:
    def both(rows: Sequence[tuple[str, str]], name: str) -> LabelFile:
        ids, texts = [row[0] for row in rows], [row[1] for row in rows]
        docs = [str(n) for n in range(len(rows))]
        return LabelFile(Path(name), "table", range(1, 9), ids, texts, docs, None, [0] * len(rows))

    one = both([("1", "known wrongly"), ("2", "b"), ("2", "a"), ("3", "")], "one")
    two = both([("2", "0"), ("3", "three")], "two")
    plain = labels([("4", "d", 0)])
    assert match({"one": one, "two": two, "plain": plain}, {"1": "first", "9": "unused"}).query_names == {
        "1": "first", "2": "a", "3": "three"
    }  # fmt: skip


# Texts in place of ids


def test_texts_take_the_ids_of_queries_exactly_or_but_for_blanks_case_and_accents() -> None:
    # The second query is composed in the queries and decomposed in the file; "straße" folds to "strasse".
    queries = {"1": "Onde fica?", "2": "Quem é?", "3": "ONDE  FICA O QUÊ?", "4": "straße"}
    texts = ["Onde fica?", "quem e\u0301?", " onde fica\u00a0o quê? ", "STRASSE"]
    file = labels([(text, "d", 1) for text in texts], query="query")
    matched = match({"one": file}, queries)
    assert [row[0] for row in graded(matched.qrels["one"])] == ["1", "2", "3", "4"]


def test_an_exact_text_goes_before_a_similar_one() -> None:
    matched = match({"one": labels([("us", "d", 1)], query="query")}, {"1": "US", "2": "us"})
    assert graded(matched.qrels["one"]) == [("2", "d", 1)]


def test_an_ambiguous_text_is_refused_with_both_ids() -> None:
    file = labels([("why", "d", 1), ("Us", "d", 1)], query="query")
    expected = "x:2: the query text 'Us' is that of query_id '1' and '2'; add a query_id column to this file"
    assert refused({"one": file}, {"0": "why", "1": "US", "2": "us"}) == expected
    assert refused({"one": file}, {"0": "why", "2": "Us", "1": "Us"}) == expected


def test_a_text_that_is_not_there_is_refused_with_its_line() -> None:
    file = labels([("why", "d", 1), ("who", "d", 1), ("who", "e", 1)], query="query")
    assert refused({"one": file}, {"0": "why"}) == (
        "x:2: the query text 'who' is not among the known ones, so it has no query_id; "
        "name the texts' ids with --queries FILE (query_id <tab> query)"
    )


def test_a_file_with_ids_and_texts_teaches_the_others() -> None:
    teacher = LabelFile(Path("t"), "table", [1, 2], ["1", "2"], ["why", "who"], ["a", "b"], ["A", "B"], [0, 1])
    learner = labels([("Who", "B", 3), ("why", "A", 2)], query="query", doc="text")
    qrels = labels([("2", "b", 2)])
    matched = match({"teacher": teacher, "learner": learner, "qrels": qrels})
    assert graded(matched.qrels["learner"]) == [("1", "a", 2), ("2", "b", 3)]
    assert (matched.matched_by, matched.passages_by) == ("query_id", "doc_id")
    assert matched.query_names == {"1": "why", "2": "who"}


def test_passage_texts_without_any_doc_id_beside_them_cannot_be_matched_with_doc_ids() -> None:
    files = {"one": labels([("q", "some text", 1)], "o", doc="text"), "two": labels([("q", "d", 1)], "t")}
    assert refused(files) == (
        "one (o): only passage texts; two (t): only doc_ids, so that they cannot be matched; add a doc_id column"
    )


def test_without_ids_anywhere_texts_match_but_for_blanks_and_case() -> None:
    one = labels([("Why?", "a", 1), ("US", "a", 0), ("us", "a", 2)], query="query")
    two = labels([("why? ", "a", 2), ("us", "a", 2)], query="query")
    matched = match({"one": one, "two": two})
    assert matched.matched_by == "query text"
    # One file tells "US" from "us": these stay two.
    assert graded(matched.qrels["one"]) == [("US", "a", 0), ("Why?", "a", 1), ("us", "a", 2)]
    assert graded(matched.qrels["two"]) == [("Why?", "a", 2), ("us", "a", 2)]


def test_texts_that_one_file_tells_apart_are_joined_with_no_third() -> None:
    one = labels([("US", "a", 0), ("us", "a", 2)], query="query")
    two = labels([("Us", "a", 1)], query="query")
    matched = match({"one": one, "two": two})
    assert [row[0] for name in ("one", "two") for row in graded(matched.qrels[name])] == ["US", "us", "Us"]


# Properties

names = st.sampled_from(["q1", "q2", "q10", "é"])
grades = st.none() | st.integers(0, 3)


@st.composite
def tables(draw: st.DrawFn) -> list[Triple]:
    """Pairs with one grade each, some of them more than once."""
    pairs = draw(st.dictionaries(st.tuples(names, names), grades, max_size=8))
    repeated = draw(st.lists(st.sampled_from(sorted(pairs)), max_size=3)) if pairs else []
    return [(*pair, pairs[pair]) for pair in [*pairs, *repeated]]


@given(data=st.data(), contents=st.lists(tables(), min_size=1, max_size=3), texts=st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_order_of_rows_does_not_matter(data: st.DataObject, contents: list[list[Triple]], texts: bool) -> None:
    key = "query" if texts else "query_id"
    shuffled = [data.draw(st.permutations(content)) for content in contents]
    one, other = (
        match({str(n): labels(content, query=key) for n, content in enumerate(some)}) for some in (contents, shuffled)
    )
    assert everything(one) == everything(other)


@given(contents=st.lists(tables(), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost_and_the_counts_are_those_of_sets(contents: list[list[Triple]]) -> None:
    files = {str(n): labels(content) for n, content in enumerate(contents)}
    matched = match(files)
    pairs = {name: {row[:2] for row in rows if row[2] is not None} for name, rows in zip(files, contents, strict=True)}
    for name, content in zip(files, contents, strict=True):
        rows = [row for row in content if row[2] is not None]
        assert graded(matched.qrels[name]) == sorted(set(rows), key=lambda row: (row[0].encode(), row[1].encode()))
        assert len(rows) == len(matched.qrels[name]) + sum(one.labeler == name for one in matched.duplicates)
        assert matched.ungraded[name] == len({row[:2] for row in content if row[2] is None} - pairs[name])


def test_a_conflict_is_the_same_error_whatever_the_order_of_labelers() -> None:
    bad, good = labels([("q", "a", 1), ("q", "a", 2)]), labels([("q", "a", 1)])
    with pytest.raises(InputError) as caught:
        match({"good": good, "bad": bad})
    assert (caught.value.path, caught.value.line) == ("x", 2)
    assert refused({"bad": bad, "good": good}) == str(caught.value)
