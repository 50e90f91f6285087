"""Which label counts where a pair was labelled more than once.

Within one key the newest label wins, except that a failure never replaces a grade: a model that
cannot answer today takes nothing back. What a person or judge decides (retracted, skipped, unsure)
does replace it, and a failure after that stands.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from quati_pool.records import FAILURES, State

_OK = State.ok.value
_FAILED = frozenset(state.value for state in FAILURES)

Row = TypeVar("Row", bound=Sequence[Any])


def resolved(rows: Iterable[tuple[Hashable, str, Row]]) -> list[Row]:
    """The row that counts for each key, from (key, status, row) of one key in order of seq; keys in
    order of first appearance."""
    current: dict[Hashable, tuple[str, Row]] = {}
    for key, status, row in rows:
        if status in _FAILED and key in current and current[key][0] == _OK:
            continue
        current[key] = status, row
    return [row for _, row in current.values()]


def resolved_by_query(rows: Iterable[Row], status: int, key: int) -> Iterator[list[Row]]:
    """For each query the rows that count, from rows whose first column is the query_id, ordered by it
    and then by seq; ``status`` is the status's column, the first ``key`` columns are the key."""
    current: dict[Any, Row] = {}
    query_id = None
    for row in rows:
        if row[0] != query_id:
            if current:
                yield list(current.values())
            current = {}
            query_id = row[0]
        name = row[:key]
        if row[status] in _FAILED and name in current and current[name][status] == _OK:
            continue
        current[name] = row
    if current:
        yield list(current.values())
