"""MaxSim against a loop over tokens in float64, and the inverted file against exact search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import by_query, contents

from quati_pool.retrieval.encoders.duplicate_texts import with_duplicates
from quati_pool.retrieval.late_interaction import maxsim, token_index
from quati_pool.retrieval.late_interaction.maxsim import hits_of, maxsim_search, pair_scores
from quati_pool.retrieval.late_interaction.token_index import TokenIndex, TokenIndexParameters, build_index
from quati_pool.retrieval.late_interaction.token_vectors import TokenVectors
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import store_arrays

Matrix = npt.NDArray[np.float32]


def by_hand(query: Matrix, passage: Matrix) -> float:
    """For each query token the greatest of its dot products with the passage's tokens, summed."""
    total = 0.0
    for asked in query.astype(np.float64):
        total += max(float(np.sum(asked * answered)) for answered in passage.astype(np.float64))
    return total


def token_vectors(
    folder: Path, passages: Sequence[Matrix], precision: Any = "fp32", shard: int = 10**9
) -> TokenVectors:
    shards = Shards(folder)
    for start in range(0, len(passages), shard):
        some = passages[start : start + shard]
        counts = np.array([len(passage) for passage in some])
        arrays = store_arrays(np.concatenate(some), precision)
        shards.append(len(some), **with_duplicates(shards, arrays, counts, np.arange(start, start + len(some))))
    return TokenVectors(shards)


def unit(vectors: npt.NDArray[Any]) -> Matrix:
    units: Matrix = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return units


def ragged(chance: np.random.Generator, items: int, most: int, dimension: int, least: int = 1) -> list[Matrix]:
    return [unit(chance.standard_normal((int(count), dimension))) for count in chance.integers(least, most + 1, items)]


def search(tokens: TokenVectors, queries: Sequence[Matrix], depth: int) -> list[dict[int, float]]:
    return by_query(maxsim_search(tokens, queries, depth, lambda done, total: None), len(queries))


def small(monkeypatch: pytest.MonkeyPatch, columns: int, elements: int, stretch: int) -> None:
    monkeypatch.setattr(maxsim, "_COLUMNS", columns)
    monkeypatch.setattr(maxsim, "_ELEMENTS", elements)
    monkeypatch.setattr(maxsim, "_STRETCH", stretch)


@pytest.mark.parametrize("dimension", [1, 7, 48])
def test_every_score_is_that_of_the_loop(tmp_path: Path, dimension: int) -> None:
    chance = np.random.default_rng(dimension)
    passages, queries = ragged(chance, 40, 9, dimension), ragged(chance, 5, 12, dimension)
    found = search(token_vectors(tmp_path, passages), queries, 40)
    expected = [{row: by_hand(query, passage) for row, passage in enumerate(passages)} for query in queries]
    assert found == [pytest.approx(scores, abs=1e-5) for scores in expected]


def test_vectors_of_any_length_count_as_they_are(tmp_path: Path) -> None:
    # (3·1 or 3·-2) + (-1·4 or -1·5): 3 - 4 = -1, of the second passage 3·0.5 - 1·-6 = 7.5.
    passages = [np.array([[1, 4], [-2, 5]], dtype=np.float32), np.array([[0.5, -6]], dtype=np.float32)]
    query = np.array([[3, 0], [0, -1]], dtype=np.float32)
    assert search(token_vectors(tmp_path, passages), [query], 2) == [{0: -1.0, 1: 7.5}]


@pytest.mark.parametrize(
    ("columns", "elements", "stretch"), [(1, 1, 1), (13, 200, 7), (4096, 1000, 5), (30, 10**6, 64)]
)
@pytest.mark.parametrize("depth", [1, 5, 60])
def test_blocks_change_no_bit_of_the_hits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, elements: int, stretch: int, depth: int
) -> None:
    chance = np.random.default_rng(3)
    tokens = token_vectors(tmp_path, ragged(chance, 60, 9, 16, least=0), shard=11)
    queries = ragged(chance, 9, 12, 16, least=0)
    whole = search(tokens, queries, depth)
    small(monkeypatch, columns, elements, stretch)
    assert search(tokens, queries, depth) == whole


