"""Renders what a command prints by default: the result in sentences, one table that fits, and where the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quati_pool.reporting.formats.tables import Cell, Column, Table, to_text
from quati_pool.text.characters import one_line, possible
from quati_pool.text.display_width import beginning, columns, short, wrapped_lines

LINES = 40
PIPE, TERMINAL = 80, 120
"""Columns of a pipe, and the most that are used of a terminal."""
_SHORTEST = 16
_FEWEST_ROWS = 3
# The most lines of sentences, and of a note.
_SENTENCES, _NOTE = 15, 5
_GAP = 2


@dataclass(frozen=True)
class Answer:
    """``sentences`` begin with the result and its uncertainty; ``rest`` says in a few lines where everything else is.
    Indented lines are to be copied, such as a command with a long path, and are never cut.

    ``table`` has its most important columns and rows first: those that do not fit are left out, the last first.
    """

    sentences: Sequence[str]
    table: Table | None = None
    rest: str = ""


def answer_text(answer: Answer, width: int = PIPE, lines: int = LINES) -> str:
    """The answer in at most ``lines`` lines of at most ``width`` characters.

    Names too long for their column are cut in the middle; a table says which columns and how many rows are left out.
    """
    first = [line for sentence in answer.sentences for line in wrapped_lines(sentence, width)]
    rest = [row for line in possible(answer.rest).splitlines() for row in _kept_or_wrapped(line, width)]
    parts = [_at_most(first, _SENTENCES), rest]
    if answer.table is not None:
        # Two empty lines separate the three parts.
        room = lines - sum(map(len, parts)) - 2
        parts.insert(1, _table_lines(answer.table, width, room))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def fitted(table: Table, width: int, rows: int) -> Table:
    """The table with the columns and at most ``rows`` rows that fit into ``width``, and a note on what is left out."""
    kept, dropped = list(range(len(table.columns))), []
    natural = _natural_widths(table)
    while (widths := _fitting(table, kept, natural, width)) is None and len(kept) > 1:
        dropped.append(kept.pop())
    places = list(zip(kept, widths or [width], strict=True))
    headings = [
        replace(table.columns[place], heading=short(table.columns[place].heading, most)) for place, most in places
    ]
    cells = [[_cut(row[place], most, table.columns[place]) for place, most in places] for row in table.rows[:rows]]
    left_out = [f"{len(table.rows) - rows:,} more rows"] if len(table.rows) > rows else []
    if dropped:
        columns_dropped = ", ".join(table.columns[position].heading for position in reversed(dropped))
        left_out.append(f"the column{'s' if len(dropped) > 1 else ''} {columns_dropped}")
    more = f"Not shown here: {' and '.join(left_out)}." if left_out else ""
    note = " ".join(filter(None, (more, table.note)))
    return Table(table.title, headings, cells, note)


def _table_lines(table: Table, width: int, room: int) -> list[str]:
    """The table in at most ``room`` lines: a title, a heading and a rule, the rows, and the wrapped note."""
    rows = max(_FEWEST_ROWS, room - 3)
    while True:
        shown = fitted(table, width, rows)
        note = _at_most(wrapped_lines(shown.note, width), _NOTE)
        excess = 3 + min(rows, len(table.rows)) + len(note) - room
        if excess <= 0 or rows <= _FEWEST_ROWS:
            break
        rows = max(_FEWEST_ROWS, min(rows, len(table.rows)) - excess)
    title = short(table.title, width)
    return [*to_text(replace(shown, title=title, note="")).splitlines(), *note]


def _kept_or_wrapped(line: str, width: int) -> list[str]:
    return [line] if line.startswith("  ") or columns(line) <= width else wrapped_lines(line, width)


def _cut(cell: Cell, most: int, column: Column) -> Cell:
    if not isinstance(cell, str):
        return cell
    return beginning(cell, most) if column.prose else short(cell, most)


def _natural_widths(table: Table) -> list[int]:
    """The width of each column with nothing cut."""
    headings = [column.heading for column in table.columns]
    return [max(columns(one_line(cell)) for cell in cells) for cells in zip(headings, *table.shown(), strict=True)]


def _fitting(table: Table, kept: Sequence[int], natural: Sequence[int], width: int) -> list[int] | None:
    """The width of each kept column, the widest columns of text cut first; None if they do not fit."""
    widths = [natural[position] for position in kept]
    texts = [place for place, position in enumerate(kept) if not table.numeric(position)]
    while (excess := sum(widths) + _GAP * (len(widths) - 1) - width) > 0:
        widest = max(texts, key=lambda place: widths[place], default=None)
        if widest is None or widths[widest] <= _SHORTEST:
            return None
        second = max((widths[place] for place in texts if place != widest), default=_SHORTEST)
        widths[widest] = max(_SHORTEST, min(second, widths[widest] - 1), widths[widest] - excess)
    return widths


def _at_most(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    return [*lines[: most - 1], f"{last.rpartition(' ')[0] or last[:-2]} …"]
