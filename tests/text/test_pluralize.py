"""Counts with their nouns."""

from __future__ import annotations

import pytest

from quati_pool.text.pluralize import counted


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 queries"), (1, "1 query"), (2, "2 queries"), (1204, "1,204 queries")]
)
def test_one_is_singular_and_thousands_have_a_comma(count: int, told: str) -> None:
    assert counted(count, "query", "queries") == told
