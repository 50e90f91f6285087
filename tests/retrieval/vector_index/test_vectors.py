from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import Precision, VectorError, Vectors, store_arrays, vector_bytes

RANDOM = np.random.default_rng(0)
SOME = RANDOM.standard_normal((11, 5)).astype(np.float32)
PRECISIONS: list[Precision] = ["fp32", "fp16", "int8"]


def stored(folder: Path, vectors: np.ndarray, precision: Precision = "fp32", shard: int = 4) -> Vectors:
    """Vectors on disk in shards of ``shard`` passages, opened again."""
    shards = Shards(folder)
    for start in range(0, len(vectors), shard):
        part = vectors[start : start + shard]
        shards.append(len(part), **store_arrays(part, precision))
    return Vectors(Shards(folder))


def test_fp32_reads_back_what_was_stored_and_is_not_copied(tmp_path: Path) -> None:
    vectors = stored(tmp_path, SOME)
    assert (len(vectors), vectors.dimension) == (11, 5)
    assert np.array_equal(vectors.rows(np.array([10, 0, 0, 3])), SOME[[10, 0, 0, 3]])
    assert vectors.mapped is not None
    assert np.shares_memory(vectors.mapped, vectors.rows(slice(2, 5)))


def test_fp16_reads_back_the_nearest_half_precision_number(tmp_path: Path) -> None:
    vectors = stored(tmp_path, SOME, "fp16")
    assert vectors.mapped is None
    assert vectors.rows(slice(None)).dtype == np.float32
    # Half precision has 11 significant bits: off by 2^-11 of the number at most.
    assert np.abs(vectors.rows(slice(None)) - SOME).max() <= 2**-11 * np.abs(SOME).max()


def test_int8_errs_by_half_a_step_of_the_vectors_own_scale(tmp_path: Path) -> None:
    uneven = SOME * np.logspace(-20, 20, len(SOME), dtype=np.float32)[:, None]
    found = stored(tmp_path, uneven, "int8").rows(slice(None))
    step = np.abs(uneven).max(axis=1, keepdims=True) / 127
    assert (np.abs(found - uneven) <= 0.5001 * step).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_zero_vectors_stay_zero(tmp_path: Path, precision: Precision) -> None:
    vectors = stored(tmp_path, np.zeros((3, 4), dtype=np.float32), precision)
    assert np.array_equal(vectors.rows(slice(None)), np.zeros((3, 4)))
    assert vectors.longest == pytest.approx(0, abs=1e-40)


@pytest.mark.parametrize("rows", [1, 4, 11, 50, None])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_blocks_hold_every_passage_once_and_in_order(tmp_path: Path, precision: Precision, rows: int | None) -> None:
    vectors = stored(tmp_path, SOME, precision)
    blocks = list(vectors.blocks(rows))
    assert [start for start, _ in blocks] == list(range(0, 11, rows or 11))
    assert np.array_equal(np.concatenate([block for _, block in blocks]), vectors.rows(slice(None)))


@settings(max_examples=50, deadline=None)
@given(
    vectors=arrays(
        np.float32, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=st.floats(-1e4, 1e4, width=32)
    ),
    precision=st.sampled_from(PRECISIONS),
)
def test_longest_bounds_the_length_of_every_vector_as_stored(
    tmp_path_factory: pytest.TempPathFactory, vectors: np.ndarray, precision: Precision
) -> None:
    found = stored(tmp_path_factory.mktemp("vectors"), vectors, precision, shard=2)
    lengths = np.linalg.norm(found.rows(slice(None)).astype(np.float64), axis=1)
    assert lengths.max() <= found.longest <= 1.000001 * lengths.max() + 1e-40


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_arithmetic_of_the_disk_is_that_of_the_files(tmp_path: Path, precision: Precision) -> None:
    stored(tmp_path, RANDOM.standard_normal((100, 24)).astype(np.float32), precision, shard=50)
    files = [path for path in tmp_path.iterdir() if path.name in ("vectors.bin", "scale.bin")]
    assert sum(path.stat().st_size for path in files) == vector_bytes(precision, 100, 24)


def test_a_component_too_large_for_half_precision_is_refused() -> None:
    with pytest.raises(VectorError, match=r"^a vector has a component beyond 65,504, .*: set {2}precision: fp32 "):
        store_arrays(np.array([[1, 70000.0]], dtype=np.float32), "fp16")


def test_shards_without_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VectorError, match=r"holds no vectors: delete that folder and run the command again$"):
        Vectors(Shards(tmp_path))
