"""Where a passage holds the words of its query."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from quati_pool.text.analysis import SNOWBALL, analyzer

_WORD = re.compile(r"[^\W_]+")


class Span(NamedTuple):
    """``text[start:end]``, counted in characters of the text as it was given."""

    start: int
    end: int


def highlights(query: str, text: str, language: str | None) -> list[Span]:
    """The words of ``text`` whose stem is that of a word of ``query``, in order; stop words do not count.

    ``language`` is an ISO 639-1 code; where it is None or has no stemmer, words must be the same but for
    their case.
    """
    stemmed = language in SNOWBALL
    # Created per call, which costs little: a stemmer cannot be shared between threads.
    terms = analyzer(language if language and stemmed else "en", stemming=stemmed, stop_words=stemmed)
    wanted = set(terms(query))
    if not wanted:
        return []
    # A word at a time, since normal forms and lower case change lengths and so the offsets of what follows.
    seen: dict[str, bool] = {}
    found = []
    for span in words(text):
        word = text[span.start : span.end]
        if word not in seen:
            seen[word] = not wanted.isdisjoint(terms(word))
        if seen[word]:
            found.append(span)
    return found


def words(text: str) -> list[Span]:
    """The words of ``text`` as ``analyzer`` parts it, with the combining marks that belong to them."""
    found: list[Span] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        while end < len(text) and unicodedata.category(text[end])[0] == "M":
            end += 1
        if found and found[-1].end == start:
            start = found.pop().start
        found.append(Span(start, end))
    return found
