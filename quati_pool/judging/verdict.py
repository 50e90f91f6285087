"""What grade an answer gives, if any: JSON first, strictly; else the last ``KEY: n``, or one bare integer.

A grade is never guessed. Whatever leaves a doubt (a range, a fraction, a hedge, two values of one key, a
key that may belong to another quantity) is ``unparsed``, which costs another call; a wrong grade would
cost the collection.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from quati_pool.llm.answers import withheld
from quati_pool.records import State
from quati_pool.text.fencing import sendable, shortened
from quati_pool.text.json_objects import Member, folded, json_objects

READING_VERSION = 1
"""Part of a prompt's hash: raise it with every change of what counts as a grade."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A pair's outcome. Only ``ok`` has ``relevance``; every other status has ``problem``, in one line.

    ``span`` is where in the answer the grade's digits stand, for an answer that was read from text.
    """

    status: State
    relevance: int | None = None
    rationale: str | None = None
    problem: str | None = None
    span: tuple[int, int] | None = None


# What may stand around a key or a number without changing it: white space, quotes, Markdown.
_AROUND = r"\s\"'`*_“”„‘’«»"
# A whole number, written out: no plus, no leading zero, no exponent, ASCII digits alone.
_WHOLE = re.compile(r"(-?[1-9][0-9]*|0)(?:\.0)?")
# A number in JSON may have any number of zeros; in text, 1.000 is a thousand in half of the languages.
_WHOLE_IN_JSON = re.compile(r"(-?[1-9][0-9]*|0)(?:\.0+)?")
_BARE = re.compile(rf"[{_AROUND}]*+(-?(?:[1-9][0-9]*|0)(?:\.0)?)\.?[{_AROUND}]*+\.?[{_AROUND}]*+")
# What ends a line; NUL is where a JSON object stood.
_LINE_END = r"\n\r\v\f\x85\u2028\u2029\0"
# What sets a key apart from the words before it: a line's end, punctuation, a dash between white space.
_PARTING = rf"{_LINE_END}.,;:!?…)\]—。，；：！？）】"
_DASHES = r"\-‐‑‒–−"
_DASH_APART = rf"\s[{_DASHES}]++\s"
# Read backwards from a key: no dotted name ("result.score"), then bullets, quotes and marks of any kind
# but no dash that joins ("F-score"), then what parts, or the text's beginning.
_OWN_PLACE = re.compile(
    rf"(?![.:][^\W_])(?:(?!{_DASH_APART})(?:_|[^\w{_PARTING}{_DASHES}]|[{_DASHES}]++(?=\s|\Z)))*+"
    rf"(?:{_DASH_APART}|[{_PARTING}]|\Z)"
)
# What ends the stretch of text in which a key's number must stand.
_STRETCH_END = re.compile(rf"[{_LINE_END}]|[.;!](?=[{_AROUND}]|\Z)(?![ \t\xa0*_\"'`]*+\d)")
_SKIPPED = re.compile(rf"[{_AROUND}]*+")
_TOKEN = re.compile(r"([-−–]?[0-9]+(?:\.[0-9]+)?)(.*)", re.DOTALL)
# After the number: nothing, or a remark set apart. "2 ou 3", "2/3", "2 e meio" and "2%" say no one grade.
_REMARK = re.compile(rf"[{_AROUND}]*+(?:$|[()\]}}|]|[-–—]\s|,\s*+(?:$|[\"'}}]))")
_DIGIT = re.compile(r"[\d¼-¾²³¹⁰-₉⅐-↉①-⓿]")


class Reading:
    """How a prompt's answers are read: its keys and its scale. Made once a prompt."""

    def __init__(self, reasoning: str, grade: str, aliases: Iterable[str], scale: Collection[int]) -> None:
        self.grade = grade
        self.scale = frozenset(scale)
        self.reasoning_key = folded(reasoning)
        names = [grade, *aliases]
        self.grade_keys = frozenset(map(folded, names))
        forms = {unicodedata.normalize(form, name.strip()) for name in names for form in ("NFC", "NFD")}
        longest = sorted(forms, key=lambda form: (-len(form), form))
        keys = "|".join(r"\s+".join(map(re.escape, form.split())) for form in longest)
        # Not within a longer word ("subscore:") or name ("max_score:").
        self.mention = re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?:{keys})[{_AROUND}]*+[:：]", re.IGNORECASE)


