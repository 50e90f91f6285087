"""Runs made elsewhere, as systems of a collection."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from quati_pool.errors import InputError
from quati_pool.records import Ids, Run
from quati_pool.retrieval import run_file
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.run_file import RunFile, RunFileParameters, RunFileReader

# The file may have the queries in another order.
QUERIES = Ids(["q2", "q1"])


def read(
    path: Path, depth: int = 10, notes: list[str] | None = None, run_tag: str | None = None
) -> list[tuple[str, str, int, float]]:
    source = RunFile(RunFileParameters(path=path.name, run_tag=run_tag), ComponentEnvironment(path.parent))
    assert source.index_key() is None
    assert source.inputs() == [path.name]
    with Context(note=(notes if notes is not None else []).append) as context:
        run, _ = source.run("theirs", QUERIES, depth, context)
    assert (run.run_tag, run.queries) == ("theirs", QUERIES)
    return rows(run)


def rows(run: Run) -> list[tuple[str, str, int, float]]:
    return list(run.to_frame().itertuples(index=False, name=None))


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "theirs.run"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_scores_and_pairs_are_the_files(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 9 1 -1.5 x", "q2 Q0 B 1 2e3 x", "q1 Q0 10 2 -2 x")
    assert read(path) == [("q2", "B", 1, 2000.0), ("q1", "9", 1, -1.5), ("q1", "10", 2, -2.0)]


def test_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "theirs.trec.gz"
    path.write_bytes(gzip.compress(b"q1 Q0 b 1 3 x\n"))
    assert read(path) == [("q1", "b", 1, 3.0)]


def test_depth_cuts_by_score_then_doc_id_whatever_the_ranks_say(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 10 1 1 x", "q1 Q0 9 2 1 x", "q1 Q0 B 3 1 x", "q1 Q0 b 4 1 x", "q2 Q0 9 1 5 x")
    # Descending in bytes: b, B, 9, 10.
    assert read(path, depth=1) == [("q2", "9", 1, 5.0), ("q1", "b", 1, 1.0)]
    assert [doc_id for _, doc_id, *_ in read(path, depth=3)] == ["9", "b", "B", "9"]


def test_ranks_follow_trec_eval(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 10 1 1 x", "q1 Q0 9 2 1.00000001 x", "q1 Q0 B 3 1 x")
    # 1.00000001 is 1 in float32: a tie of three, by doc_id descending.
    assert [doc_id for _, doc_id, *_ in read(path)] == ["B", "9", "10"]


def test_foreign_queries_are_left_out_and_noted(tmp_path: Path) -> None:
    path = written(tmp_path, "other Q0 zzz 1 1 x", "q1 Q0 9 1 1 x", "Q1 Q0 9 1 1 x", "other Q0 9 2 0 x")
    notes: list[str] = []
    assert read(path, notes=notes) == [("q1", "9", 1, 1.0)]
    assert notes == [f"theirs: 2 queries are not of this collection and left out ({path})"]


def test_no_note_where_all_queries_are_ours(tmp_path: Path) -> None:
    notes: list[str] = []
    read(written(tmp_path, "q1 Q0 9 1 1 x"), notes=notes)
    assert notes == []


def test_one_run_of_several(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 a 1 1 x", "q1 Q0 b 1 1 y", "q1 Q0 c 2 0 x")
    assert [doc_id for _, doc_id, *_ in read(path, run_tag="x")] == ["a", "c"]
    with pytest.raises(InputError, match=r"theirs.run: holds 2 runs \(x, y\); name one with run_tag:"):
        read(path)
    with pytest.raises(InputError, match="holds no run 'z'; there are: x, y"):
        read(path, run_tag="z")


def test_the_tag_is_part_of_the_key_only_where_it_is_named() -> None:
    assert RunFile(RunFileParameters(path="a")).search_key() == {}
    assert RunFile(RunFileParameters(path="a", run_tag="x")).search_key() == {"run_tag": "x"}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "none.run")


def test_only_foreign_queries_give_an_empty_run(tmp_path: Path) -> None:
    assert read(written(tmp_path, "other Q0 9 1 1 x")) == []


def test_the_last_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(run_file, "read_runs", lambda path: read.append(path) or {path.name: None})
    a, b = tmp_path / "a", tmp_path / "b"
    with RunFileReader() as reader:
        assert [list(reader.read(path)) for path in (a, a, b, a)] == [["a"], ["a"], ["b"], ["a"]]
    assert read == [a, b, a]


def test_files_are_read_ahead_in_the_order_in_which_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(run_file, "read_runs", lambda path: read.append(path) or {path.name: None})
    paths = [tmp_path / name for name in "abcdefgh"]
    with RunFileReader() as reader:
        reader.expect(paths[:-1])
        asked = [paths[0], paths[7], paths[1], paths[1], paths[3], paths[2]]
        assert [list(reader.read(path)) for path in asked] == [[path.name] for path in asked]
    # The last one was not expected, and the fourth was asked for before its turn.
    assert set(asked) <= set(read)
    assert read.count(paths[0]) == read.count(paths[1]) == read.count(paths[2]) == read.count(paths[7]) == 1


def test_only_the_documents_that_are_kept_take_memory(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 d1 1 3 t", "q1 Q0 d2 2 2 t", "q1 Q0 d3 3 1 t", "q3 Q0 d4 1 9 t")
    with Context() as context:
        run, contradictions = RunFile(RunFileParameters(path=path.name), ComponentEnvironment(tmp_path)).run(
            "theirs", QUERIES, 2, context
        )
    assert run.docs.values.to_pylist() == ["d1", "d2"]
    assert contradictions == (0, 0)


def test_a_faulty_file_is_reported_when_its_turn_comes(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    good.write_text("q1 Q0 d1 1 2.5 tag\n", encoding="utf-8")
    bad.write_text("q1 Q0 d1 1 high tag\n", encoding="utf-8")
    with RunFileReader() as reader:
        reader.expect([good, bad, good])
        assert list(reader.read(good)) == ["tag"]
        with pytest.raises(InputError, match=r"bad.run:1: score 'high' is not a number"):
            reader.read(bad)
