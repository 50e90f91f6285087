"""Run files: what is read, what is refused and in which words, and what a written run reads back as."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.errors import InputError, QuatiPoolError
from quati_pool.files import runs
from quati_pool.files.problems import STRICT, Collected
from quati_pool.files.runs import (
    RunRows,
    chosen_run,
    rank_contradictions,
    ranked_run,
    read_run,
    read_run_rows,
    read_runs,
    run_queries,
    write_run,
)
from quati_pool.records import Ids, Run, id_problem

GOOD = "q1 Q0 d1 1 2.5 bm25\n"
ID_RULE = "expected an id without white space or control characters"

SPEC = [
    ("", ": holds no rows; expected query_id Q0 doc_id rank score run_tag"),
    ("\n# only a remark\n", ": holds no rows; expected query_id Q0 doc_id rank score run_tag"),
    ("q1 Q0 d1 1 2.5\n", ":1: 5 columns; expected 6: query_id Q0 doc_id rank score run_tag"),
    (GOOD + "q1 Q0 d 2 2 1.5 bm25\n", ":2: 7 columns; expected 6: query_id Q0 doc_id rank score run_tag"),
    (GOOD + "q1 Q0 d2 1.0 2 bm25\n", ":2: rank '1.0' is not an integer; expected 1, 2, 3 and so on"),
    (GOOD + "q1 Q0 d2 0x2 2 bm25\n", ":2: rank '0x2' is not an integer; expected 1, 2, 3 and so on"),
    (GOOD + "q1 Q0 d2 ٢ 2 bm25\n", ":2: rank '٢' is not an integer; expected 1, 2, 3 and so on"),
    (GOOD + "q1 Q0 d2 2 5,9 bm25\n", ":2: score '5,9' has a decimal comma; write 5.9"),
    (GOOD + "q1 Q0 d2 2 nan bm25\n", ":2: score 'nan' is not finite; expected a number such as 12.5"),
    (GOOD + "q1 Q0 d2 2 -Inf bm25\n", ":2: score '-Inf' is not finite; expected a number such as 12.5"),
    (GOOD + "q1 Q0 d2 2 1e39 bm25\n", ":2: score '1e39' is too large for float32; expected at most 3.4e38"),
    (GOOD + "q1 Q0 d2 2 1e999 bm25\n", ":2: score '1e999' is too large for float32; expected at most 3.4e38"),
    (GOOD + "q1 Q0 d2 2 1_000 bm25\n", ":2: score '1_000' is not a number; expected one such as 12.5"),
    (GOOD + "q1 Q0 d2 2 0x10 bm25\n", ":2: score '0x10' is not a number; expected one such as 12.5"),
    (GOOD + "q1 Q0 d2 2 ٢ bm25\n", ":2: score '٢' is not a number; expected one such as 12.5"),
    (GOOD + "q1 Q0 d2 2 1.2.3 bm25\n", ":2: score '1.2.3' is not a number; expected one such as 12.5"),
    (GOOD + "q1 Q0 d\xa02 2 1 bm25\n", rf":2: doc_id 'd\xa02' holds white space (U+00A0); {ID_RULE}"),
    (GOOD + "q\x0b1 Q0 d2 2 1 bm25\n", rf":2: query_id 'q\x0b1' holds white space (U+000B); {ID_RULE}"),
    (GOOD + "q1 Q0 d2 2 1 bm\r25\n", rf":2: run_tag 'bm\r25' holds white space (U+000D); {ID_RULE}"),
    (
        GOOD + "\ufeffq1 Q0 d2 2 1 bm25\n",
        rf":2: query_id '\ufeffq1' holds the character U+FEFF, which no id may hold; {ID_RULE}",
    ),
    (
        GOOD + "#\nq1 Q0 d1 2 1 bm25\n",
        ":3: query_id 'q1' and doc_id 'd1' are already in line 1; expected one row per pair",
    ),
    ("\n" + GOOD + "q1 Q0 d2 2 1 other\n", ": holds 2 runs (bm25, other); expected one: split the file"),
]


# Of a regular file, run_queries reads neither ranks, scores nor documents.
NOT_OF_QUERIES = re.compile("rank|score|doc_id|holds 2 runs")


@pytest.mark.parametrize(
    ("read", "text", "error"),
    [(read_run, *case) for case in SPEC]
    + [(run_queries, *case) for case in SPEC if not NOT_OF_QUERIES.search(case[1])],
)
def test_refused(tmp_path: Path, read: Callable[[Path], object], text: str, error: str) -> None:
    path = tmp_path / "some.run"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{error}"


def test_collecting_leaves_out_bad_rows_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "some.run"
    path.write_text(GOOD + "q1 Q0 d2 2 x t\n" + GOOD + "q2 Q0 d2 1 -1 bm25\nq2\n", encoding="utf-8")
    problems = Collected(limit=2)
    run = read_run(path, problems=problems)
    assert [error.line for error in problems.errors] == [2, 3]
    assert problems.count == 3
    assert rows(run) == [("q1", "d1", 1, 2.5), ("q2", "d2", 1, -1.0)]


def rows(run: Run) -> list[tuple[str, str, int, float]]:
    return list(run.to_frame().itertuples(index=False, name=None))


@pytest.mark.parametrize("first", ["q1 Q0 d1 7 1 t", "q1 Q0 d1 +7 +1.0 t"], ids=["Arrow", "by line"])
def test_blanks_remarks_marks_and_ranks_do_not_matter(tmp_path: Path, first: str) -> None:
    text = f"\ufeff# a remark\r\n\t {first} \r\n\r\n \t \nq1  Q0\td3   1 1e0  t\n #remark\nq1 0 d2 9 2. t"
    path = tmp_path / "some.run.gz"
    path.write_bytes(gzip.compress(text.encode()))
    run = read_run(path)
    assert run.run_tag == "t"
    # d3 before d1: equal scores stand by doc_id, descending, whatever ranks the file gives.
    assert rows(run) == [("q1", "d2", 1, 2.0), ("q1", "d3", 2, 1.0), ("q1", "d1", 3, 1.0)]
    assert rows(read_run(path, run_tag="mine", depth=1)) == [("q1", "d2", 1, 2.0)]
    assert read_run(path, run_tag="mine").run_tag == "mine"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # By rank 3, 2, 1 and in any order of lines: nothing to say.
        ("q1 a 1 3, q1 b 2 2, q1 c 3 1", (0, 0)),
        ("q1 c 3 1, q2 a 1 9, q1 a 1 3, q1 b 2 2", (0, 0)),
        # b is above a, which the ranks put first; c below both.
        ("q1 a 1 2, q1 b 2 3, q1 c 3 1, q2 a 1 1, q2 b 2 0.5", (1, 1)),
        # Ascending scores: each but the first contradicts.
        ("q1 a 1 1, q1 b 2 2, q1 c 3 3, q2 a 1 1, q2 b 2 2", (2, 3)),
        # One rank for all, or one score, contradicts nothing; 1 and 1.000000001 are one score in float32.
        ("q1 a 0 1, q1 b 0 2, q2 a 2 1, q2 b 1 1, q2 c 3 1.000000001", (0, 0)),
    ],
)
def test_ranks_that_contradict_scores_are_counted(tmp_path: Path, rows: str, expected: tuple[int, int]) -> None:
    lines = [" Q0 ".join(row.strip().split(" ", 1)) + " s\n" for row in rows.split(",")]
    (tmp_path / "s.run").write_text("".join(lines), encoding="utf-8")
    assert rank_contradictions(read_run_rows(tmp_path / "s.run")) == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.sampled_from([0.5, 1, 2, 3])), max_size=25))
def test_contradictions_are_those_found_pair_by_pair(rows: list[tuple[int, int, float]]) -> None:
    query, rank, score = (np.array(column) for column in zip(*rows, strict=True)) if rows else np.empty((3, 0))
    one, other = Ids(["a", "b", "c"]), Ids([str(n) for n in range(len(rows))])
    codes = query.astype(np.int64), np.arange(len(rows)), rank.astype(np.int64)
    found = rank_contradictions(RunRows("s", one, other, *codes, score.astype(np.float32)))
    above = [row for row in rows if any(at[0] == row[0] and at[1] < row[1] and at[2] < row[2] for at in rows)]
    assert found == (len({row[0] for row in above}), len(above))


def test_scores_beyond_float32_tie(tmp_path: Path) -> None:
    path = tmp_path / "some.run"
    path.write_text("q Q0 a 1 1.00000001 t\nq Q0 b 2 1.0 t\n", encoding="utf-8")
    assert rows(read_run(path)) == [("q", "b", 1, 1.0), ("q", "a", 2, 1.0)]


# A rank with a sign makes the file irregular, so that it is read line by line.
@pytest.mark.parametrize("rank", ["1", "+1"], ids=["Arrow", "by line"])
def test_a_file_of_several_runs(tmp_path: Path, rank: str) -> None:
    path = tmp_path / "all.run"
    path.write_text(
        f"q2 Q0 d1 {rank} 5 b\nq1 Q0 d1 1 2 a\nq2 Q0 d2 2 4 b\nq1 Q0 d1 1 1 b\nq1 Q0 d9 2 1 a\n", encoding="utf-8"
    )
    found = read_runs(path)
    assert list(found) == ["b", "a"]
    # The same pair in two runs is no repetition.
    assert rows(ranked_run(found["b"])) == [("q2", "d1", 1, 5.0), ("q2", "d2", 2, 4.0), ("q1", "d1", 1, 1.0)]
    assert rows(ranked_run(found["a"])) == [("q1", "d1", 1, 2.0), ("q1", "d9", 2, 1.0)]
    assert chosen_run(path, found, "a") is found["a"]
    with pytest.raises(InputError) as caught:
        chosen_run(path, found, "A")
    assert str(caught.value) == f"{path}: holds no run 'A'; did you mean 'a'?"
    with pytest.raises(InputError) as caught:
        chosen_run(path, found, None)
    assert str(caught.value) == f"{path}: holds 2 runs (b, a); name one with run_tag:, or take all with runs:"


def test_a_pair_twice_within_one_of_several_runs(tmp_path: Path) -> None:
    path = tmp_path / "all.run"
    path.write_text("q1 Q0 d1 1 2 a\nq1 Q0 d1 1 2 b\nq1 Q0 d1 2 1 a\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":3: query_id 'q1' and doc_id 'd1' are already in line 1"):
        read_runs(path)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 4)), st.integers(-3, 3), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_runs_are_taken_apart_by_their_tags(pairs: dict[tuple[str, int, int], int], random: Random) -> None:
    lines = [f"q{query} Q0 d{doc} 1 {score} {tag}\n" for (tag, query, doc), score in pairs.items()]
    random.shuffle(lines)
    with TemporaryDirectory() as name:
        together = Path(name) / "all.run"
        together.write_text("".join(lines), encoding="utf-8")
        found = read_runs(together)
        assert set(found) == {tag for tag, *_ in pairs}
        for tag in found:
            alone = Path(name) / f"{tag}.run"
            alone.write_text("".join(line for line in lines if line.endswith(f"{tag}\n")), encoding="utf-8")
            by_query = ["query_id", "rank"]
            expected = read_run(alone).to_frame().sort_values(by_query, ignore_index=True)
            pd.testing.assert_frame_equal(
                ranked_run(found[tag]).to_frame().sort_values(by_query, ignore_index=True), expected
            )


IDS = st.text(min_size=1, max_size=6).filter(lambda text: id_problem(text) is None and text[0] != "#")
SCORES = st.one_of(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0, 1.5]))
RUNS = st.builds(
    lambda pairs, run_tag: Run.from_frame(
        run_tag,
        pd.DataFrame([(*pair, score) for pair, score in pairs.items()], columns=["query_id", "doc_id", "score"]),
    ),
    st.dictionaries(st.tuples(IDS, IDS), SCORES, min_size=1, max_size=40),
    IDS,
)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 50)), min_size=1, unique=True),
    st.sampled_from(["", "\n", "# a remark\n", "# a remark of six words here\n", "\ufeff"]),
    st.sampled_from([" ", "  ", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_the_queries_of_each_run_are_those_of_its_rows(
    rows: list[tuple[int, int, int]], head: str, blank: str, end: str
) -> None:
    lines = (blank.join((f"q{query}", "Q0", f"d{doc}", "1", "2.5", f"run{tag}")) for tag, query, doc in rows)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.run"
        path.write_text(head + end.join(lines) + end, encoding="utf-8", newline="")
        found, expected = run_queries(path), read_runs(path)
    assert list(found) == list(expected) == list(dict.fromkeys(f"run{tag}" for tag, *_ in rows))
    # By hand: the order of the file, over all its runs.
    order = list(dict.fromkeys(f"q{query}" for _, query, _ in rows))
    for tag, queries in found.items():
        assert queries == [one for one in order if (tag, one) in {(f"run{tag}", f"q{query}") for tag, query, _ in rows}]


@given(RUNS)
def test_a_written_run_reads_back_the_same(tmp_path_factory: pytest.TempPathFactory, run: Run) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.run"
    write_run(run, path)
    back = read_run(path)
    assert back.run_tag == run.run_tag
    # Queries come in the order of their codes, which is the order of the file.
    assert rows(back) == rows(run)
    assert runs._read_regular(path.read_bytes()) is not None, "what is written goes the fast way"
    by_line = runs._read_by_line(path, STRICT)
    assert rows(ranked_run(by_line[run.run_tag])) == rows(run)


@given(RUNS)
def test_pytrec_eval_reads_the_scores_we_wrote(run: Run) -> None:
    stream = io.BytesIO()
    write_run(run, stream)
    theirs = pytrec_eval.parse_run(stream.getvalue().decode().split("\n")[:-1])
    ours: dict[str, dict[str, float]] = {}
    for query_id, doc_id, _, score in rows(run):
        ours.setdefault(query_id, {})[doc_id] = score
    assert {q: {d: np.float32(s) for d, s in docs.items()} for q, docs in theirs.items()} == ours


def test_scores_are_written_as_short_as_they_go() -> None:
    values = [16777216, 12.345678, 5, 0.1, 1e-5, 1.5e-10, -0.0]
    frame = pd.DataFrame({"query_id": "q", "doc_id": list("abcdefg"), "score": values})
    stream = io.BytesIO()
    write_run(Run.from_frame("t", frame), stream)
    lines = stream.getvalue().decode().splitlines()
    assert lines[1] == "q Q0 b 2 12.345678 t"
    assert [line.split(" ")[4] for line in lines] == [
        "16777216", "12.345678", "5", "0.1", "0.00001", "1.5e-10", "0"
    ]  # fmt: skip


def test_float32_survives_its_text() -> None:
    bits = np.random.default_rng(0).integers(0, 0x7F800000, 50_000, dtype=np.uint32)
    doc_ids = [f"d{i}" for i in range(len(bits))]
    run = Run.from_frame("t", pd.DataFrame({"query_id": "q", "doc_id": doc_ids, "score": bits.view(np.float32)}))
    stream = io.BytesIO()
    write_run(run, stream)
    written = [line.split(b" ")[4] for line in stream.getvalue().splitlines()]
    assert (np.array(written, dtype=np.float64).astype(np.float32) == run.score).all()
    for text, score in zip(written[:2000], run.score, strict=False):
        assert digits(text.decode()) == digits(np.format_float_scientific(score, unique=True)), "no shorter"


def digits(number: str) -> str:
    return number.partition("e")[0].replace(".", "").strip("0")


def test_packed_runs_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    run = Run.from_frame("t", pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.5]}))
    write_run(run, tmp_path / "a.trec.gz")
    write_run(run, tmp_path / "b.trec.gz")
    assert (tmp_path / "a.trec.gz").read_bytes() == (tmp_path / "b.trec.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.trec.gz").read_bytes()) == b"q Q0 d 1 1.5 t\n"


def test_what_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    def frame(query_id: str) -> pd.DataFrame:
        return pd.DataFrame({"query_id": [query_id], "doc_id": ["d"], "score": [1.0]})

    path = tmp_path / "some.run"
    with pytest.raises(QuatiPoolError) as caught:
        write_run(Run.from_frame("my run", frame("q")), path)
    assert str(caught.value) == f"{path}: run_tag 'my run' holds white space (U+0020); {ID_RULE}"
    with pytest.raises(QuatiPoolError) as caught:
        write_run(Run.from_frame("t", frame("#1")), path)
    assert str(caught.value) == (
        f"{path}: query_id '#1' begins with '#', which marks a comment in TREC files; rename this query"
    )
    assert not path.exists()
