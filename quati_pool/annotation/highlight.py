"""Finds the words of a query in a passage, for highlighting."""

from __future__ import annotations

import re
import unicodedata

from quati_pool.text.analysis import SNOWBALL, analyzer
from quati_pool.text.sentences import Span

_WORD = re.compile(r"[^\W_]+")


def highlights(query: str, text: str, language: str | None) -> list[Span]:
    """The words of ``text`` that have the same stem as a word of ``query``, in order; stop words are ignored.

    ``language`` is an ISO 639-1 code; if it is None or has no stemmer, words must be equal except for case.
    """
    stemmed = language in SNOWBALL
    # Created per call, which costs little: a stemmer cannot be shared between threads.
    terms = analyzer(language if language and stemmed else "en", stemming=stemmed, stop_words=stemmed)
    wanted = set(terms(query))
    if not wanted:
        return []
    # Word by word, because normalization and lower-casing change lengths and so the offsets of what follows.
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
    """The words of ``text`` as ``analyzer`` splits it, including their combining marks."""
    found: list[Span] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        while end < len(text) and unicodedata.category(text[end])[0] == "M":
            end += 1
        if found and found[-1].end == start:
            start = found.pop().start
        found.append(Span(start, end))
    return found
