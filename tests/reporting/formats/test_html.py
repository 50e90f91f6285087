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
from quati_pool.reporting.formats.document import Block, Details, Document, Figure, Paragraph, Section
from quati_pool.reporting.formats.html import page
from quati_pool.reporting.formats.tables import Column, Table
from tests.reporting.hostile import HOSTILE, SVG, hostile_document

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
    harmless = Parsed(
        page(
            Document(
                "x",
                "x",
                [
                    Section(
                        f"s{n}",
                        "x",
                        [
                            Paragraph("x"),
                            (
                                table := Table(
                                    "x", [Column("x"), Column("x", 2), Column("x", 2)], [["x", 0.5, None]], "x"
                                )
                            ),
                            Figure(SVG, "svg", "x", "x", "x.svg"),
                            Details("x", [Paragraph("x"), table]),
                        ],
                    )
                    for n in range(len(HOSTILE))
                ],
            )
        )
    )
    # The same tags in the same order; a class tells a short text, and no attribute is added.
    plain = [(tag, sorted(attributes.keys() - {"class"})) for tag, attributes in harmless.tags]
    assert [(tag, sorted(attributes.keys() - {"class"})) for tag, attributes in found.tags] == plain
    for text in HOSTILE:
        # Two paragraphs and two notes, two captions of tables and one of a figure, one summary.
        assert [found.text(tag).count(shown(text)) for tag in ("p", "figcaption", "summary")] == [4, 3, 1]
        assert [found.text(tag).count(shown(text)) for tag in ("h2", "a")] == [1, 1]
        assert found.text("th").count(shown(text)) == 6
        assert [image["alt"] for image in found.all("img")].count(shown(text)) == 1


@given(st.text(st.characters(exclude_characters="\r")))
def test_any_text_reads_back(text: str) -> None:
    marked = f"-{text}-"
    found = parsed(Paragraph(marked), Table(marked, [Column(marked)], [[marked]]), title=marked)
    expected = shown(marked)
    assert found.text("title") == found.text("h1") == found.text("figcaption") == [expected]
    assert found.text("th") == [expected, expected]
    assert found.all("table")[0]["aria-label"] == expected


def test_the_policy_allows_the_style_sheet_by_its_hash_and_images_within_the_page() -> None:
    source = page(hostile_document())
    found = Parsed(source)
    style = re.search(r"<style>(.*?)</style>", source, re.S)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = next(meta["content"] for meta in found.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert set(policy.split("; ")) == {
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    }
    # It stands before anything that it governs.
    assert source.index("Content-Security-Policy") < source.index("<style>")


def test_nothing_points_outside_and_nothing_can_run() -> None:
    source = page(hostile_document())
    found = Parsed(source)
    assert not {"script", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in found.tags}
    for _, attributes in found.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("href", "src"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:"))
    style = source[source.index("<style>") : source.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_every_section_is_linked_to() -> None:
    document = Document(
        "T", "", [Section("pool", "The pool", []), Section("agreement-2", "Agreement", [])], lang="pt-BR"
    )
    found = Parsed(page(document))
    assert [a["href"] for a in found.all("a")] == ["#pool", "#agreement-2"]
    assert [section["id"] for section in found.all("section")] == ["pool", "agreement-2"]
    assert found.all("html") == [{"lang": "pt-BR"}]
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)


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
