"""Reads the grade, if any, from an answer. A grade is never guessed.

An ambiguous answer (a range, a fraction, two verdicts that differ, a key that may belong to another quantity, text
after the verdict) is ``unparsed``, which costs another call; a wrong grade would damage the collection.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from quati_pool.files.digests import digest
from quati_pool.llm.answers import withheld
from quati_pool.llm.thoughts import ANY, Marks, split
from quati_pool.records import State
from quati_pool.text.fencing import sendable, shortened
from quati_pool.text.json_objects import JsonObject, Number, folded, json_objects

READING_VERSION = 2
"""To be increased with every change of what counts as a grade; stored answers are then read again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for a pair. Only ``ok`` has ``relevance``; every other status has ``problem``, in one line.

    ``span`` is the position of the grade's digits in the answer. ``aspects`` has the further numbers that the prompt
    asks for, as far as the answer gives them. ``details`` is what a judge that asks no model knows of its grade, as
    JSON, under the names that a label has for it (``expected_grade``, ``distribution``).
    """

    status: State
    relevance: int | None = None
    rationale: str | None = None
    problem: str | None = None
    span: tuple[int, int] | None = None
    aspects: Mapping[str, int] = field(default_factory=dict, hash=False)
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


# Characters that may surround a key or a number without changing it: white space, quotes, Markdown.
_AROUND = r"\s\"'`*_“”„‘’«»"
# A whole number: no plus, no leading zero, no exponent, only ASCII digits.
_WHOLE = re.compile(r"(-?[1-9][0-9]*|0)(?:\.0)?")
# A number in JSON may have any number of zeros; in text, 1.000 is a thousand in half of the languages.
_WHOLE_IN_JSON = re.compile(r"(-?[1-9][0-9]*|0)(?:\.0+)?")
_BARE = re.compile(rf"[{_AROUND}]*+(-?(?:[1-9][0-9]*|0)(?:\.0)?)\.?[{_AROUND}]*+\.?[{_AROUND}]*+")
# Characters that end a line; NUL marks the place of a removed JSON object.
_LINE_END = r"\n\r\v\f\x85\u2028\u2029\0"
# What separates a key from the words before it: a line end, punctuation, a dash between white space.
_PARTING = rf"{_LINE_END}.,;:!?…)\]—。，；：！？）】"
_DASHES = r"\-‐‑‒–−"
_DASH_APART = rf"\s[{_DASHES}]++\s"
# Matched backwards from a key: no dotted name ("result.score"), then bullets, quotes and marks of any kind
# except a joining dash ("F-score"), then a separator or the beginning of the text. An atomic group, not *+: up to
# Python 3.11.4 a possessive repetition of such a group matches wrongly (CPython issues 100061 and 106052).
_OWN_PLACE = re.compile(
    rf"(?![.:][^\W_])(?>(?:(?!{_DASH_APART})(?:_|[^\w{_PARTING}{_DASHES}]|[{_DASHES}]++(?=\s|\Z)))*)"
    rf"(?:{_DASH_APART}|[{_PARTING}]|\Z)"
)
# What ends the stretch of text in which a key's number must be.
_STRETCH_END = re.compile(rf"[{_LINE_END}]|[.;!](?=[{_AROUND}]|\Z)(?![ \t\xa0*_\"'`]*+\d)")
_SKIPPED = re.compile(rf"[{_AROUND}]*+")
_TOKEN = re.compile(r"([-−–]?[0-9]+(?:\.[0-9]+)?)(.*)", re.DOTALL)
# After the number: nothing, or a separated remark. "2 ou 3", "2/3", "2 e meio" and "2%" are not a single grade.
_REMARK = re.compile(rf"[{_AROUND}]*+(?:$|[()\]}}|]|[-–—]\s|,\s*+(?:$|[\"'}}]))")
_DIGIT = re.compile(r"[\d¼-¾²³¹⁰-₉⅐-↉①-⓿]")
# What may follow a verdict: white space, these, closing brackets and quotes of any script, and fences of tildes.
_CLOSING = frozenset(".!|\"'`*_“”„‘’«»。！")
_FENCE = re.compile("~{3,}")
# The end of a broken JSON object after the number of its last member.
_BROKEN_END = re.compile(r"([\"']?)\s*+,?\s*+\}[\s}]*+")
_QUOTATION_MARK = re.compile(r"\\.|(\")", re.DOTALL)


class Reading:
    """How answers to a prompt are read: its keys, the scales of grade and aspects, and the marks of thoughts. Created
    once per prompt."""

    def __init__(
        self,
        reasoning: str | None,
        grade: str,
        aliases: Iterable[str],
        scale: Collection[int],
        aspects: Mapping[str, Collection[int]] | None = None,
        thoughts: Sequence[Marks] = ANY,
    ) -> None:
        names = [grade, *aliases]
        self.grade = grade
        self.scale = frozenset(scale)
        self.aspects = {name: frozenset(grades) for name, grades in (aspects or {}).items()}
        self.thoughts = tuple(thoughts)
        self.grade_mention = _mention_of(names)
        self.any_mention = _mention_of([*names, *self.aspects])
        self._reasoning_key = reasoning and folded(reasoning)
        self._grade_keys = frozenset(map(folded, names))
        self._aspect_of = {folded(name): name for name in self.aspects}

    @cached_property
    def version(self) -> str:
        """A short identifier of everything that determines how an answer is read."""
        aspects = {name: sorted(grades) for name, grades in self.aspects.items()}
        thoughts = [[marks.open, marks.close] for marks in self.thoughts]
        keys = [self._reasoning_key, self.grade, sorted(self._grade_keys)]
        return f"{READING_VERSION}-{digest([keys, sorted(self.scale), aspects, thoughts])[:12]}"

    def is_grade(self, key: str) -> bool:
        return folded(key) in self._grade_keys

    def is_reasoning(self, key: str) -> bool:
        return folded(key) == self._reasoning_key

    def aspects_in(self, numbers: Iterable[tuple[str, _Number]]) -> dict[str, int]:
        """The aspects among (key, number) pairs: those with exactly one value, a whole number on their scale."""
        found: dict[str, set[int | None]] = {}
        for key, number in numbers if self.aspects else ():
            name = self._aspect_of.get(folded(key))
            if name is not None:
                found.setdefault(name, set()).add(number.on(self.aspects[name]))
        single = ((name, grade) for name, grades in found.items() if len(grades) == 1 for grade in grades)
        return {name: grade for name, grade in single if grade is not None}


def _mention_of(names: Iterable[str]) -> re.Pattern[str]:
    """A pattern of ``NAME:`` for the names, but not within a longer word ("subscore:") or name ("max_score:")."""
    longest = sorted({unicodedata.normalize("NFC", name) for name in names}, key=lambda name: (-len(name), name))
    keys = "|".join(r"\s+".join("".join(map(_letter, word)) for word in name.split()) for name in longest)
    return re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?P<key>{keys})[{_AROUND}]*+[:：]", re.IGNORECASE)


def _letter(letter: str) -> str:
    """A pattern of a letter in composed or decomposed form, since a text may mix both."""
    decomposed = unicodedata.normalize("NFD", letter)
    return re.escape(letter) if letter == decomposed else f"(?:{letter}|{decomposed})"


class _Number(NamedTuple):
    """The text of a number and where it begins; ``whole`` is its digits if it is a single whole number."""

    written: str
    start: int
    whole: str | None

    def on(self, scale: Collection[int]) -> int | None:
        # Compared as text: Python refuses to parse numbers of thousands of digits.
        return next((grade for grade in scale if str(grade) == self.whole), None)


class _Mention(NamedTuple):
    """A ``KEY: n`` in the text: the key, where it begins, and whether it stands alone (``own``) rather than at the end
    of another quantity's name."""

    key: str
    start: int
    own: bool
    number: _Number

    @property
    def end(self) -> int:
        return self.number.start + len(self.number.written)


