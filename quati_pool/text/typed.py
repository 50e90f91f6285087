"""Text as people type it into forms: brought to one form, and checked for what would not be displayed as it is
stored."""

from __future__ import annotations

import re
import unicodedata

# Characters that change the display order of text.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


class UnprintableError(ValueError):
    """Text has line breaks where there may be none, control characters, lone surrogates or direction controls."""


def typed_line(text: str) -> str:
    """One line in composed characters (NFC) with single spaces, none at its ends. Raises UnprintableError."""
    text = unicodedata.normalize("NFC", text).strip(" ")
    _check(text)
    return " ".join(text.split())


def typed_lines(text: str) -> str:
    """Text of any number of lines in composed characters (NFC), without white space at its ends. Raises
    UnprintableError."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n")).strip()
    _check(text, but="\n\t")
    return text


def has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _check(text: str, but: str = "") -> None:
    unprintable = (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text if character not in but
    )
    if _TURNING.search(text) or any(unprintable):
        raise UnprintableError
