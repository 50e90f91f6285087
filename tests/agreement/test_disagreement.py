"""Where labelers disagree, by hand and against counting comparisons one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.agreement.disagreement import Hardness, QueryDisagreement, by_grade, hardest_queries
from quati_pool.agreement.ratings import Ratings
from tests.agreement.rated import HA1_HA2, annotations, columns, random_ratings

NAN = math.nan


def test_by_hand() -> None:
    # q1, people 0 3 and 0 1: one of two equal, distance 2/2. J gives 3 3: with A 3, 0; with B 3, 2.
    # q2, people 1 2 3 and 1 2 -: equal. J gives 1 - 0: with A 0, 3; with B 0.
    ratings = columns(
        {"q1": {"A": "03", "B": "01", "J": "33"}, "q2": {"A": "123", "B": "12-", "J": "1-0"}}, people=["A", "B"]
    )
    everyone, people, judge = hardest_queries(ratings)
    assert everyone == Hardness(
        "labelers", None, (QueryDisagreement("q1", 6, 2 / 6, 10 / 6), QueryDisagreement("q2", 5, 4 / 5, 3 / 5))
    )
    assert people == Hardness(
        "people", None, (QueryDisagreement("q1", 2, 1 / 2, 1.0), QueryDisagreement("q2", 2, 1.0, 0.0))
    )
    assert judge == Hardness(
        "judge", "J", (QueryDisagreement("q1", 4, 1 / 4, 2.0), QueryDisagreement("q2", 3, 2 / 3, 1.0))
    )


def test_ties_go_by_agreement_then_query_id() -> None:
    # Mean distance 1 in all: 0-1 twice agrees nowhere, 0-2 and 1-1 agrees once.
    rows = {
        "b": {"A": "00", "B": "11"},
        "10": {"A": "01", "B": "21"},
        "é": {"A": "00", "B": "11"},
        "9": {"A": "01", "B": "21"},
    }
    (everyone, _) = hardest_queries(columns(rows, people=["A", "B"]))
    assert [query.query_id for query in everyone.queries] == ["b", "é", "10", "9"]


def test_distances_are_of_grades_not_of_positions() -> None:
    a, b = random_ratings(1, 2, missing=0), random_ratings(1, 2, missing=0, scale=(0, 10, 20, 30))
    for one, ten in zip(hardest_queries(a)[0].queries, hardest_queries(b)[0].queries, strict=True):
        assert (ten.query_id, ten.agreement) == (one.query_id, one.agreement)
        assert ten.distance == pytest.approx(10 * one.distance)


def test_without_people_judges_are_compared_with_each_other() -> None:
    found = hardest_queries(columns({"q": {"J": "0", "K": "1", "L": "3"}}))
    assert [(one.among, one.judge) for one in found] == [
        ("labelers", None), ("judge", "J"), ("judge", "K"), ("judge", "L"),
    ]  # fmt: skip
    # J: 1 and 3; K: 1 and 2; L: 3 and 2.
    assert [one.queries[0].distance for one in found] == [2, 2, 1.5, 2.5]


def test_one_person_is_compared_with_each_judge() -> None:
    found = hardest_queries(columns({"q": {"A": "0", "J": "1", "K": "3"}}, people=["A"]))
    assert [(one.among, one.judge, one.queries[0].distance) for one in found] == [
        ("labelers", None, 2), ("judge", "J", 1), ("judge", "K", 3),
    ]  # fmt: skip


def test_one_labeler_disagrees_with_nobody() -> None:
    assert hardest_queries(columns({"q": {"A": "0"}}, people=["A"])) == []
    assert hardest_queries(columns({"q": {"J": "0"}})) == []


def test_queries_without_a_comparison_are_absent() -> None:
    found = hardest_queries(
        columns({"q1": {"A": "0", "B": "1"}, "q2": {"A": "0"}, "q3": {"J": "0"}}, people=["A", "B"])
    )
    assert [(one.judge, [query.query_id for query in one.queries]) for one in found] == [
        (None, ["q1"]), (None, ["q1"]), ("J", []),
    ]  # fmt: skip


def test_the_released_annotations() -> None:
    (everyone, people) = hardest_queries(Ratings.join(annotations(), (0, 1, 2, 3), ["HA1", "HA2"]))
    assert everyone.queries == people.queries
    assert len(people.queries) == 24
    assert {query.n for query in people.queries} == {10}
    # By hand from the table: 139 equal; distances 1, 2, 3 in 84, 15 and 2 pairs.
    assert np.mean([query.agreement for query in people.queries]) == pytest.approx(139 / 240)
    assert np.mean([query.distance for query in people.queries]) == pytest.approx((84 + 2 * 15 + 3 * 2) / 240)
    distances = [query.distance for query in people.queries]
    assert distances == sorted(distances, reverse=True)


@given(st.integers(0, 1000))
def test_hardness_equals_counting_comparisons(seed: int) -> None:
    ratings = random_ratings(seed, 4, queries=5, each=3, missing=0.5, scale=(-1, 0, 4))
    people, judges = ["L1", "L2"], ["L3", "L4"]
    compared = {
        ("labelers", None): list(itertools.combinations(ratings.labelers, 2)),
        ("people", None): [("L1", "L2")],
        **{("judge", judge): [(person, judge) for person in people] for judge in judges},
    }
    found = hardest_queries(ratings)
    assert [(one.among, one.judge) for one in found] == list(compared)
    for one, pairs in zip(found, compared.values(), strict=True):
        expected = []
        for code, query_id in enumerate(ratings.queries.values.to_pylist()):
            here = ratings.query == code
            both = [
                (ratings.scale[x], ratings.scale[y])
                for a, b in pairs
                for x, y in zip(ratings.of(a)[here], ratings.of(b)[here], strict=True)
                if x >= 0 and y >= 0
            ]
            if both:
                expected.append((query_id, len(both), sum(x == y for x, y in both), sum(abs(x - y) for x, y in both)))
        rows = [(q.query_id, q.n, round(q.agreement * q.n), round(q.distance * q.n)) for q in one.queries]
        assert rows == sorted(expected, key=lambda row: (-row[3] / row[1], row[2] / row[1], row[0]))


def test_grades_by_hand() -> None:
    found = by_grade(np.array(HA1_HA2), (0, 1, 2, 3))
    # Rows sum to 52, 68, 65, 55; columns to 59, 47, 92, 42.
    assert found.specific == pytest.approx(np.array([82 / 111, 50 / 115, 84 / 157, 62 / 97]))
    assert found.mean_b == pytest.approx(np.array([17 / 52, 87 / 68, 119 / 65, 134 / 55]))
    # Columns: 0·41 + 13 + 8 + 3; 25 + 22 + 15; 28 + 84 + 54; 2 + 16 + 93.
    assert found.mean_a == pytest.approx(np.array([24 / 59, 62 / 47, 166 / 92, 111 / 42]))


def test_a_grade_that_was_not_given_is_undefined() -> None:
    found = by_grade(np.array([[2, 1, 0], [0, 0, 0], [0, 0, 0]]), (0, 5, 9))
    assert found.scale == (0, 5, 9)
    assert found.specific == pytest.approx(np.array([0.8, 0, NAN]), nan_ok=True)
    assert found.mean_b == pytest.approx(np.array([5 / 3, NAN, NAN]), nan_ok=True)
    assert found.mean_a == pytest.approx(np.array([0, 0, NAN]), nan_ok=True)
