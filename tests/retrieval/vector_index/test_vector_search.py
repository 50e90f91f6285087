from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.retrieval.base import Hits
from quati_pool.retrieval.vector_index import flat
from quati_pool.retrieval.vector_index import vectors as storage
from quati_pool.retrieval.vector_index.faiss_library import load_faiss
from quati_pool.retrieval.vector_index.vector_search import Precision, VectorError, Vectors, flat_search, pair_scores
from tests.near_ties import assert_ranked
from tests.retrieval.vector_index.test_vectors import PRECISIONS, stored

pytestmark = pytest.mark.neural

DIMENSION = 8


def silent(done: int, total: int) -> None:
    pass


def found(hits: Hits, queries: int) -> list[dict[int, float]]:
    """Scores by ordinal for each query; no passage twice."""
    answers: list[dict[int, float]] = [{} for _ in range(queries)]
    for query, doc, score in zip(*(column.tolist() for column in hits), strict=True):
        assert doc not in answers[query]
        answers[query][doc] = score
    return answers


def require_exact(vectors: Vectors, queries: np.ndarray, hits: Hits, depth: int) -> None:
    """What exact search owes: the oracle is the product in double precision of the vectors as stored."""
    passages = vectors.rows(slice(None)).astype(np.float64)
    truth = queries.astype(np.float64) @ passages.T
    error = 1e-6 * max(1.0, np.linalg.norm(queries, axis=1).max() * np.linalg.norm(passages, axis=1).max())
    _, copies = np.unique(passages, axis=0, return_inverse=True)
    for row, answer in enumerate(found(hits, len(queries))):
        if not queries[row].any():
            assert answer == {}
            continue
        assert len(answer) >= min(depth, len(passages))
        docs = np.array(list(answer))
        scores = np.array(list(answer.values()))
        assert scores == pytest.approx(truth[row, docs], abs=error)
        # Nothing is missing that is better than the last of the best `depth`.
        last = np.sort(truth[row])[::-1][min(depth, len(passages)) - 1]
        assert set(np.flatnonzero(truth[row] > last + 2 * error)) <= set(docs.tolist())
        # Equal vectors: equal scores, and where one of them is in the top, all are there.
        top = np.sort(scores)[::-1][min(depth, len(passages)) - 1]
        for copy in set(copies[docs].tolist()):
            members = np.flatnonzero(copies == copy)
            there = [answer[doc] for doc in members.tolist() if doc in answer]
            assert len(set(there)) == 1
            if there[0] >= top:
                assert len(there) == len(members)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    passages=st.integers(1, 300),
    distinct=st.integers(1, 40),
    queries=st.integers(1, 45),
    depth=st.integers(1, 120),
    dimension=st.sampled_from([1, 3, 8, 31, 64]),
    kind=st.sampled_from(["normal", "whole", "positive", "constant"]),
    precision=st.sampled_from(PRECISIONS),
    block=st.sampled_from([7, 64, 1000]),
)
def test_exact_with_copies_and_ties_at_the_cut_off(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    passages: int,
    distinct: int,
    queries: int,
    depth: int,
    dimension: int,
    kind: str,
    precision: Precision,
    block: int,
) -> None:
    random = np.random.default_rng(seed)
    make = {
        "normal": lambda rows: random.standard_normal((rows, dimension)),
        "whole": lambda rows: random.integers(-2, 3, (rows, dimension)),
        "positive": lambda rows: random.random((rows, dimension)),
        "constant": lambda rows: np.repeat(random.random((rows, 1)), dimension, axis=1),
    }[kind]
    copies = make(distinct).astype(np.float32)
    asked = make(queries).astype(np.float32)
    vectors = stored(tmp_path_factory.mktemp("v"), copies[random.integers(0, distinct, passages)], precision, shard=50)
    with pytest.MonkeyPatch.context() as patch:
        size = block * 4 * dimension
        patch.setattr(storage, "_MAPPED_BLOCK", size)
        patch.setattr(storage, "_DECODED_BLOCK", size)
        hits = flat_search(vectors, asked, depth, silent)
    require_exact(vectors, asked, hits, depth)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_scores_and_rankings_are_those_of_numpy(tmp_path: Path, precision: Precision) -> None:
    random = np.random.default_rng(3)
    vectors = stored(tmp_path, random.standard_normal((3000, 48)).astype(np.float32), precision, shard=999)
    queries = random.standard_normal((60, 48)).astype(np.float32)
    truth = queries.astype(np.float64) @ vectors.rows(slice(None)).astype(np.float64).T
    for row, answer in enumerate(found(flat_search(vectors, queries, 50, silent), 60)):
        best = sorted(answer, key=lambda doc: -answer[doc])[:50]
        near = np.argsort(-truth[row])[:100]
        # Single precision is off by up to 1e-5 here, by how much depends on the processor.
        assert_ranked(best, dict(zip(near.tolist(), truth[row, near].tolist(), strict=True)), 2e-5, depth=50)


