"""The only module that turns untrusted texts into HTML or Markdown; everything in them is escaped.

Pages fill a template with ``fill`` and put it on the page with ``draw``. An untrusted text is inserted with ``text``
(inline: a query, a name, a note) or ``passage`` (a block that keeps its line ends), which show invisible and
direction-changing characters as marks. For a widget's label, which is Markdown, use ``label``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st
from markupsafe import Markup, escape

from quati_pool.annotation.unicode_display import visible
from quati_pool.text.sentences import Span

_LONGEST_LINE = 90
# All ASCII punctuation: Markdown syntax, Streamlit's :icons: and [colours], and LaTeX's dollar signs.
_SPECIAL = re.compile(r"([!-/:-@\[-`{-~])")


def fill(template: str, **values: object) -> Markup:
    """``template``, which must be a literal, with ``{name}`` filled in; values other than Markup are escaped."""
    return Markup(template).format(**{name: _safe(value) for name, value in values.items()})


def join(parts: Sequence[Markup], between: str = "") -> Markup:
    """The parts, concatenated with ``between`` as separator."""
    return Markup(between).join(parts)


def draw(markup: Markup) -> None:
    """Puts markup on the page."""
    assert isinstance(markup, Markup)
    if markup:
        st.html(markup)


def text(raw: str) -> Markup:
    """A short untrusted text, inline; its writing direction does not affect the text around it."""
    return fill('<bdi class="theirs">{raw}</bdi>', raw=marked(raw))


def passage(raw: str, spans: Sequence[Span] = (), kind: str = "passage") -> Markup:
    """An untrusted text as a block that keeps line ends; ``spans`` (in order, not overlapping) are highlighted."""
    return fill('<div class="{kind} theirs" dir="auto">{raw}</div>', kind=kind, raw=marked(raw, spans))


def marked(raw: str, spans: Sequence[Span] = ()) -> Markup:
    """``raw`` escaped, with each hidden character as a visible mark such as ⟨U+202E⟩ and ``spans`` in <mark>."""
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
            # Browsers read a carriage return before a line feed away, unless it is written so; offsets would shift.
            piece = escape(raw[at:edge]).replace("\r", Markup("&#13;"))
            parts.append(Markup("<mark>") + piece + Markup("</mark>") if inside else piece)
            at = edge
    return Markup("").join(parts)


def one_line(raw: str) -> str:
    """``raw`` on one line, with each hidden character as a visible mark; for where there can be no elements."""
    return " ".join("".join(part.shown for part in visible(raw)).split())


def short_line(raw: str) -> str:
    """``raw`` on one line, cut if it is long: for a widget's options, which are not Markdown, and for sentences."""
    shown = one_line(raw)
    return shown if len(shown) <= _LONGEST_LINE else shown[: _LONGEST_LINE - 1] + "…"


def label(raw: str) -> str:
    """``raw`` for a widget's label: on one line, with every Markdown character escaped."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[1])};", one_line(raw))


def button(
    does: str, name: str, key: str | None = None, *, value: object = "", stages: str = "", primary: bool = False
) -> Markup:
    """A button for a page's script, with its key; its ``stages`` are those in which it is visible, '' for all."""
    shown = fill("<kbd>{key}</kbd>", key=key) if key else Markup("")
    keyed = fill(' data-key="{key}" aria-keyshortcuts="{key}"', key=key) if key else Markup("")
    staged = fill(' data-stages="{stages}"', stages=stages) if stages else Markup("")
    return fill(
        '<button type="button" data-do="{does}" data-value="{value}"{keyed}{staged}{kind}><span>{text}</span>'
        "{shown}</button>",
        does=does,
        value=value,
        keyed=keyed,
        staged=staged,
        kind=Markup(' class="primary"') if primary else Markup(""),
        text=text(name),
        shown=shown,
    )


def _safe(value: object) -> Markup:
    return value if isinstance(value, Markup) else escape(str(value))
