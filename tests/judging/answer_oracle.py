"""What an answer must give, by brute force: written from the rules alone, and apart from the reader that it checks.

The rules are those that docs/judging.md promises and that ``read_verdict`` and ``llm.thoughts.split`` state. Everything
here walks over characters, and nothing is shared with these two, so that both can only agree by being right, or by
a mistake that was made twice.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from json.decoder import scanstring
from json.scanner import py_make_scanner
from typing import NamedTuple

from quati_pool.records import State


class Expected(NamedTuple):
    """What is read from an answer: its state, its grade where that is ``ok``, and the aspects beside the grade."""

    state: State
    grade: int | None = None
    aspects: Mapping[str, int] = {}


@dataclass(frozen=True)
class Setup:
    """What a prompt asks for: the grade's key and its aliases, its scale, the aspects' scales by key, and a judge's
    own marks of thoughts, beside the known ones; ``marks`` None: no thoughts are split off."""

    keys: tuple[str, ...]
    scale: Collection[int]
    aspects: Mapping[str, Collection[int]] = field(default_factory=dict)
    marks: tuple[tuple[str, str], ...] | None = ()


def expected(
    text: str | None, refusal: str | None, finish_reason: str | None, error: str | None, setup: Setup
) -> Expected:
    """What one choice of a completion gives."""
    ended = state_of_end(refusal, finish_reason, error)
    if ended is not None:
        return Expected(ended)
    said, closed = without_thoughts(text or "", setup.marks)
    if not closed:
        return Expected(State.truncated)
    return read(said, setup)


# -- 1. how it ended -----------------------------------------------------------------------------------------

NORMAL = {"stop", "eos", "end_turn", "stop_sequence", "complete", ""}
NO_ROOM = {
    "length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit",
    "model_context_window_exceeded", "incomplete",
}  # fmt: skip
WITHHELD = {
    "content_filter", "content_filtered", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii",
    "sensitive", "moderation", "guardrail_intervened", "image_safety",
}  # fmt: skip


def state_of_end(refusal: str | None, finish_reason: str | None, error: str | None) -> State | None:
    """The state of a choice that is not to be read; None for one that is."""
    if error:
        return State.failed
    if refusal:
        return State.refused
    name = (finish_reason or "").strip().lower().replace("-", "_").replace(" ", "_")
    if name in NORMAL:
        return None
    if name in NO_ROOM:
        return State.truncated
    return State.refused if name in WITHHELD else State.failed


# -- 2. thoughts ---------------------------------------------------------------------------------------------

Mark = tuple[str, ...]


@cache
def mark_of(text: str) -> Mark:
    """A mark as its words and signs, between which white space is allowed."""
    spaced = "".join(sign if sign.isalnum() or sign == "_" else f" {sign} " for sign in text)
    return tuple(spaced.lower().split())


KNOWN = [
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "reasoning", "thought", "thoughts", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
]
"""The opening and the closing mark of each kind of block."""

CHANNEL, MESSAGE, START = map(mark_of, ("<|channel|>", "<|message|>", "<|start|>"))
ENDS_OF_BODIES = [START, CHANNEL, *map(mark_of, ("<|end|>", "<|return|>", "<|call|>"))]
TOKENS = [*ENDS_OF_BODIES, MESSAGE]


def end_of_mark(text: str, at: int, mark: Mark) -> int | None:
    """Where the mark ends that stands at a place, or None where it does not stand there."""
    for place, part in enumerate(mark):
        while place and at < len(text) and text[at].isspace():
            at += 1
        if text[at : at + len(part)].lower() != part:
            return None
        at += len(part)
    return at


def next_of(text: str, at: int, marks: Sequence[Mark]) -> tuple[int, int, Mark] | None:
    """The first of some marks from a place on: where it begins, where it ends, and which it is."""
    firsts = {mark[0][0] for mark in marks}
    for start in range(at, len(text)):
        if text[start].lower() in firsts:
            for mark in marks:
                end = end_of_mark(text, start, mark)
                if end is not None:
                    return start, end, mark
    return None


def without_thoughts(text: str, own: Sequence[tuple[str, str]] | None) -> tuple[str, bool]:
    """The text with line feeds in the places of thoughts and of their marks, and whether all of them have an end."""
    if own is None:
        return text, True
    closing_of = {mark_of(opening): mark_of(closing) for opening, closing in (*KNOWN, *own)}
    closings = set(closing_of.values())
    every = [*closing_of, *closings, *TOKENS]
    kept = list(text)

    def drop(start: int, end: int) -> None:
        kept[start:end] = "\n" * (end - start)

    at = 0
    while (found := next_of(text, at, every)) is not None:
        start, at, mark = found
        if mark in closing_of:
            end = end_of_block(text, at, mark, closing_of[mark])
            if end is None:
                return text, False
            at = end
        elif mark in closings:
            start = 0
        elif mark == START:
            # The role, which stands between this token and the channel's.
            following = next_of(text, at, every)
            if following is not None and following[2] == CHANNEL:
                at = following[0]
        elif mark == CHANNEL:
            # A header without its message is thought up to the next token.
            name = ""
            if (message := next_of(text, at, TOKENS)) is not None and message[2] == MESSAGE:
                name = first_word(text[at : message[0]])
                at = message[1]
            if name.lower() != "final":
                ending = next_of(text, at, ENDS_OF_BODIES)
                if ending is None:
                    return text, False
                at = ending[0]
        drop(start, at)
    return "".join(kept), True


def first_word(text: str) -> str:
    words = "".join(character if character.isalnum() or character == "_" else " " for character in text).split()
    return words[0] if words else ""


def end_of_block(text: str, at: int, opening: Mark, closing: Mark) -> int | None:
    """Where a block ends, from the end of its opening mark; None for one that does not end."""
    depth = 1
    while depth:
        found = next_of(text, at, [opening, closing])
        if found is None:
            return None
        _, at, mark = found
        depth += 1 if mark == opening else -1
    return at


# -- 3. verdicts ---------------------------------------------------------------------------------------------


class Said(NamedTuple):
    """A number that is given to a key: its digits, None where it is no whole one; whether it ``counts``, that is
    may give the grade, which a nested one may not; where its key begins, or its object; where the number ends, or
    its object; and the object's members."""

    value: str | None
    counts: bool
    start: int
    end: int
    within: Pairs | None = None


