"""The explorer's data are scripts whose arguments can be read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quati_pool.reporting.explorer.scripts import arguments_of, script

# Two halves of a pair would become the character that they encode.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(st.lists(VALUES, max_size=3))
def test_what_a_script_was_given_is_read_back(arguments: list[object]) -> None:
    assert arguments_of(script("query", *arguments)) == arguments


def test_a_script_is_one_call() -> None:
    written = script("query", 3, {"docs": ["a);\nalert(1)", "\ud800", "ção"]})
    assert written == 'explorerData.query(3,{"docs":["a);\\nalert(1)","\\ud800","ção"]});\n'.encode()
