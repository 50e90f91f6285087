"""Finds the JSON objects in a model's answer, and normalises their keys for comparison."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple


class Number(str):
    """A JSON number in its original spelling."""


_SPACES = re.compile(r"[ \t\n\r]*")
# A nested object becomes a tuple of its keys and values, which keeps repeated keys.
_JSON = json.JSONDecoder(strict=False, parse_int=Number, parse_float=Number, object_pairs_hook=tuple)


class Member(NamedTuple):
    """A key of a JSON object, its value (numbers as ``Number``, objects as tuples), and the value's start and end in
    the text."""

    key: str
    value: object
    start: int
    end: int


class JsonObject(NamedTuple):
    """An object that is not nested in another; ``end`` is the offset after its closing brace."""

    members: list[Member]
    end: int

    def nested(self) -> Iterator[tuple[str, object]]:
        """The keys and values of all objects inside this one, at any depth."""
        values = [member.value for member in self.members]
        while values:
            value = values.pop()
            if isinstance(value, tuple):
                yield from value
                values += [inner for _, inner in value]
            elif isinstance(value, list):
                values += value


def folded(key: str) -> str:
    """A key normalised for comparison: NFC, case-folded, each run of white space as one blank. Accents count: a prompt
    that accepts ``Pontuacao`` declares it as an alias."""
    return _folded(key) if len(key) <= 64 else _folded.__wrapped__(key)


@lru_cache(maxsize=1024)
def _folded(key: str) -> str:
    return " ".join(unicodedata.normalize("NFC", key).casefold().split())


def json_objects(text: str) -> tuple[list[JsonObject], str, bool]:
    """The JSON objects in a text, in order; the text with NULs in place of them; and whether an object is broken. In
    that case no objects are returned, since it is unknown where the strings of the broken one end.

    Linear in the length of the text: the search continues after each object, and ends at the first broken one.
    Raises RecursionError on deep nesting.
    """
    objects: list[JsonObject] = []
    outside: list[str] = []
    done, opening = 0, text.find("{")
    while opening >= 0:
        at = _after_spaces(text, opening + 1)
        end = opening + 1
        if text[at : at + 1] == "'":
            return [], text, True
        if text[at : at + 1] == '"':
            try:
                found = _object(text, at)
            except ValueError:
                return [], text, True
            objects.append(found)
            end = found.end
            outside += [text[done:opening], "\0" * (end - opening)]
            done = end
        opening = text.find("{", end)
    return objects, "".join([*outside, text[done:]]), False


def _object(text: str, at: int) -> JsonObject:
    """The object whose first key begins at ``at``; raises ValueError if it is broken."""
    members = []
    while text[at : at + 1] == '"':
        key, at = _JSON.raw_decode(text, at)
        at = _after_spaces(text, at)
        if text[at : at + 1] != ":":
            break
        start = _after_spaces(text, at + 1)
        value, end = _JSON.raw_decode(text, start)
        members.append(Member(key, value, start, end))
        at = _after_spaces(text, end)
        if text[at : at + 1] == "}":
            return JsonObject(members, at + 1)
        if text[at : at + 1] != ",":
            break
        at = _after_spaces(text, at + 1)
    raise ValueError


def _after_spaces(text: str, at: int) -> int:
    found = _SPACES.match(text, at)
    assert found
    return found.end()
