"""Impacts and the search over them against dot products of whole matrices, in Python's own integers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import by_query

from quati_pool.errors import QuatiPoolError
from quati_pool.retrieval.encoders.duplicate_texts import with_duplicates
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.sparse import impact_search
from quati_pool.retrieval.sparse.impact_search import invert, search_inverted
from quati_pool.retrieval.sparse.impacts import Vectors, dots, joined, quantised, reordered, stored

Sparse = dict[int, int]


def vectors(rows: Sequence[Sparse]) -> Vectors:
    """Rows of {term: impact}."""
    terms = [term for row in rows for term in sorted(row)]
    weights = [row[term] for row in rows for term in sorted(row)]
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    return Vectors(ends, np.array(terms, dtype=np.int32), np.array(weights, dtype=np.uint16))


def append(shards: Shards, rows: Vectors) -> None:
    """Adds a shard of passages, none of which repeats another."""
    own = shards.passages + np.arange(len(rows.ends))
    arrays = {"terms": rows.terms, "weights": rows.weights}
    shards.append(len(rows.ends), **with_duplicates(shards, arrays, np.diff(rows.ends, prepend=0), own))


def as_rows(found: Vectors) -> list[Sparse]:
    return [dict(zip(*(column.tolist() for column in found.row(row)), strict=True)) for row in range(len(found.ends))]


def dot(one: Sparse, other: Sparse) -> int:
    return sum(weight * other.get(term, 0) for term, weight in one.items())


def expected_hits(passages: Sequence[Sparse], query: Sparse, depth: int) -> dict[int, float]:
    """The best ``depth`` of the scores above 0, and all that tie with the last of them."""
    scores = {row: float(np.float32(score)) for row, passage in enumerate(passages) if (score := dot(query, passage))}
    best = sorted(scores.values(), reverse=True)[:depth]
    return {row: score for row, score in scores.items() if score >= best[-1]}


def searched(folder: Path, passages: Sequence[Sparse], queries: Sequence[Sparse], depth: int) -> list[dict[int, float]]:
    folder.mkdir(parents=True, exist_ok=True)
    invert(vectors(passages), folder, lambda done, total: None)
    return by_query(search_inverted(folder, vectors(queries), depth, lambda done, total: None), len(queries))


class TestQuantised:
    def test_impacts_are_rounded_weights_and_zeros_are_gone(self) -> None:
        # × 100: 0.4 → 0, 50 → 50, 120.6 → 121; and 0.49 → 0
        weights = np.array([[0.004, 0.5, 0, 1.206], [0, 0, 0, 0], [0.0049, 0, 0, 3]], dtype=np.float32)
        assert as_rows(quantised(weights, str, 100, None)) == [{1: 50, 3: 121}, {}, {3: 300}]

    def test_no_rows(self) -> None:
        assert as_rows(quantised(np.empty((0, 5), dtype=np.float32), str, 100, 3)) == []

    def test_the_heaviest_terms_stay_and_of_equal_ones_the_lower_numbers(self) -> None:
        weights = np.array([[0.2, 0.5, 0.2, 0.9, 0.2, 0.5], [0, 0, 0.1, 0, 0, 0]], dtype=np.float32)
        assert [as_rows(quantised(weights, str, 10, keep))[0] for keep in (1, 2, 3, 4, 5, 6, 99)] == [
            {3: 9},
            {1: 5, 3: 9},
            {1: 5, 3: 9, 5: 5},
            {0: 2, 1: 5, 3: 9, 5: 5},
            {0: 2, 1: 5, 2: 2, 3: 9, 5: 5},
            *[{0: 2, 1: 5, 2: 2, 3: 9, 4: 2, 5: 5}] * 2,
        ]
        assert as_rows(quantised(weights, str, 10, 2))[1] == {2: 1}

    def test_weights_are_compared_before_they_are_rounded(self) -> None:
        # Rounded both are 2; the second is heavier all the same.
        assert as_rows(quantised(np.array([[1.6, 2.4]]), str, 1, 1)) == [{1: 2}]

    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_weights_that_are_not_finite_name_the_passage(self, bad: float) -> None:
        weights = np.zeros((3, 4), dtype=np.float32)
        weights[1, 2] = bad
        with pytest.raises(QuatiPoolError, match=r"^the model gave passage d1 a weight that is not a finite number: "):
            quantised(weights, lambda row: f"passage d{row}", 100, None)

    def test_negative_weights_are_refused_unless_they_round_to_0(self) -> None:
        assert as_rows(quantised(np.array([[-0.001, 1.0]]), str, 100, None)) == [{1: 100}]
        with pytest.raises(QuatiPoolError, match=r"^the weight -0.5 of query q7 is negative: "):
            quantised(np.array([[-0.5, 1.0]]), lambda row: "query q7", 100, None)

    def test_weights_too_large_for_an_impact_are_refused(self) -> None:
        assert as_rows(quantised(np.array([[655.35]]), str, 100, None)) == [{0: 65535}]
        with pytest.raises(
            QuatiPoolError, match=r"^the weight 655.36 of d0 .* largest impact, 655.35: lower quantization$"
        ):
            quantised(np.array([[655.36]]), lambda row: f"d{row}", 100, None)

    def test_half_precision_weights_are_taken_as_they_are(self) -> None:
        # 0.3 is 0.300048828125 in float16; times 10,000 it is 3000.488 in float64, and 3000 in float16.
        assert as_rows(quantised(np.array([[0.3]], dtype=np.float16), str, 10_000, None)) == [{0: 3000}]


rows_ = st.dictionaries(st.integers(0, 9), st.sampled_from([1, 2, 3, 100, 65535]), max_size=6)


@given(st.lists(st.lists(rows_, max_size=4), max_size=4))
def test_shards_hold_what_was_appended(pieces: list[list[Sparse]]) -> None:
    with TemporaryDirectory() as folder:
        shards = Shards(Path(folder))
        for piece in pieces:
            append(shards, vectors(piece))
        everything = [row for piece in pieces for row in piece]
        assert as_rows(stored(Shards(Path(folder)))) == everything
        assert as_rows(joined([vectors(piece) for piece in pieces])) == everything


@given(st.lists(rows_, max_size=8), st.randoms(use_true_random=False))
def test_reordered_rows(rows: list[Sparse], chance: object) -> None:
    order = list(range(len(rows)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    found = reordered(vectors(rows), np.array(order, dtype=np.int64))
    assert as_rows(found) == [rows[row] for row in order]


@given(st.lists(rows_, min_size=1, max_size=8), rows_, st.lists(st.integers(0, 7), max_size=12))
def test_dots_are_the_dot_products(rows: list[Sparse], query: Sparse, wanted: list[int]) -> None:
    ordinals = np.array([row % len(rows) for row in wanted], dtype=np.int64)
    asked = vectors([query]).row(0)
    assert dots(vectors(rows), ordinals, *asked).tolist() == [dot(query, rows[row]) for row in ordinals]


@settings(max_examples=60)
@given(
    st.lists(rows_, max_size=12),
    st.lists(st.dictionaries(st.integers(0, 12), st.sampled_from([1, 2, 65535]), max_size=5), max_size=4),
    st.integers(1, 13),
    st.integers(1, 5),
    st.integers(1, 20),
)
def test_inverted_search_gives_every_dot_product(
    passages: list[Sparse], queries: list[Sparse], depth: int, block: int, postings: int
) -> None:
    """Whatever the blocks are, and for terms that no passage has."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(impact_search, "_BLOCK", block)
        patch.setattr(impact_search, "_BLOCK_POSTINGS", postings)
        patch.setattr(impact_search, "_QUERIES", 2)
        found = searched(Path(folder), passages, queries, depth)
    assert found == [expected_hits(passages, query, depth) if passages else {} for query in queries]