@pytest.mark.parametrize("queries", [1, 19, 20, 64])
def test_copies_of_one_vector_all_come_with_one_score(tmp_path: Path, queries: int) -> None:
    # 384 components and thousands of rows, where the products of matrices differ in the last bits.
    random = np.random.default_rng(1)
    base = random.random((3, 384)).astype(np.float32)
    passages = base[np.arange(4999) % 3]
    vectors = stored(tmp_path, passages, shard=5000)
    asked = random.random((queries, 384)).astype(np.float32)
    for answer in found(flat_search(vectors, asked, 10, silent), queries):
        assert len(set(answer.values())) == 1
        kind = next(iter(answer)) % 3
        assert sorted(answer) == list(range(kind, 4999, 3))


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    from threadpoolctl import threadpool_limits

    random = np.random.default_rng(2)
    passages = random.random((4000, 100)).astype(np.float32)
    # Pairs of passages that differ in one last bit.
    passages[1::2] = passages[::2]
    passages[1::2, 7] = np.nextafter(passages[1::2, 7], np.float32(2))
    vectors = stored(tmp_path, passages, shard=4000)
    queries = random.random((37, 100)).astype(np.float32)
    rankings = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            hits = flat_search(vectors, queries, 30, silent)
        rankings.append([sorted(answer, key=lambda doc: (-answer[doc], doc))[:30] for answer in found(hits, 37)])
    assert rankings[0] == rankings[1]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_last_bits_of_the_products_of_matrices_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    random = np.random.default_rng(8)
    passages = random.random((4000, 64)).astype(np.float32)
    passages[1::2] = passages[::2]
    vectors = stored(tmp_path, passages, precision, shard=4000)
    queries = random.random((50, 64)).astype(np.float32)
    rankings = [search_with_noise(vectors, queries, monkeypatch, noise) for noise in (0, 1, 2)]
    assert rankings[0] == rankings[1] == rankings[2]


def search_with_noise(
    vectors: Vectors, queries: np.ndarray, monkeypatch: pytest.MonkeyPatch, noise: int
) -> list[list[int]]:
    """The best 31 of each query, with products as another BLAS might give them: a few last bits off."""
    faiss = load_faiss()
    random = np.random.default_rng(noise)

    def knn(asked: np.ndarray, passages: np.ndarray, depth: int, metric: int) -> tuple[np.ndarray, np.ndarray]:
        score, doc = found_by_faiss(asked, passages, depth, metric=metric)
        score *= 1 + 2.0**-23 * random.integers(-noise, noise + 1, score.shape).astype(np.float32)
        order = np.argsort(-score, axis=1, kind="stable")
        return np.take_along_axis(score, order, 1), np.take_along_axis(doc, order, 1)

    with monkeypatch.context() as patch:
        found_by_faiss = faiss.knn
        patch.setattr(faiss, "knn", knn)
        answers = found(flat_search(vectors, queries, 31, silent), len(queries))
    for answer in answers:
        for doc, score in answer.items():
            # Every passage lies there twice.
            assert answer.get(doc ^ 1, score) == score
    return [sorted(answer, key=lambda doc: (-answer[doc], doc))[:31] for answer in answers]


