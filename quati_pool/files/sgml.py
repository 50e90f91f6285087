"""Reads TREC's SGML: elements without a root, entities, and tags that may be left unclosed.

Only well-formed tags count as tags: ``a < b`` is text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from quati_pool.files.lines import read_lines
from quati_pool.files.problems import STRICT, Problems, RowError, quoted

_ATTRIBUTES = r"""(?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))*"""
_TAG = re.compile(rf"<(/?)([A-Za-z][\w.:-]*){_ATTRIBUTES}\s*/?>")
_DECLARATION = re.compile(r"<!--.*?-->|<\?.*?\?>|<![A-Za-z][^<>]*>", re.DOTALL)
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_DOCNO = re.compile(r"<docno\s*>(.*?)</docno\s*>", re.IGNORECASE | re.DOTALL)
# The words that TREC puts before the text of these fields, up to the colon.
_PREFIXES = {
    name: re.compile(rf"\A\s*{word}\s*:", re.IGNORECASE)
    for name, word in {"num": "Number", "title": "Topic", "desc": "Description", "narr": "Narrative"}.items()
}


def read_documents(path: Path, problems: Problems = STRICT) -> Iterator[tuple[int, str, str]]:
    """The first line number, the DOCNO and all other text of each document."""
    for line, inner in _read_elements(path, "DOC", problems):
        numbers = _DOCNO.findall(inner)
        if len(numbers) == 1:
            yield line, plain(numbers[0]).strip(), _lines(plain(_DOCNO.sub(" ", inner)))
        else:
            count = "no" if not numbers else "more than one"
            problems.report(path, line, f"this <DOC> has {count} <DOCNO>; expected <DOCNO>…</DOCNO> once")


def read_topics(path: Path, problems: Problems = STRICT) -> Iterator[tuple[int, dict[str, str]]]:
    """The first line number of each topic, and its fields by lower-case tag, each field's text on one line."""
    for line, inner in _read_elements(path, "top", problems):
        try:
            fields = _fields(inner)
        except RowError as fault:
            problems.report(path, line, str(fault))
        else:
            yield line, fields


def _fields(inner: str) -> dict[str, str]:
    """The text from each opening tag to the next tag of any kind; repeated fields are joined."""
    fields: dict[str, list[str]] = {}
    name, at = None, 0
    for tag in [*_TAG.finditer(inner), None]:
        text = plain(inner[at : tag.start() if tag else None])
        if name is not None:
            prefix = _PREFIXES.get(name)
            fields.setdefault(name, []).extend((prefix.sub("", text) if prefix else text).split())
        elif text.strip():
            raise RowError(f"text {quoted(text.strip())} is outside of the topic's fields; expected it inside")
        if tag:
            name, at = None if tag[1] else tag[2].lower(), tag.end()
    return {name: " ".join(words) for name, words in fields.items()}


def plain(text: str) -> str:
    """``text`` with a blank in place of tags and declarations, and with entities resolved."""
    text = _DECLARATION.sub(" ", _TAG.sub(" ", text))
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _lines(text: str) -> str:
    stripped = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in stripped if line)


def _read_elements(path: Path, name: str, problems: Problems) -> Iterator[tuple[int, str]]:
    """The line number at which each element opens, and the text between its tags."""
    boundary = re.compile(rf"<(/?){name}\s*>", re.IGNORECASE)
    opened: int | None = None
    parts: list[str] = []
    for line, text in read_lines(path, problems):
        at = 0
        for tag in boundary.finditer(text) if "<" in text else ():
            before = text[at : tag.start()]
            at = tag.end()
            if not tag[1]:
                if opened is None:
                    _refuse_stray(path, line, name, before, problems)
                else:
                    problems.report(path, opened, _unclosed(name, f"the next opens in line {line}"))
                opened, parts = line, []
            elif opened is None:
                problems.report(path, line, f"</{name}> closes nothing; expected <{name}> before it")
            else:
                yield opened, "\n".join([*parts, before])
                opened, parts = None, []
        if opened is not None:
            parts.append(text[at:])
        else:
            _refuse_stray(path, line, name, text[at:], problems)
    if opened is not None:
        problems.report(path, opened, _unclosed(name, "the file ends"))


def _unclosed(name: str, event: str) -> str:
    return f"this <{name}> is not closed before {event}; expected </{name}>"


def _refuse_stray(path: Path, line: int, name: str, text: str, problems: Problems) -> None:
    stray = plain(text).strip() if text else ""
    if stray:
        message = f"text {quoted(stray)} is outside of any <{name}>; expected it inside"
        problems.report(path, line, message)