class _Number(NamedTuple):
    """What was written as a grade, and where its digits stand; ``value`` None where it is no whole number."""

    value: int | None
    written: str
    span: tuple[int, int]

    @property
    def said(self) -> int | str:
        return self.written if self.value is None else self.value


class _Mention(NamedTuple):
    """A ``KEY:`` in the text: its number, if a digit follows; where the key begins; and whether it stands
    in a place of its own, not as the end of another quantity's name."""

    number: _Number | None
    start: int
    own: bool


def judge_choice(text: str | None, refusal: str | None, finish_reason: str | None, reading: Reading) -> Verdict:
    """The verdict of one choice of a completion, by how it ended and then by what it says.

    A refusal and a content filter are ``refused`` whatever the text; an answer cut off for its length is
    ``truncated`` even where a grade stands in it, since the verdict may have been still to come.
    """
    problem = withheld(refusal, finish_reason)
    if problem is not None:
        return Verdict(problem[0], problem=problem[1])
    return read_verdict(text or "", reading)


def read_verdict(text: str, reading: Reading) -> Verdict:
    """The grade that ``text`` gives as its verdict; ``unparsed`` or ``off_scale`` with the cause where none.

    1. The last JSON object with the grade key or an alias counts, nested ones never. Its value must be a
       whole number of the scale (2, 2.00, "2", "2.0"); if it is not, nothing else in the text is looked at.
       A key that occurs twice in it must say the same.
    2. Without such an object, the last ``KEY: n`` outside all JSON counts whose key stands in a place of its
       own: where the text or a line begins (after bullets, quotes, Markdown), or after punctuation or a dash
       between spaces. After a word, or joined to one ("Confidence score", "F-score"), it may be another
       quantity: alone it gives no grade, and after the one that counts it must give the same number. A
       later key of its own place without a number ("Score: unclear") takes the grade back.
       n stands alone on its line, or before the end of the sentence or a remark set apart (``2 (…)``,
       ``2 - …``), as 2 or 2.0. Any further digit there (2/3, 2-3, "2 of 3", 2.00) leaves a doubt: unparsed.
       Where a JSON object is broken, strings of it cannot be told from keys, so the key must be quoted and
       all ``KEY: n`` of the text must agree.
    3. Without any, the whole answer may be one integer.
    """
    if not text.strip():
        return Verdict(State.unparsed, problem="the answer is empty")
    try:
        objects, outside, broken = json_objects(text)
    except RecursionError:
        return Verdict(State.unparsed, problem="the JSON in the answer nests too deeply")
    for members in reversed(objects):
        numbers = [_json_number(text, member) for member in members if folded(member.key) in reading.grade_keys]
        if numbers:
            said = (member.value for member in reversed(members) if folded(member.key) == reading.reasoning_key)
            rationale = next((value for value in said if isinstance(value, str)), None)
            return _verdict(numbers, reading, rationale)
    mentions = list(_mentions(outside, reading))
    if any(mention.number for mention in mentions):
        return _from_text(text, mentions, reading, broken)
    bare = _BARE.fullmatch(text)
    if bare:
        return _verdict([_number(bare[1], bare.start(1))], reading, None)
    return Verdict(State.unparsed, problem=f'the answer holds no "{reading.grade}" with a number')


