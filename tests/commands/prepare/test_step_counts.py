"""Counts and examples do not depend on how the rows came: in one batch or many, in one shard or many."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.commands.prepare.step_counts import EXAMPLES, StepCount, count_drops, example_order
from quati_pool.preparation.batch import Batch

N = 90
REASONS = ("odd", "third")


def rows(start: int, stop: int) -> Batch:
    """Passages, three of each page, of 1, 2, … characters."""
    number = np.arange(start, stop)
    ids = [f"d{page}" for page in number // 3]
    texts = ["x" * (place + 1) for place in number]
    return Batch(ids, [""] * len(ids), [""] * len(ids), texts, number // 3, number % 3, number * 0, number + 1)


def codes(start: int, stop: int) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Every even row stays, of the odd ones every third goes for another reason."""
    number = np.arange(start, stop)
    return np.where(number % 2 == 0, 0, np.where(number % 3 == 0, 2, 1)).astype(np.int16)


def counted(start: int, stop: int, count: StepCount) -> None:
    batch = rows(start, stop)
    count.enter(batch)
    verdicts = codes(start, stop)
    count_drops(count, batch, verdicts, REASONS, lambda row: f"f:{start + row}", lambda row: f"row {start + row}")
    count.leave(batch.take(verdicts == 0))


def test_counts_are_those_by_hand() -> None:
    count = StepCount()
    counted(0, N, count)
    assert (count.rows_in, count.pages_in, count.characters_in) == (90, 30, 90 * 91 // 2)
    # Of every page one or two of three passages stay: 45 odd lengths 1, 3, … 89, whose sum is 45 squared.
    assert (count.rows_out, count.pages_out, count.characters_out) == (45, 30, 45**2)
    assert count.dropped == {"odd": 30, "third": 15}
    assert [len(count.examples[reason]) for reason in REASONS] == [EXAMPLES, 15]


def test_examples_are_those_whose_ids_have_the_lowest_hashes() -> None:
    count = StepCount()
    counted(0, N, count)
    batch = rows(0, N)
    dropped = [batch.ids[row] for row in np.flatnonzero(codes(0, N) == 1)]
    assert [each.id for each in count.examples["odd"]] == sorted(dropped, key=example_order)[:EXAMPLES]
    for each in count.examples["odd"]:
        row = batch.ids.index(each.id)
        assert (each.place, each.detail, each.text) == (f"f:{row}", f"row {row}", batch.text[row])


@given(cuts=st.lists(st.integers(1, N // 3 - 1), max_size=6), shards=st.integers(1, 3))
def test_neither_batches_nor_shards_matter(cuts: list[int], shards: int) -> None:
    whole = StepCount()
    counted(0, N, whole)
    # Batches end where pages do.
    ends = [0, *sorted(3 * cut for cut in cuts), N]
    tasks = [StepCount() for _ in range(shards)]
    for number, (start, stop) in enumerate(pairwise(ends)):
        counted(start, stop, tasks[number % shards])
    total = StepCount()
    for task in tasks:
        total.add(StepCount.of(json.loads(json.dumps(task.data()))))
    assert total == whole
