"""Shards: what was finished is there again, whatever ended the process, and what was not is gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quati_pool.retrieval.shards import ShardError, Shards

Array = npt.NDArray[Any]


def vectors(start: int, rows: int, dimension: int = 3) -> Array:
    """Rows that tell where they belong."""
    return (np.arange(rows * dimension, dtype=np.float32) + start * dimension).reshape(rows, dimension)


def grown(folder: Path, sizes: list[int]) -> Shards:
    shards = Shards(folder)
    for size in sizes:
        ends = np.arange(size, dtype=np.int64) + shards.passages
        shards.append(size, vectors=vectors(shards.passages, size), ends=ends)
    return shards


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "none")
    assert (shards.passages, shards.shards, shards.names) == (0, 0, [])
    with pytest.raises(KeyError):
        shards.array("vectors")


@given(sizes=st.lists(st.integers(0, 5), max_size=6), opened_at=st.integers(0, 6))
def test_what_is_appended_is_read_back_by_the_same_object_and_by_another(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], opened_at: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    grown(folder, sizes[:opened_at])
    for shards in (grown(folder, sizes[opened_at:]), Shards(folder)):
        assert (shards.passages, shards.shards) == (sum(sizes), len(sizes))
        if sizes:
            assert np.array_equal(shards.array("vectors"), vectors(0, sum(sizes)))
            assert np.array_equal(shards.array("ends"), np.arange(sum(sizes)))


def test_arrays_are_memory_maps_that_cannot_be_written_to(tmp_path: Path) -> None:
    array = grown(tmp_path, [4]).array("vectors")
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_rows_need_not_be_passages_and_types_are_kept(tmp_path: Path) -> None:
    shards = Shards(tmp_path)
    tokens = np.arange(14, dtype=np.float16).reshape(7, 2)
    shards.append(3, tokens=tokens, weights=np.array([1, 255, 7], dtype=np.uint8))
    shards.append(1, tokens=tokens[:0], weights=np.zeros(0, dtype=np.uint8))
    assert shards.passages == 4
    found = Shards(tmp_path)
    assert found.array("tokens").dtype == np.float16
    assert np.array_equal(found.array("tokens"), tokens)
    assert found.array("weights").tolist() == [1, 255, 7]


def test_slices_that_are_not_contiguous_are_written_as_they_read(tmp_path: Path) -> None:
    wide = vectors(0, 6, 8)
    shards = Shards(tmp_path)
    shards.append(3, vectors=wide[::2, 1:4])
    assert np.array_equal(shards.array("vectors"), wide[::2, 1:4])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_files_cut_anywhere_lose_only_shards_that_are_touched(tmp_path: Path, data: st.DataObject) -> None:
    # A power cut: of each file any part of what came last may be missing.
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        shutil.rmtree(folder, ignore_errors=True)
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    grown(whole, sizes)
    shutil.copytree(whole, cut)
    name = data.draw(st.sampled_from(["vectors.bin", "ends.bin", "shards.jsonl"]))
    content = (cut / name).read_bytes()
    kept = data.draw(st.integers(0, len(content)))
    (cut / name).write_bytes(content[:kept])
    ends = np.cumsum([0, *sizes])
    if name == "shards.jsonl":
        finished = content[:kept].count(b"\n")
    else:
        finished = int(np.searchsorted(ends, kept // {"vectors.bin": 12, "ends.bin": 8}[name], side="right")) - 1
    shards = Shards(cut)
    assert (shards.passages, shards.shards) == (ends[finished], finished)
    # Going on gives what an unbroken encoding gives, byte for byte.
    grown(cut, sizes[finished:])
    for file in ("vectors.bin", "ends.bin", "shards.jsonl"):
        assert (cut / file).read_bytes() == (whole / file).read_bytes()


def test_what_was_written_but_not_finished_is_overwritten(tmp_path: Path) -> None:
    grown(tmp_path, [2])
    with (tmp_path / "vectors.bin").open("ab") as file:
        file.write(b"half of a shard")
    with (tmp_path / "shards.jsonl").open("ab") as file:
        file.write(b'{"passages": 5, "arr')
    shards = grown(tmp_path, [3])
    assert shards.passages == 5
    assert np.array_equal(Shards(tmp_path).array("vectors"), vectors(0, 5))
    journal = (tmp_path / "shards.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["passages"] for line in journal] == [2, 5]


@pytest.mark.parametrize(
    "line",
    [
        "{}", "[]", "null", "7", '{"passages": 9}', '{"passages": 9, "arrays": 3}', '{"passages": "9", "arrays": {}}',
        '{"passages": 9, "arrays": {"vectors": ["no type", [3], 9]}}',
        '{"passages": 9, "arrays": {"vectors": ["<f4", 3, 9]}}',
        '{"passages": 9, "arrays": {"vectors": ["<f4", ["3"], 9]}}',
        "\x00\x00",
    ],
)  # fmt: skip
def test_a_line_of_the_journal_that_a_disk_spoilt_ends_what_is_known(tmp_path: Path, line: str) -> None:
    grown(tmp_path, [2, 3])
    journal = tmp_path / "shards.jsonl"
    first = journal.read_text(encoding="utf-8").splitlines()[0]
    journal.write_text(f"{first}\n{line}\n", encoding="utf-8")
    assert (Shards(tmp_path).passages, Shards(tmp_path).shards) == (2, 1)
    grown(tmp_path, [3])
    assert np.array_equal(Shards(tmp_path).array("vectors"), vectors(0, 5))


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"vectors": np.zeros((1, 4), np.float32)}, r"vectors of float32, dimension 4"),
        ({"vectors": np.zeros((1, 3), np.float16)}, r"vectors of float16, dimension 3"),
        ({"vectors": np.zeros((1, 3), np.float32), "scale": np.zeros(1, np.float32)}, r"scale of float32"),
    ],
)
def test_vectors_of_another_dimension_or_type_are_refused_and_change_nothing(
    tmp_path: Path, arrays: dict[str, Array], told: str
) -> None:
    shards = Shards(tmp_path)
    shards.append(2, vectors=vectors(0, 2))
    with pytest.raises(ShardError, match=rf"dimension 3, and the next passages came as .*{told}.*delete that folder"):
        shards.append(1, **arrays)
    assert np.array_equal(Shards(tmp_path).array("vectors"), vectors(0, 2))
