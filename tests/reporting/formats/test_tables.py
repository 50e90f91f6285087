"""Tables in every format, with names that would break it."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import numpy as np
import pytest

from quati_pool.files.readable_json import readable_json
from quati_pool.reporting.formats.tables import FORMATS, Column, Table, to_csv, to_latex, to_markdown, to_text

HOSTILE = ["a|b", "<img src=x>", "x_y$", "100% & more", "back\\slash", "[1]*2*", "~^#{}`", "&lt;", "two\nlines"]


def table(*names: str, note: str = "") -> Table:
    """One name and one number a row."""
    return Table("Systems", [Column("System"), Column("Pairs")], [[name, 7] for name in names], note)


def markdown_cells(line: str) -> list[str]:
    """The cells of a pipe table's row: a pipe with an odd number of backslashes before it parts none."""
    parts, start = [], 0
    for found in re.finditer(r"(\\*)\|", line):
        if len(found[1]) % 2 == 0:
            parts.append(line[start : found.end() - 1])
            start = found.end()
    return [part.strip() for part in parts[1:]]


def read_as_markdown(cell: str) -> str:
    """What a reader of rendered Markdown sees, where every character of markup must be escaped."""
    shown, position = "", 0
    entities = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
    while position < len(cell):
        character = cell[position]
        if character == "\\":
            shown += cell[position + 1]
            position += 2
        elif character == "&":
            end = cell.index(";", position) + 1
            shown += entities[cell[position:end]]
            position = end
        else:
            assert character not in "`*_[]|<>$~", f"{character} would be markup"
            shown += character
            position += 1
    return shown