class _Doubt(Exception):  # noqa: N818 - it names a state
    """The reason why an answer gives no grade, in one line."""


def judge_choice(
    text: str | None, refusal: str | None, finish_reason: str | None, reading: Reading, error: str | None = None
) -> Verdict:
    """The verdict of one choice of a completion, by how it ended (``llm.answers.withheld``) and then by what it says.

    An answer that was refused, cut off or broken off gives no grade even if one is written in it, since the verdict
    may still have been to come.
    """
    problem = withheld(refusal, finish_reason, error)
    if problem is not None:
        return Verdict(problem[0], problem=problem[1])
    return read_verdict(text or "", reading)


def read_verdict(text: str, reading: Reading) -> Verdict:
    """The grade that ``text`` gives as its verdict; ``unparsed``, ``off_scale`` or ``truncated`` with the problem if it
    gives none.

    Thoughts are ignored; a thought without an end is ``truncated``. In the rest, verdicts are

    1. members with the grade key or an alias, of JSON objects and of those nested in them. The value must be a whole
       number (2, 2.00, "2", "2.0");
    2. ``KEY: n`` outside all JSON, where the key stands alone: at the beginning of the text or of a line (after
       bullets, quotes, Markdown), or after punctuation or a dash between spaces. After a word, or joined to one
       ("Confidence score", "F-score"), it may be another quantity and is ignored. n is alone on its line, or
       before the end of the sentence or a separated remark (``2 (…)``, ``2 - …``), as 2 or 2.0;
    3. if there is neither, the whole answer, if it is one integer.

    All must agree. The last one counts, a nested one never; after it, or after its object, only white space, code
    fences and closing punctuation may follow. For a mention in broken JSON see also ``_check_broken``.
    """
    spoken = split(text, reading.thoughts)
    if not spoken.closed:
        return Verdict(State.truncated, problem="the answer ended within its thoughts")
    try:
        if not spoken.text.strip():
            raise _Doubt("the answer holds thoughts alone" if spoken.thoughts else "the answer is empty")
        return _verdict(spoken.text, reading)
    except _Doubt as doubt:
        return Verdict(State.unparsed, problem=str(doubt))
    except RecursionError:
        return Verdict(State.unparsed, problem="the JSON in the answer nests too deeply")


