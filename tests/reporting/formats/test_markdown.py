"""The Markdown file holds what the page holds, and no text acts as markup; a Markdown reader is the judge."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.reporting.formats.document import Details, Document, Figure, Paragraph, Section
from quati_pool.reporting.formats.markdown import markdown
from quati_pool.reporting.formats.tables import Column, Table
from tests.reporting.hostile import HOSTILE, hostile_document

TABLE = Table("Systems", [Column("System"), Column("Pairs")], [["bm25", 7]], "A note.")


def test_a_whole_document() -> None:
    blocks = [
        Paragraph("Two\nlines."),
        TABLE,
        Figure(b"", "svg", "How it grows", "A line [rising]", "figures/growth (1).svg"),
        Details("More & more [1]", [Paragraph("Folded.")]),
    ]
    assert markdown(Document("Quati", "50 queries", [Section("pool", "The pool", blocks)])) == (
        "# Quati\n\n50 queries\n\n## The pool\n\nTwo lines.\n\n"
        "### Systems\n\n| System | Pairs |\n|---|---:|\n| bm25 | 7 |\n\nA note.\n\n"
        "![A line \\[rising\\]](figures/growth%20%281%29.svg)\n\nHow it grows\n\n"
        "<details>\n<summary>More &amp; more &#91;1&#93;</summary>\n\nFolded.\n\n</details>\n"
    )


def test_what_is_empty_leaves_no_gap() -> None:
    document = Document("T", "", [Section("a", "A", [Paragraph(""), Figure(b"", "png", "", "alt", "a.png")])])
    assert markdown(document) == "# T\n\n## A\n\n![alt](a.png)\n"


@pytest.mark.parametrize(
    "start", ["# x", "- x", "+ x", "1. x", "12) x", "===", "---", "> x", "* x", "```", "|x|", "~~~"]
)
def test_a_paragraph_that_begins_like_markup_is_a_paragraph(start: str) -> None:
    paragraph = markdown(Document("T", "", [Section("a", "A", [Paragraph(start)])])).split("\n\n")[2]
    # CommonMark 0.31: the starts of headings, lists, rules, fences, quotations and tables.
    assert not re.match(
        r" {0,3}(#{1,6}( |$)|[-+*]( |$)|\d{1,9}[.)]( |$)|=+ *$|(- *){3,}$|(\* *){3,}$|```|~~~|>|\|)", paragraph
    )
    assert re.sub(r"\\(.)", r"\1", paragraph).replace("&gt;", ">").rstrip() == start


def test_no_hostile_text_makes_a_tag_a_link_or_an_image() -> None:
    text = markdown(hostile_document())
    # Left when what is escaped is taken out: our own tags and figures alone.
    bare = re.sub(r"\\.", "", text)
    assert set(re.findall(r"<[^>]*>", bare)) == {"<details>", "</details>", "<summary>", "</summary>"}
    assert re.findall(r"\]\(([^)]*)\)", bare) == [f"figures/{n}.svg" for n in range(len(HOSTILE))]
    text.encode()


@given(st.text())
def test_a_text_of_one_line_stays_on_one_line(text: str) -> None:
    """Whatever line ends it holds (Markdown knows LF, CR and both)."""
    found = markdown(Document("T", "", [Section("a", "A", [Paragraph(f"x{text}")])]))
    assert len(re.split(r"\r\n|\r|\n", found)) == 6
