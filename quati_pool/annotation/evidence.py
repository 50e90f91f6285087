"""Evidence: the words of a passage that justify its grade, marked by the person who gave it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from quati_pool.text.sentences import Span

EVIDENCE = "evidence"
"""The key of a label's ``extra`` under which evidence is stored."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same characters as spans in order, with those that overlap or touch merged into one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start <= found[-1].end:
            span = Span(found[-1].start, max(found.pop().end, span.end))
        found.append(span)
    return found


def stored_evidence(text: str, spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Spans of ``text`` in the form in which labels store them: ``start`` and ``end`` in Unicode code points, and the
    words themselves as ``text``."""
    return [{"start": start, "end": end, "text": text[start:end]} for start, end in spans]


def evidence_in(text: str, stored: object) -> tuple[Span, ...]:
    """The spans of evidence as stored, without those whose words ``text`` no longer has at their place."""
    found = []
    for one in stored if isinstance(stored, list) else ():
        values = (one.get("start"), one.get("end"), one.get("text")) if isinstance(one, dict) else (None, None, None)
        start, end, words = values
        if type(start) is type(end) is int and 0 <= start < end <= len(text) and text[start:end] == words:
            found.append(Span(start, end))
    return tuple(found)