class Pairs(list[tuple[str, object]]):
    """The members of a JSON object, in order, those of one key too."""


def read(text: str, setup: Setup) -> Expected:
    """What a text without thoughts gives."""
    if not text.strip():
        return Expected(State.unparsed)
    try:
        objects, broken = objects_of(text)
    except RecursionError:
        return Expected(State.unparsed)
    if broken:
        return read_broken(text, setup)
    # NULs end lines here, as they always have.
    outside = list(text)
    said = []
    for members, start, end in objects:
        outside[start:end] = "\0" * (end - start)
        said += [Said(value, True, start, end, members) for value in values_of(members, setup.keys)]
        said += [Said(value, False, start, end) for value in nested_values_of(members, setup.keys)]
    written = [mention for mention in mentions("".join(outside), setup.keys) if mention.own and mention.digits]
    said += [Said(mention.value, True, mention.start, mention.end) for mention in written]
    if not said:
        return graded(bare(text), setup, {})
    if None in {one.value for one in said} or len({one.value for one in said}) > 1:
        return Expected(State.unparsed)
    counting = [one for one in said if one.counts]
    if not counting:
        return Expected(State.unparsed)
    last = max(counting, key=lambda one: one.end)
    if not closes(text[last.end :]):
        return Expected(State.unparsed)
    if last.within is not None:
        return graded(last.value, setup, aspects_of_members(last.within, setup))
    return graded(last.value, setup, aspects_of_text("".join(outside)[: last.start], setup))


def graded(value: str | None, setup: Setup, aspects: Mapping[str, int]) -> Expected:
    if value is None:
        return Expected(State.unparsed)
    grade = on_scale(value, setup.scale)
    return Expected(State.off_scale) if grade is None else Expected(State.ok, grade, aspects)


