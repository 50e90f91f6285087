"""Adds up the usage of attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Select, select

from quati_pool.records import State
from quati_pool.store.records import Phase, Usage
from quati_pool.store.schema import attempts, labels

_SUMMED = ("retries", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost")
_COLUMNS = [attempts.c[name] for name in ("status", "model", "output", "seconds", *_SUMMED)]


def attempts_of(collection: str, labeler_id: str, version: str | None, phases: Sequence[Phase]) -> Select[Any]:
    """Selects the columns that ``total`` adds up, for one version of a labeler or all."""
    c = labels.c
    wanted = select(*_COLUMNS).join_from(attempts, labels, attempts.c.label_seq == c.seq)
    wanted = wanted.where(c.collection == collection, c.labeler_id == labeler_id, c.phase.in_(phases))
    return wanted if version is None else wanted.where(c.version == version)


def total(partitions: Iterable[Sequence[Sequence[Any]]]) -> Usage:
    """The total over rows of ``attempts_of``, given in partitions."""
    count = answers = 0
    states: Counter[str] = Counter()
    models: Counter[str] = Counter()
    seconds: list[float] = []
    sums: dict[str, Any] = dict.fromkeys(_SUMMED, 0)
    named: Counter[str] = Counter()
    for rows in partitions:
        status, model, output, times, *figures = zip(*rows, strict=True)
        count += len(rows)
        states.update(status)
        models.update(name for name in model if name is not None)
        # The duration of a failed call includes waits and is not a latency.
        answered = zip(output, times, strict=True)
        seconds.extend(time for form, time in answered if form is not None and time is not None)
        answers += sum(form is not None for form in output)
        for name, values in zip(_SUMMED, figures, strict=True):
            known = [value for value in values if value is not None]
            sums[name] += sum(known)
            named[name] += len(known)
    # Without attempts a sum is 0; if no attempt reports the figure, it is unknown.
    sums = {name: value if named[name] or not count else None for name, value in sums.items()}
    return Usage(
        attempts=count,
        answers=answers,
        unknown_cost=count - named["cost"],
        seconds=np.array(seconds, dtype=np.float64),
        models=dict(models.most_common()),
        states={State(state): n for state, n in states.most_common()},
        **sums,
    )
