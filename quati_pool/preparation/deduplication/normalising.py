"""Normalises texts for comparison: removes the differences that do not count."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

Difference = Literal["NFC", "NFKC", "case", "punctuation", "digits", "white space"]

Normalise = Annotated[
    list[Difference],
    Field(
        description="Differences that do not count. NFC: how an accent is coded; NFKC: also full width, ligatures, "
        "superscripts; case: capitals (Unicode case folding); punctuation: marks and symbols, each a space; digits: "
        "which number it is; white space: runs of it and line breaks are one space, at the ends none. [] compares "
        "texts as they are."
    ),
]

DEFAULT: list[Difference] = ["NFC", "case", "white space"]
"""The differences that never change the meaning of a text; copies of one page differ in them by encoding and layout.
Punctuation and digits count by default: pages of one template differ in prices, dates and scores."""

_DIGITS = re.compile(r"\d+")
_BEYOND_BASIC = re.compile("[\U00010000-\U0010ffff]")


def normaliser(differences: Sequence[Difference]) -> Callable[[str], str]:
    """A function from a text to its normalised form, independent of the order of ``differences``.

    Case is folded between two normalisations, as in canonical caseless matching (The Unicode Standard, section 3.13,
    D145).
    """
    steps: list[Callable[[str], str]] = []
    form: Literal["NFC", "NFKC"] | None = "NFKC" if "NFKC" in differences else "NFC" if "NFC" in differences else None
    if form:
        steps.append(lambda text: unicodedata.normalize(form, text))
    if "case" in differences:
        steps.append(str.casefold)
        if form:
            steps.append(lambda text: unicodedata.normalize(form, text))
    if "punctuation" in differences:
        steps.append(_without_punctuation)
    if "digits" in differences:
        steps.append(lambda text: _DIGITS.sub("0", text))
    if "white space" in differences:
        steps.append(lambda text: " ".join(text.split()))

    def normalised(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return normalised


def encoded(text: str) -> bytes:
    """The bytes that are hashed: UTF-8, with lone surrogates, which UTF-8 cannot represent, passed through."""
    return text.encode("utf-8", "surrogatepass")


def versions() -> dict[str, Any]:
    """The version of the Unicode data, on which normalisation depends."""
    return {"unicode": unicodedata.unidata_version}


def _without_punctuation(text: str) -> str:
    """``text`` with Unicode punctuation and symbols replaced by spaces. ``\\W`` would split Hindi and Tamil words at
    their vowel signs."""
    basic, rest = _punctuation()
    text = basic.sub(" ", text)
    return rest.sub(" ", text) if _BEYOND_BASIC.search(text) else text


@cache
def _punctuation() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of the marks below and from U+10000: ``re`` looks up a character fast only among the first 65,536."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] in "PS"]
    basic = [code for code in marks if code < 0x10000]
    return re.compile(_any_of(basic)), re.compile(_any_of(marks[len(basic) :]))


def _any_of(codes: Sequence[int]) -> str:
    """A pattern of one or more of these code points, which must be ascending; written as ranges."""
    starts = [code for before, code in pairwise([-1, *codes]) if code != before + 1]
    ends = [code for code, after in pairwise([*codes, -1]) if after != code + 1]
    ranges = (f"{re.escape(chr(start))}-{re.escape(chr(end))}" for start, end in zip(starts, ends, strict=True))
    return f"[{''.join(ranges)}]+"
