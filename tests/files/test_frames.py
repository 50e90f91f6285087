"""Frames and mappings are read as strictly as files, with the argument and the row at fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from quati_pool.errors import FrameError
from quati_pool.files.frames import Given, parts, read_label_frame, read_run_frame
from quati_pool.files.runs import ranked_run, read_run, write_run
from tests.random_runs import Rows, ranked, rows

RUN = pd.DataFrame({"query_id": ["1", "1", "07"], "doc_id": ["007", "7", "7"], "score": [1.5, 2, -1]})
PLAIN = "; expected an id without white space or control characters"
HALF = "holds the character U+D800, which no id may hold"
ONE = "expected one row per pair"
LABELS = RUN.drop(columns="score").assign(relevance=[0, 3, 1])


def run_problem(data: Any) -> str:
    with pytest.raises(FrameError) as error:
        read_run_frame(Given(data, 'runs["x"]'), "x")
    return str(error.value)


def label_problem(data: Any) -> str:
    with pytest.raises(FrameError) as error:
        read_label_frame(Given(data, 'labels["A"]'))
    return str(error.value)


@given(rows().filter(bool))
def test_a_frame_gives_the_run_of_the_file(tmp_path_factory: pytest.TempPathFactory, scored: Rows) -> None:
    path = tmp_path_factory.mktemp("runs") / "x.run"
    run = ranked("x", scored)
    if any(query_id.startswith("#") for query_id, _ in scored):
        return
    write_run(run, path)
    frame = run.to_frame().sample(frac=1, random_state=0)
    mapping: dict[str, dict[str, float]] = {}
    for (query_id, doc_id), score in scored.items():
        mapping.setdefault(query_id, {})[doc_id] = score
    expected = read_run(path).to_frame()
    for data in (frame, mapping):
        found = ranked_run(read_run_frame(Given(data, "run"), "x")).to_frame()
        both = [one.sort_values(["query_id", "rank"], ignore_index=True) for one in (found, expected)]
        pd.testing.assert_frame_equal(*both)


@pytest.mark.parametrize("dtype", ["str", "string", "object", "category"])
def test_ids_of_every_string_type(dtype: str) -> None:
    found = read_run_frame(Given(RUN.astype({"query_id": dtype, "doc_id": dtype}), "run"), "x")
    assert found.docs.decode(found.doc).to_pylist() == ["007", "7", "7"]
    assert found.queries.decode(found.query).to_pylist() == ["1", "1", "07"]
    assert found.score.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"doc_id": [7, 8, 9]}, ", row 0: doc_id 7 is not a string; read it with dtype=str"),
        ({"doc_id": [7.0, 8.0, 9.0]}, ", row 0: doc_id 7.0 is not a string; read it with dtype=str"),
        ({"doc_id": ["a", 7, "b"]}, ", row 1: doc_id 7 is not a string; read it with dtype=str"),
        ({"doc_id": [b"a", b"b", b"c"]}, ", row 0: doc_id b'a' is not a string; read it with dtype=str"),
        ({"query_id": ["a", None, "b"]}, ", row 1: query_id is missing; expected an id"),
        ({"query_id": ["a", "", "b"]}, ", row 1: query_id is empty; expected an id"),
        ({"doc_id": ["a", "b", "c d"]}, f", row 2: doc_id 'c d' holds white space (U+0020){PLAIN}"),
        ({"doc_id": ["a", "b", "\ud800"]}, f", row 2: doc_id '\\ud800' {HALF}{PLAIN}"),
        ({"query_id": ["1", "1", "1"]}, f", row 2: query_id '1' and doc_id '7' are already in row 1; {ONE}"),
        ({"score": [1, np.nan, 2]}, ", row 1: score nan is not finite; drop the row, or give a score"),
        ({"score": [1, 2, -np.inf]}, ", row 2: score -inf is not finite; drop the row, or give a score"),
        ({"score": [1, 2, 3.5e38]}, ", row 2: score 3.5e+38 is too large for float32; expected at most 3.4e38"),
        ({"score": ["1", "2", "3"]}, ", row 0: score '1' is not a number; expected one such as 12.5"),
        ({"score": [True, False, True]}, ", row 0: score True is not a number; expected one such as 12.5"),
        ({"rank": [1, 2, 2.5]}, ", row 2: rank 2.5 is not an integer; expected 1, 2, 3 and so on"),
    ],
)  # fmt: skip
def test_a_run_is_refused(change: dict[str, Any], problem: str) -> None:
    columns = {
        name: pd.Series(values, dtype=object if name in ("query_id", "doc_id") else None)
        for name, values in change.items()
    }
    assert run_problem(RUN.assign(**columns)) == f'runs["x"]{problem}'


def test_a_frame_of_another_form_is_refused() -> None:
    renamed = RUN.rename(columns={"doc_id": "docno"})
    there = 'runs["x"]: has no column doc_id (it has: query_id, docno, score)'
    assert run_problem(renamed) == f"{there}; rename its columns to query_id, doc_id, score"
    assert ", row 0: doc_id 7 is not a string" in run_problem(RUN.assign(doc_id=[7, 8, 9]))
    assert ", row 0: doc_id 7 is not a string" in run_problem(RUN.assign(doc_id=pd.Categorical([7, 8, 9])))
    ranks = RUN.drop(columns="score").assign(rank=[1, 2, 1])
    assert 'runs are ranked by score: add one, such as frame["score"] = -frame["rank"]' in run_problem(ranks)
    assert "query_id is in its index; move it to a column with frame.reset_index()" in run_problem(
        RUN.set_index("query_id")
    )
    assert "has 2 columns score; keep one" in run_problem(pd.concat([RUN, RUN[["score"]]], axis=1))
    assert run_problem(RUN[:0]) == 'runs["x"]: holds no rows; expected query_id, doc_id, score'
    assert "expected a DataFrame with the columns query_id, doc_id, score" in run_problem([("q", "d", 1.0)])


def test_a_mapping_names_the_pair_at_fault() -> None:
    assert run_problem({"q": {"d": float("nan")}}).startswith("runs[\"x\"]['q']['d']: score nan is not finite")
    assert run_problem({"q": {7: 1.0}}).startswith("runs[\"x\"]['q'][7]: doc_id 7 is not a string")
    assert "pass {name: {query_id: {doc_id: score}}}" in run_problem({"q": 1.0})


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ([0, 1, 3], [0, 1, 3]),
        ([0.0, 1.0, np.nan], [0, 1, None]),
        (pd.array([0, None, 3], dtype="Int64"), [0, None, 3]),
        (pd.Series([None, 1, 2], dtype=object), [None, 1, 2]),
        (pd.Categorical([0, 1, 3]), [0, 1, 3]),
    ],
)
def test_a_missing_grade_is_none_and_not_0(grades: Any, expected: list[int | None]) -> None:
    found = read_label_frame(Given(LABELS.assign(relevance=grades), "labels"))
    assert list(found.relevance) == expected


@pytest.mark.parametrize(
    ("grades", "problem"),
    [
        ([0, 1.5, 3], "row 1: relevance 1.5 is not an integer; expected a grade such as 0 or 3"),
        ([0, np.inf, 3], "row 1: relevance inf is not an integer; expected a grade such as 0 or 3"),
        (["0", "1", "2"], "row 0: relevance '0' is not an integer; expected a grade such as 0 or 3"),
        ([True, False, True], "row 0: relevance True is not an integer; expected a grade such as 0 or 3"),
        ([0, 1, 10**7], "row 2: relevance 10000000 is beyond ±1,000,000; expected a grade such as 3"),
    ],
)
def test_labels_are_refused(grades: Any, problem: str) -> None:
    assert label_problem(LABELS.assign(relevance=grades)) == f'labels["A"], {problem}'


def test_the_parts_of_a_frame_keep_their_rows() -> None:
    both = pd.concat([RUN.assign(run_tag="a"), RUN.assign(run_tag="b")]).sample(frac=1, random_state=2)
    found = parts(both, "run_tag", "runs")
    assert list(found) == both["run_tag"].unique().tolist()
    for tag, part in found.items():
        assert part.rows is not None
        pd.testing.assert_frame_equal(part.data, both.iloc[part.rows])
        assert set(part.data["run_tag"]) == {tag}
    row = int(np.flatnonzero(both["run_tag"] == "b")[2])
    both = both.assign(score=[np.nan if place == row else 1.0 for place in range(len(both))])
    with pytest.raises(FrameError, match=f"runs, row {row}: score nan"):
        read_run_frame(parts(both, "run_tag", "runs")["b"], "b")
    with pytest.raises(FrameError, match="runs: has no column run_tag, which says whose each row is"):
        parts(RUN, "run_tag", "runs")
    with pytest.raises(FrameError, match="runs, row 0: run_tag 5 is not a string; read it with dtype=str"):
        parts(RUN.assign(run_tag=5), "run_tag", "runs")
    with pytest.raises(FrameError, match="row 1: run_tag is missing"):
        parts(RUN.assign(run_tag=["a", None, "a"]), "run_tag", "runs")


def test_a_grade_off_the_scale_names_the_row() -> None:
    import quati_pool as qp

    frame = LABELS.assign(relevance=[0, 1, 4])
    with pytest.raises(qp.QuatiPoolError, match=r'^labels\["A"\], row 2: the grade 4 is not on the scale 0, 1, 2, 3 '):
        qp.agree(labels={"A": frame, "B": LABELS})
    found = qp.agree(labels={"A": frame, "B": LABELS}, scale=range(5), draws=0)
    assert found.confusion("A", "B").loc[4, 1] == 1


def test_what_is_not_named_is_refused(tmp_path: Path) -> None:
    import quati_pool as qp

    with pytest.raises(qp.QuatiPoolError, match=r"^runs: expected names and what is called so"):
        qp.pool([RUN])  # type: ignore[arg-type]
    with pytest.raises(qp.QuatiPoolError, match=r"^runs: 1 is not a name; expected a string"):
        qp.pool({1: RUN})  # type: ignore[dict-item]
    with pytest.raises(qp.QuatiPoolError, match=r"none\.run: there is no such file"):
        qp.pool({"a": tmp_path / "none.run"})