def on_scale(value: str, scale: Collection[int]) -> int | None:
    return next((grade for grade in scale if str(grade) == value), None)


def closes(text: str) -> bool:
    """Whether there is nothing in a text that may not follow a verdict."""
    at = 0
    while at < len(text):
        character, run = text[at], 1
        if character == "~":
            run = len(text[at:]) - len(text[at:].lstrip("~"))
            if run < 3:
                return False
        elif not character.isspace() and not closing(character):
            return False
        at += run
    return True


def closing(character: str) -> bool:
    return character in ".!|\"'`*_“”„‘’«»。！" or unicodedata.category(character) in ("Pe", "Pf")


def bare(text: str) -> str | None:
    """The number of a text that is nothing else, but for quotes, Markdown and full stops."""
    left = text.lstrip(AROUND)
    number = number_at_start(left)
    rest = left[len(number) :].removeprefix(".").lstrip(AROUND).removeprefix(".").lstrip(AROUND)
    return None if rest else whole(number, {"", ".0"})


# Values.


def whole(written: str, fractions: Collection[str]) -> str | None:
    """The whole number that is written without a plus, zeros in front or an exponent, in ASCII; else None."""
    integer, point, fraction = written.partition(".")
    if point + fraction not in fractions:
        return None
    digits = integer.removeprefix("-")
    if not digits or any(digit not in "0123456789" for digit in digits):
        return None
    if digits[0] == "0" and integer != "0":
        return None
    return integer


class Written(str):
    """A JSON number or string, with the characters in which it is written, quotes left out."""

    def __new__(cls, value: str, raw: str | None = None, number: bool = True) -> Written:
        made = super().__new__(cls, value)
        made.raw, made.number = value if raw is None else raw, number
        return made

    raw: str
    number: bool


def written_number(raw: str) -> Written:
    # Python's scanner, unlike its twin in C, takes the digits of all scripts.
    if not raw.isascii():
        raise ValueError
    return Written(raw)


def written_string(text: str, start: int, strict: bool) -> tuple[Written, int]:
    value, end = scanstring(text, start, strict)
    return Written(value, text[start : end - 1], number=False), end


DECODER = json.JSONDecoder(
    strict=False, parse_int=written_number, parse_float=written_number, parse_constant=str, object_pairs_hook=Pairs
)
DECODER.parse_string = written_string
DECODER.scan_once = py_make_scanner(DECODER)


def json_value(value: object) -> str | None:
    if not isinstance(value, Written):
        return None
    if not value.number:
        # An escape is no digit, nor white space.
        return whole(value.raw.strip(), {"", ".0"})
    fraction = value.raw.partition(".")[2]
    return whole(value.raw, {"", "." + "0" * len(fraction)} if fraction else {""})


def values_of(members: Pairs, keys: Collection[str]) -> list[str | None]:
    names = {folded(key) for key in keys}
    return [json_value(value) for key, value in members if folded(key) in names]


def nested_values_of(value: object, keys: Collection[str]) -> list[str | None]:
    """Those of all objects anywhere within a value, itself left out."""
    inner = [part for _, part in value] if isinstance(value, Pairs) else value if isinstance(value, list) else []
    found = []
    for part in inner:
        if isinstance(part, Pairs):
            found += values_of(part, keys)
        found += nested_values_of(part, keys)
    return found


def folded(key: str) -> str:
    return " ".join(unicodedata.normalize("NFC", key).casefold().split())


# JSON objects.


def objects_of(text: str) -> tuple[list[tuple[Pairs, int, int]], bool]:
    """The objects that stand in no other one, with their places; and whether one begins that cannot be read."""
    found = []
    at = 0
    while (at := text.find("{", at)) >= 0:
        first = text[at + 1 :].lstrip(" \t\n\r")[:1]
        if first == "'":
            return [], True
        if first == '"':
            try:
                members, end = DECODER.raw_decode(text, at)
            except ValueError:
                return [], True
            found.append((members, at, end))
            at = end
        else:
            at += 1
    return found, False


