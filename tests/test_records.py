"""Runs rank as trec_eval does: pytrec_eval and a brute-force sort are the judges."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import AWKWARD, any_id, expected_order, listed, query_ids, ranked, rows, scores

from quati_pool.files.runs import read_run, write_run
from quati_pool.records import Ids, Run, align, code_ids, id_problem
from quati_pool.retrieval.fusion import CombMnz, CombParameters, CombSum, Fusion, Rrf, RrfParameters

depths = st.integers(1, 12)
grades = st.dictionaries(st.sampled_from(AWKWARD) | any_id, st.integers(0, 3), min_size=1, max_size=25)
qrels = st.dictionaries(query_ids, grades | st.just({"a": 0, "9": 0}), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def ndcg_by_rank(ranked_grades: dict[int, int], judged: list[int]) -> float:
    """nDCG@10 from grades by rank: gain is the grade, discount log2(rank + 1), ideal from all judged."""
    gain = sum(grade / math.log2(rank + 1) for rank, grade in ranked_grades.items() if rank <= 10)
    ideal = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(judged, reverse=True)[:10], 1))
    return gain / ideal if ideal else 0.0


def check_written(run: Run, qrels: dict[str, dict[str, int]], folder: Path) -> None:
    """Writes a run; pytrec_eval's nDCG@10 of it must follow from its rank column."""
    path = folder / "run.trec.gz"
    write_run(run, path)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert len(lines) == len(run)
    by_hand: dict[str, dict[int, int]] = {}
    for line in lines:
        query_id, _, doc_id, rank, _, _ = line.split()
        graded = by_hand.setdefault(query_id, {})
        assert int(rank) == len(graded) + 1
        graded[int(rank)] = qrels.get(query_id, {}).get(doc_id, 0)
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        parsed = pytrec_eval.parse_run(file)
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(parsed)
    assert measured.keys() == qrels.keys() & by_hand.keys()
    for query_id, found in measured.items():
        judged = list(qrels[query_id].values())
        assert found["ndcg_cut_10"] == pytest.approx(ndcg_by_rank(by_hand[query_id], judged), abs=1e-9)


@settings(max_examples=100)
@given(rows(max_size=60), qrels, depths)
def test_a_written_run_evaluates_to_what_its_ranks_say(
    folder: Path, scored: dict[tuple[str, str], float], qrels: dict[str, dict[str, int]], depth: int
) -> None:
    run = ranked("system", scored)
    check_written(run, qrels, folder)
    check_written(run.head(depth), qrels, folder)
    check_written(ranked("system", scored, depth), qrels, folder)


@given(rows(max_size=40), qrels, depths, st.data())
def test_a_reranked_run_evaluates_to_what_its_ranks_say(
    folder: Path,
    scored: dict[tuple[str, str], float],
    qrels: dict[str, dict[str, int]],
    depth: int,
    data: st.DataObject,
) -> None:
    first = ranked("first", scored).head(depth)
    again = data.draw(st.lists(scores, min_size=len(first), max_size=len(first)))
    reranked = Run.ranked("second", first.queries, first.docs, first.query, first.doc, np.array(again), depth)
    check_written(reranked, qrels, folder)


FUSIONS = [
    Rrf(RrfParameters()),
    Rrf(RrfParameters(k=0, weights=[1.0, 1e-9])),
    *(kind(CombParameters(normalization=how)) for kind in (CombSum, CombMnz) for how in ("min-max", "z-score", "sum")),
]


@given(rows(), rows(), qrels, depths, st.sampled_from(FUSIONS))
def test_a_fused_run_evaluates_to_what_its_ranks_say(
    folder: Path,
    one: dict[tuple[str, str], float],
    other: dict[tuple[str, str], float],
    qrels: dict[str, dict[str, int]],
    depth: int,
    fusion: Fusion,
) -> None:
    check_written(fusion.fuse("fused", [ranked("a", one), ranked("b", other)], depth), qrels, folder)


@given(rows(max_size=40), st.none() | depths)
def test_ranking_equals_a_plain_sort(scored: dict[tuple[str, str], float], depth: int | None) -> None:
    assert listed(ranked("s", scored, depth)) == expected_order(scored, depth)


@given(rows(max_size=40), depths)
def test_the_order_of_the_input_does_not_matter(scored: dict[tuple[str, str], float], depth: int) -> None:
    best_first = dict(sorted(scored.items(), key=lambda item: (item[0][0], -item[1])))
    worst_first = dict(sorted(scored.items(), key=lambda item: (item[0][0], item[1])))
    assert listed(ranked("s", best_first, depth)) == listed(ranked("s", worst_first, depth))


@given(rows(max_size=40), depths)
def test_head_equals_ranking_to_that_depth(scored: dict[tuple[str, str], float], depth: int) -> None:
    assert listed(ranked("s", scored).head(depth)) == listed(ranked("s", scored, depth))


@given(rows(max_size=40))
def test_a_written_run_reads_back_the_same(folder: Path, scored: dict[tuple[str, str], float]) -> None:
    if not scored:
        return
    run = ranked("system", scored)
    path = folder / "again.trec"
    write_run(run, path)
    assert listed(read_run(path)) == listed(run)


def test_a_tie_is_cut_by_doc_id_descending() -> None:
    # As strings 9 > 10 > 1, and in bytes a > B.
    run = ranked("s", {("q", doc_id): 1.0 for doc_id in ("1", "10", "9", "B", "a")}, depth=3)
    assert [doc_id for doc_id, _ in listed(run)["q"]] == ["a", "B", "9"]


