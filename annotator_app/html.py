"""The one place that makes HTML, and Markdown, of texts that others wrote: everything in them is escaped.

Pages fill a template of their own with ``fill`` and put it on the page with ``draw``. A text of others is
``text`` (a query, a name, a note: in a line) or ``passage`` (a block, with its line ends), in which characters
that hide or turn text are shown as marks. Into a widget's label, which reads Markdown, it goes through
``label``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup, escape

from quati_pool.annotation.highlight import Span
from quati_pool.annotation.unicode_display import visible

# All of ASCII's punctuation: Markdown's own, Streamlit's :icons: and [colours], and LaTeX's dollars.
_SPECIAL = re.compile(r"([!-/:-@\[-`{-~])")


def fill(template: str, **values: object) -> Markup:
    """``template``, a literal of ours, with ``{name}`` filled; each value that is no Markup is escaped."""
    return Markup(template).format(**{name: _safe(value) for name, value in values.items()})


def join(parts: Sequence[Markup], between: str = "") -> Markup:
    """The parts one after another."""
    return Markup(between).join(parts)


def draw(markup: Markup) -> None:
    """Puts it on the page."""
    assert isinstance(markup, Markup)
    if markup:
        st.html(markup)


def text(raw: str) -> Markup:
    """A short text of others, in a line of ours: its direction is its own and reaches no further."""
    return fill('<bdi class="theirs">{raw}</bdi>', raw=marked(raw))


def passage(raw: str, spans: Sequence[Span] = (), kind: str = "passage") -> Markup:
    """A text of others as a block, line ends kept; ``spans`` of it (in order, apart) stand out."""
    return fill('<div class="{kind} theirs" dir="auto">{raw}</div>', kind=kind, raw=marked(raw, spans))


def marked(raw: str, spans: Sequence[Span] = ()) -> Markup:
    """``raw`` escaped, each hidden character as a visible mark such as ⟨U+202E⟩, ``spans`` in <mark>."""
    parts: list[Markup] = []
    at = 0
    coming = list(reversed(spans))
    for part in visible(raw):
        end = at + len(part.raw)
        if part.kind == "mark":
            parts.append(fill('<span class="hidden-character">{shown}</span>', shown=part.shown))
            at = end
            continue
        while at < end:
            while coming and coming[-1].end <= at:
                coming.pop()
            inside = bool(coming) and coming[-1].start <= at
            edge = end if not coming else min(end, coming[-1].end if inside else coming[-1].start)
            piece = escape(raw[at:edge])
            parts.append(Markup("<mark>") + piece + Markup("</mark>") if inside else piece)
            at = edge
    return Markup("").join(parts)


def label(raw: str) -> str:
    """``raw`` for a widget's label: on one line, every character that Markdown reads written out."""
    shown = "".join(part.shown for part in visible(raw))
    return _SPECIAL.sub(lambda match: f"&#{ord(match[1])};", " ".join(shown.split()))


def _safe(value: object) -> Markup:
    return value if isinstance(value, Markup) else escape(str(value))