def _from_text(text: str, mentions: list[_Mention], reading: Reading, broken: bool) -> Verdict:
    """The verdict of the last mention that has a number and a place of its own, unless another one of
    ``mentions``, which are all of the text, leaves a doubt of it."""
    place = max((at for at, mention in enumerate(mentions) if mention.own and mention.number), default=None)
    if place is None:
        problem = f'"{reading.grade}" has a number only where it follows other words'
        return Verdict(State.unparsed, problem=problem)
    if any(mention.own for mention in mentions[place + 1 :]):
        return Verdict(State.unparsed, problem=f'the last "{reading.grade}" has no number')
    at = mentions[place].start
    if broken and text[max(at - 1, 0)] not in "\"'":
        problem = f'the JSON in the answer is broken, and "{reading.grade}" stands in no place of its own'
        return Verdict(State.unparsed, problem=problem)
    others = [*(mentions[:place] if broken else []), *mentions[place + 1 :], mentions[place]]
    numbers = [mention.number for mention in others if mention.number]
    return _verdict(numbers, reading, text[:at].rstrip(f"{string.whitespace}*_\"'`"))


def _verdict(numbers: list[_Number], reading: Reading, rationale: str | None) -> Verdict:
    """The verdict of the last number, with which the others must agree."""
    number = numbers[-1]
    name, shown = f'"{reading.grade}"', shortened(number.written, 40)
    other = next((other for other in numbers if other.said != number.said), None)
    if other:
        problem = f"{name} has two values, {shortened(other.written, 40)} and {shown}"
        return Verdict(State.unparsed, problem=problem)
    if number.value is None:
        return Verdict(State.unparsed, problem=f"{name} is {shown}, which is not one whole number")
    if number.value not in reading.scale:
        scale = ", ".join(map(str, sorted(reading.scale)))
        return Verdict(State.off_scale, problem=f"{name} is {shown}, which is not on the scale {scale}")
    return Verdict(State.ok, number.value, _kept(rationale), None, number.span)


def _kept(rationale: str | None) -> str | None:
    # A NUL, which JSON can spell, is text that PostgreSQL cannot hold.
    return sendable(rationale).replace("\0", "\ufffd").strip() or None if rationale else None


def _number(written: str, at: int, whole: re.Pattern[str] = _WHOLE) -> _Number:
    found = whole.fullmatch(written)
    if found is None:
        return _Number(None, written, (at, at + len(written)))
    # Numbers of any length are cut before Python counts them: none so long is on a scale.
    return _Number(int(found[1][:18]), written, (at, at + len(found[1])))


def _json_number(text: str, member: Member) -> _Number:
    start, end = member.start, member.end
    if text[start] != '"':
        return _number(text[start:end], start, _WHOLE_IN_JSON)
    inner = text[start + 1 : end - 1]
    stripped = inner.strip()
    if not _WHOLE.fullmatch(stripped):
        return _Number(None, text[start:end], (start, end))
    return _number(stripped, start + 1 + inner.index(stripped))


def _mentions(text: str, reading: Reading) -> Iterator[_Mention]:
    """Every ``KEY:``, with the digits of the stretch that follows it. A number has a value only where it
    stands there alone."""
    found = list(reading.mention.finditer(text))
    # A mention ends with a colon, at which the look back from the next one ends: the time stays linear.
    before = 0
    for mention, following in zip_longest(found, found[1:]):
        own = _OWN_PLACE.match(text[before : mention.start()][::-1]) is not None
        before = mention.end() - 2
        end = following.start() if following else len(text)
        yield _Mention(_following(text, mention.end(), end), mention.start(), own)


def _following(text: str, at: int, end: int) -> _Number | None:
    skipped = _SKIPPED.match(text, at, end)
    assert skipped
    start = skipped.end()
    stop = _STRETCH_END.search(text, start, end)
    stretch = text[start : stop.start() if stop else end]
    if not _DIGIT.search(stretch):
        return None
    token = _TOKEN.fullmatch(stretch)
    if token and _REMARK.match(token[2]) and not _DIGIT.search(token[2]):
        return _number(token[1].replace("−", "-").replace("–", "-"), start)
    return _Number(None, stretch, (start, start + len(stretch)))