# Keys in text.

WHITE = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
QUOTES = "\"'“”„‘’«»"
AROUND = WHITE + QUOTES + "`*_"
LINE_ENDS = "\n\r\v\f\x85\u2028\u2029\0"
PARTING = LINE_ENDS + ".,;:!?…)]—。，；：！？）】"
DASHES = "-‐‑‒–−"


class Mention(NamedTuple):
    """A ``KEY:`` in the text: where the key begins; whether in a place of its own; whether a digit follows in its
    stretch; the number, None where it is no whole one; and where the number ends."""

    start: int
    own: bool
    digits: bool
    value: str | None
    end: int


def mentions(text: str, keys: Collection[str], stops: Collection[str] = ()) -> list[Mention]:
    """All mentions of some keys; the stretch of each ends at the latest where one of ``keys`` or ``stops`` follows."""
    found = list(keys_in(text, keys))
    others = sorted([*(start for start, _ in found), *(start for start, _ in keys_in(text, stops)), len(text)])
    made = []
    for start, after in found:
        limit = min(other for other in others if other >= after)
        at = after
        while at < limit and text[at] in AROUND:
            at += 1
        stretch = text[at : end_of_stretch(text, at, limit)]
        number = number_at_start(stretch)
        rest = stretch[len(number) :]
        value = None
        if number and not any(map(is_digit, rest)) and (set_apart(rest) or closes(rest)):
            value = whole(number.replace("−", "-").replace("–", "-"), {"", ".0"})
        made.append(Mention(start, own_place(text, start), any(map(is_digit, stretch)), value, at + len(number)))
    return made


def keys_in(text: str, keys: Collection[str]) -> Iterator[tuple[int, int]]:
    """Where each key begins that a colon follows, and where its colon ends; the longest where they overlap."""
    names = {decomposed(key) for key in keys}
    for colon, character in enumerate(text):
        if character not in ":：":
            continue
        end = colon
        while end and text[end - 1] in AROUND:
            end -= 1
        starts = []
        for start in range(end - 1, -1, -1):
            part = decomposed(text[start:end])
            if part in names and not text[start].isspace() and begins_a_name(text, start):
                starts.append(start)
            if not any(name.endswith(part) for name in names):
                break
        if starts:
            yield min(starts), colon + 1


def decomposed(key: str) -> str:
    """A key folded and then decomposed, so that the end of a text is the end of its decomposition."""
    return unicodedata.normalize("NFD", folded(key))


def begins_a_name(text: str, at: int) -> bool:
    """Not within a longer word, nor after a word and one underscore."""
    before = text[:at]
    return not before[-1:].isalnum() and not (before[-1:] == "_" and before[-2:-1].isalnum())


def own_place(text: str, at: int) -> bool:
    """Whether what stands before a key sets it apart from the words before it."""
    if text[max(at - 1, 0) : at] in (".", ":") and text[max(at - 2, 0) : at - 1].isalnum():
        return False
    while at:
        character = text[at - 1]
        if character.isspace() and dash_between_spaces(text, at):
            return True
        if character in PARTING:
            return True
        if character in DASHES:
            before = text[:at].rstrip(DASHES)
            if before and not before[-1].isspace():
                return False
            at = len(before)
        elif character.isalnum():
            return False
        else:
            at -= 1
    return True


def dash_between_spaces(text: str, end: int) -> bool:
    """Whether, read backwards from ``end``, a space, dashes and a space stand there."""
    left = text[: end - 1]
    before = left.rstrip(DASHES)
    return before != left and before[-1:].isspace()


def end_of_stretch(text: str, start: int, limit: int) -> int:
    """A line ends there, or a sentence, unless its stop is that of a number."""
    for at in range(start, limit):
        if text[at] in LINE_ENDS:
            return at
        if text[at] in ".;!":
            after = text[at + 1 : limit]
            if (not after or after[0] in AROUND) and not after.lstrip(" \t\xa0*_\"'`")[:1].isdecimal():
                return at
    return limit


