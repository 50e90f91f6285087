"""Repeated texts: found by their hashes, and stored with the rows of the first."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_stores import store

from quati_pool.retrieval.encoders.duplicate_texts import first_equal_text, with_duplicates
from quati_pool.retrieval.shards import Shards
from quati_pool.retrieval.vector_index.vector_search import store_arrays


def test_the_first_of_equal_texts_is_found(tmp_path: Path) -> None:
    corpus = store(tmp_path, ["a", "b", "", "a", "b ", "", "b", "a"])
    assert first_equal_text(corpus, np.arange(8)).tolist() == [0, 1, 2, 0, 4, 2, 1, 0]
    assert first_equal_text(corpus, np.array([7, 3, 1, 0])).tolist() == [0, 0, 2, 0]
    assert first_equal_text(corpus, np.arange(0)).tolist() == []


def kept(
    folder: Path, rows: list[npt.NDArray[np.float32]], sources: list[int], shard: int, precision: Any, ragged: bool
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of passages whose own rows are ``rows``, kept shard by shard."""
    shards = Shards(folder)
    for start in range(0, len(sources), shard):
        some = np.array(sources[start : start + shard])
        fresh = [rows[start + at] for at, source in enumerate(some.tolist()) if source == start + at]
        arrays = store_arrays(np.concatenate([np.empty((0, 3), dtype=np.float32), *fresh]), precision)
        counts = np.array([len(vectors) for vectors in fresh], dtype=np.int64) if ragged else None
        shards.append(len(some), **with_duplicates(shards, arrays, counts, some))
    return {name: np.array(Shards(folder).array(name)) for name in shards.names if name != "longest"}


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=25),
    st.integers(1, 30),
    st.sampled_from(["fp32", "fp16", "int8"]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_passages_that_repeat_others_are_kept_as_if_they_had_been_encoded_alike(
    texts: list[int], shard: int, precision: str, ragged: bool, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    # Of a text that is ragged any number of rows, none among them.
    vectors = [chance.standard_normal((int(chance.integers(0, 4)) if ragged else 1, 3)) for _ in range(5)]
    rows = [vectors[text].astype(np.float32) for text in texts]
    with TemporaryDirectory() as folder:
        repeated = kept(Path(folder) / "a", rows, [texts.index(text) for text in texts], shard, precision, ragged)
        plain = kept(Path(folder) / "b", rows, list(range(len(texts))), shard, precision, ragged)
    assert repeated.keys() == plain.keys()
    for name, array in plain.items():
        np.testing.assert_array_equal(repeated[name], array)


@pytest.mark.parametrize("ragged", [True, False])
def test_the_longest_of_a_shard_stays(tmp_path: Path, ragged: bool) -> None:
    shards = Shards(tmp_path)
    arrays = store_arrays(np.array([[3, 4]], dtype=np.float32), "fp32")
    shards.append(2, **with_duplicates(shards, arrays, np.array([1]) if ragged else None, np.array([0, 0])))
    assert shards.array("longest").tolist() == [pytest.approx(5)]
