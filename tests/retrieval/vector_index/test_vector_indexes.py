from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from quati_pool.retrieval.base import Hits
from quati_pool.retrieval.vector_index import ann, index_parameters
from quati_pool.retrieval.vector_index.faiss_library import load_faiss
from quati_pool.retrieval.vector_index.vector_search import (
    IndexParameters,
    Precision,
    VectorError,
    Vectors,
    build_index,
    flat_search,
    index_bytes,
    index_key,
    pair_scores,
    search_index,
    search_key,
)
from tests.retrieval.vector_index.test_vectors import PRECISIONS, stored

pytestmark = pytest.mark.neural

KINDS = ["hnsw", "ivf-pq"]


def silent(done: int, total: int) -> None:
    pass


def clustered(passages: int, centres: int, dimension: int, queries: int, seed: int = 0, unit: bool = True) -> Any:
    """Passages and queries around the same random centres, noise 0.1 a component."""
    random = np.random.default_rng(seed)
    middle = random.standard_normal((centres, dimension))

    def drawn(rows: int) -> np.ndarray:
        vectors = middle[random.integers(0, centres, rows)] + 0.1 * random.standard_normal((rows, dimension))
        if unit:
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    return drawn(passages), drawn(queries)


def built(folder: Path, vectors: Vectors, parameters: IndexParameters, seed: int = 0) -> Path:
    folder.mkdir(parents=True)
    build_index(vectors, folder, parameters, seed, silent)
    return folder


def top(hits: Hits, queries: int, depth: int) -> list[list[int]]:
    """The best ordinals of each query; ties by ordinal."""
    order = np.lexsort((hits.doc, -hits.score, hits.query))
    query, doc = hits.query[order], hits.doc[order]
    return [doc[query == row][:depth].tolist() for row in range(queries)]


def recall(found: list[list[int]], exact: list[list[int]]) -> float:
    return float(np.mean([len(set(one) & set(other)) / len(other) for one, other in zip(found, exact, strict=True)]))


@pytest.mark.parametrize("kind", KINDS)
def test_recall_at_100_of_100k_clustered_vectors_is_at_least_095_at_the_defaults(tmp_path: Path, kind: Any) -> None:
    require_recall(tmp_path, kind, *clustered(100_000, 1000, 32, 200))


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_whose_lengths_differ_are_found_as_well(tmp_path: Path, kind: Any) -> None:
    require_recall(tmp_path, kind, *clustered(10_000, 100, 32, 200, unit=False))


# Compressed, vectors of one cluster are hard to tell apart: 8 · 150 passages are 12 vectors.
@pytest.mark.parametrize(("kind", "centres"), [("hnsw", 2), ("ivf-pq", 20)])
def test_passages_that_occur_a_hundred_times_do_not_hide_others(tmp_path: Path, kind: Any, centres: int) -> None:
    """A graph of the copies themselves finds nothing at all for some of these queries: recall is 0.84. Copies come
    together: the second vector's are cut by the depth."""
    passages, queries = clustered(200, centres, 32, 100)
    vectors = stored(tmp_path / "vectors", np.tile(passages, (100, 1)), shard=50_000)
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", vectors, parameters)
    exact = flat_search(vectors, queries, 150, silent)
    found = search_index(vectors, index, queries, 150, parameters, silent)
    assert all(np.bincount(hits.query).min() >= 200 for hits in (exact, found))
    assert recall(top(found, 100, 200), top(exact, 100, 200)) >= 0.95


