"""Splits a passage into sentences, so that its words can be marked by keys, sentence by sentence."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from quati_pool.text.sentence_ends import LINE_BREAKS, continues, ends_sentence, possible_ends

_SPACES = re.compile(r"\s+")
_BREAK = re.compile(rf"\r\n|[{LINE_BREAKS}]")
# Characters other than marks that are shown as one with the character before them (Unicode Standard Annex 29).
_JOINING = re.compile("[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")


class Span(NamedTuple):
    """``text[start:end]``, in characters of the original text."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """The sentences of ``text``, in order, without the white space around them. Headings, list items and paragraphs are
    sentences too. Every other character belongs to exactly one sentence, and none is cut from the marks on it."""
    ends = {end for end in possible_ends(text, 0, len(text)) if ends_sentence(text, end)}
    after = {}
    for space in _SPACES.finditer(text):
        after[space.start()] = space.end()
        breaks = _BREAK.findall(space[0])
        if len(breaks) > 1 or (breaks and space.start() and not continues(text, space.start())):
            ends.add(space.start())
    found = []
    start = after.get(0, 0)
    for end in sorted(ends):
        following = after.get(end, end)
        if start < end and following < len(text) and not _joins(text[following]):
            found.append(Span(start, end))
            start = following
    last = len(text.rstrip())
    return [*found, Span(start, last)] if start < last else found


def _joins(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or _JOINING.match(character) is not None