def test_a_whole_vocabulary_of_the_largest_impacts_is_exact_but_for_float32(tmp_path: Path) -> None:
    """50,000 × 65,535² = 2.147 · 10¹⁴ is far beyond 2³² and 2²⁴; the sum must be right before it is rounded."""
    whole = dict.fromkeys(range(50_000), 65_535)
    less = {**whole, 7: 1}
    found = searched(tmp_path / "i", [whole, less], [whole], 2)
    assert found == [{0: float(np.float32(50_000 * 65_535**2)), 1: float(np.float32(49_999 * 65_535**2 + 65_535))}]
    assert found[0][0] > found[0][1]
    exact = dots(vectors([whole, less]), np.array([1, 0]), *vectors([whole]).row(0))
    assert exact.tolist() == [49_999 * 65_535**2 + 65_535, 50_000 * 65_535**2]


def test_scores_that_float32_cannot_tell_apart_tie(tmp_path: Path) -> None:
    """2²⁴ + 1 is 2²⁴ in float32, as a run keeps it: the cut-off must not fall between the two."""
    passages = [{0: 4096}, {0: 4096, 1: 1}, {0: 4095}]
    assert searched(tmp_path / "i", passages, [{0: 4096, 1: 1}], 1) == [{0: 2.0**24, 1: 2.0**24}]


def test_memory_holds_a_block_not_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    chance = np.random.default_rng(0)
    count, each = 20_000, 50
    terms = np.sort(np.argsort(chance.random((count, 200)), axis=1)[:, :each], axis=1).astype(np.int32).ravel()
    weights: npt.NDArray[np.uint16] = chance.integers(1, 300, count * each).astype(np.uint16)
    shards = Shards(tmp_path / "shards")
    append(shards, Vectors(np.arange(1, count + 1) * each, terms, weights))
    passages = stored(Shards(tmp_path / "shards"))
    monkeypatch.setattr(impact_search, "_BLOCK_POSTINGS", 20_000)
    (tmp_path / "i").mkdir()
    tracemalloc.start()
    invert(passages, tmp_path / "i", lambda done, total: None)
    search_inverted(tmp_path / "i", vectors([dict.fromkeys(range(30), 5)]), 10, lambda done, total: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A million postings take 6 MB as kept; a block of 20,000 takes 0.12 MB, and some copies.
    assert peak < 3e6, peak


def test_an_index_of_no_passages_and_of_empty_ones(tmp_path: Path) -> None:
    assert searched(tmp_path / "none", [], [{1: 1}], 5) == [{}]
    assert searched(tmp_path / "empty", [{}, {}], [{1: 1}, {}], 5) == [{}, {}]


def test_progress_counts_up_to_all(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    (tmp_path / "i").mkdir()
    invert(vectors([{0: 1}] * 5), tmp_path / "i", lambda done, total: calls.append((done, total)))
    assert calls[-1] == (5, 5)
    calls.clear()
    search_inverted(tmp_path / "i", vectors([{0: 1}] * 3), 2, lambda done, total: calls.append((done, total)))
    assert calls[-1] == (3, 3)