def require_recall(tmp_path: Path, kind: Any, passages: np.ndarray, queries: np.ndarray) -> None:
    vectors = stored(tmp_path / "vectors", passages, shard=50_000)
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", vectors, parameters)
    exact = top(flat_search(vectors, queries, 100, silent), 200, 100)
    found = top(search_index(vectors, index, queries, 100, parameters, silent), 200, 100)
    assert recall(found, exact) >= 0.95


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_exact_and_most_of_the_best_are_found(tmp_path: Path, kind: Any, precision: Precision) -> None:
    passages, queries = clustered(3000, 30, 24, 40)
    vectors = stored(tmp_path / "vectors", passages, precision, shard=1000)
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", vectors, parameters)
    hits = search_index(vectors, index, queries, 20, parameters, silent)
    assert np.array_equal(hits.score, pair_scores(vectors, queries, hits.query, hits.doc, silent))
    assert len(set(zip(hits.query.tolist(), hits.doc.tolist(), strict=True))) == len(hits.query)
    assert recall(top(hits, 40, 20), top(flat_search(vectors, queries, 20, silent), 40, 20)) >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_built_again_with_the_same_seed_it_finds_the_same_and_with_another_seed_it_is_another(
    tmp_path: Path, kind: Any
) -> None:
    passages, queries = clustered(2000, 200, 16, 30)
    vectors = stored(tmp_path / "vectors", passages, shard=2000)
    parameters = IndexParameters(index=kind)
    one, same, other = (
        built(tmp_path / name, vectors, parameters, seed) for name, seed in (("1", 7), ("2", 7), ("3", 2**63 + 8))
    )
    hits = [search_index(vectors, index, queries, 20, parameters, silent) for index in (one, same)]
    for first, second in zip(*hits, strict=True):
        assert np.array_equal(first, second)
    assert (one / "index.faiss").read_bytes() == (same / "index.faiss").read_bytes()
    assert (one / "index.faiss").read_bytes() != (other / "index.faiss").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_nothing(tmp_path: Path, kind: Any) -> None:
    from threadpoolctl import threadpool_limits

    passages, queries = clustered(2000, 200, 16, 30)
    vectors = stored(tmp_path / "vectors", passages, shard=2000)
    parameters = IndexParameters(index=kind, overfetch=1)
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            index = built(tmp_path / str(threads), vectors, parameters)
            hits = search_index(vectors, index, queries, 20, parameters, silent)
        answers.append((index.joinpath("index.faiss").read_bytes(), top(hits, 30, 20), hits.score.tolist()))
    assert answers[0] == answers[1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_an_error_of_the_disk(tmp_path: Path) -> None:
    vectors = stored(tmp_path / "vectors", clustered(2000, 10, 8, 1)[0], shard=2000)
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "index.faiss").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*index\.faiss'$"):
        build_index(vectors, tmp_path / "index", IndexParameters(index="hnsw"), 0, silent)


def test_hnsw_has_the_links_asked_for(tmp_path: Path) -> None:
    vectors = stored(tmp_path / "vectors", clustered(500, 10, 8, 1)[0], shard=500)
    index = built(tmp_path / "index", vectors, IndexParameters(index="hnsw", hnsw_m=5, ef_construction=17))
    read = load_faiss().read_index(str(index / "index.faiss"))
    assert read.hnsw.nb_neighbors(0) == 10
    assert read.hnsw.nb_neighbors(1) == 5
    assert read.hnsw.efConstruction == 17


def test_ivf_pq_has_the_lists_and_bytes_asked_for(tmp_path: Path) -> None:
    vectors = stored(tmp_path / "vectors", clustered(500, 10, 12, 1)[0], shard=500)
    parameters = IndexParameters(index="ivf-pq", lists=9, pq_bytes=5, train_sample=300)
    read = load_faiss().read_index(str(built(tmp_path / "index", vectors, parameters) / "index.faiss"))
    # 5 does not divide 12; 6 does.
    assert (read.nlist, read.pq.M, read.ntotal) == (9, 6, 500)