def test_progress_counts_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(4)
    tokens = token_vectors(tmp_path, ragged(chance, 60, 9, 16))
    small(monkeypatch, columns=20, elements=1 << 10, stretch=30)
    reported: list[tuple[int, int]] = []
    maxsim_search(tokens, [unit(np.ones((10, 16)))] * 6, 5, lambda *state: reported.append(state))
    # Two queries at a time, over two stretches of passages.
    assert reported == [(1, 6), (2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_best_are_found_with_all_that_tie_with_the_last(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Of whole numbers every sum is exact, and many tie."""
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    items, depth = data.draw(st.integers(1, 40), label="passages"), data.draw(st.integers(1, 45), label="depth")
    dimension, most = data.draw(st.integers(1, 6), label="dimension"), data.draw(st.integers(1, 2), label="most")

    def vectors(count: int) -> Matrix:
        return chance.integers(-most, most + 1, (count, dimension)).astype(np.float32)

    passages = [vectors(int(count)) for count in chance.integers(0, 5, items)]
    queries = [vectors(int(count)) for count in chance.integers(1, 5, 3)]
    found = search(token_vectors(tmp_path_factory.mktemp("tokens"), passages), queries, depth)
    for query, hits in zip(queries, found, strict=True):
        scores = {row: by_hand(query, passage) for row, passage in enumerate(passages) if len(passage)}
        last = sorted(scores.values(), reverse=True)[:depth][-1] if scores else 0.0
        assert hits == {row: score for row, score in scores.items() if score >= last}


def test_equal_passages_get_equal_scores_wherever_they_lie(tmp_path: Path) -> None:
    """Large products round the same rows otherwise by where in the matrix they stand."""
    chance = np.random.default_rng(5)
    passages = ragged(chance, 3000, 30, 48)
    copies = chance.choice(3000, 300, replace=False)
    for row in copies:
        passages[row] = passages[copies[0]]
    tokens, queries = token_vectors(tmp_path, passages), ragged(chance, 20, 32, 48)
    for hits in search(tokens, queries, 3000):
        assert len({hits[row] for row in copies.tolist()}) == 1
    for depth in (1, 30, 100):
        for hits in search(tokens, queries, depth):
            assert len(hits.keys() & set(copies.tolist())) in (0, 300)


def test_rounding_in_the_blocks_loses_no_passage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of the blocks moved by as much as 16 numbers and 12 tokens can round, 28 · 2⁻²⁴ a query token."""
    chance = np.random.default_rng(7)
    passages = ragged(chance, 40, 9, 16)
    tokens = token_vectors(tmp_path, passages * 5)
    queries = ragged(chance, 10, 12, 16, least=12)
    expected = search(tokens, queries, 12)
    real = maxsim._sums

    def rounded(*given: Any) -> Matrix:
        sums = real(*given)
        return (sums + chance.uniform(-12, 12, sums.shape) * 28 * 2.0**-24).astype(np.float32)

    monkeypatch.setattr(maxsim, "_sums", rounded)
    assert search(tokens, queries, 12) == expected
    assert all(len(hits) == 15 for hits in expected)  # three passages, five copies of each


def test_a_passage_without_tokens_is_never_returned(tmp_path: Path) -> None:
    one = np.array([[1, 0]], dtype=np.float32)
    nothing = np.empty((0, 2), dtype=np.float32)
    tokens = token_vectors(tmp_path, [nothing, -one, nothing, one, nothing])
    assert search(tokens, [one, nothing], 10) == [{1: -1.0, 3: 1.0}, {}]


def test_a_corpus_without_a_token_returns_nothing(tmp_path: Path) -> None:
    tokens = token_vectors(tmp_path, [np.empty((0, 2), dtype=np.float32)] * 3)
    assert search(tokens, [np.ones((1, 2), dtype=np.float32)], 10) == [{}]


def test_no_queries_and_queries_without_tokens(tmp_path: Path) -> None:
    tokens = token_vectors(tmp_path, [np.ones((1, 2), dtype=np.float32)])
    assert search(tokens, [], 10) == []
    assert search(tokens, [np.empty((0, 2), dtype=np.float32)] * 2, 10) == [{}, {}]


@pytest.mark.parametrize("mean", [False, True])
def test_pairs_score_as_in_the_search_and_the_mean_divides_by_query_tokens(tmp_path: Path, mean: bool) -> None:
    chance = np.random.default_rng(8)
    passages, queries = ragged(chance, 30, 9, 16), ragged(chance, 6, 12, 16)
    tokens = token_vectors(tmp_path, passages)
    found = by_query(maxsim_search(tokens, queries, 30, lambda done, total: None, mean), 6)
    rows, ordinals = chance.integers(0, 6, 200), chance.integers(0, 30, 200)
    scores = pair_scores(tokens, queries, rows, ordinals, mean=mean)
    assert scores.tolist() == [found[query][doc] for query, doc in zip(rows, ordinals, strict=True)]
    expected = [by_hand(queries[q], passages[d]) for q, d in zip(rows, ordinals, strict=True)]
    divisor = np.array([len(queries[query]) if mean else 1 for query in rows])
    assert scores == pytest.approx(np.array(expected) / divisor, abs=1e-5)


def test_a_pair_without_tokens_gets_the_least_there_is_and_a_query_without_any_0(tmp_path: Path) -> None:
    # Two query tokens of length 1 against a passage of their opposites: -2. Lengths 3 and 4: -7.
    asked = np.array([[1, 0], [0, 1]], dtype=np.float32)
    opposite, nothing = np.array([[-1, 0]], dtype=np.float32), np.empty((0, 2), dtype=np.float32)
    tokens = token_vectors(tmp_path, [nothing, opposite])
    queries = [asked, asked * np.array([[3], [4]], dtype=np.float32), nothing]
    rows, ordinals = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 0, 1])
    assert pair_scores(tokens, queries, rows, ordinals).tolist() == [-2.0, -1.0, -7.0, 0.0, 0.0]
    assert pair_scores(tokens, queries, rows, ordinals, mean=True).tolist() == [-1.0, -0.5, -3.5, 0.0, 0.0]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 0.5e-3), ("int8", 8e-3)])
