"""Splits text into terms for the built-in lexical retrievers: lower-case words, without stop words and stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Annotated

from pydantic import AfterValidator

from quati_pool.registry import nearest

# Snowball's name of each language, by ISO 639-1 code.
SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}

# bm25s' names of the languages for which it has stop words; in other languages all words are kept.
_STOP_WORDS = {
    "da": "DANISH",
    "de": "GERMAN",
    "en": "EN",
    "es": "SPANISH",
    "fr": "FRENCH",
    "it": "ITALIAN",
    "nl": "DUTCH",
    "no": "NORWEGIAN",
    "pt": "PORTUGUESE",
    "ru": "RUSSIAN",
    "sv": "SWEDISH",
    "tr": "TURKISH",
}

_WORD = re.compile(r"[^\W_]+")
# Text that cannot contain combining marks: Latin letters, and general punctuation up to the currency signs.
_UNMARKED = re.compile("[\0-\u02ff\u2000-\u20cf]*")


@cache
def _marked_word() -> re.Pattern[str]:
    """A pattern of letters and digits with the marks on them. Python's \\w excludes marks, such as the vowel signs of
    Hindi or Tamil, and would split words at them."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"[^\W_]+(?:[{marks}]+[^\W_]*)*")


def check_language(language: str) -> str:
    """Returns ``language`` if it is known; raises ValueError, with the nearest known ones, otherwise."""
    if language not in SNOWBALL:
        raise ValueError(f"there is no language {language!r}; {nearest(language, SNOWBALL)}")
    return language


Language = Annotated[str, AfterValidator(check_language)]
"""The ISO 639-1 code of a language for which Snowball has a stemmer."""


def analyzer(language: str, stemming: bool, stop_words: bool) -> Callable[[str], list[str]]:
    """A function from a text to its terms, in order; ``language`` is an ISO 639-1 code.

    Text is first normalised to NFC, so that decomposed accents match composed ones. The Turkish dotted capital İ
    becomes i, and in Turkish the plain capital I becomes the dotless ı.
    """
    import Stemmer

    stopped = stop_words_of(language) if stop_words else frozenset()
    stem = lru_cache(maxsize=1 << 20)(Stemmer.Stemmer(SNOWBALL[language]).stemWord) if stemming else None

    def terms(text: str) -> list[str]:
        text = unicodedata.normalize("NFC", text).replace("İ", "i")
        if language == "tr":
            text = text.replace("I", "ı")
        text = text.lower()
        words = (_WORD if _UNMARKED.fullmatch(text) else _marked_word()).findall(text)
        kept = [word for word in words if word not in stopped] if stopped else words
        return [stem(word) for word in kept] if stem else kept

    return terms


def analysis_versions() -> dict[str, str]:
    """The versions of the packages whose rules and lists determine the terms."""
    from importlib.metadata import version

    return {"PyStemmer": version("PyStemmer"), "bm25s": version("bm25s"), "terms": "1"}


def stop_words_of(language: str) -> frozenset[str]:
    """The stop words that are left out of a language; empty for one that has no list."""
    if language not in _STOP_WORDS:
        return frozenset()
    from bm25s import stopwords

    return frozenset(getattr(stopwords, f"STOPWORDS_{_STOP_WORDS[language]}"))
