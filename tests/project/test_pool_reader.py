"""The pool as it is read from its file: ranks, and how each pair entered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quati_pool.api.frames import pool_file_frame
from quati_pool.commands.build import _pairs as pairs_of
from quati_pool.errors import InputError
from quati_pool.files.artifacts import write_file
from quati_pool.files.lines import output
from quati_pool.files.pools import write_pool
from quati_pool.project.inputs import Queries
from quati_pool.project.pool_reader import read_ledger
from quati_pool.records import Ids, Query

KEY = {"systems": ["a", "b"], "depth": {"a": 2, "b": 2}}


def line(doc_id: str, **changes: Any) -> dict[str, Any]:
    row = {"query_id": "q1", "doc_id": doc_id, "query": "what?", "text": "that", "runs": {"a": 1}, "round": 1}
    return {**row, "reason": "depth", "inclusion": 1.0, **changes}


def written(folder: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path = folder / "pool.jsonl.gz"

    def fill(path: Path) -> dict[str, int]:
        with output(path) as stream:
            stream.writelines(json.dumps(row).encode() + b"\n" for row in rows)
        return {"pairs": len(rows), "queries": 1}

    write_file(path, KEY, {}, fill)
    return path


ADAPTIVE = [
    line("d1"),
    line("d2", round=2, reason="mm-ns", inclusion=None, runs={"b": 2}),
    line("d3", round=3, reason="random", inclusion=0.25, runs={"a": 2, "b": 1}),
    line("d4", reason="extra", runs={}),
]


def test_rounds_reasons_and_probabilities_are_those_of_the_file(tmp_path: Path) -> None:
    pool = read_ledger(written(tmp_path, ADAPTIVE))
    assert pool.round.tolist() == [1, 2, 3, 1]
    assert pool.round.dtype == np.int32
    assert pool.reason.tolist() == ["depth", "mm-ns", "random", "extra"]
    # Grades chose d2, so that nobody knows its probability.
    assert np.isnan(pool.inclusion[1])
    assert pool.inclusion[[0, 2, 3]].tolist() == [1.0, 0.25, 1.0]
    assert pool.ranks.tolist() == [[1, 0], [0, 2], [2, 1], [0, 0]]


def test_a_pool_is_written_as_it_was_read(tmp_path: Path) -> None:
    first = written(tmp_path, ADAPTIVE)
    queries = Queries([Query("q1", "what?")], Ids(["q1"]), "")
    again = tmp_path / "again.jsonl"
    write_pool(again, pairs_of(read_ledger(first), queries, []))
    rows = [json.loads(row) for row in again.read_text(encoding="utf-8").splitlines()]
    assert rows == [{**row, "text": ""} for row in ADAPTIVE]
    assert "NaN" not in again.read_text(encoding="utf-8")


def test_the_frame_of_a_pool_has_no_probability_where_grades_chose(tmp_path: Path) -> None:
    found = pool_file_frame(written(tmp_path, ADAPTIVE))
    assert found["round"].tolist() == [1, 2, 3, 1]
    assert str(found["inclusion"].dtype) == "float64"
    assert found["inclusion"].isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"round": 0}, ":2: has no round; expected an integer from 1"),
        ({"round": "1"}, ":2: has no round"),
        ({"reason": ""}, ":2: has no reason; expected depth, extra, random, kept or a method's name"),
        ({"inclusion": 0}, ":2: has no inclusion probability; expected a number above 0 and at most 1, or null"),
        ({"inclusion": 1.5}, ":2: has no inclusion probability"),
    ],
)
def test_an_impossible_entry_is_refused_with_its_line(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = written(tmp_path, [line("d1"), line("d2", **changes)])
    with pytest.raises(InputError, match=problem):
        read_ledger(path)
