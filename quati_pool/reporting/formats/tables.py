"""Renders tables as text, Markdown, LaTeX and CSV from one description."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress

from quati_pool.reporting.formats import latex
from quati_pool.text.characters import one_line
from quati_pool.text.display_width import columns, padded
from quati_pool.text.markdown import escape_markdown, pipe_table

Cell = str | int | float | tuple[float, float] | None
"""None means undefined and is printed as a dash; two numbers are the ends of an interval."""


@dataclass(frozen=True)
class Column:
    """A column's heading and number format.

    ``decimals`` is the number of decimals; ``percent`` prints 0.25 as 25 %; ``positive`` prints a positive number that
    would be rounded to 0 as less than the smallest printable number, such as < 0.0001. A number that is rounded to 0
    is printed without a minus sign. ``prose`` marks sentences, which lose their end where names lose their middle.
    ``detail`` marks what LaTeX tables leave out, because a page is narrow.
    """

    heading: str
    decimals: int | None = None
    percent: bool = False
    positive: bool = False
    prose: bool = False
    detail: bool = False

    def show(self, cell: Cell) -> str:
        if cell is None or cell != cell:
            return "–"
        if isinstance(cell, str):
            return cell
        if isinstance(cell, tuple):
            return " to ".join(f"{end:z.{self.decimals}f}" for end in cell)
        if self.positive and self.decimals and 0 < cell < 0.5 * 10**-self.decimals:
            return f"< {10**-self.decimals:.{self.decimals}f}"
        if self.percent:
            return f"{100 * cell:z.{self.decimals or 0}f} %"
        return f"{cell:z.{self.decimals}f}" if self.decimals is not None else f"{cell + 0:,}"


@dataclass(frozen=True)
class Table:
    """Rows under headings, with a title and a note on how to read the table.

    The last ``totals`` rows sum up the others. ``links`` has, by the position of a column, where its cells lead in a
    report, row by row; an empty address is no link, and the last rows may have none. ``latex_note`` is the note in
    LaTeX where that is another, without what explains columns of details.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    totals: int = 0
    links: Mapping[int, Sequence[str]] = field(default_factory=dict)
    latex_note: str | None = None

    def shown(self) -> list[list[str]]:
        """All cells as text."""
        return [[column.show(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def numeric(self, position: int) -> bool:
        """Whether the column holds numbers and is therefore right-aligned."""
        column = self.columns[position]
        return (
            column.percent
            or column.decimals is not None
            or any(isinstance(row[position], (int, float)) for row in self.rows)
        )


def to_text(table: Table) -> str:
    """The table with aligned columns, for a terminal; control characters in the texts cannot take effect."""
    headings = [one_line(column.heading) for column in table.columns]
    rows = [[one_line(cell) for cell in row] for row in table.shown()]
    widths = [max(map(columns, column)) for column in zip(headings, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        aligned = (padded(cell, widths[i], right=table.numeric(i)) for i, cell in enumerate(cells))
        return "  ".join(aligned).rstrip()

    rule = "  ".join("─" * width for width in widths)
    note = [one_line(table.note)] if table.note else []
    parts = [one_line(table.title), line(headings), rule, *map(line, rows), *note]
    return "\n".join(parts) + "\n"


def to_markdown(table: Table) -> str:
    """The table as a Markdown pipe table; characters that Markdown or HTML would read as markup are escaped."""
    headings = [column.heading for column in table.columns]
    body = pipe_table(headings, table.shown(), [table.numeric(i) for i in range(len(headings))])
    note = f"\n{escape_markdown(table.note)}\n" if table.note else ""
    return f"### {escape_markdown(table.title)}\n\n" + body + "\n" + note


def to_latex(table: Table) -> str:
    """The table as a LaTeX booktabs table without the columns of details, with its note under it; see ``latex.escape``
    for requirements and unsupported characters."""
    kept = [not column.detail for column in table.columns]
    alignment = "".join("r" if table.numeric(i) else "l" for i in compress(range(len(kept)), kept))

    def line(cells: Sequence[str]) -> str:
        return "  " + " & ".join(cells) + r" \\"

    def cell(value: Cell, shown: str) -> str:
        # In LaTeX text, a hyphen is not a minus sign.
        return latex.escape(shown if isinstance(value, str) else shown.replace("-", "−"))

    rows = [
        map(cell, compress(row, kept), compress(shown, kept))
        for row, shown in zip(table.rows, table.shown(), strict=True)
    ]
    said = table.note if table.latex_note is None else table.latex_note
    note = [rf"  \par\medskip\parbox{{\linewidth}}{{\footnotesize {latex.escape(said)}}}"] if said else []
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex.escape(table.title)}}}",
        rf"  \begin{{tabular}}{{{alignment}}}",
        r"  \toprule",
        line([latex.escape(column.heading) for column in compress(table.columns, kept)]),
        r"  \midrule",
        *(line([*row]) for row in rows),
        r"  \bottomrule",
        r"  \end{tabular}",
        *note,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_file(tables: Sequence[Table]) -> str:
    """All tables as one file to ``\\input``; LaTeX can defer at most 18 floats, so every ten are followed by a
    ``\\clearpage``."""
    tens = ["\n".join(map(to_latex, tables[start : start + 10])) for start in range(0, len(tables), 10)]
    return "% needs the package booktabs\n" + "\n\\clearpage\n".join(tens)


def to_csv(table: Table) -> str:
    """The table as CSV, with unrounded numbers and empty cells for undefined ones; a column of intervals becomes two,
    of their low and high ends."""
    split = [any(isinstance(row[place], tuple) for row in table.rows) for place in range(len(table.columns))]
    headings = [_headings(one.heading, ends) for one, ends in zip(table.columns, split, strict=True)]
    rows = [[_unrounded(cell, ends) for cell, ends in zip(row, split, strict=True)] for row in table.rows]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(chain.from_iterable(headings))
    writer.writerows(map(chain.from_iterable, rows))
    return out.getvalue()


def _headings(heading: str, ends: bool) -> Sequence[str]:
    return [f"{heading} low", f"{heading} high"] if ends else [heading]


def _unrounded(cell: Cell, ends: bool) -> Sequence[str | int | float]:
    """A cell's values: two of an interval's column."""
    if isinstance(cell, tuple):
        return cell
    return [""] * (1 + ends) if cell is None or cell != cell else [cell]


def csv_file(tables: Sequence[Table]) -> str:
    """All tables as one CSV file, separated by empty lines, each under a line ``# title``; one alone is plain CSV."""
    if len(tables) == 1:
        return to_csv(tables[0])
    return "\n".join(f"# {one_line(table.title)}\n{to_csv(table)}" for table in tables)


FORMATS: dict[str, Callable[[Table], str]] = {
    "table": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
}
