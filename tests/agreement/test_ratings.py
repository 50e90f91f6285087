"""Joining labelers: pairs, grades, what is missing, and grades off the scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from quati_pool.agreement.ratings import Ratings
from quati_pool.errors import QuatiPoolError
from tests.agreement.rated import Grades, grade_sets, qrels, rated


def read_back(ratings: Ratings, labeler: str) -> Grades:
    query_ids = ratings.queries.decode(ratings.query).to_pylist()
    doc_ids = ratings.docs.decode(ratings.doc).to_pylist()
    grades = ratings.of(labeler).tolist()
    return {
        (query_id, doc_id): ratings.scale[grade]
        for query_id, doc_id, grade in zip(query_ids, doc_ids, grades, strict=True)
        if grade >= 0
    }


@given(grade_sets((-1, 0, 2, 5)), grade_sets((-1, 0, 2, 5)), grade_sets((-1, 0, 2, 5)))
def test_every_labeler_reads_back_what_they_gave(a: Grades, b: Grades, c: Grades) -> None:
    ratings = rated({"a": a, "b": b, "c": c}, (5, 2, 0, -1))
    assert ratings.scale == (-1, 0, 2, 5)
    assert [read_back(ratings, name) for name in "abc"] == [a, b, c]
    assert len(ratings) == len(a.keys() | b.keys() | c.keys())
    pairs = list(zip(ratings.query.tolist(), ratings.doc.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


def test_a_document_under_two_queries_is_two_pairs() -> None:
    ratings = rated({"a": {("q1", "d"): 0, ("q2", "d"): 3}, "b": {("q2", "d"): 2}})
    assert len(ratings) == 2
    assert ratings.of("a").tolist() == [0, 3]
    assert ratings.of("b").tolist() == [-1, 2]


def test_a_missing_grade_is_no_grade_of_zero() -> None:
    ratings = rated({"a": {("q", "x"): 0}, "b": {("q", "y"): 0}})
    assert ratings.grade.tolist() == [[0, -1], [-1, 0]]


def test_people_are_named() -> None:
    ratings = rated({"a": {("q", "x"): 0}, "b": {("q", "x"): 0}}, people=["a"])
    assert ratings.people == {"a"}
    assert ratings.labelers == ("a", "b")


@pytest.mark.parametrize("grade", [-1, 4, 99])
def test_a_grade_off_the_scale_is_refused_with_its_pair(grade: int) -> None:
    with pytest.raises(QuatiPoolError) as refused:
        rated({"HA1": {("q1", "x"): 1}, "LLM": {("q1", "x"): 3, ("q7", "d9"): grade, ("q8", "d9"): grade}})
    message = str(refused.value)
    assert message.startswith(f"LLM: the grade {grade} of q7 d9 is not on the scale 0, 1, 2, 3 (2 such pairs)")
    assert "\n" not in message


def test_a_grade_between_two_grades_of_the_scale_is_off_it() -> None:
    with pytest.raises(QuatiPoolError, match="the grade 1 of q x is not on the scale 0, 2"):
        rated({"a": {("q", "x"): 1}}, (0, 2))


def test_labelers_without_grades() -> None:
    ratings = Ratings.join({"a": qrels({}), "b": qrels({})}, (0, 1))
    assert (len(ratings), ratings.grade.shape) == (0, (2, 0))
    assert Ratings.join({}, (0, 1)).grade.shape == (0, 0)
    assert ratings.of("b").dtype == np.int16