def test_many_queries_are_searched_some_at_a_time_with_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    vectors = stored(tmp_path, random.standard_normal((200, DIMENSION)).astype(np.float32))
    queries = random.standard_normal((50, DIMENSION)).astype(np.float32)
    queries[7] = 0
    whole = found(flat_search(vectors, queries, 5, silent), 50)
    monkeypatch.setattr(flat, "_FOUND_BYTES", 24 * (5 + 16) * 3)
    calls: list[tuple[int, int]] = []
    parts = found(flat_search(vectors, queries, 5, lambda done, total: calls.append((done, total))), 50)
    for one, other in zip(whole, parts, strict=True):
        best, as_before = (sorted(answer, key=lambda doc: -answer[doc])[:5] for answer in (one, other))
        assert best == as_before
    assert calls == sorted(calls)
    assert calls[-1] == (49, 49)


def test_depth_beyond_the_corpus_returns_every_passage(tmp_path: Path) -> None:
    vectors = stored(tmp_path, np.eye(3, dtype=np.float32))
    answer = found(flat_search(vectors, np.array([[1, -2, 0]], dtype=np.float32), 1000, silent), 1)
    assert answer == [{0: 1.0, 1: -2.0, 2: 0.0}]


def test_zero_vectors_tie_at_zero_and_a_zero_query_finds_nothing(tmp_path: Path) -> None:
    passages = np.zeros((40, 2), dtype=np.float32)
    passages[3] = [-1, 0]
    vectors = stored(tmp_path, passages)
    queries = np.array([[0, 0], [1, 0]], dtype=np.float32)
    answers = found(flat_search(vectors, queries, 2, silent), 2)
    assert answers == [{}, {doc: 0.0 for doc in range(40) if doc != 3}]


def test_no_queries_find_nothing(tmp_path: Path) -> None:
    vectors = stored(tmp_path, np.eye(3, dtype=np.float32))
    assert [len(column) for column in flat_search(vectors, np.empty((0, 3), dtype=np.float32), 5, silent)] == [0] * 3


@pytest.mark.parametrize("precision", PRECISIONS)
def test_pair_scores_do_not_depend_on_their_company(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    random = np.random.default_rng(5)
    vectors = stored(tmp_path, random.standard_normal((90, 33)).astype(np.float32), precision)
    queries = random.standard_normal((7, 33)).astype(np.float32)
    rows, docs = random.integers(0, 7, 500), random.integers(0, 90, 500)
    scores = pair_scores(vectors, queries, rows, docs, silent)
    truth = np.einsum("ij,ij->i", queries[rows].astype(np.float64), vectors.rows(docs).astype(np.float64))
    assert scores == pytest.approx(truth, abs=1e-5)
    assert scores.dtype == np.float32
    monkeypatch.setattr(flat, "_PAIRS_BYTES", 4 * 33 * 13)
    order = random.permutation(500)[:200]
    assert np.array_equal(pair_scores(vectors, queries, rows[order], docs[order], silent), scores[order])
    assert len(pair_scores(vectors, queries, rows[:0], docs[:0], silent)) == 0


def test_flat_scores_equal_pair_scores(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    vectors = stored(tmp_path, random.standard_normal((500, 33)).astype(np.float32), shard=500)
    queries = random.standard_normal((30, 33)).astype(np.float32)
    hits = flat_search(vectors, queries, 20, silent)
    assert hits.score == pytest.approx(pair_scores(vectors, queries, hits.query, hits.doc, silent), abs=1e-5)


def test_vectors_of_another_dimension_are_refused(tmp_path: Path) -> None:
    vectors = stored(tmp_path, np.eye(3, dtype=np.float32))
    with pytest.raises(
        VectorError, match=r"^the queries' vectors have 4 dimensions and the passages' 3: encode both with the same "
    ):
        flat_search(vectors, np.ones((1, 4), dtype=np.float32), 5, silent)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_query_that_is_not_finite_is_refused(tmp_path: Path, bad: float) -> None:
    vectors = stored(tmp_path, np.eye(3, dtype=np.float32))
    queries = np.ones((3, 3), dtype=np.float32)
    queries[1, 2] = bad
    with pytest.raises(VectorError, match=r"^the vector of query 2 of 3 is not finite: "):
        flat_search(vectors, queries, 5, silent)


def test_products_beyond_single_precision_are_refused(tmp_path: Path) -> None:
    vectors = stored(tmp_path, np.full((2, 3), 1e30, dtype=np.float32))
    with pytest.raises(VectorError, match=r"^the vectors are too long for their products .*: normalize them$"):
        flat_search(vectors, np.full((1, 3), 1e30, dtype=np.float32), 5, silent)
