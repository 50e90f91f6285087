"""Writes Markdown in which any text is safe: escaped lines, and pipe tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quati_pool.text.characters import one_line

_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|$~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def escape_markdown(text: str) -> str:
    """``text`` on one line, with everything escaped that is markup within a line in Markdown or HTML; for markup at the
    start of a line see ``reporting.formats.markdown``."""
    return one_line(text).translate(_MARKDOWN)


def pipe_table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    """A pipe table without a final line end; columns are right-aligned where ``right`` is true."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(escape_markdown, cells)) + " |"

    rule = "|" + "|".join("---:" if flush else "---" for flush in right) + "|"
    return "\n".join([line(headings), rule, *map(line, rows)])
