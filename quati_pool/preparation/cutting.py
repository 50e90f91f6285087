"""Cuts a text into pieces of about a given length, each at the best place near that length: not inside a word unless
it is longer than a piece, and never inside a grapheme, a character as readers see it (Unicode Standard Annex 29).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from quati_pool.text.sentence_ends import BREAKING, LINE_BREAKS, continues, ends_sentence, possible_ends

_BREAK = re.compile(rf"[{LINE_BREAKS}]")
_LINE_END = re.compile(rf"\r\n|[{LINE_BREAKS}]")
_SPACE = re.compile(r"\s*")
_SPACES = re.compile(r"\s+")
_NO_BREAK = "\xa0\u2007\u202f"
_CLAUSE = re.compile(
    rf"[{BREAKING}、，；：](?:(?<=[、，；：])|(?<=[,;:،؛][{BREAKING}])"
    rf"|(?<=[,;:،؛][\"'”’»)\]][{BREAKING}])|(?<=\s[–—-][{BREAKING}]))"
)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~‐-‧、，；：・\u200b]")

_LOOK = 64
"""How many characters of a run of white space are searched for line ends; bounds the search time on any text."""

_NEAR = 32
_STEP = 8


def cuts(
    text: str, characters: int, tolerance: int, overlap: int = 0, min_characters: int = 0
) -> list[tuple[int, int]]:
    """The (start, end) of each piece. Without ``overlap`` the pieces concatenate to the text.

    Without its outer white space, a piece has between ``characters`` - ``tolerance`` and ``characters`` +
    ``tolerance`` characters; the last may be shorter. White space at a cut belongs to the piece before it. The cut is
    at the first of these kinds of places that occurs within reach; of several places of that kind, at the one nearest
    to ``characters``, and of two equally near ones at the earlier:

    1. a blank line;
    2. the end of a line, unless no mark ends the line and the next begins with a lower-case letter, which means that
       a sentence continues on the next line;
    3. the end of a sentence; 4. the end of a clause; 5. white space; 6. a no-break space.

    If none is within reach, the piece ends early, before the word that covers the reach. A word longer than any piece
    (in scripts that write words together, the text between two marks) is cut at punctuation, or at a grapheme
    boundary; a grapheme longer than the tolerance makes a piece shorter, or longer if it fills the piece alone.

    The next piece begins about ``overlap`` before the cut (between half and one and a half times as much), at a place
    of those six kinds, or at the cut if there is none. ``min_characters`` are left for the last piece if
    ``tolerance`` allows it. Each piece depends only on the text from its start on, and the time is proportional to
    the length of the text.

    Requires 0 ≤ tolerance < characters, overlap ≤ (characters - tolerance) / 2 and
    min_characters ≤ characters - tolerance.
    """
    if not text:
        return []
    shortest, longest = characters - tolerance, characters + tolerance
    end = len(text.rstrip())
    found: list[tuple[int, int]] = []
    begin, visible, cut = 0, len(text) - len(text.lstrip()), 0
    while end - visible > longest:
        low, high = visible + shortest, visible + longest
        # End this piece early enough to leave ``min_characters`` for the last one.
        if min_characters and low <= end - min_characters < high:
            high = end - min_characters
        target = min(visible + characters, high)
        cut = _between_words(text, low, target, high) or _at_word(text, visible, max(cut, visible), low, target, high)
        if cut >= end:
            break
        found.append((begin, cut))
        begin = visible = _earlier(text, visible, cut, overlap) if overlap else cut
    return [*found, (begin, len(text))]


def _earlier(text: str, start: int, cut: int, overlap: int) -> int:
    """The start of the piece after ``cut``: about ``overlap`` before it, and after ``start``."""
    low, high = max(start + 1, cut - overlap - overlap // 2), cut - (overlap + 1) // 2
    if low > high:
        return cut
    return _between_words(text, low, max(low, cut - overlap), high) or cut


def _between_words(text: str, low: int, target: int, high: int) -> int:
    """The best cut such that the visible text before it ends between ``low`` and ``high``; the cut itself is after the
    white space that follows. 0 if there is none."""
    for ends in _line_ends(text, low, high):
        if place := _nearest(text, ends, target):
            return place
    if place := _nearest(text, possible_ends(text, low, high), target, ends_sentence):
        return place
    if place := _nearest(text, _clause_ends(text, low, high), target):
        return place
    # Words are short: a few characters around the target usually include the nearest white space.
    for first, last in ((max(low, target - _NEAR), min(high, target + _NEAR)), (low, high)):
        breaking, others = _spaces(text, first, last)
        if place := _nearest(text, breaking, target):
            return place
    return _nearest(text, others, target)


def _at_word(text: str, start: int, floor: int, low: int, target: int, high: int) -> int:
    """A cut beyond ``floor`` for a word that extends over both ``low`` and ``high``: before the word if a piece can
    hold it, otherwise inside it. The piece begins at ``start``, a grapheme boundary."""
    if place := _before_word(text, floor, low, high, high - start):
        return place
    for first, last in ((max(low, target - _NEAR), min(high, target + _NEAR)), (low, high)):
        marks = [match.end() for match in _PUNCTUATION.finditer(text, first - 1, last)]
        if place := _nearest(text, marks, target):
            return place
    return _after_space(text, _border(text, start, floor, target, high))


def _after_space(text: str, place: int) -> int:
    """The end of the white space at ``place``, excluding a last space that carries a combining mark."""
    after: int = _SPACE.match(text, place).end()  # type: ignore[union-attr]
    return after if after == place or _is_border(text, after) else after - 1


def _nearest(text: str, ends: Sequence[int], target: int, accepted: Callable[[str, int], bool] | None = None) -> int:
    """The place after the white space that follows the end nearest to ``target``, among the ascending ``ends`` that
    are ``accepted``; 0 if there is none."""
    after = bisect_left(ends, target)
    before = after - 1
    while before >= 0 or after < len(ends):
        if after == len(ends) or (before >= 0 and target - ends[before] <= ends[after] - target):
            end = ends[before]
            before -= 1
        else:
            end = ends[after]
            after += 1
        if accepted is None or accepted(text, end):
            place: int = _SPACE.match(text, end).end()  # type: ignore[union-attr]
            if _is_border(text, place):
                return place
    return 0


def _line_ends(text: str, low: int, high: int) -> tuple[list[int], list[int]]:
    """The ends of text before blank lines, and the other line ends at which a cut is allowed."""
    blank: list[int] = []
    lines: list[int] = []
    place = low
    while found := _BREAK.search(text, place, high + _LOOK):
        end = found.start()
        while end >= low and text[end - 1].isspace():
            end -= 1
        if end > high:
            break
        place = _SPACE.match(text, found.start(), found.start() + _LOOK).end()  # type: ignore[union-attr]
        if end < low:
            continue
        breaks = _LINE_END.findall(text, found.start(), place)
        if len(breaks) > 1 or breaks == ["\u2029"]:
            blank.append(end)
        elif not continues(text, end):
            lines.append(end)
    return blank, lines


def _clause_ends(text: str, low: int, high: int) -> list[int]:
    found = _CLAUSE.finditer(text, low, min(high + 1, len(text)))
    ends = (match.start() if match[0].isspace() else match.end() for match in found)
    return [end for end in ends if end <= high]


def _spaces(text: str, low: int, high: int) -> tuple[list[int], list[int]]:
    """The ends of text before breaking white space, and those before white space of no-break spaces only."""
    breaking: list[int] = []
    others: list[int] = []
    for run in _SPACES.finditer(text, low, high + 1):
        if not text[run.start() - 1].isspace():
            (breaking if run[0].strip(_NO_BREAK) else others).append(run.start())
    return breaking, others


def _before_word(text: str, floor: int, low: int, high: int, longest: int) -> int:
    """The start of the word that covers ``low`` and ``high``, if it is beyond ``floor`` and a piece can hold the word;
    otherwise 0."""
    head = text[floor:low]
    place = _after_space(text, low) if head[-1:].isspace() else low - len(head.rsplit(maxsplit=1)[-1])
    whole = place + longest >= len(text) or _SPACES.search(text, high, place + longest + 1) is not None
    return place if place > floor and whole and _is_border(text, place) else 0


@cache
def _grapheme() -> Any:
    import regex

    return regex.compile(r"\X")


def _is_border(text: str, place: int) -> bool:
    """Whether a grapheme ends at ``place``; the character before it must be punctuation or white space."""
    # Characters that join the one before them begin at U+0300.
    return place == len(text) or text[place] < "\u0300" or _grapheme().match(text, place - 1).end() == place


def _border(text: str, start: int, floor: int, target: int, high: int) -> int:
    """The grapheme boundary nearest to ``target``, at most ``high`` and beyond ``floor``; if there is none, the next
    boundary."""
    piece = text[start : high + 1]
    wanted = target - start
    after: int = _grapheme().match(piece, wanted - 1).end()
    if after == wanted:
        return target
    near = wanted - _STEP
    near = _grapheme().match(piece, near).end() if near > 0 else 0
    before = near if near < wanted else 0
    for match in _grapheme().finditer(piece, before):
        if match.end() >= wanted:
            break
        before = match.end()
    # ``piece`` may end inside a grapheme; text beyond ``high`` is only read in that case.
    fits = after <= high - start
    if fits and (after - wanted < wanted - before or start + before <= floor):
        return start + after
    if start + before > floor:
        return start + before
    size = high - start
    while True:
        size *= 4
        end: int = _grapheme().match(text[start : start + size], wanted - 1).end()
        if end < size or start + size >= len(text):
            return start + end
