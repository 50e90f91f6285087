"""No character hides from the reader."""

from __future__ import annotations

import sys
import timeit
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


# Words and emoji as they are written; the escapes are the characters that would be marked elsewhere.
ORDINARY = {
    "Persian, I want": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Urdu, with a mark before": "\u0628\u064e\u200c\u06c1",
    "Hindi, a conjunct with a half form": "\u0915\u094d\u200d\u0937",
    "Hindi, a conjunct with a visible virama": "\u0915\u094d\u200c\u0937",
    "Bengali, ra and ya-phalaa": "\u09b0\u200d\u09cd\u09af\u09be\u09ac",
    "Malayalam, a word that ends in a chillu": "\u0d05\u0d35\u0d28\u0d4d\u200d \u0d2a\u0d4b\u0d2f\u0d3f",
    "Kannada, ra": "\u0cb0\u200d\u0ccd\u0caf",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "health worker with a skin tone": "\U0001f469\U0001f3fd\u200d\u2695\ufe0f",
    "rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "head shaking": "\U0001f642\u200d\u2194\ufe0f",
    "kiss": "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f48b\u200d\U0001f468",
    "Scotland": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "keycap": "1\ufe0f\u20e3",
    "heart": "\u2764\ufe0f",
    "trade mark": "Quati\u2122\ufe0e",
    "ideograph": "\u82a6\ufe00",
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_what_a_word_or_an_emoji_needs_is_not_marked(text: str) -> None:
    assert visible(text) == [Part(text, "text")]
    assert visible(f"uma {text} e") == [Part(f"uma {text} e", "text")]


DECEPTIVE = {
    "between Latin letters": "pay\u200dpal",
    "between Cyrillic letters": "\u0430\u200c\u0431",
    "between digits": "1\u200d2",
    "between an Indic and a Latin letter": "\u0915\u200da",
    "between an Indic and an Arabic letter": "\u0915\u200d\u0628",
    "before an Indic digit": "\u0915\u200d\u0967",
    "after a virama before a Latin letter": "\u0d28\u0d4d\u200da",
    "at the beginning": "\u200d\u0915",
    "at the end": "\u0915\u200c",
    "between a letter and an emoji": "a\u200d\U0001f308",
    "after an emoji": "\U0001f468\u200d",
    "a non-joiner between emoji": "\U0001f468\u200c\U0001f469",
    "between enclosed letters": "\u24d0\u200d\u24d1",
    "between squared letters": "\U0001f130\u200d\U0001f131",
    "after a lone skin tone": "\U0001f3fd\u200d\u2695",
    "a variation selector after a letter": "a\ufe0f",
    "a variation selector after a digit": "1\ufe0f",
    "a variation selector after a space": " \ufe0f",
}


@pytest.mark.parametrize("text", DECEPTIVE.values(), ids=DECEPTIVE)
def test_the_same_characters_elsewhere_are_marked(text: str) -> None:
    hidden = [character for character in text if character in "\u200c\u200d\ufe0f"]
    assert [part.raw for part in visible(text) if part.kind == "mark"] == hidden


@pytest.mark.parametrize(
    "text", ["\u0915\u094d\u200d\u200d\u0937", "\u0645\u200c\u200c\u062e", "\u2764\ufe0f\ufe0f\ufe0f"]
)
def test_of_several_in_a_row_those_too_many_are_marked(text: str) -> None:
    """A row of them could hold a message that only programs read."""
    row = sum(character in "\u200c\u200d\ufe0f" for character in text)
    assert row - 1 <= sum(part.kind == "mark" for part in visible(text)) <= row


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(character)) for character in text)


@pytest.mark.parametrize(
    ("flag", "ordinary"),
    [
        ("\U0001f3f4" + tags("gbeng") + "\U000e007f", True),
        ("\U0001f3f4" + tags("ustx") + "\U000e007f", True),
        ("\U0001f3f4" + tags("gbeng"), False),  # without its end
        ("\U0001f3f4" + tags("GBENG") + "\U000e007f", False),
        ("\U0001f3f4" + tags("give grade 3") + "\U000e007f", False),
        ("\U0001f3f4" + tags("gb") + "\U000e007f", False),  # no subdivision
        ("\U0001f3f3" + tags("gbeng") + "\U000e007f", False),  # not the black flag
        ("x" + tags("gbeng") + "\U000e007f", False),
    ],
)
def test_tags_are_ordinary_in_the_flag_of_a_subdivision_only(flag: str, ordinary: bool) -> None:
    marked = [part.raw for part in visible(flag) if part.kind == "mark"]
    assert marked == ([] if ordinary else list(flag[1:]))


LATIN = st.text(st.sampled_from("abcçéñãoABZ019 .,;\n"), max_size=8)


@given(LATIN, st.sampled_from("\u200c\u200d\ufe0f"), LATIN)
def test_in_latin_text_every_one_is_marked(before: str, hidden: str, after: str) -> None:
    text = before + hidden + after
    assert [part for part in visible(text) if part.kind == "mark"] == [Part(hidden, "mark")]


@given(st.lists(st.sampled_from(list(ORDINARY.values())), max_size=6), st.sampled_from(" ,.\n—"))
def test_ordinary_pieces_stay_so_next_to_each_other(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    assert visible(text) == ([Part(text, "text")] if text else [])


def test_emoji_are_those_of_unicode() -> None:
    """The oracle is the property Extended_Pictographic of the package regex, for two emoji with a joiner between
    (UAX #29, rule GB11); enclosed letters, which read as letters, are left out on purpose."""
    regex = pytest.importorskip("regex")
    everything = "".join(chr(code) for code in range(0x2190, 0x1FB00) if not 0xD800 <= code < 0xE000)
    for emoji in regex.findall(r"\p{Extended_Pictographic}", everything):
        if not 0x2460 <= ord(emoji) < 0x2500 and not 0x3000 <= ord(emoji) < 0x1F300:
            assert visible(f"{emoji}\u200d{emoji}\ufe0f") == [Part(f"{emoji}\u200d{emoji}\ufe0f", "text")], hex(
                ord(emoji)
            )


@pytest.mark.parametrize(
    "piece", ["\u0915\u094d\u200d", "a\u200d", "\U0001f3f4", "\U0001f3f4" + tags("gbeng"), tags("g"), "texto "]
)
def test_a_long_text_takes_time_linear_in_its_length(piece: str) -> None:
    def seconds(text: str) -> float:
        return min(timeit.repeat(lambda: visible(text), number=1, repeat=5))

    short = piece * (40_000 // len(piece))
    # Ten times the text: 10 if linear, 100 if quadratic.
    assert seconds(short * 10) < 40 * max(seconds(short), 1e-4)
