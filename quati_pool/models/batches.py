"""Batches of texts by their number of tokens, run on one device or several, and halved if they do not fit into the
device's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from quati_pool.errors import QuatiPoolError
from quati_pool.records import Int

T = TypeVar("T")


def token_batches(lengths: Int, budget: int) -> list[Int]:
    """Divides texts into batches, longest texts first; returns the positions in each batch.

    ``lengths``, shape (n,), are the texts' lengths in tokens. The number of texts in a batch times the longest length
    is at most ``budget``, but a batch has at least one text. Every position is in exactly one batch.
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches = []
    start = 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        end = start + max(budget // longest, 1)
        batches.append(order[start:end])
        start = end
    return batches


class Halving:
    """Runs batches, halving those that do not fit into the device's memory; notes that to the user once.

    The size that fitted is remembered: later batches are divided into as many parts from the start.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._parts = 1
        self._lock = threading.Lock()

    def run(self, work: Callable[[list[int]], T], batch: Sequence[int]) -> Iterator[tuple[list[int], T]]:
        """Yields the parts of ``batch`` with the results of ``work``, in order.

        Raises QuatiPoolError if a single item does not fit.
        """
        items = [int(item) for item in batch]
        size = max(-(-len(items) // self._parts), 1)
        start = 0
        while start < len(items):
            part = items[start : start + size]
            result = _unless_full(work, part)
            if result is None:
                if len(part) == 1:
                    raise QuatiPoolError(
                        "the device has not enough memory for a single text; "
                        "lower max_tokens, compute in fp16, or use device: cpu"
                    )
                _empty_caches()
                size = (len(part) + 1) // 2
                self._remember(-(-len(items) // size), size)
                continue
            yield part, result[0]
            start += len(part)

    def _remember(self, parts: int, size: int) -> None:
        with self._lock:
            first, self._parts = self._parts == 1, max(self._parts, parts)
        if first:
            self._note(
                f"the device's memory is too small for a batch: going on with {size:,} texts instead; "
                "a smaller batch_tokens would avoid the attempts"
            )


def spread(
    batches: Iterable[Sequence[int]],
    work: Callable[[Any, list[int]], T],
    models: Sequence[Any],
    halvings: Sequence[Halving],
) -> Iterator[tuple[list[int], T]]:
    """Runs batches on the models, each in its own thread if there are several. Yields parts of batches with their
    results as they become ready, in the calling thread."""
    if len(models) == 1:
        for batch in batches:
            yield from halvings[0].run(lambda part: work(models[0], part), batch)
        return
    waiting = iter(batches)
    lock = threading.Lock()

    def rounds(device: int) -> list[tuple[list[int], T]]:
        with lock:
            batch = next(waiting, None)
        if batch is None:
            return []
        return list(halvings[device].run(lambda part: work(models[device], part), batch))

    with ThreadPoolExecutor(len(models)) as threads:
        running: dict[Future[list[tuple[list[int], T]]], int] = {
            threads.submit(rounds, device): device for device in range(len(models))
        }
        while running:
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                device = running.pop(future)
                results = future.result()
                if results:
                    running[threads.submit(rounds, device)] = device
                yield from results


def _unless_full(work: Callable[[list[int]], T], part: list[int]) -> tuple[T] | None:
    """The result of ``work`` as a 1-tuple, or None if the device ran out of memory."""
    try:
        return (work(part),)
    except RuntimeError as error:
        if not _is_full(error):
            raise
    return None


def _is_full(error: RuntimeError) -> bool:
    import torch

    said = str(error).lower()
    return (
        isinstance(error, torch.OutOfMemoryError)
        or "out of memory" in said
        or "can't allocate memory" in said
        or "cublas_status_alloc_failed" in said
    )


def _empty_caches() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()