def is_digit(character: str) -> bool:
    return character.isdecimal() or unicodedata.category(character) == "No"


def number_at_start(stretch: str) -> str:
    """The number in ASCII digits with which a stretch begins, with its sign and its decimals, or nothing."""
    at = 1 if stretch[:1] and stretch[0] in "-−–" else 0
    end = digits_from(stretch, at)
    if end == at:
        return ""
    if stretch[end : end + 1] == "." and digits_from(stretch, end + 1) > end + 1:
        end = digits_from(stretch, end + 1)
    return stretch[:end]


def digits_from(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in "0123456789":
        at += 1
    return at


def set_apart(rest: str) -> bool:
    """Whether what follows a number within its stretch is nothing or a remark, and not a part of what it says."""
    left = rest.lstrip(AROUND)
    if not left or left[0] in "()]}|":
        return True
    if left[0] in "-–—":
        return left[1:2].isspace()
    following = left[1:].lstrip()
    return left[0] == "," and (not following or following[0] in "\"'}")


# Broken JSON.


def read_broken(text: str, setup: Setup) -> Expected:
    """What a text gives in which a JSON object begins that cannot be read."""
    found = mentions(text, setup.keys)
    numbered = [mention for mention in found if mention.digits]
    if len({mention.value for mention in numbered}) != 1:
        return Expected(State.unparsed)
    last = numbered[-1]
    beyond_doubt = (
        last.own
        and text.count("{") == text.count("}")
        and quoted_as_a_key(text, last.start)
        and ends_an_object(*around_the_number(text, last.end))
    )
    if not beyond_doubt:
        return Expected(State.unparsed)
    return graded(last.value, setup, aspects_of_text(text[: last.start], setup))


def quoted_as_a_key(text: str, start: int) -> bool:
    quote = text[max(start - 1, 0) : start]
    if quote not in ('"', "'") or text[: start - 1].rstrip()[-1:] not in ("{", ","):
        return False
    colon = min(place for sign in ":：" if (place := text.find(sign, start)) >= 0)
    key = text[start:colon].rstrip(AROUND)
    if not text.startswith(quote, start + len(key)):
        return False
    return quote == "'" or unescaped_quotes(text) % 2 == 0


def unescaped_quotes(text: str) -> int:
    count = 0
    for at, character in enumerate(text):
        before = text[:at]
        count += character == '"' and (len(before) - len(before.rstrip("\\"))) % 2 == 0
    return count


def around_the_number(text: str, end: int) -> tuple[str, str]:
    return text[:end].rstrip("0123456789.-−–"), text[end:]


def ends_an_object(before: str, after: str) -> bool:
    """Whether a number that is quoted on both sides or on none is followed by a comma at most, braces, and then what
    may follow at all, without any more quotes."""
    if before[-1] in "\"'":
        if after[:1] != before[-1]:
            return False
        after = after[1:]
    after = after.lstrip(WHITE)
    if after[:1] == ",":
        after = after[1:].lstrip(WHITE)
    left = after.lstrip(WHITE + "}")
    return after[:1] == "}" and '"' not in left and "'" not in left and closes(left)


# -- 4. aspects ----------------------------------------------------------------------------------------------


def aspects_of_members(members: Pairs, setup: Setup) -> dict[str, int]:
    return _aspects(setup, lambda name: values_of(members, [name]))


def aspects_of_text(before: str, setup: Setup) -> dict[str, int]:
    """Those of the text before a verdict's key."""
    stops = [*setup.keys, *setup.aspects]

    def values(name: str) -> list[str | None]:
        return [mention.value for mention in mentions(before, [name], stops) if mention.own and mention.digits]

    return _aspects(setup, values)


def _aspects(setup: Setup, values: Callable[[str], list[str | None]]) -> dict[str, int]:
    found = {}
    for name, scale in setup.aspects.items():
        given = set(values(name))
        value = next(iter(given)) if len(given) == 1 else None
        grade = None if value is None else on_scale(value, scale)
        if grade is not None:
            found[name] = grade
    return found