def test_fewer_bits_move_a_score_by_little(tmp_path: Path, precision: str, tolerance: float) -> None:
    """Of a vector of length 1, half precision moves a dot product by at most 2⁻¹¹, 8 bits by at most
    1/254 · max|x| · √d; the tolerance is a query token's."""
    chance = np.random.default_rng(2)
    passages, queries = ragged(chance, 100, 9, 48), ragged(chance, 5, 12, 48)
    full = search(token_vectors(tmp_path / "full", passages), queries, 100)
    less = search(token_vectors(tmp_path / "less", passages, precision), queries, 100)
    for query, expected, found in zip(queries, full, less, strict=True):
        assert found == pytest.approx(expected, abs=tolerance * len(query))
        assert found != expected


def test_shards_change_nothing(tmp_path: Path) -> None:
    chance = np.random.default_rng(4)
    passages, queries = ragged(chance, 50, 9, 8, least=0), ragged(chance, 3, 5, 8)
    for precision in ("fp32", "int8"):
        one = search(token_vectors(tmp_path / f"{precision}1", passages, precision), queries, 50)
        assert search(token_vectors(tmp_path / f"{precision}7", passages, precision, shard=7), queries, 50) == one


# --- the inverted file --------------------------------------------------------------------------------------


def topical(chance: np.random.Generator, passages: int, centres: Matrix, topics: int, noise: float) -> list[Matrix]:
    """Passages whose tokens lie around 30 centres of their topic, a third around any centre."""
    of_topic = chance.integers(0, len(centres), (topics, 30))
    found = []
    for count in chance.integers(8, 25, passages):
        near = of_topic[chance.integers(topics), chance.integers(0, 30, count)]
        near = np.where(chance.random(count) < 1 / 3, chance.integers(0, len(centres), count), near)
        found.append(unit(centres[near] + noise * chance.standard_normal((count, centres.shape[1]))))
    return found


def ivf(tokens: TokenVectors, folder: Path, seed: int = 0, **chosen: Any) -> TokenIndex:
    folder.mkdir(parents=True)
    build_index(tokens, folder, TokenIndexParameters(index="ivf", **chosen), seed, lambda done, total: None)
    return TokenIndex(folder, len(tokens))


@pytest.mark.neural
def test_the_space_of_the_lists_is_taken_before_they_are_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A mapped file with holes would end the process (SIGBUS) on a disk that fills up.
    taken = []

    def scatter(pairs: Any, next_place: Any, passages: Any) -> None:
        status = (tmp_path / "index" / "passages.npy").stat()
        taken.append(status.st_blocks * 512 >= status.st_size > 4 * 20_000)

    monkeypatch.setattr(token_index, "_scatter", scatter)
    chance = np.random.default_rng(5)
    ivf(token_vectors(tmp_path / "tokens", ragged(chance, 1000, 30, 8, least=25)), tmp_path / "index")
    assert taken
    assert all(taken)


@pytest.mark.neural
def test_the_inverted_file_finds_the_best_100_of_clustered_passages(tmp_path: Path) -> None:
    """Recall@100 of 6,000 passages: at the defaults, and where a sixth of the passages is scored."""
    chance = np.random.default_rng(0)
    centres = unit(chance.standard_normal((1000, 32)))
    passages = topical(chance, 6000, centres, 120, 0.1)
    tokens = token_vectors(tmp_path / "tokens", passages)
    queries = []
    for row in chance.choice(6000, 20, replace=False):
        picked = passages[row][chance.integers(0, len(passages[row]), 12)]
        queries.append(unit(picked + 0.1 * chance.standard_normal(picked.shape)))
    exact = search(tokens, queries, 6000)
    index = ivf(tokens, tmp_path / "index")
    default = TokenIndexParameters(index="ivf")
    for candidates, least in ((default.candidates, 0.95), (1000, 0.95)):
        recall = []
        for row, query in enumerate(queries):
            ordinals = index.candidates(query, candidates, default.probes, 100)
            assert len(ordinals) <= 1.05 * candidates
            found = by_query(hits_of(tokens, queries, row, ordinals, 100, False), len(queries))[row]
            assert found.items() <= exact[row].items()  # the score of what is found is exact
            best = sorted(exact[row].values(), reverse=True)[:100]
            recall.append(sum(score >= best[-1] for score in found.values()) / 100)
        assert np.mean(recall) >= least


