"""Adds entries to a YAML file that people edit, and keeps comments, order and spacing byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml


class _Part(NamedTuple):
    """One event of a YAML text: the offset of its end, the column of its start, the index of the event that ends the
    node that it begins, and whether it is the ``unseen`` end of a block, which no character marks."""

    event: yaml.Event
    ends: int
    column: int
    last: int
    unseen: bool


def with_entry(text: str, key: str, name: str, value: Mapping[str, Any]) -> str:
    """As ``with_entries``, for one entry."""
    return with_entries(text, key, {name: value})


def with_entries(text: str, key: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """``text``, a YAML text, with ``entries`` added as the last ones of its mapping ``key``, which is created if
    missing.

    Raises ValueError if they cannot be added.
    """
    before = yaml.safe_load(text) or {}
    after = {**before, key: {**(before.get(key) or {}), **entries}}
    place, added = _addition(text, key, entries)
    changed = text[:place] + added.replace("\n", "\r\n" if "\r\n" in text else "\n") + text[place:]
    try:
        read = yaml.safe_load(changed)
    except yaml.YAMLError:
        read = None
    if read != after:
        raise ValueError(f"nothing can be added to {key}: as it is written")
    return changed


def _addition(text: str, key: str, entries: Mapping[str, Mapping[str, Any]]) -> tuple[int, str]:
    """The offset of the insertion, and the text to insert. It may be wrong for rare layouts, which ``with_entries``
    detects."""
    parts = _parts(text)
    root = next((at for at, part in enumerate(parts) if isinstance(part.event, yaml.MappingStartEvent)), None)
    if root is None:
        return len(text), _lines(text, len(text), {key: dict(entries)}, 0)
    at = root + 1
    while at < parts[root].last and getattr(parts[at].event, "value", None) != key:
        at = parts[parts[at].last + 1].last + 1
    if at == parts[root].last:
        return len(text), _lines(text, len(text), {key: dict(entries)}, parts[root + 1].column)
    mapping = parts[at + 1]
    inner = parts[at + 2 : mapping.last]
    if getattr(mapping.event, "flow_style", False):
        entry = _dump(entries, flow=True).strip()[1:-1]
        return (inner[-1].ends, f", {entry}") if inner else (mapping.ends, entry)
    indent = inner[0].column if inner else parts[at].column + 2
    final = next((part for part in reversed(inner) if not part.unseen), mapping)
    if getattr(final.event, "style", None) in ("|", ">"):
        place = text.rfind("\n", 0, final.ends) + 1
    else:
        place = text.find("\n", final.ends) + 1 or len(text)
    # Comments with deeper indentation belong to the entry before.
    comments = re.compile(rf"(?: {{{indent + 1},}}#.*\n)*").match(text, place)
    place = comments.end() if comments else place
    return place, _lines(text, place, entries, indent)


def _parts(text: str) -> Sequence[_Part]:
    events = list(yaml.parse(text, yaml.SafeLoader))
    last, opened = list(range(len(events))), []
    for at, event in enumerate(events):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append(at)
        elif isinstance(event, yaml.CollectionEndEvent):
            last[opened.pop()] = at
    parts = []
    for event, end in zip(events, last, strict=True):
        start, stop = event.start_mark, event.end_mark
        assert start is not None
        assert stop is not None
        unseen = isinstance(event, yaml.CollectionEndEvent) and start.index == stop.index
        parts.append(_Part(event, stop.index, start.column, end, unseen))
    return parts


def _lines(text: str, place: int, data: Mapping[str, Any], indent: int) -> str:
    """``data`` as indented lines of YAML, after a line end if ``place`` is inside a line."""
    line_end = "\n" if place and text[place - 1] != "\n" else ""
    return line_end + "".join(" " * indent + line for line in _dump(data, flow=None).splitlines(keepends=True))


def _dump(data: Mapping[str, Any], flow: bool | None) -> str:
    return yaml.dump(data, default_flow_style=flow, allow_unicode=True, sort_keys=False, width=1_000_000)
