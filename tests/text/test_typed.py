"""Text as people type it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.text.typed import UnprintableError, has_words, typed_line, typed_lines


def test_a_line_and_lines() -> None:
    assert typed_line("  a\u00a0 mare\N{COMBINING ACUTE ACCENT} ") == "a maré"
    assert typed_lines(" a\r\n\n b\t") == "a\n\n b"
    for text in ("a\nb", "a\rb", "\ta"):
        with pytest.raises(UnprintableError):
            typed_line(text)
    for text in ("a\0", "a\x85b", "a\ud800", "a\u202e", "a\u2066", "a\u2029b", "a\rb"):
        with pytest.raises(UnprintableError):
            typed_lines(text)
    assert has_words("?9")
    assert has_words("水")
    assert not has_words("?! …")


@given(st.text())
def test_text_that_was_brought_to_one_form_stays_as_it_is(text: str) -> None:
    for form in (typed_line, typed_lines):
        try:
            once = form(text)
        except UnprintableError:
            continue
        assert form(once) == once == once.strip() == unicodedata.normalize("NFC", once)
