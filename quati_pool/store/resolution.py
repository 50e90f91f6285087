"""Which label counts where a pair was labelled more than once.

Within one key the newest label wins, except that a failure never replaces a grade: a model that
cannot answer today takes nothing back. What a person or judge decides (retracted, skipped, unsure)
does replace it, and a failure after that stands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from quati_pool.records import FAILURES, State

_OK = State.ok.value
_FAILED = frozenset(state.value for state in FAILURES)

Row = TypeVar("Row", bound=Sequence[Any])


def resolved(rows: Iterable[Row], key: Callable[[Row], Hashable], status: int) -> list[Row]:
    """The row that counts for each key, keys in order of first appearance.

    The rows of one key come in order of seq; ``status`` is the place of the status in a row.
    """
    current: dict[Hashable, Row] = {}
    for row in rows:
        name = key(row)
        if row[status] in _FAILED and name in current and current[name][status] == _OK:
            continue
        current[name] = row
    return list(current.values())
