"""Confusion counts by query, against counting pairs one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.agreement.confusion import binarize, confusion_by_query
from quati_pool.agreement.ratings import Ratings
from tests.agreement.rated import HA1_HA2, Grades, annotations, columns, grade_sets, grade_tables, rated, rows_of


def test_the_released_annotations_give_the_papers_table() -> None:
    ratings = Ratings.join(annotations(), (0, 1, 2, 3))
    tables = confusion_by_query(ratings, "HA1", "HA2")
    assert tables.shape == (24, 4, 4)
    assert tables.sum(axis=(1, 2)).tolist() == [10] * 24
    assert tables.sum(axis=0).tolist() == HA1_HA2


def test_only_common_pairs_count() -> None:
    tables = confusion_by_query(columns({"q1": {"a": "03-1", "b": "0-21"}, "q2": {"a": "2", "b": "-"}}), "a", "b")
    assert tables[0].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert not tables[1].any()


@given(grade_sets((-2, 0, 7)), grade_sets((-2, 0, 7)))
def test_tables_equal_counting_pairs(a: Grades, b: Grades) -> None:
    scale = (-2, 0, 7)
    ratings = rated({"a": a, "b": b}, scale)
    tables = confusion_by_query(ratings, "a", "b")
    query_ids = ratings.queries.values.to_pylist()
    assert tables.shape == (len(query_ids), 3, 3)
    for query_id, table in zip(query_ids, tables.tolist(), strict=True):
        common = [pair for pair in a if pair in b and pair[0] == query_id]
        assert table == [[sum((a[p], b[p]) == (x, y) for p in common) for y in scale] for x in scale]
    assert np.array_equal(confusion_by_query(ratings, "b", "a"), tables.transpose(0, 2, 1))


@given(st.lists(grade_tables(), min_size=1, max_size=4), st.integers(-3, 9))
def test_binarised_tables_are_those_of_binarised_grades(many: list[npt.NDArray[np.int64]], threshold: int) -> None:
    scale = (-2, 0, 3, 7)
    for binary, table in zip(binarize(np.stack(many), scale, threshold).tolist(), many, strict=True):
        of_a, of_b = ([grade >= threshold for grade in one] for one in rows_of(table, scale))
        pairs = list(zip(of_a, of_b, strict=True))
        assert binary == [[pairs.count((x, y)) for y in (False, True)] for x in (False, True)]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    # By hand from the paper's table: for 3, the last cell 31, the rest of its row 24, of its column 11.
    [(1, [[41, 11], [18, 170]]), (2, [[85, 35], [21, 99]]), (3, [[174, 11], [24, 31]])],
)
def test_the_papers_table_binarised_by_hand(threshold: int, expected: list[list[int]]) -> None:
    binary = binarize(np.array(HA1_HA2), (0, 1, 2, 3), threshold)
    assert binary.dtype == np.int64
    assert binary.tolist() == expected
