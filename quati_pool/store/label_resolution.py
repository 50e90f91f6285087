"""Which label counts when a pair was labelled more than once.

Within one key the newest answer wins, except that a failure never replaces a grade: a model that
cannot answer today does not retract its earlier grade. What a person or judge decides (retracted, skipped,
unsure) does replace it, and a failure after that stays. If an answer was read more than once, its newest
reading counts, whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from quati_pool.records import FAILURES, State

SEQ, STATUS, REREADS = 5, 6, 9
"""The positions of these columns in a row that begins with the columns of ``CurrentLabel``."""

_OK = State.ok.value
_FAILED = frozenset(state.value for state in FAILURES)

Row = TypeVar("Row", bound=Sequence[Any])


def resolved(rows: Iterable[Row], key: Callable[[Any], Hashable]) -> list[Row]:
    """The row that counts for each key, keys in order of first appearance.

    Rows begin with the columns of ``CurrentLabel``; those of one key must be in order of seq and include all
    readings of an answer.
    """
    rows = list(rows)
    readings = {row[REREADS]: row for row in rows if row[REREADS] is not None}
    current: dict[Hashable, Row] = {}
    for row in rows:
        if readings:
            if row[REREADS] is not None:
                continue
            row = readings.get(row[SEQ], row)
        name = key(row)
        if row[STATUS] in _FAILED and name in current and current[name][STATUS] == _OK:
            continue
        current[name] = row
    return list(current.values())
