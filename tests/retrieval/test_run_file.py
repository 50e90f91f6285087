"""Runs made elsewhere, as systems of a collection."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from small_stores import by_query, store

from quati_pool.corpus.store import CorpusStore
from quati_pool.errors import InputError
from quati_pool.records import Ids, Query, Run
from quati_pool.retrieval.base import ComponentEnvironment, Context
from quati_pool.retrieval.run_file import RunFile, RunFileParameters

QUERIES = [Query("q2", "second"), Query("q1", "first")]


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusStore:
    return store(tmp_path / "store", ["x"] * 4, ["10", "9", "b", "B"])


def searched(
    corpus: CorpusStore, path: Path, depth: int = 10, notes: list[str] | None = None
) -> list[dict[int, float]]:
    context = Context(note=(notes if notes is not None else []).append)
    retriever = RunFile(RunFileParameters(path=path.name), ComponentEnvironment(path.parent))
    assert retriever.index_key() is None
    assert retriever.inputs() == [path.name]
    return by_query(retriever.search(corpus, path.parent, QUERIES, depth, context), len(QUERIES))


def written(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "theirs.run"
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def test_scores_and_pairs_are_the_files(corpus: CorpusStore, tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 9 1 -1.5 x", "q2 Q0 B 1 2e3 x", "q1 Q0 10 2 -2 x")
    # q2 is the first query asked; 10, 9, b, B are ordinals 0 to 3.
    assert searched(corpus, path) == [{3: 2000.0}, {1: -1.5, 0: -2.0}]


def test_a_packed_file(corpus: CorpusStore, tmp_path: Path) -> None:
    path = tmp_path / "theirs.trec.gz"
    path.write_bytes(gzip.compress(b"q1 Q0 b 1 3 x\n"))
    assert searched(corpus, path) == [{}, {2: 3.0}]


def test_depth_cuts_by_score_then_doc_id_whatever_the_ranks_say(corpus: CorpusStore, tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 10 1 1 x", "q1 Q0 9 2 1 x", "q1 Q0 B 3 1 x", "q1 Q0 b 4 1 x", "q2 Q0 9 1 5 x")
    # Descending in bytes: b, B, 9, 10.
    assert searched(corpus, path, depth=1) == [{1: 5.0}, {2: 1.0}]
    assert searched(corpus, path, depth=3) == [{1: 5.0}, {2: 1.0, 3: 1.0, 1: 1.0}]


def test_ranks_follow_trec_eval(corpus: CorpusStore, tmp_path: Path) -> None:
    path = written(tmp_path, "q1 Q0 10 1 1 x", "q1 Q0 9 2 1.00000001 x", "q1 Q0 B 3 1 x")
    retriever = RunFile(RunFileParameters(path=path.name), ComponentEnvironment(tmp_path))
    hits = retriever.search(corpus, tmp_path, QUERIES, 9, Context())
    run = Run.ranked("theirs", Ids(["q2", "q1"]), corpus.ids, *hits)
    # 1.00000001 is 1 in float32: a tie of three, by doc_id descending.
    assert corpus.ids.decode(run.doc).to_pylist() == ["B", "9", "10"]


def test_foreign_queries_are_left_out_and_noted(corpus: CorpusStore, tmp_path: Path) -> None:
    path = written(tmp_path, "other Q0 zzz 1 1 x", "q1 Q0 9 1 1 x", "Q1 Q0 9 1 1 x", "other Q0 9 2 0 x")
    notes: list[str] = []
    assert searched(corpus, path, notes=notes) == [{}, {1: 1.0}]
    assert notes == [f"{path}: 2 queries are not of this collection and are left out"]


def test_no_note_where_all_queries_are_ours(corpus: CorpusStore, tmp_path: Path) -> None:
    notes: list[str] = []
    searched(corpus, written(tmp_path, "q1 Q0 9 1 1 x"), notes=notes)
    assert notes == []


def test_an_unknown_doc_id_names_its_line(corpus: CorpusStore, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# made elsewhere",
        "other Q0 d7 1 9 x",
        "q1 Q0 9 1 8 x",
        "",
        "q1 Q0 d7 2 7 x",
        "q2 Q0 d8 1 6 x",
    )
    with pytest.raises(InputError) as caught:
        searched(corpus, path)
    assert str(caught.value) == (
        f"{path}:5: doc_id 'd7' is not in the corpus (2 such rows); "
        "name the corpus the run was made from, or drop these rows"
    )


def test_a_file_that_is_not_there(corpus: CorpusStore, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        searched(corpus, tmp_path / "none.run")


def test_only_foreign_queries_give_an_empty_run(corpus: CorpusStore, tmp_path: Path) -> None:
    assert searched(corpus, written(tmp_path, "other Q0 9 1 1 x")) == [{}, {}]
