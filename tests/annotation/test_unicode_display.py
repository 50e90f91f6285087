"""No character hides from the reader."""

from __future__ import annotations

import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.annotation.unicode_display import Part, visible

BIDI = [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C]
ZERO_WIDTH = [0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF]
# Format characters that are seen: the soft hyphen at a line's end, and signs that enclose numbers.
SEEN = {0xAD, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)}


@pytest.mark.parametrize("code", [*BIDI, *ZERO_WIDTH, 0, 7, 0x1B, 0x7F, 0x85, 0x2028, 0xD800, 0xE0041])
def test_a_hidden_character_gets_a_mark_that_names_it(code: int) -> None:
    parts = visible(f"a{chr(code)}b")
    assert parts == [Part("a", "text"), Part(chr(code), "mark"), Part("b", "text")]
    assert "".join(part.shown for part in parts) == f"a⟨U+{code:04X}⟩b"


def test_every_control_format_and_surrogate_character_of_unicode_is_marked() -> None:
    """The oracle is Python's table of categories."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    marked = {ord(part.raw) for part in visible(everything) if part.kind == "mark"}
    hidden = {code for code in range(sys.maxunicode + 1)
              if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")}  # fmt: skip
    assert {0x09, 0x0A, 0xAD} <= hidden - marked <= {0x09, 0x0A} | SEEN
    # What else is marked has no shape: fillers, selectors and what is not assigned between them.
    others = {chr(code) for code in marked - hidden}
    assert {unicodedata.category(c) for c in others} <= {"Mn", "Lo", "Cn"}
    assert "\ufe0f" not in others


@pytest.mark.parametrize("text", ["", "tab\there\nnew", "line\r\nend\r\n", "café – “x” ação 😀️", "soft\u00adhyphen"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == ([Part(text, "text")] if text else [])


def test_a_carriage_return_alone_is_marked() -> None:
    assert [part.kind for part in visible("a\rb\r\r\n")] == ["text", "mark", "text", "mark", "text"]


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_the_raw_parts_joined_are_the_text_and_nothing_shown_is_hidden(text: str) -> None:
    parts = visible(text)
    assert "".join(part.raw for part in parts) == text
    assert all(part.raw for part in parts)
    assert all(len(part.raw) == 1 for part in parts if part.kind == "mark")
    assert not any(a.kind == b.kind == "text" for a, b in pairwise(parts))
    shown = "".join(part.shown for part in parts)
    assert all(part.kind == "text" for part in visible(shown))
