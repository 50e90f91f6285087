"""LaTeX tables show any text and compile; pdflatex itself is the judge."""

from __future__ import annotations

import re
import string
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.reporting.formats.latex import escape
from quati_pool.reporting.formats.tables import Column, Table, latex_file, to_latex

SIGNS = "≥ – → ± κ τ α Δ − é ã ç Ș ≤ × ρ “quoted” ‘single’ … — € ° ½ x² 10⁻⁶ «» \u00a0 №"
HOSTILE = [
    string.punctuation,
    "".join(reversed(string.punctuation)),
    *(f"{sign}{sign}{sign}" for sign in string.punctuation),
    "\\end{table}\\undefined",
    "% comment } {",
    "[2em] after a row",
    "* starred",
    "^^41 ^^M",
    "two\r\n\nlines\tand a tab",
    SIGNS,
    "emoji 🦜 and 日本語, Кириллица, العربية",
    "x̄ ế ạ ǎ ǰ ħ ŧ",
    "\x00\x07\x7f\ud800\ufffe zero\u200bwidth soft\u00adhyphen \u202eright to left",
]


def compiled(tables: str, folder: Path) -> Path:
    """The PDF; any error of LaTeX fails the test, showing the end of its log."""
    source = folder / "tables.tex"
    source.write_text(
        "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}\n"
        f"\\begin{{document}}\n{tables}\n\\end{{document}}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", source.name]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert ran.returncode == 0, ran.stdout[-2000:]
    log = (folder / "tables.log").read_text(encoding="latin-1")
    # What a font lacks is no error to LaTeX, but it prints nothing in its place.
    assert "Missing character" not in log
    return folder / "tables.pdf"


@pytest.mark.latex
def test_tables_with_hostile_cells_compile(tmp_path: Path) -> None:
    rows = [[text, -0.25, text] for text in HOSTILE]
    columns = [Column("System"), Column("κ ± σ", 2, percent=True), Column(string.punctuation)]
    tables = [Table(text, columns, rows[i : i + 1], text) for i, text in enumerate(HOSTILE)]
    # LaTeX holds 18 unplaced floats at most.
    source = "\n\\clearpage\n".join(map(to_latex, tables))
    assert compiled(source, tmp_path).read_bytes().startswith(b"%PDF")


@pytest.mark.latex
def test_a_file_of_many_tables_compiles(tmp_path: Path) -> None:
    """More than LaTeX keeps waiting for a page, 18 or in newer ones 52."""
    tables = [Table(f"Table {n}", [Column("System")], [["x"]]) for n in range(80)]
    assert compiled(latex_file(tables), tmp_path).read_bytes().startswith(b"%PDF")


@pytest.mark.latex
def test_every_character_that_has_its_own_spelling_compiles(tmp_path: Path) -> None:
    """All that is not given as a code point, of the first 12,000 characters."""
    spelled = [c for c in map(chr, range(32, 12000)) if "U+" not in escape(c) and escape(c).strip()]
    assert len(spelled) > 500
    compiled("\n\n".join(f"{ord(c)}: {escape(c)} {escape(c + c)} {escape('a' + c)}" for c in spelled), tmp_path)


@pytest.mark.latex
def test_the_compilation_fails_where_a_character_is_not_escaped(tmp_path: Path) -> None:
    bad = to_latex(Table("T", [Column("System")], [["x"]])).replace("x \\\\", "x_y \\\\")
    with pytest.raises(AssertionError, match="Missing \\$ inserted"):
        compiled(bad, tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("κ ≥ 0.4 ± 0.1", r"$\kappa$ $\geq$ 0.4 $\pm$ 0.1"),
        ("τ − α → Δ × ρ ≤", r"$\tau$ $-$ $\alpha$ $\rightarrow$ $\Delta$ $\times$ $\rho$ $\leq$"),
        ("“a” …", r"\textquotedblleft{}a\textquotedblright{} \textellipsis{}"),
        ("é ã ç", "é ã ç"),
        ("e\u0301", "é"),
        ("ế", r"\'{ê}"),
        ("x\u0304", r"\={x}"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("''", "'{}'"),
        ("🦜", "{[}U+1F99C]"),
        ("Ж", "{[}U+0416]"),
        ("a\u200bb\u00adc\ufe0f", "abc"),
        ("\x00", "{[}U+FFFD]"),
    ],
)
def test_spelling(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_distinct_unknown_characters_stay_distinct() -> None:
    letters = [chr(point) for point in range(0x400, 0x500)]
    assert len({escape(letter) for letter in letters}) == len(letters)


@given(st.text())
def test_nothing_is_left_that_acts(text: str) -> None:
    """Braces pair, every backslash starts a known spelling, and mathematics ends where it starts."""
    left = re.sub(
        r"\\[&%$#_{}]|\\text\w+\{\}|\\(?:quotedblbase|quotesinglbase|guil\w+)\{\}|\$\\[A-Za-z]+\$|\$-\$|\$[\^_]\{[0-9+-]\}\$"
        r"|\\,|\{\[\}|\{\*\}|\{\}|~",
        "",
        escape(text),
    )
    for _ in range(2):
        left = re.sub(r"\\['`^~=.\"urHvdckb]\{[^\\{}]*\}", "", left)
    assert not set(left) & set("\\{}$&#^_%~*[<>|")
    assert all(c.isascii() or unicodedata.category(c)[0] == "L" for c in left)
    assert "\n" not in left
