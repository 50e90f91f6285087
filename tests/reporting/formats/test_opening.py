"""The opening of a report in HTML and Markdown: links, lists and a leaderboard with its intervals drawn."""

from __future__ import annotations

import pytest

from quati_pool.reporting.explorer import links
from quati_pool.reporting.formats.document import (
    Document,
    Link,
    Listing,
    Opening,
    OpeningPart,
    Paragraph,
    Section,
    Standing,
    Standings,
)
from quati_pool.reporting.formats.html import page
from quati_pool.reporting.formats.markdown import markdown
from tests.reporting.formats.test_html import Parsed, shown
from tests.reporting.hostile import HOSTILE


def opened(*blocks: Paragraph | Listing | Standings) -> Document:
    return Document("T", "", [Section("systems", "S", [])], opening=Opening("In short", [OpeningPart("Best", blocks)]))


def standing(name: str, mean: float = 0.5, interval: tuple[float, float] | None = None) -> Standing:
    return Standing(1, Link(name, links.system(name)), mean, interval, "a")


def test_hostile_names_are_links_and_texts_and_nothing_else() -> None:
    # No file in UTF-8 holds a lone surrogate, so no name does.
    for name in [text.replace("\ud800", "") for text in HOSTILE]:
        words = (f"{name} ", Link(name, links.system(name, by=name)))
        board = Standings(name, name, [standing(name)], name, Link(name, "#systems"))
        found = Parsed(page(opened(Paragraph(words), Listing([words]), board)))
        assert not {"img", "iframe", "base"} & {tag for tag, _ in found.tags}
        # Those of the page itself: tablesort and its own.
        assert len([tag for tag, _ in found.tags if tag == "script"]) == 2
        assert not any(key.startswith("on") or key == "style" for _, attributes in found.tags for key in attributes)
        assert found.text("bdi") == [shown(name)] * 4
        for link in found.all("a"):
            assert str(link["href"]).startswith(("explore/index.html#/system/", "#systems"))


def test_links_lead_to_the_document_or_to_pages_next_to_it() -> None:
    for href in ("https://outside.example/#x", "javascript:alert(1)#x", "//outside.example/a.html#x", "#a b", "../x#"):
        with pytest.raises(ValueError, match="leads outside"):
            Link("x", href)


def test_intervals_lie_on_one_axis_from_the_lowest_end_to_the_highest() -> None:
    rows = [standing("a", 0.8, (0.6, 1.0)), standing("b", 0.5, (0.2, 0.6)), standing("c", 0.4)]
    found = Parsed(page(opened(Standings("Board", "nDCG", rows, ""))))
    # The axis takes 92 % of the width, from 4 %.
    assert [(line["x1"], line["x2"]) for line in found.all("line")] == [
        ("50.0%", "96.0%"),
        ("4.0%", "50.0%"),
        ("27.0%", "27.0%"),
    ]
    assert [circle["cx"] for circle in found.all("circle")] == ["73.0%", "38.5%", "27.0%"]
    assert found.text("span") == ["0.600 to 1.000", "0.200 to 0.600", "–"]


def test_means_that_are_all_equal_are_in_the_middle() -> None:
    found = Parsed(page(opened(Standings("Board", "nDCG", [standing("a"), standing("b")], ""))))
    assert [circle["cx"] for circle in found.all("circle")] == ["50.0%"] * 2


def test_the_markdown_begins_with_the_same_sentences_and_the_leaderboard() -> None:
    board = Standings("Board", "nDCG", [standing("a_b", 0.8, (0.6, 1.0))], "A note.", Link("and 3 more", "#systems"))
    words = ("The system ", Link("a_b", links.system("a_b")), " is best.")
    text = markdown(opened(Paragraph(words), board, Listing([words, "- 1. two"])))
    assert text.startswith("# T\n\n## In short\n\n### Best\n\nThe system a\\_b is best.\n\n### Board\n\n")
    assert "| 1 | a\\_b | 0.800 | 0.600 to 1.000 | a |\n\nAnd 3 more. A note.\n" in text
    assert "- The system a\\_b is best.\n- \\- 1. two\n" in text
    assert text.index("In short") < text.index("## S\n")


def test_without_groups_there_is_no_column_for_them() -> None:
    row = Standing(1, Link("a", links.system("a")), 0.8, (0.6, 1.0))
    board = Standings("Board", "nDCG", [row], "", Link("all", "#systems"), "90 % interval")
    found = Parsed(page(opened(board)))
    assert [one["colspan"] for one in found.all("td") if "colspan" in one] == ["3"]
    assert "Groups" not in found.text("th")
    assert "| Rank | System | nDCG | 90 % interval |\n" in markdown(opened(board))
    assert "| Rank | System | nDCG | 95 % interval | Groups |\n" in markdown(
        opened(Standings("Board", "nDCG", [standing("a")], ""))
    )