@pytest.mark.neural
def test_two_builds_write_the_same_bytes_and_a_seed_matters(tmp_path: Path) -> None:
    tokens = token_vectors(tmp_path / "tokens", ragged(np.random.default_rng(1), 500, 9, 16))
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        ivf(tokens, tmp_path / name, seed=seed, train_sample=700)
    assert contents(tmp_path / "one").keys() == {"centroids.npy", "ends.npy", "passages.npy"}
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert contents(tmp_path / "one") != contents(tmp_path / "other")


@pytest.mark.neural
@pytest.mark.parametrize("block", [1, 40, 1 << 16])
def test_a_list_holds_each_passage_with_a_token_nearest_to_its_centroid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    passages = ragged(np.random.default_rng(1), 60, 9, 4, least=0)
    tokens = token_vectors(tmp_path / "tokens", passages)
    monkeypatch.setattr(token_index, "_BLOCK", block)
    ivf(tokens, tmp_path / "index", lists=7)
    centroids, ends = np.load(tmp_path / "index" / "centroids.npy"), np.load(tmp_path / "index" / "ends.npy")
    held = np.split(np.load(tmp_path / "index" / "passages.npy"), ends[:-1])
    nearest = [{int(np.argmin(((centroids - vector) ** 2).sum(axis=1))) for vector in passage} for passage in passages]
    assert [part.tolist() for part in held] == [[p for p in range(60) if one in nearest[p]] for one in range(7)]


@pytest.mark.neural
def test_candidates_score_by_the_best_centroid_read_or_the_least_similar_one(tmp_path: Path) -> None:
    """Lists at the four directions. Of two probes a token, the query token (0.9, 0.1) reads (1,0) and (0,1),
    the token (0.2, -0.8) reads (0,-1) and (1,0). Passages: 0 lies in (1,0): 0.9 + 0.2 = 1.1; 1 in (0,-1):
    0.1 imputed + 0.8 = 0.9; 2 in (0,1): 0.1 + 0.2 imputed = 0.3; 3 in (1,0) and (0,-1): 0.9 + 0.8 = 1.7;
    4, in (-1,0), is never read."""
    directions = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.float32)
    passages = [directions[[0]], directions[[3]], directions[[1]], directions[[0, 3]], directions[[2]]]
    tokens = token_vectors(tmp_path / "tokens", passages)
    index = ivf(tokens, tmp_path / "index", lists=4)
    query = np.array([[0.9, 0.1], [0.2, -0.8]], dtype=np.float32)
    for wanted, expected in ((1, [3]), (2, [0, 3]), (3, [0, 1, 3]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3])):
        assert index.candidates(query, wanted, 2, 1).tolist() == expected
    assert index.candidates(query, 5, 2, 5).tolist() == [0, 1, 2, 3, 4]  # more lists are read for depth 5


@pytest.mark.neural
def test_candidates_that_tie_come_together(tmp_path: Path) -> None:
    one = np.array([[1, 0]], dtype=np.float32)
    tokens = token_vectors(tmp_path / "tokens", [one, -one, one, one])
    assert ivf(tokens, tmp_path / "index", lists=2).candidates(one, 1, 1, 1).tolist() == [0, 2, 3]


@pytest.mark.neural
def test_passages_without_tokens_are_no_candidates(tmp_path: Path) -> None:
    nothing, one = np.empty((0, 2), dtype=np.float32), np.ones((1, 2), dtype=np.float32)
    some = token_vectors(tmp_path / "some", [nothing, one, nothing, one])
    assert ivf(some, tmp_path / "index").candidates(one, 10, 8, 10).tolist() == [1, 3]
    none = token_vectors(tmp_path / "none", [nothing, nothing])
    assert ivf(none, tmp_path / "empty").candidates(one, 10, 8, 10).tolist() == []


@pytest.mark.neural
def test_more_lists_than_tokens(tmp_path: Path) -> None:
    passages = ragged(np.random.default_rng(1), 5, 2, 4)
    index = ivf(token_vectors(tmp_path / "tokens", passages), tmp_path / "index", lists=1000)
    assert index.candidates(passages[0], 10, 1000, 10).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.neural
def test_building_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """faiss warns on stderr of few points a centroid unless told not to."""
    ivf(token_vectors(tmp_path / "tokens", ragged(np.random.default_rng(1), 50, 4, 4)), tmp_path / "index", lists=60)
    assert capfd.readouterr() == ("", "")