def test_ivf_pq_is_trained_on_the_sample_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = stored(tmp_path / "vectors", clustered(500, 10, 12, 1)[0], shard=500)
    faiss = load_faiss()
    samples = []
    train = faiss.IndexIVFPQ.train

    def spied(index: Any, rows: np.ndarray) -> None:
        samples.append(rows.copy())
        train(index, rows)

    monkeypatch.setattr(faiss.IndexIVFPQ, "train", spied)
    for name, seed in (("1", 1), ("2", 1), ("3", 2)):
        built(tmp_path / name, vectors, IndexParameters(index="ivf-pq", lists=4, train_sample=60), seed)
    one, same, other = samples
    assert one.shape == (60, 12)
    assert len(np.unique(one, axis=0)) == 60
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_more_probes_and_more_candidates_find_more(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    vectors = stored(tmp_path / "vectors", random.standard_normal((3000, 16)).astype(np.float32), shard=3000)
    queries = random.standard_normal((30, 16)).astype(np.float32)
    built_with = IndexParameters(index="ivf-pq", lists=50, pq_bytes=4)
    index = built(tmp_path / "index", vectors, built_with)
    exact = top(flat_search(vectors, queries, 10, silent), 30, 10)
    recalls = [
        recall(top(search_index(vectors, index, queries, 10, parameters, silent), 30, 10), exact)
        for parameters in (
            built_with.model_copy(update={"probes": 1, "overfetch": 1}),
            built_with.model_copy(update={"probes": 50, "overfetch": 1}),
            built_with.model_copy(update={"probes": 50, "overfetch": 300}),
        )
    ]
    assert recalls == sorted(recalls)
    # All lists and all passages as candidates: exact.
    assert recalls[0] < recalls[1] < recalls[2] == 1


@pytest.mark.parametrize("passages", [1, 2, 3, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_a_corpus_smaller_than_the_lists_asked_for_is_searched_whole(
    tmp_path: Path, kind: Any, passages: int, capfd: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng(0)
    vectors = stored(tmp_path / "vectors", random.standard_normal((passages, 7)).astype(np.float32), shard=50)
    more = {"lists": 64, "pq_bytes": 2} if kind == "ivf-pq" else {}
    parameters = IndexParameters(index=kind, **more)
    index = built(tmp_path / "index", vectors, parameters)
    queries = random.standard_normal((3, 7)).astype(np.float32)
    found = top(search_index(vectors, index, queries, 1000, parameters, silent), 3, 1000)
    assert found == top(flat_search(vectors, queries, 1000, silent), 3, 1000)
    assert [len(docs) for docs in found] == [passages] * 3
    # faiss warns of small samples.
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_copies_and_zero_vectors_score_equal_and_zero_queries_find_nothing(tmp_path: Path, kind: Any) -> None:
    random = np.random.default_rng(0)
    base = random.random((5, 16)).astype(np.float32)
    base[4] = 0
    vectors = stored(tmp_path / "vectors", base[np.arange(100) % 5], shard=50)
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", vectors, parameters)
    queries = np.concatenate([np.zeros((1, 16)), random.random((2, 16)), np.zeros((1, 16))]).astype(np.float32)
    hits = search_index(vectors, index, queries, 30, parameters, silent)
    assert set(hits.query.tolist()) == {1, 2}
    for row in (1, 2):
        of = hits.query == row
        assert of.sum() >= 30
        for kind_of_vector in range(5):
            assert len(set(hits.score[of & (hits.doc % 5 == kind_of_vector)].tolist())) <= 1


@pytest.mark.parametrize("kind", ["flat", *KINDS])
def test_no_queries_find_nothing_and_progress_ends_at_the_total(tmp_path: Path, kind: Any) -> None:
    passages, queries = clustered(300, 10, 8, 40)
    vectors = stored(tmp_path / "vectors", passages, shard=300)
    parameters = IndexParameters(index=kind)
    calls: list[tuple[int, int]] = []
    index = tmp_path / "index"
    index.mkdir()
    build_index(vectors, index, parameters, 0, lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1:] == ([] if kind == "flat" else [(300, 300)])
    calls.clear()
    search_index(vectors, index, queries, 5, parameters, lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1] == (40, 40)
    assert [len(column) for column in search_index(vectors, index, queries[:0], 5, parameters, silent)] == [0] * 3


def test_flat_keeps_no_index(tmp_path: Path) -> None:
    vectors = stored(tmp_path / "vectors", np.eye(3, dtype=np.float32))
    assert list(built(tmp_path / "index", vectors, IndexParameters()).iterdir()) == []
    hits = search_index(vectors, tmp_path / "nowhere", np.eye(3, dtype=np.float32), 1, IndexParameters(), silent)
    assert top(hits, 3, 1) == [[0], [1], [2]]


@pytest.mark.parametrize("kind", KINDS)
def test_queries_of_another_dimension_are_refused(tmp_path: Path, kind: Any) -> None:
    vectors = stored(tmp_path / "vectors", clustered(50, 5, 8, 1)[0])
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", vectors, parameters)
    with pytest.raises(VectorError, match=r"^the queries' vectors have 6 dimensions and the passages' 8: encode both "):
        search_index(vectors, index, np.ones((1, 6), dtype=np.float32), 5, parameters, silent)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_of_other_vectors_is_refused(tmp_path: Path, kind: Any) -> None:
    wide, long = (stored(tmp_path / name, np.ones(shape, np.float32)) for name, shape in (("w", (9, 6)), ("l", (8, 4))))
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", stored(tmp_path / "v", np.ones((9, 4), np.float32)), parameters)
    with pytest.raises(VectorError, match=r"is of 4 dimensions and the passages' vectors of 6: delete the folder .*n$"):
        search_index(wide, index, np.ones((1, 6), dtype=np.float32), 5, parameters, silent)
    with pytest.raises(VectorError, match=r"is of 9 passages, but there are 8: delete the folder .* again$"):
        search_index(long, index, np.ones((1, 4), dtype=np.float32), 5, parameters, silent)


@pytest.mark.parametrize("damage", ["cut", "empty", "absent", "garbage", "other kind", "copies cut", "copies absent"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_index_is_refused_in_one_line(tmp_path: Path, kind: Any, damage: str) -> None:
    vectors = stored(tmp_path / "vectors", clustered(200, 5, 8, 1)[0], shard=200)
    parameters = IndexParameters(index=kind)
    index = built(tmp_path / "index", vectors, parameters)
    file = index / "index.faiss"
    content = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(content[:-100])
        case "empty":
            file.write_bytes(b"")
        case "absent":
            file.unlink()
        case "garbage":
            file.write_bytes(b"\x07" * len(content))
        case "copies cut":
            (index / "passages.npy").write_bytes((index / "passages.npy").read_bytes()[:-100])
        case "copies absent":
            (index / "ends.npy").unlink()
        case "other kind":
            parameters = IndexParameters(index=next(other for other in ("hnsw", "ivf-pq") if other != kind))
    with pytest.raises(
        VectorError, match=r"^the index .*index\.faiss is damaged: delete the folder .* again$"
    ) as error:
        search_index(vectors, index, np.ones((1, 8), dtype=np.float32), 5, parameters, silent)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("kind", "more"),
    [("hnsw", {}), ("hnsw", {"hnsw_m": 8}), ("ivf-pq", {}), ("ivf-pq", {"lists": 30, "pq_bytes": 6})],
    ids=["hnsw", "hnsw 8", "ivf-pq", "ivf-pq 30"],
)
def test_the_arithmetic_of_the_disk_is_that_of_the_file(tmp_path: Path, kind: Any, more: dict[str, int]) -> None:
    vectors = stored(tmp_path / "vectors", clustered(6000, 50, 24, 1)[0], shard=6000)
    parameters = IndexParameters(index=kind, **more)
    size = sum(file.stat().st_size for file in built(tmp_path / "index", vectors, parameters).iterdir())
    assert index_bytes(parameters, 6000, 24) == pytest.approx(size, rel=0.02)
    assert index_bytes(IndexParameters(), 6000, 24) == 0


def test_keys_hold_what_changes_the_answer_and_nothing_else() -> None:
    changed = {
        "hnsw": [{"hnsw_m": 8}, {"ef_construction": 9}],
        "ivf-pq": [{"lists": 7}, {"pq_bytes": 8}, {"train_sample": 900}],
    }
    searched = {"hnsw": [{"ef_search": 9}, {"overfetch": 3}], "ivf-pq": [{"probes": 3}, {"overfetch": 3}]}
    for kind in KINDS:
        plain = IndexParameters(index=kind)
        assert index_key(plain, 0) != index_key(plain, 1)
        for more in changed[kind]:
            other = IndexParameters(index=kind, **more)
            assert index_key(other, 0) != index_key(plain, 0)
            assert search_key(other) == search_key(plain)
        for more in searched[kind]:
            other = IndexParameters(index=kind, **more)
            assert index_key(other, 0) == index_key(plain, 0)
            assert search_key(other) != search_key(plain)
    assert index_key(IndexParameters(), 0) is None
    assert len({str(search_key(IndexParameters(index=kind))) for kind in ("flat", *KINDS)}) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ef_search": 64}, "ef_search is for  index: hnsw, and the index is flat"),
        ({"index": "hnsw", "probes": 4}, "probes is for  index: ivf-pq, and the index is hnsw"),
        ({"overfetch": 4}, "overfetch is for  index: hnsw or ivf-pq, and the index is flat"),
    ],
    ids=["flat ef_search", "hnsw probes", "flat overfetch"],
)
def test_a_parameter_of_another_index_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        IndexParameters(**given)


def test_faiss_answers_for_fewer_queries_at_once_than_it_multiplies_as_a_matrix() -> None:
    assert load_faiss().cvar.distance_compute_blas_threshold > ann.AT_ONCE


def test_faiss_absent_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(Exception, match=r"needs the package faiss-cpu, .*: run: pip install 'quati-pool\[neural\]'$"):
        load_faiss()


def test_lists_grow_with_the_corpus() -> None:
    parameters = IndexParameters(index="ivf-pq")
    # 4 √10,000 = 400 lists.
    assert index_parameters.lists_of(parameters, 10_000) == 400
    assert index_parameters.probes_of(parameters, 400) <= 400
