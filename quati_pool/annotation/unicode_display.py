"""Makes deceptive characters visible: direction changes, invisible characters and control characters.

They are listed here instead of taken from Python's Unicode tables, so that every Python version shows the same. The
same characters are ordinary text where a script or an emoji needs them: joiners in the words of Indic and Arabic
scripts, joiners, variation selectors and tags in emoji (UTS #51, definitions ED-9a to ED-16).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

Kind = Literal["text", "mark"]

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but tab and line feed
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # a joiner, and letters without a shape
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    "\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # without width
    "\u2028\u2029"  # separators that end a line in some programs only
    "\ufe00-\ufe0f"  # variation selectors
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # formats, tags, variants
    "\ud800-\udfff"  # half a pair, which no page can hold
    "]"
)


def _letters(*blocks: tuple[int, int]) -> str:
    """The letters and marks between the ends of ``blocks``, for a character class."""
    codes = (code for first, last in blocks for code in range(first, last + 1))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] in "LM")


_INDIC = _letters((0x900, 0xDFF))  # Devanagari to Sinhala
_ARABIC = _letters((0x600, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC))  # and the other cursive scripts of its kind
_VIRAMA = "".join(letter for letter in _INDIC if unicodedata.combining(letter) == 9)
# The blocks of emoji, without the enclosed letters and digits, which read as letters and digits.
_EMOJI = "\u2190-\u23ff\u25a0-\u2775\u2794-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_SKIN_TONE = "\U0001f3fb-\U0001f3ff"
# The characters with standardized variants: emoji, signs, ideographs and their punctuation.
_VARIED = (
    f"{_EMOJI}\u00a9\u00ae\u203c\u2049\u2122\u2139\u24c2\u2a00-\u2aff\u3001-\u9fff\uf900-\ufaff\uff01-\uff60"
    "\U0001f000-\U0001f2ff\U00020000-\U0003ffff"
)
_TAG_LETTER, _TAG_DIGIT = "\U000e0061-\U000e007a", "\U000e0030-\U000e0039"
_ORDINARY = re.compile(
    "\r\n"  # a Windows line end
    f"|(?<=[{_INDIC}])[\u200c\u200d](?=[{_INDIC}])"
    f"|(?<=[{_VIRAMA}])[\u200c\u200d](?!\\w)"  # a word's last consonant without its vowel
    f"|(?<=[{_ARABIC}])[\u200c\u200d](?=[{_ARABIC}])"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}][\ufe0f{_SKIN_TONE}]))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_VARIED}])[\ufe00-\ufe0f]"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"  # a keycap
    # The flag of a subdivision such as Scotland: black flag, region and subdivision, end.
    f"|(?<=\U0001f3f4)[{_TAG_LETTER}]{{2}}[{_TAG_LETTER}{_TAG_DIGIT}]{{1,4}}\U000e007f"
)


class Part(NamedTuple):
    """A piece of plain text, or one hidden character, which ``shown`` replaces by a mark.

    The ``raw`` values of all parts, joined, are the original text.
    """

    raw: str
    kind: Kind

    @property
    def shown(self) -> str:
        return self.raw if self.kind == "text" else f"⟨U+{ord(self.raw):04X}⟩"


def visible(text: str) -> list[Part]:
    """``text`` in parts: every bidirectional control, zero-width or control character, lone surrogate, variation
    selector and invisible tag is a separate part, but for those that are ordinary where they are, which are plain
    text: tab, line feed, carriage return with line feed, and

    - zero-width joiners and non-joiners between two letters of the same Indic or Arabic kind, and after an Indic
      virama (as RFC 5892, appendix A, allows in names);
    - zero-width joiners between two emoji, a variation selector directly after an emoji, sign or ideograph, and the
      tags of a subdivision's flag.

    So is the soft hyphen, which is frequent in web text. Takes time linear in the text's length.
    """
    parts: list[Part] = []
    start = ordinary_end = 0
    for found in _HIDDEN.finditer(text):
        at = found.start()
        if at < ordinary_end:
            continue
        if ordinary := _ORDINARY.match(text, at):
            ordinary_end = ordinary.end()
            continue
        if at > start:
            parts.append(Part(text[start:at], "text"))
        parts.append(Part(found.group(), "mark"))
        start = found.end()
    if start < len(text):
        parts.append(Part(text[start:], "text"))
    return parts
