"""What is left of a shard, read back whole, in stretches, and row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from quati_pool.commands.prepare import rows as stored
from quati_pool.commands.prepare.rows import IdLookup, RowId, Rows, RowWriter, save_left
from quati_pool.preparation.batch import Batch

TEXTS = ["um", "", "três palavras aqui", "quatro", "cinco\n" * 9, "seis", "sete 🦜", "oito"]


def batch(start: int, stop: int) -> Batch:
    """Rows of which two are cut from each page."""
    number = np.arange(start, stop)
    return Batch(
        [f"d{page}" for page in number // 2],
        ["http://x" if place % 3 else "" for place in number],
        ["pt"] * len(number),
        TEXTS[start:stop],
        number // 2,
        number % 2,
        number // 4,
        number // 2 + 1,
    )


@pytest.fixture(params=[1, 30, 4_000_000])
def folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight rows that came in batches of 3, 0, 1 and 4, in stretches on disk of so many characters."""
    monkeypatch.setattr(stored, "_CHARACTERS", request.param)
    with RowWriter(tmp_path) as writer:
        for start, stop in ((0, 3), (3, 3), (3, 4), (4, 8)):
            writer.append(batch(start, stop))
    return tmp_path


def told(batches: Iterator[Batch]) -> list[tuple[object, ...]]:
    return [
        row
        for each in batches
        for row in zip(
            each.ids, each.url, each.language, each.text, each.page.tolist(), each.file.tolist(), each.line.tolist(),
            strict=True,
        )
    ]  # fmt: skip


ALL = told(iter([batch(0, 8)]))


def test_any_stretch_of_what_is_left_comes_back(folder: Path) -> None:
    left = [0, 2, 3, 6, 7]
    save_left(folder, [np.array(left[:2]), np.array(left[2:])])
    for rows, expected in ((Rows(folder, None), ALL), (Rows.at(folder, folder), [ALL[place] for place in left])):
        assert told(rows.batches()) == expected
        for start in range(len(expected) + 1):
            for stop in range(start, len(expected) + 1):
                assert told(rows.batches(start, stop)) == expected[start:stop]


def test_nothing_left_is_no_rows(folder: Path) -> None:
    save_left(folder, [])
    assert told(Rows.at(folder, folder).batches()) == []
    (folder / "empty").mkdir()
    with RowWriter(folder / "empty"):
        pass
    assert told(Rows(folder / "empty", None).batches()) == []


def test_a_row_is_looked_up_by_its_number_among_those_left(folder: Path) -> None:
    save_left(folder, [np.array([1, 4, 7])])
    asked: list[int] = []

    def rows(shard: int) -> Rows:
        asked.append(shard)
        return Rows.at(folder, folder)

    lookup = IdLookup(rows)
    assert [lookup(0, row) for row in range(3)] == [RowId("d0_1", 0, 1), RowId("d2_0", 1, 3), RowId("d3_1", 1, 4)]
    # More shards than are held open at once: the first is opened again.
    for shard in range(100):
        assert lookup(shard, 2).id == "d3_1"
    assert lookup(0, 0).id == "d0_1"
    assert asked == [*range(100), 0]