def read_as_latex(cell: str) -> str:
    """What LaTeX prints, where no character may act but through the commands known here."""
    commands = {
        r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^",
        r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", "{[}": "[", "{*}": "*",
        r"\textasciigrave{}": "`",
        **{f"\\{c}": c for c in "&%$#_{}"},
    }  # fmt: skip
    shown = ""
    while cell:
        command = next((c for c in sorted(commands, key=len, reverse=True) if cell.startswith(c)), None)
        if command is None:
            assert cell[0] not in "\\{}$&#^_%~[*<>|`", f"{cell[0]} would act"
            command = cell[0]
        shown += commands.get(command, command)
        cell = cell[len(command) :]
    return shown


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_a_name_as_it_is(name: str) -> None:
    title, _, headings, rule, row = to_markdown(table(name)).rstrip("\n").split("\n")
    assert (title, headings, rule) == ("### Systems", "| System | Pairs |", "|---|---:|")
    cells = markdown_cells(row)
    assert len(cells) == 2
    assert read_as_markdown(cells[0]) == name.replace("\n", " ")


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_shows_a_name_as_it_is(name: str) -> None:
    lines = to_latex(table(name)).split("\n")
    row = lines[lines.index(r"  \midrule") + 1]
    assert row.endswith(r" & 7 \\")
    assert read_as_latex(row.removeprefix("  ").removesuffix(r" & 7 \\")) == name.replace("\n", " ")


@pytest.mark.parametrize("name", [*HOSTILE, 'quo"ted', "com,ma"])
def test_csv_reads_back(name: str) -> None:
    assert list(csv.reader(io.StringIO(to_csv(table(name)), newline=""))) == [["System", "Pairs"], [name, "7"]]


def test_titles_and_notes_are_escaped_too() -> None:
    hostile = Table("50% of a_b | <b>", [Column("S")], [], "see x_y & [z]")
    assert to_markdown(hostile).startswith("### 50% of a\\_b \\| &lt;b&gt;\n\n")
    assert to_markdown(hostile).endswith("\nsee x\\_y &amp; \\[z\\]\n")
    latex = to_latex(hostile)
    assert r"\caption{50\% of a\_b \textbar{} \textless{}b\textgreater{}}" in latex
    assert r"{\footnotesize see x\_y \& {[}z]}" in latex


NUMBERS = Table(
    "Shares",
    [
        Column("System"),
        Column("Pairs"),
        Column("RBO", 2),
        Column("Unique", 1, percent=True),
        Column("All", percent=True),
    ],
    [["bm25", 12345, 0.125, 0.25, 0.5], ["none", 0, None, math.nan, None]],
    "A note.",
)


def test_text() -> None:
    # 0.125 has two decimals as Python rounds: to the even 0.12.
    assert to_text(NUMBERS) == (
        "Shares\n"
        "System   Pairs   RBO  Unique   All\n"
        "──────  ──────  ────  ──────  ────\n"
        "bm25    12,345  0.12  25.0 %  50 %\n"
        "none         0     –       –     –\n"
        "A note.\n"
    )


def test_markdown() -> None:
    assert to_markdown(NUMBERS) == (
        "### Shares\n\n"
        "| System | Pairs | RBO | Unique | All |\n"
        "|---|---:|---:|---:|---:|\n"
        "| bm25 | 12,345 | 0.12 | 25.0 % | 50 % |\n"
        "| none | 0 | – | – | – |\n"
        "\nA note.\n"
    )


def test_latex() -> None:
    assert to_latex(NUMBERS) == (
        "\\begin{table}\n"
        "  \\centering\n"
        "  \\caption{Shares}\n"
        "  \\begin{tabular}{lrrrr}\n"
        "  \\toprule\n"
        "  System & Pairs & RBO & Unique & All \\\\\n"
        "  \\midrule\n"
        "  bm25 & 12,345 & 0.12 & 25.0 \\% & 50 \\% \\\\\n"
        "  none & 0 & -- & -- & -- \\\\\n"
        "  \\bottomrule\n"
        "  \\end{tabular}\n"
        "  \\par\\medskip\\parbox{\\linewidth}{\\footnotesize A note.}\n"
        "\\end{table}\n"
    )


def test_a_column_that_is_undefined_throughout_still_stands_flush_right() -> None:
    assert "|---|---:|" in to_markdown(Table("Kappa", [Column("Labeler"), Column("κ", 4)], [["HA1", None]]))


def test_latex_prints_a_minus_sign_for_a_negative_number_and_a_hyphen_in_a_name() -> None:
    columns = [Column("Judge"), Column("Mean", 2), Column("Interval", 1), Column("Share", 1, percent=True)]
    found = to_latex(Table("Bias", columns, [["-x", -0.5, (-0.7, -0.3), -0.25]]))
    assert "  -x & $-$0.50 & $-$0.7 to $-$0.3 & $-$25.0 \\% \\\\\n" in found


def test_latex_leaves_details_out() -> None:
    columns = [Column("System"), Column("Seconds", 2, detail=True), Column("nDCG", 2)]
    found = to_latex(Table("Scores", columns, [["bm25", 1.5, 0.25]]))
    assert "{lr}" in found
    assert "  System & nDCG \\\\\n  \\midrule\n  bm25 & 0.25 \\\\\n" in found


def test_csv_has_unrounded_numbers_and_leaves_undefined_ones_empty() -> None:
    assert to_csv(NUMBERS) == "System,Pairs,RBO,Unique,All\nbm25,12345,0.125,0.25,0.5\nnone,0,,,\n"


@pytest.mark.parametrize("how", FORMATS)
def test_a_table_without_rows(how: str) -> None:
    shown = FORMATS[how](Table("Nothing", [Column("System"), Column("Pairs")], []))
    assert "System" in shown
    assert "Pairs" in shown
    assert shown.endswith("\n")


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        to_text(Table("Wrong", [Column("System")], [["a", 1]]))


def test_json() -> None:
    text = readable_json({"system": "é", "share": None})
    assert json.loads(text) == {"system": "é", "share": None}
    assert "é" in text
    with pytest.raises(ValueError, match="not JSON compliant"):
        readable_json({"share": math.nan})


def test_no_text_commands_the_terminal() -> None:
    hostile = "a\x1b[31mred\x07\nb\r\x9b2J"
    shown = to_text(Table(hostile, [Column(hostile)], [[hostile]], hostile))
    assert not set(shown) & set("\x1b\x07\r\x9b")
    assert len(shown.splitlines()) == 5


def test_an_interval_is_rounded_for_readers_and_whole_in_csv() -> None:
    table = Table("T", [Column("System"), Column("95 %", 4)], [["e5", (0.123456, 1.0)], ["lsa", None]])
    assert "0.1235 to 1.0000" in to_text(table)
    assert to_csv(table) == "System,95 % low,95 % high\ne5,0.123456,1.0\nlsa,,\n"


def test_a_probability_is_never_shown_as_none() -> None:
    column = Column("p", 4, positive=True)
    shown = [column.show(p) for p in (0.0, 0.00004, 0.00005, 0.0123)]
    assert shown == ["0.0000", "< 0.0001", "0.0001", "0.0123"]


@pytest.mark.parametrize("value", [-0.0, -0.00004, -4e-17, np.float64(-1e-9)])
def test_what_is_rounded_to_0_has_no_minus(value: float) -> None:
    assert Column("Mean difference", 4).show(value) == "0.0000"
    assert Column("95 % interval", 3).show((value, 0.002)) == "0.000 to 0.002"
    assert Column("Share", 1, percent=True).show(value) == "0.0 %"
    assert Column("Share", percent=True).show(value) == "0 %"
    assert "-" not in to_text(Table("T", [Column("Change", 3)], [[value]]))


def test_a_negative_number_keeps_its_minus() -> None:
    assert Column("Difference", 4).show(-0.00006) == "-0.0001"
    assert Column("Interval", 3).show((-0.0006, -0.0004)) == "-0.001 to 0.000"
    assert Column("Pairs").show(-0.0) == "0.0"
    assert Column("Pairs").show(-1200) == "-1,200"
    assert Column("Pairs", 2).show(3) == "3.00"
