"""The page holds what the document holds, and nothing that acts or points outside."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quati_pool.reporting.figures.plots import lines
from quati_pool.reporting.formats.document import (
    Block,
    Details,
    Document,
    Figure,
    Matrices,
    Matrix,
    Paragraph,
    Region,
    Row,
    Section,
)
from quati_pool.reporting.formats.html import fragment, page
from quati_pool.reporting.formats.tables import Column, Table, to_csv, to_latex
from tests.reporting.hostile import HOSTILE, hostile_document, sections_of

Attributes = dict[str, str | None]


class Parsed(HTMLParser):
    """Every tag with its attributes, and every text with the tag it stands in."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, Attributes]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1], data))

    def all(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def parsed(*blocks: Block, title: str = "Title", subtitle: str = "Subtitle") -> Parsed:
    return Parsed(page(Document(title, subtitle, [Section("one", "One", blocks)])))


def shown(text: str) -> str:
    """What stands for ``text``: U+FFFD for what HTML cannot hold."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


def test_hostile_texts_stand_in_every_place_and_make_no_tag_or_attribute() -> None:
    found = Parsed(page(hostile_document()))
    harmless = Parsed(page(Document("x", "x", sections_of(["x"] * len(HOSTILE)))))
    # The same tags in the same order; a class tells a short text, and no attribute is added.
    plain = [(tag, sorted(attributes.keys() - {"class"})) for tag, attributes in harmless.tags]
    assert [(tag, sorted(attributes.keys() - {"class"})) for tag, attributes in found.tags] == plain
    for text in HOSTILE:
        # Three paragraphs and the notes of three tables and of the matrices; the captions of those and of a figure.
        assert [found.text(tag).count(shown(text)) for tag in ("p", "figcaption", "summary")] == [7, 5, 1]
        # In the contents list a section and its five parts, and the linked cells of three tables.
        assert [found.text(tag).count(shown(text)) for tag in ("h2", "a", "bdi", "title")] == [1, 9, 2, 1]
        # Two headings of each table, and the headings of a row and a column of the matrix.
        assert found.text("th").count(shown(text)) == 8
        assert [image["alt"] for image in found.all("img")].count(shown(text)) == 1


@given(st.text(st.characters(exclude_characters="\r")))
def test_any_text_reads_back(text: str) -> None:
    marked = f"-{text}-"
    found = parsed(Paragraph(marked), Table(marked, [Column(marked)], [[marked]]), title=marked)
    expected = shown(marked)
    assert found.text("title") == found.text("h1") == found.text("figcaption") == [expected]
    assert found.text("th") == [expected, expected]
    assert found.all("table")[0]["aria-label"] == expected


def test_the_policy_allows_the_style_sheet_and_both_scripts_by_their_hashes_and_images_within_the_page() -> None:
    source = page(hostile_document())
    found = Parsed(source)
    (style,) = re.findall(r"<style>(.*?)</style>", source, re.S)
    scripts = re.findall(r"<script>(.*?)</script>", source, re.S)
    assert len(scripts) == 2
    policy = next(meta["content"] for meta in found.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {hashed(style)}",
        f"script-src {' '.join(map(hashed, scripts))}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # It stands before anything that it governs.
    assert source.index("Content-Security-Policy") < source.index("<style>") < source.index("<script>")


def hashed(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def test_nothing_points_outside_and_nothing_can_run_but_the_pages_own_scripts() -> None:
    source = page(hostile_document())
    found = Parsed(source)
    assert not {"iframe", "object", "embed", "form", "base"} & {tag for tag, _ in found.tags}
    # They are the same whatever the page holds.
    scripts = re.findall(r"<script>(.*?)</script>", source, re.S)
    assert scripts == re.findall(r"<script>(.*?)</script>", page(Document("T", "", [])), re.S)
    assert found.all("script") == [{}, {}]
    for _, attributes in found.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("href", "src"):
            value = attributes.get(name)
            # What follows ./ is a path, whatever it looks like.
            assert value is None or value.startswith(("#", "data:", "./"))
    style = source[source.index("<style>") : source.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_every_section_is_linked_to() -> None:
    document = Document(
        "T", "", [Section("pool", "The pool", []), Section("agreement-2", "Agreement", [])], lang="pt-BR"
    )
    found = Parsed(page(document))
    assert [a["href"] for a in found.all("a")] == ["#pool", "#agreement-2"]
    assert found.all("nav") == [{"aria-label": "Contents"}]
    assert [section["id"] for section in found.all("section")] == ["pool", "agreement-2"]
    assert found.all("html") == [{"lang": "pt-BR"}]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)


def test_the_contents_list_leads_to_every_table_figure_and_folded_part() -> None:
    table = Table("Systems", [Column("System")], [["bm25"]])
    picture = Figure(b"<svg/>", "svg", "How it grows.", "alt", "x.svg")
    inside = Details("More", [table])
    section = Section("pool", "The pool", [Paragraph("P"), table, Row([table, picture]), inside])
    found = Parsed(page(Document("T", "", [section, Section("pool-systems", "Other", [])])))
    listed = [str(a["href"]) for a in found.all("a") if str(a["href"]).startswith("#")]
    # A section that has the name that a part would have keeps it.
    names = ["pool-systems-2", "pool-systems-3", "pool-how-it-grows", "pool-more"]
    assert listed == ["#pool", *(f"#{name}" for name in names), "#pool-systems"]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert {href[1:] for href in listed} <= set(ids)
    assert len(set(ids)) == len(ids)
    assert found.text("a")[:6] == ["The pool", "Systems", "Systems", "How it grows", "More", "Other"]


def test_cells_hold_the_numbers_to_sort_by_and_lead_where_they_should() -> None:
    rows = [["bm25", 12345, 0.51239, (0.25, 0.5)], ["lsa", 7, None, None], ["All", 12352, 0.5, None]]
    columns = [Column("System"), Column("Pairs"), Column("κ", 2), Column("Interval", 1)]
    table = Table("T", columns, rows, totals=1, links={0: ["explore/index.html#/system/bm25"], 1: ["", "a b&c"]})
    found = parsed(table)
    cells = found.all("td")
    assert [cell.get("data-sort") for cell in cells] == [
        *("12345", "0.51239", "0.25"),
        *(None, None, None),
        *("12352", "0.5", None),
    ]
    assert [heading.get("data-sort-method") for heading in found.all("th")[:4]] == [None, *["number"] * 3]
    hrefs = [a["href"] for a in found.all("a") if not str(a["href"]).startswith("data:")]
    assert hrefs == ["./explore/index.html#/system/bm25", "./a b&c"]
    order = [tag for tag, _ in found.tags if tag in ("thead", "tbody", "tfoot", "tr")]
    assert order == ["thead", "tr", "tbody", "tr", "tr", "tfoot", "tr"]


def test_a_table_is_in_the_page_as_the_bytes_of_its_csv_and_latex() -> None:
    table = Table("Agreement, κ", [Column("Ω & x"), Column("v", 1)], [["é\ud800,\n", 1 / 3], ["b", None]], "N")
    links = [a for a in parsed(table).all("a") if "download" in a]
    assert [a["download"] for a in links] == ["one-agreement.csv", "one-agreement.tex"]
    for link, text in zip(links, (to_csv(table), to_latex(table)), strict=True):
        content = base64.b64decode(str(link["href"]).partition(";base64,")[2])
        assert content == text.encode(errors="replace")
    # Outside of a page, as in a notebook, there is the table alone.
    assert "download" not in fragment([table])


def test_matrices_show_counts_in_the_tint_of_their_share_and_link_those_that_are_not_empty() -> None:
    matrix = Matrix("ana", "gpt", [[9, 1], [0, 0]], "all", [["a", "b"], ["c", "d"]])
    found = parsed(Matrices("Grades", ["0", "1"], [matrix], "N"))
    assert [cell.get("class") for cell in found.all("td")] == [None, "share-9", "share-1", "share-0", "share-0"]
    assert found.text("th") == ["0", "1", "0", "1"]
    hrefs = [(a["href"], a.get("title")) for a in found.all("a")]
    assert hrefs == [("./all", None), ("./a", "ana 0, gpt 0"), ("./b", "ana 0, gpt 1")]
    assert found.text("td") == ["0", "0"]
    assert found.text("bdi") == ["ana", "gpt"]


def test_the_links_of_a_figure_lie_over_their_regions() -> None:
    regions = [Region(0.25, 0, 1 / 3, 1, "one", "The first"), Region(0, 0.5, 1, 0.125, "two", "The second")]
    found = parsed(Figure(b"<svg/>", "svg", "C", "alt", "x.svg", regions))
    rectangles = [{side: one[side] for side in ("x", "y", "width", "height")} for one in found.all("rect")]
    assert rectangles == [
        {"x": "25.00%", "y": "0.00%", "width": "33.33%", "height": "100.00%"},
        {"x": "0.00%", "y": "50.00%", "width": "100.00%", "height": "12.50%"},
    ]
    assert [(a["href"], a["aria-label"]) for a in found.all("a")] == [("./one", "The first"), ("./two", "The second")]
    assert found.text("title") == ["Title", "The first", "The second"]


def test_tables_set_numbers_flush_right_and_show_undefined_as_a_dash() -> None:
    rows = [["bm25", 0.51239, 12345, "a"], ["lsa", None, 7, ""], ["none", float("nan"), None, None]]
    table = Table("T", [Column("System"), Column("nDCG@10", 4), Column("Pairs"), Column("Remark")], rows, "N")
    found = parsed(table)
    assert found.text("td") == ["0.5124", "12,345", "a", "–", "7", "–", "–", "–"]
    classes = [(cell.get("class") or "").split() for cell in found.all("td")]
    assert ["number" in kinds for kinds in classes] == [True, True, False] * 3
    assert ["undefined" in kinds for kinds in classes] == [False] * 3 + [True, False, False] + [True] * 3
    assert [cell["scope"] for cell in found.all("th")] == ["col"] * 4 + ["row"] * 3


@pytest.mark.parametrize("format", ["svg", "png"])
def test_a_figure_is_embedded_at_the_size_it_was_drawn_for(format: str) -> None:  # noqa: A002
    drawing = lines({"pool": (np.arange(3), np.arange(3))}, "depth", "pairs", "Growth")
    content = drawing.render(format)  # type: ignore[arg-type]
    figure = Figure(content, format, "Growth of the pool", "A line that rises", "growth.svg")  # type: ignore[arg-type]
    (image,) = parsed(figure).all("img")
    media, _, data = str(image["src"]).removeprefix("data:").partition(";base64,")
    assert media == {"svg": "image/svg+xml", "png": "image/png"}[format]
    assert base64.b64decode(data) == content
    assert image["alt"] == "A line that rises"
    # 5.8 by 3.8 inches of 96 CSS pixels each.
    assert (image["width"], image["height"]) == ("557", "365")


def test_a_figure_that_does_not_tell_its_size_is_shown_without_one() -> None:
    (image,) = parsed(Figure(b"<svg/>", "svg", "", "nothing", "x.svg")).all("img")
    assert not {"width", "height"} & image.keys()


def test_the_same_document_gives_the_same_page() -> None:
    assert page(hostile_document()) == page(hostile_document())


def test_a_page_can_always_be_written_as_utf_8() -> None:
    assert "\ufffd" in page(hostile_document()).encode().decode()


@pytest.mark.parametrize("wrong", ["", "Pool", "a b", 'a"', "1st", "javascript:x"])
def test_a_section_that_cannot_be_linked_to_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="lower-case letters"):
        Section(wrong, "Title", [])


def test_two_sections_of_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="give each its own"):
        Document("T", "", [Section("a", "A", []), Section("a", "B", [])])
