"""Renders a document as one Markdown file for GitHub and similar sites; figures are separate files."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from urllib.parse import quote

from quati_pool.reporting.formats.document import (
    Block,
    Details,
    Document,
    Figure,
    Listing,
    Matrices,
    Paragraph,
    Row,
    Standings,
    Words,
    plain,
)
from quati_pool.reporting.formats.tables import to_markdown
from quati_pool.text.characters import one_line
from quati_pool.text.markdown import escape_markdown

# At the start of a line, these begin a heading, a list or a rule.
_AT_START = re.compile(r"^(?:[#+=-]|\d+(?=[.)]))")
# Some renderers interpret Markdown between HTML tags too, but show backslashes there.
_IN_HTML = str.maketrans({c: f"&#{ord(c)};" for c in "\\`*_[]|$~"})


def markdown(document: Document) -> str:
    """The text of the file in GitHub-flavored Markdown, with pipe tables, and ``<details>`` for collapsed blocks.

    Names and texts are escaped. Figures are linked by ``Figure.file``; the caller must write their bytes there.
    """
    parts = [f"# {_line(document.title)}", _paragraph(document.subtitle)]
    if document.opening:
        parts.append(f"## {_line(document.opening.title)}")
        for part in document.opening.parts:
            parts += [f"### {_line(part.title)}", *_shown(part.blocks)]
    for section in document.sections:
        parts += [f"## {_line(section.title)}", *_shown(section.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(blocks: Sequence[Block]) -> list[str]:
    parts = []
    for block in blocks:
        if isinstance(block, Paragraph):
            parts.append(_paragraph(block.text))
        elif isinstance(block, Listing):
            parts.append("\n".join(f"- {_paragraph(item)}" for item in block.items))
        elif isinstance(block, Standings):
            parts.append(to_markdown(block.table()).rstrip("\n"))
        elif isinstance(block, Figure):
            parts += [f"![{_line(block.alt)}]({quote(block.file)})", _paragraph(block.caption)]
        elif isinstance(block, Details):
            # GitHub renders Markdown between the tags only if empty lines separate it from them.
            summary = html.escape(one_line(block.summary)).translate(_IN_HTML)
            parts += [f"<details>\n<summary>{summary}</summary>", *_shown(block.blocks), "</details>"]
        elif isinstance(block, Row):
            parts += _shown(block.blocks)
        elif not isinstance(block, Matrices):
            parts.append(to_markdown(block).rstrip("\n"))
    return parts


def _line(text: str) -> str:
    return escape_markdown(one_line(text))


def _paragraph(text: Words) -> str:
    def harmless(start: re.Match[str]) -> str:
        return f"{start[0]}\\" if start[0].isdigit() else f"\\{start[0]}"

    return _AT_START.sub(harmless, _line(plain(text)))
