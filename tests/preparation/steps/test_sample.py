"""Samples: the rows with the lowest hashes, whatever the order and the shards; smaller ones inside larger ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from quati_pool.preparation.base import ComponentEnvironment, Drops, TaskPool
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.deduplication.comparison_arrays import KeyFiles
from quati_pool.preparation.steps.sample import Sample

Row = tuple[str, int]
"""A page's doc_id and the index of the passage."""


def batch(rows: Sequence[Row]) -> Batch:
    blank = [""] * len(rows)
    numbers = np.zeros(len(rows), dtype=np.int64)
    index = np.array([index for _, index in rows], dtype=np.int64)
    return Batch([doc_id for doc_id, _ in rows], blank, blank, blank, numbers, index, numbers, numbers)


def decided(folder: Path, step: Sample, shards: Sequence[Sequence[Row]]) -> Drops:
    places = [folder / str(number) for number in range(len(shards))]
    for place, rows in zip(places, shards, strict=True):
        with KeyFiles(place) as files:
            # In two batches, the first of which may be empty.
            for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                if part:
                    files.append(step.keys(batch(part)))
    return step.decide(places, [len(rows) for rows in shards], TaskPool(folder / "bench", lambda function, tasks: []))


def kept(folder: Path, shards: Sequence[Sequence[Row]], site_seed: int = 0, **parameters: Any) -> list[Row]:
    """In the order of the input."""
    drops = decided(folder, Sample(Sample.Parameters(**parameters), ComponentEnvironment(seed=site_seed)), shards)
    assert set(drops.reason.tolist()) <= {1}
    dropped = list(zip(drops.shard.tolist(), drops.row.tolist(), strict=True))
    assert dropped == sorted(set(dropped))
    return [
        row for shard, rows in enumerate(shards) for number, row in enumerate(rows) if (shard, number) not in dropped
    ]


def place(row_id: str, seed: int = 0) -> int:
    """The 128-bit hash as a number."""
    return xxhash.xxh3_128_intdigest(f"{seed}\t{row_id}".encode())


def in_shards(rows: list[Row], ends: list[int]) -> list[list[Row]]:
    borders = [0, *sorted(min(end, len(rows)) for end in ends), len(rows)]
    return [rows[low:high] for low, high in pairwise(borders)]


pages = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 5)), max_size=25, unique_by=lambda page: page[0]).map(
    lambda found: [(f"page-{number}", index) for number, passages in found for index in range(passages)]
)
ends = st.lists(st.integers(0, 80), max_size=5)


@given(rows=pages, ends=ends, n=st.integers(1, 60), seed=st.integers(0, 2**70))
def test_the_n_rows_with_the_lowest_hashes_stay(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], ends: list[int], n: int, seed: int
) -> None:
    found = kept(tmp_path_factory.mktemp("sample"), in_shards(rows, ends), seed, n=n)
    lowest = sorted(rows, key=lambda row: place(f"{row[0]}_{row[1]}", seed))[:n]
    assert found == [row for row in rows if row in lowest]


@settings(max_examples=30)
@given(rows=pages, ends=ends, n=st.integers(1, 25))
def test_the_n_pages_with_the_lowest_hashes_stay_with_all_their_passages(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], ends: list[int], n: int
) -> None:
    # A page may even lie in two shards.
    found = kept(tmp_path_factory.mktemp("sample"), in_shards(rows, ends), n=n, by="page")
    lowest = sorted({doc_id for doc_id, _ in rows}, key=place)[:n]
    assert found == [row for row in rows if row[0] in lowest]


@settings(max_examples=30)
@given(rows=pages, ends=ends, share=st.floats(0, 1, exclude_min=True), by=st.sampled_from(["passage", "page"]))
def test_a_share_keeps_the_rows_with_hashes_below_it(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], ends: list[int], share: float, by: str
) -> None:
    found = kept(tmp_path_factory.mktemp("sample"), in_shards(rows, ends), share=share, by=by)
    ids = {row: row[0] if by == "page" else f"{row[0]}_{row[1]}" for row in rows}
    # The first 64 bits, as a fraction of all numbers of 64 bits; share * 2 ** 64 is exact.
    assert found == [row for row in rows if (place(ids[row]) >> 64) < share * 2.0**64]


@settings(max_examples=25)
@given(rows=pages.filter(bool), data=st.data(), by=st.sampled_from(["passage", "page"]))
def test_neither_order_nor_shards_change_a_sample_and_smaller_ones_lie_inside_larger(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], data: st.DataObject, by: str
) -> None:
    small, large = sorted(data.draw(st.tuples(st.integers(1, 60), st.integers(1, 60))))
    ids = data.draw(st.permutations(sorted({doc_id for doc_id, _ in rows})))
    other = sorted(rows, key=lambda row: ids.index(row[0]))
    folder = tmp_path_factory.mktemp("sample")
    sample = kept(folder / "a", in_shards(rows, data.draw(ends)), n=small, by=by)
    assert sorted(kept(folder / "b", in_shards(other, data.draw(ends)), n=small, by=by)) == sorted(sample)
    assert set(sample) <= set(kept(folder / "c", [rows], n=large, by=by))