def test_utf8_order_is_not_utf16_order() -> None:
    # U+FF5E is EF BD 9E in UTF-8 and 😀 F0 9F 98 80; in UTF-16 they are FF5E and D83D DE00.
    run = ranked("s", {("q", "\uff5e"): 1.0, ("q", "\U0001f600"): 1.0})
    assert [doc_id for doc_id, _ in listed(run)["q"]] == ["\U0001f600", "\uff5e"]


def test_minus_zero_is_written_as_zero(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    write_run(ranked("s", {("q", "a"): -0.0, ("q", "b"): 0.0, ("q", "c"): -1e-50}), path)
    assert path.read_text().splitlines() == ["q Q0 c 1 0 s", "q Q0 b 2 0 s", "q Q0 a 3 0 s"]


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match="system: a score is NaN or infinite as float32"):
        ranked("system", {("q", "d"): score})


def test_a_run_without_rows() -> None:
    run = ranked("s", {}, depth=10)
    assert len(run) == len(run.head(3)) == 0
    assert run.to_frame().columns.tolist() == ["query_id", "doc_id", "rank", "score"]


@given(st.lists(rows(), min_size=1, max_size=4))
def test_align_keeps_every_ranking(many: list[dict[tuple[str, str], float]]) -> None:
    before = [ranked(f"s{i}", scored) for i, scored in enumerate(many)]
    after = align(before)
    assert [run.run_tag for run in after] == [run.run_tag for run in before]
    assert [listed(run) for run in after] == [listed(run) for run in before]
    assert all(run.queries is after[0].queries and run.docs is after[0].docs for run in after)


def test_align_leaves_runs_of_one_vocabulary_alone() -> None:
    run = ranked("s", {("q", "d"): 1.0})
    other = Run.ranked("t", run.queries, run.docs, run.query, run.doc, run.score)
    assert align([run, other]) == [run, other]


@given(rows(), st.randoms(use_true_random=False))
def test_over_other_vocabularies_keeps_the_ranking(scored: dict[tuple[str, str], float], chance: object) -> None:
    run = ranked("s", scored)
    queries, docs = ["none", *{query for query, _ in scored}], ["none", *{doc for _, doc in scored}]
    chance.shuffle(queries)  # type: ignore[attr-defined]
    chance.shuffle(docs)  # type: ignore[attr-defined]
    moved = run.over(Ids(queries), Ids(docs))
    assert listed(moved) == listed(run)
    assert moved.queries.values.to_pylist() == queries
    assert moved.query.tolist() == sorted(moved.query.tolist())


@given(rows(max_size=40), st.randoms(use_true_random=False))
def test_a_frame_and_back(scored: dict[tuple[str, str], float], chance: object) -> None:
    pairs = list(scored.items())
    chance.shuffle(pairs)  # type: ignore[attr-defined]
    frame = pd.DataFrame(
        {
            "query_id": pd.Series([query for (query, _), _ in pairs], dtype=str),
            "doc_id": pd.Series([doc for (_, doc), _ in pairs], dtype=str),
            "rank": range(len(pairs), 0, -1),  # wrong, and not used
            "score": pd.Series([score for _, score in pairs], dtype=np.float64),
        }
    )
    assert listed(Run.from_frame("s", frame)) == expected_order(scored)


def test_a_frame_with_a_pair_twice_is_refused() -> None:
    frame = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "d"], "score": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"mine: a \(query_id, doc_id\) occurs twice"):
        Run.from_frame("mine", frame)


@given(st.lists(any_id, unique=True), st.lists(any_id))
def test_ids_encode_and_decode(vocabulary: list[str], asked: list[str]) -> None:
    asked = [*asked, *vocabulary]
    codes = Ids(vocabulary).encode(asked)
    assert codes.tolist() == [vocabulary.index(word) if word in vocabulary else -1 for word in asked]
    known = codes[codes >= 0]
    assert Ids(vocabulary).decode(known).to_pylist() == [vocabulary[code] for code in known]


@given(st.lists(any_id, unique=True, min_size=1), st.data())
def test_places_are_the_byte_order(vocabulary: list[str], data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, len(vocabulary) - 1)))
    order = sorted({vocabulary[code].encode() for code in codes})
    expected = [order.index(vocabulary[code].encode()) for code in codes]
    assert Ids(vocabulary).lexicographic_rank(np.array(codes, dtype=np.int64)).tolist() == expected


@given(st.lists(st.lists(st.lists(any_id, max_size=4), max_size=3), min_size=1, max_size=3))
def test_code_ids_numbers_by_first_appearance(columns: list[list[list[str]]]) -> None:
    # Columns of several chunks, some of them empty.
    arrays = [pa.chunked_array(chunks, type=pa.string()) for chunks in columns]
    ids, codes = code_ids(arrays)
    whole = [[value for chunk in chunks for value in chunk] for chunks in columns]
    order = list(dict.fromkeys(value for values in whole for value in values))
    assert ids.values.to_pylist() == order
    assert [column.tolist() for column in codes] == [[order.index(value) for value in values] for values in whole]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "is empty"),
        ("a b", "holds white space (U+0020)"),
        ("a\u00a0b", "holds white space (U+00A0)"),
        ("a\u3000", "holds white space (U+3000)"),
        ("a\n", "holds white space (U+000A)"),
        ("\x00", "holds the character U+0000, which no id may hold"),
        ("a\x7f", "holds the character U+007F, which no id may hold"),
        ("\ufeffa", "holds the character U+FEFF, which no id may hold"),
        ("a\ud800", "holds the character U+D800, which no id may hold"),
    ],
)
def test_what_cannot_be_an_id(value: str, problem: str) -> None:
    assert id_problem(value) == problem


@pytest.mark.parametrize("value", [*AWKWARD, "007", "#", "a|b", "<img>", "\\", "'", '"'])
def test_what_can_be_an_id(value: str) -> None:
    assert id_problem(value) is None