def _verdict(text: str, reading: Reading) -> Verdict:
    """The verdict in a text without thoughts. Raises _Doubt if there is none."""
    found = _GradesIn(text, reading)
    if not found.stated:
        return _graded(found.alone(), reading)
    number, source = max(found.stated, key=lambda one: one[0].start)
    found.check(number, source)
    if isinstance(source, JsonObject):
        said = (member.value for member in reversed(source.members) if reading.is_reasoning(member.key))
        rationale = next((value for value in said if isinstance(value, str)), None)
        members = ((each.key, _json_number(text[each.start : each.end])) for each in source.members)
        return _graded(number, reading, rationale, members)
    # Thoughts were replaced by line feeds.
    rationale = re.sub(r"\n{3,}", "\n\n", text[: source.start]).rstrip(f"{string.whitespace}*_\"'`")
    before = _mentions(found.outside[: source.start], reading.any_mention)
    return _graded(number, reading, rationale, ((each.key, each.number) for each in before if each.own))


class _GradesIn:
    """All numbers that a text gives under the grade's key or an alias.

    ``stated`` are the candidates for the verdict, each with the object or mention it is in. ``nested`` are those in
    nested objects; ``mentions`` are those outside all JSON, some of which may belong to another quantity. ``outside``
    is the text outside all JSON.
    """

    def __init__(self, text: str, reading: Reading) -> None:
        objects, self.outside, self.broken = json_objects(text)
        self.text = text
        self.name = f'"{reading.grade}"'
        self.mentions = list(_mentions(self.outside, reading.grade_mention))
        self.nested = [
            _nested_number(value) for each in objects for key, value in each.nested() if reading.is_grade(key)
        ]
        self.stated: list[tuple[_Number, JsonObject | _Mention]] = [
            (_json_number(text[member.start : member.end], member.start), each)
            for each in objects
            for member in each.members
            if reading.is_grade(member.key)
        ]
        self.stated += [(mention.number, mention) for mention in self.mentions if mention.own]

    def alone(self) -> _Number:
        """The number that is the whole answer, used if none is stated. Raises _Doubt if there is none."""
        if self.nested:
            raise _Doubt(f"{self.name} is only inside another JSON object")
        if self.mentions:
            raise _Doubt(f"{self.name} has a number only where it follows other words")
        bare = _BARE.fullmatch(self.text)
        if bare is None:
            raise _Doubt(f"the answer holds no {self.name} with a number")
        return _number(bare[1], bare.start(1))

    def check(self, number: _Number, source: JsonObject | _Mention) -> None:
        """Raises _Doubt unless the number is whole, no other one differs from it, and no text follows it."""
        # In broken JSON a key may be part of a string that says something else.
        others = [mention.number for mention in self.mentions] if self.broken else [one for one, _ in self.stated]
        for other in (*self.nested, *others):
            if (other.whole or other.written) != (number.whole or number.written):
                raise _Doubt(f"{self.name} has two values, {_shown(other.written)} and {_shown(number.written)}")
        shown = _shown(number.written)
        if number.whole is None:
            raise _Doubt(f"{self.name} is {shown}, which is not one whole number")
        end = source.end
        if self.broken and isinstance(source, _Mention):
            end = _check_broken(self.text, source, self.name)
        if not _only_closes(self.text[end:]):
            raise _Doubt(f"{self.name} is {shown}, but the answer goes on: {_shown(self.text[source.end :])}")


