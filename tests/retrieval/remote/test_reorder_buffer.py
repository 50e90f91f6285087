"""Rows that arrive in any order stand in order, whenever the process ends."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.retrieval.remote.reorder_buffer import ReorderBuffer
from quati_pool.retrieval.shards import ShardError, Shards


def rows(start: int, end: int) -> dict[str, np.ndarray]:
    """Three numbers that tell a row's place, and one row a batch."""
    places = np.arange(start, end, dtype=np.float32)
    return {"vectors": np.stack([places, places + 0.5, -places], axis=1), "spent": np.array([[end - start]])}


@settings(max_examples=20)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_whatever_the_order_and_however_often_it_is_opened_again(lengths: list[int], data: st.DataObject) -> None:
    ends = np.cumsum(lengths).tolist()
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    order = data.draw(st.permutations(spans))
    with tempfile.TemporaryDirectory() as place:
        buffer = ReorderBuffer(Path(place))
        for done, (start, end) in enumerate(order, 1):
            if data.draw(st.booleans()):
                buffer = ReorderBuffer(Path(place))
            buffer.add(start, end, rows(start, end))
            assert buffer.passages == sum(end - start for start, end in order[:done])
            covered = [place for start, end in buffer.spans for place in range(start, end)]
            assert covered == sorted(place for start, end in order[:done] for place in range(start, end))
            assert buffer.row_shape("vectors") == (3,)
        buffer.close()
        shards = Shards(Path(place))
        assert shards.passages == ends[-1]
        assert np.array_equal(shards.array("vectors"), rows(0, ends[-1])["vectors"])
        assert int(shards.array("spent").sum()) == ends[-1]
        assert not (Path(place) / "ahead").exists()


def test_a_file_cut_short_and_one_that_was_appended_already_are_dropped(tmp_path: Path) -> None:
    buffer = ReorderBuffer(tmp_path)
    buffer.add(5, 8, rows(5, 8))
    kept = (tmp_path / "ahead" / "5-8.npz").read_bytes()
    (tmp_path / "ahead" / ".partial-8-9.npz").write_bytes(kept[:50])
    buffer.add(0, 5, rows(0, 5))
    # As where the process ends between appending and dropping the file.
    (tmp_path / "ahead" / "5-8.npz").write_bytes(kept)
    again = ReorderBuffer(tmp_path)
    assert again.spans == [(0, 8)]
    assert list((tmp_path / "ahead").iterdir()) == []
    assert np.array_equal(again.shards.array("vectors"), rows(0, 8)["vectors"])


def test_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    buffer = ReorderBuffer(tmp_path)
    assert buffer.row_shape("vectors") is None
    buffer.add(0, 2, rows(0, 2))
    with pytest.raises(ShardError, match="dimension"):
        buffer.add(2, 3, {"vectors": np.zeros((1, 4), dtype=np.float32), "spent": np.array([[1]])})