def test_another_seed_draws_another_sample(tmp_path: Path) -> None:
    rows = [("page", index) for index in range(200)]
    first = kept(tmp_path / "0", [rows], 0, n=100)
    assert first != kept(tmp_path / "1", [rows], 1, n=100)
    assert first == kept(tmp_path / "2", [rows], 1, n=100, seed=0)
    assert Sample(Sample.Parameters(n=1), ComponentEnvironment(seed=5)).key() == {"seed": 5}
    assert Sample(Sample.Parameters(n=1, seed=7), ComponentEnvironment(seed=5)).key() == {"seed": 7}


def test_a_sample_has_about_its_share_of_every_part(tmp_path: Path) -> None:
    rows = [(f"page-{number}", 0) for number in range(20_000)]
    found = kept_numbers(tmp_path, rows)
    # 2,000 of 10,000 rows: the standard deviation of a half's count is below sqrt(4000 / 4) = 32.
    assert len(found) == 4000
    assert abs(np.count_nonzero(found < 10_000) - 2000) < 5 * 32


def kept_numbers(folder: Path, rows: list[Row]) -> np.ndarray[Any, np.dtype[np.int64]]:
    drops = decided(folder, Sample(Sample.Parameters(n=4000)), [rows])
    return np.setdiff1d(np.arange(len(rows)), drops.row)


@pytest.mark.parametrize("by", ["passage", "page"])
@pytest.mark.parametrize("ends", [[], [1], [1, 2, 3, 4, 5, 6]], ids=["one shard", "two", "seven"])
def test_of_equal_hashes_those_that_come_first_stay(tmp_path: Path, ends: list[int], by: str) -> None:
    # Ids that differ never have one hash, so the keys are made by hand: the first half alone tells no order.
    high = np.array([9, 5, 5, 5, 5, 7, 1], dtype=np.uint64) << np.uint64(40)
    low = np.array([0, 3, 2, 2, 2, 0, 0], dtype=np.uint64)
    borders = [0, *ends, 7]
    shards = [tmp_path / str(start) for start in borders[:-1]]
    rows = []
    for folder, start, end in zip(shards, borders[:-1], borders[1:], strict=True):
        with KeyFiles(folder) as files:
            files.append({"high": high[start:end], "low": low[start:end]})
        rows.append(end - start)
    step = Sample(Sample.Parameters(n=3, by=by))
    drops = step.decide(shards, rows, TaskPool(tmp_path, lambda function, tasks: []))
    dropped = [borders[shard] + row for shard, row in zip(drops.shard.tolist(), drops.row.tolist(), strict=True)]
    # The places in order: row 6; rows 2, 3, 4 (one page); row 1; row 5; row 0.
    assert dropped == ([0, 1, 4, 5] if by == "passage" else [0, 5])


def test_hashes_at_the_ends_of_their_range_are_counted(tmp_path: Path) -> None:
    top = np.uint64(2**64 - 1)
    with KeyFiles(tmp_path / "0") as files:
        files.append({"high": np.array([0, top, top], np.uint64), "low": np.array([0, top, 0], np.uint64)})
    task_pool = TaskPool(tmp_path, lambda function, tasks: [])
    for n, expected in ((1, [1, 2]), (2, [1]), (3, [])):
        assert Sample(Sample.Parameters(n=n)).decide([tmp_path / "0"], [3], task_pool).row.tolist() == expected
    for share, expected in ((1.0, []), (1 - 2.0**-53, [1, 2]), (2.0**-200, [1, 2])):
        assert Sample(Sample.Parameters(share=share)).decide([tmp_path / "0"], [3], task_pool).row.tolist() == expected


@pytest.mark.parametrize("shards", [[], [[]], [[], []]], ids=["no shard", "an empty shard", "two empty shards"])
@pytest.mark.parametrize("size", [{"n": 3}, {"share": 0.5}, {"n": 3, "by": "page"}], ids=["n", "share", "pages"])
def test_of_nothing_nothing_is_dropped(tmp_path: Path, shards: list[list[Row]], size: dict[str, Any]) -> None:
    assert len(decided(tmp_path, Sample(Sample.Parameters(**size)), shards)) == 0


def test_more_than_there_is_keeps_all_and_says_so(tmp_path: Path) -> None:
    rows = [("a", 0), ("a", 1), ("b", 0)]
    step = Sample(Sample.Parameters(n=4000))
    assert len(decided(tmp_path, step, [rows])) == 0
    assert step.outcome(3, 0) == ("4,000 passages were asked for and there are 3: all stay",)
    pages = Sample(Sample.Parameters(n=2, by="page"))
    assert pages.outcome(3, 0) == ("2 pages were asked for and there are no more: all stay",)
    assert step.outcome(4000, 0) == pages.outcome(3, 1) == Sample(Sample.Parameters(share=0.5)).outcome(3, 0) == ()


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({}, "expected either n or share"),
        ({"n": 5, "share": 0.5}, "expected either n or share"),
        ({"share": 0.0}, "share is 0; expected a number above 0 and at most 1"),
        ({"share": 1.5}, "share is 1.5; expected a number above 0 and at most 1"),
        ({"n": 0}, "greater than or equal to 1"),
    ],
    ids=["neither", "both", "share 0", "share 1.5", "n 0"],
)
def test_sizes_that_are_none_are_refused(parameters: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Sample.Parameters(**parameters)
