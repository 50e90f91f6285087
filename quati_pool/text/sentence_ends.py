"""Finds the ends of sentences: the marks of many scripts, except after abbreviations, initials and list numbers."""

from __future__ import annotations

import re

LINE_BREAKS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""The characters that end a line, for a character class of a regular expression."""

BREAKING = " \t\n\r\v\f\x1c-\x1f\x85\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
"""White space at which a line may be broken, for a character class: all but the no-break spaces."""

_MARKS = ".!?…‽؟۔।॥։።။។‼⁇⁈⁉"
_WIDE_MARKS = "。！？｡．"
_CLOSING = "\"'”’»›«“‘)]}」』】〕》〉）］｝｣*_"
_CLOSES_LINE = frozenset(".!?…:;。！？\"'”’»)]}」』")
_OPENING = "\"'“‘„‚«‹»([{「『【〔《〈（［｛｢¿¡*_"

_MARK = f"[{_MARKS}{re.escape(_CLOSING)}]"
_WIDE = f"[{_WIDE_MARKS}{re.escape(_CLOSING)}]"
# Written so that a search stops only at white space and wide marks, and no run of marks is read twice.
_END = re.compile(rf"[{BREAKING}{_WIDE_MARKS}](?:(?<={_MARK}[{BREAKING}])|(?<=[{_WIDE_MARKS}]){_WIDE}*+)")
_SPACE = re.compile(r"\s*")
_ENUMERATION = re.compile(r"(\d{1,3}(\.\d{1,3})*|[ivxlcIVXLC]{1,5}|\w)\Z")
_LINE_START = re.compile(rf"[{LINE_BREAKS}][^\S{LINE_BREAKS}]*\Z")

_LOOK = 64
"""How many characters of white space are skipped to find the next word; bounds the search time on any text."""

# Abbreviations that precede a name or a number, so that the dot after them rarely ends a sentence. Those that often
# end a sentence, such as "etc.", are left to the rule that no sentence begins with a lower-case letter; so are those
# that are also common words, such as "no" and "mar".
_PORTUGUESE_AND_SPANISH = """
sr sra srs sras srta sres d dr dra drs dras prof profa profs ilmo ilma exmo exma eng enga engo arq arqa adv pe fr frei
sto sta gen cel ten sgt maj cap alm brig dep sen pres gov art arts al caps fl fls fig figs tab obs p.ex v.g cf pág
págs pag pags pp vol vols ed eds org orgs trad tel av trav pç pça rod km séc núm nr nro n.o lic ud uds vd vds depto
dpto apto aprox
"""
_ENGLISH = """
mr mrs ms mx messrs st rev hon capt lt cpl rep vs viz eq eqs ch sect approx dept jr op ca ibid i.e e.g jan feb apr jun
jul aug sept oct nov
"""
_FRENCH_ITALIAN_GERMAN_DUTCH = """
mm mme mmes mlle mlles mgr chap env sigg dott dott.ssa prof.ssa avv ing geom hr hrn frl bzw z.b d.h u.a v.a z.t bd abs
abb s.o s.u vgl evtl ggf inkl zzgl dhr mevr mej drs ir bijv blz
"""
_ABBREVIATIONS = frozenset((_PORTUGUESE_AND_SPANISH + _ENGLISH + _FRENCH_ITALIAN_GERMAN_DUTCH).split())


def possible_ends(text: str, low: int, high: int) -> list[int]:
    """Positions from ``low`` to ``high`` that look like the end of a sentence; ``ends_sentence`` decides.

    A position is after the closing quotes and brackets, and before white space, which is not needed after Chinese and
    Japanese marks.
    """
    # The closing quotes that end at ``low`` may have their wide mark a few characters before it.
    found = _END.finditer(text, max(low - 8, 0), min(high + 1, len(text)))
    ends = (match.start() if match[0].isspace() else match.end() for match in found)
    return [end for end in ends if low <= end <= high]


def ends_sentence(text: str, end: int) -> bool:
    """Whether a sentence ends at ``end``, one of the ``possible_ends``."""
    mark = end - 1
    while mark > end - 8 and mark and text[mark] in _CLOSING:
        mark -= 1
    if text[mark] in _WIDE_MARKS:
        return True
    if text[mark] not in _MARKS:
        return False
    if next_visible(text, end, _OPENING).islower():
        return False
    if text[mark] != "." or (mark and text[mark - 1] in _MARKS):
        return True
    return not _is_abbreviated(text, mark)


def continues(text: str, end: int) -> bool:
    """Whether a sentence goes on in the next line, where a line's text ends at ``end``: no mark ends the line, and
    the next one begins with a lower-case letter."""
    return text[end - 1] not in _CLOSES_LINE and next_visible(text, end).islower()


def next_visible(text: str, place: int, ignored: str = "") -> str:
    """The next character that is neither white space nor ``ignored``; empty if there is none nearby."""
    start = _SPACE.match(text, place, place + _LOOK).end()  # type: ignore[union-attr]
    return text[start : start + 4].lstrip(ignored)[:1] if ignored else text[start : start + 1]


def _is_abbreviated(text: str, dot: int) -> bool:
    """Whether the dot belongs to an abbreviation, an initial, or the number of a list item."""
    before = text[max(dot - 16, 0) : dot]
    words = before.split()
    if not words or before[-1].isspace():
        return False
    word = words[-1]
    bare = word.lstrip(_OPENING)
    last = bare.rpartition(".")[2]
    if len(last) == 1 and last.isupper():
        return True
    if bare.casefold() in _ABBREVIATIONS or ("." not in bare and last.casefold() in _ABBREVIATIONS):
        return True
    start = dot - len(word)
    line_start = start == 0 or _LINE_START.search(text, max(start - _LOOK, 0), start) is not None
    return line_start and _ENUMERATION.match(bare) is not None