def _check_broken(text: str, mention: _Mention, name: str) -> int:
    """The position after the broken JSON object that holds the mention.

    Raises _Doubt unless the object ends right after the mention, and the mention is clearly one of its members: in
    quotes, after ``{`` or ``,``, and with no quotation mark missing.
    """
    if text.count("{") != text.count("}"):
        raise _Doubt("the JSON in the answer is broken, and its braces do not match")
    before, after = text[: mention.start], text[mention.start + len(mention.key) :]
    quote = before[-1:]
    if quote not in {'"', "'"} or after[:1] != quote or before[:-1].rstrip()[-1:] not in {"{", ","}:
        raise _Doubt(f"the JSON in the answer is broken, and {name} is not beyond doubt one of its keys")
    if quote == '"' and sum(bool(found[1]) for found in _QUOTATION_MARK.finditer(text)) % 2:
        raise _Doubt("the JSON in the answer is broken, and a quotation mark is missing")
    # A closing quotation mark without one before the number would end a string that contains the mention.
    end, opened = _BROKEN_END.match(text, mention.end), text[mention.number.start - 1]
    if end is None or end[1] != (opened if opened in "\"'" else "") or set("\"'") & set(text[end.end() :]):
        raise _Doubt(f"the JSON in the answer is broken, and its end does not follow {name}")
    return end.end()


def _only_closes(rest: str) -> bool:
    closing = _FENCE.sub("", rest)
    return all(sign.isspace() or sign in _CLOSING or unicodedata.category(sign) in {"Pe", "Pf"} for sign in closing)


def _graded(
    number: _Number, reading: Reading, rationale: str | None = None, others: Iterable[tuple[str, _Number]] = ()
) -> Verdict:
    """The verdict for a whole number; ``others`` are (key, number) pairs, some of which may be aspects."""
    grade = number.on(reading.scale)
    if grade is None:
        scale = ", ".join(map(str, sorted(reading.scale)))
        problem = f'"{reading.grade}" is {_shown(number.written)}, which is not on the scale {scale}'
        return Verdict(State.off_scale, problem=problem)
    span = (number.start, number.start + len(str(grade)))
    return Verdict(State.ok, grade, _kept(rationale), None, span, reading.aspects_in(others))


def _kept(rationale: str | None) -> str | None:
    # JSON can encode a NUL, which PostgreSQL cannot store in text.
    return sendable(rationale).replace("\0", "\ufffd").strip() or None if rationale else None


def _shown(written: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in shortened(written, 40))


def _number(written: str, start: int = 0, whole: re.Pattern[str] = _WHOLE) -> _Number:
    found = whole.fullmatch(written)
    return _Number(written, start, found[1] if found else None)


def _json_number(raw: str, start: int = 0) -> _Number:
    """The number in the raw JSON of a value; it may be in quotes."""
    if not raw.startswith('"'):
        return _number(raw, start, _WHOLE_IN_JSON)
    inner = raw[1:-1]
    number = _number(inner.strip(), start + 1 + len(inner) - len(inner.lstrip()))
    return number if number.whole else _Number(raw, start, None)


def _nested_number(value: object) -> _Number:
    if isinstance(value, str):
        return _json_number(value if isinstance(value, Number) else f'"{value}"')
    return _Number("a list or an object" if isinstance(value, (tuple, list)) else json.dumps(value), 0, None)


def _mentions(text: str, pattern: re.Pattern[str]) -> Iterator[_Mention]:
    """Every ``KEY:`` with digits in the stretch of text after it. The number is whole only if it is alone there."""
    found = list(pattern.finditer(text)) if ":" in text or "：" in text else []
    # A mention ends with a colon, which ends the backward search from the next one, so the time stays linear.
    before = 0
    for mention, following in zip_longest(found, found[1:]):
        number = _following(text, mention.end(), following.start() if following else len(text))
        if number:
            own = _OWN_PLACE.match(text[before : mention.start()][::-1]) is not None
            yield _Mention(mention["key"], mention.start(), own, number)
        before = mention.end() - 2


def _following(text: str, at: int, end: int) -> _Number | None:
    skipped = _SKIPPED.match(text, at, end)
    assert skipped
    start = skipped.end()
    stop = _STRETCH_END.search(text, start, end)
    stretch = text[start : stop.start() if stop else end]
    if not _DIGIT.search(stretch):
        return None
    token = _TOKEN.fullmatch(stretch)
    if token and (_REMARK.match(token[2]) or _only_closes(token[2])) and not _DIGIT.search(token[2]):
        return _number(token[1].replace("−", "-").replace("–", "-"), start)
    return _Number(stretch, start, None)
