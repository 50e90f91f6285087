import os
import resource
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quati_pool.preparation.base import Keys, TaskPool
from quati_pool.preparation.deduplication import first_of_equals
from quati_pool.preparation.deduplication.first_of_equals import Equals, equal_rows, located
from tests.preparation.global_filters import in_process, stored

# High halves all over the range of 64 bits, so that a search in parts has some in each.
HIGH = [0, 1, 1 << 40, 1 << 61, 1 << 62, (1 << 63) + 5, (1 << 64) - 2, (1 << 64) - 1]


def columns(pairs: Sequence[tuple[int, int]]) -> Keys:
    table = np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    return {"hi": table[:, 0], "lo": table[:, 1]}


def by_dictionary(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    firsts: dict[tuple[int, int], int] = {}
    found = [(row, firsts.setdefault(pair, row)) for row, pair in enumerate(pairs) if pair != (0, 0)]
    return [(row, first) for row, first in found if row != first]


def counted(found: Equals, rows: Sequence[int]) -> list[tuple[int, int]]:
    starts = np.concatenate([[0], np.cumsum(rows)])
    dropped = starts[found.shard] + found.row
    kept = starts[found.kept_shard] + found.kept_row
    return list(zip(dropped.tolist(), kept.tolist(), strict=True))


@given(
    st.lists(st.tuples(st.sampled_from(HIGH), st.integers(0, 2)), max_size=40).flatmap(
        lambda pairs: st.tuples(st.just(pairs), st.lists(st.integers(0, len(pairs)), max_size=4))
    ),
    st.integers(1, 50),
)
@settings(max_examples=40, deadline=None)
def test_what_a_dictionary_finds_is_found_in_any_parts_and_shards(
    case: tuple[list[tuple[int, int]], list[int]], part_rows: int
) -> None:
    pairs, cuts = case
    with tempfile.TemporaryDirectory() as name, patch.object(first_of_equals, "PART_ROWS", part_rows):
        shards, rows = stored(Path(name), columns(pairs), cuts)
        found = equal_rows(shards, rows, TaskPool(Path(name) / "bench", in_process))
    assert counted(found, rows) == by_dictionary(pairs)


def test_rows_are_equal_only_where_all_the_columns_asked_for_are(tmp_path: Path) -> None:
    keys = {
        "a": np.array([7, 7, 7, 7], dtype=np.uint64),
        "b": np.array([1, 1, 2, 1], dtype=np.uint64),
        "c": np.array([0, 5, 0, 0], dtype=np.int64),
        "beside": np.arange(4),
    }
    shards, rows = stored(tmp_path, keys)
    task_pool = TaskPool(tmp_path / "bench", in_process)
    assert counted(equal_rows(shards, rows, task_pool, ("a", "b", "c"), "three"), rows) == [(3, 0)]
    assert counted(equal_rows(shards, rows, task_pool, ("a", "b"), "two"), rows) == [(1, 0), (3, 0)]
    assert counted(equal_rows(shards, rows, task_pool, ("a",), "one"), rows) == [(1, 0), (2, 0), (3, 0)]


def test_a_killed_search_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_of_equals, "PART_ROWS", 10)
    pairs = [(HIGH[row % len(HIGH)], row % 3) for row in range(50)]
    shards, rows = stored(tmp_path, columns(pairs), [17])
    done: list[Any] = []

    def killed(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        done.extend(tasks[:2])
        in_process(function, tasks[:2])
        raise KeyboardInterrupt

    def going_on(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        done.extend(tasks)
        return in_process(function, tasks)

    with pytest.raises(KeyboardInterrupt):
        equal_rows(shards, rows, TaskPool(tmp_path / "bench", killed))
    (tmp_path / "bench" / ".equal-2-of-5.npy.half").write_bytes(b"\x93NUM")  # what a killed worker leaves
    found = equal_rows(shards, rows, TaskPool(tmp_path / "bench", going_on))
    assert counted(found, rows) == by_dictionary(pairs)
    assert len(done) == len(set(done)) == 5


def test_a_full_disk_leaves_no_part_that_looks_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(5, 5)] * 3
    shards, rows = stored(tmp_path, columns(pairs))
    task_pool = TaskPool(tmp_path / "bench", in_process)

    def full(file: Any, array: Any, **others: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr(np, "save", full)
        with pytest.raises(OSError, match="No space left"):
            equal_rows(shards, rows, task_pool)
    assert list(task_pool.folder.iterdir()) == []
    assert counted(equal_rows(shards, rows, task_pool), rows) == [(1, 0), (2, 0)]


def test_many_shards_need_few_open_files(tmp_path: Path) -> None:
    pairs = [(row // 2 + 1, 1) for row in range(120)]
    shards, rows = stored(tmp_path, columns(pairs), range(1, 120))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, limits[1]))
    try:
        found = equal_rows(shards, rows, TaskPool(tmp_path / "bench", in_process))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert counted(found, rows) == [(row, row - 1) for row in range(1, 120, 2)]


def test_a_position_is_found_in_its_shard_past_empty_ones() -> None:
    shard, row = located(np.arange(5), [0, 2, 0, 0, 3])
    assert list(zip(shard.tolist(), row.tolist(), strict=True)) == [(1, 0), (1, 1), (4, 0), (4, 1), (4, 2)]
