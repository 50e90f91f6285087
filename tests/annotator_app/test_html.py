"""What becomes of texts of others: escaped, with hidden characters shown, and never more than text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator_app import html
from quati_pool.text.sentences import Span
from tests.reporting.hostile import HOSTILE


class Reading(HTMLParser):
    """What a browser would find in it: the tags, their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.marked: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.tags and self.tags[-1] == "mark":
            self.marked.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self.tags and self.tags[-1] == tag:
            self.tags.pop()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_nothing_but_text(text: str) -> None:
    for made in (html.text(text), html.passage(text), html.fill("<p title='{text}'>{text}</p>", text=text)):
        read = Reading(made)
        assert read.attributes <= {"class", "dir", "title"}
    if all(ord(character) >= 32 for character in text) and "\u202e" not in text:
        assert Reading(html.passage(text)).text == text


def test_hidden_characters_are_shown() -> None:
    assert Reading(html.passage("a\u202eb\u200bc\x00d\ud800e")).text == "a⟨U+202E⟩b⟨U+200B⟩c⟨U+0000⟩d⟨U+D800⟩e"


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6))
def test_marks_change_no_character_and_stand_where_they_should(text: str, ends: list[tuple[int, int]]) -> None:
    # Apart and in order, as a highlighter gives them.
    edges = sorted({edge for pair in ends for edge in pair if edge <= len(text)})
    spans = [Span(start, end) for start, end in zip(edges[::2], edges[1::2], strict=False)]
    made = html.marked(text, spans)
    plain = html.marked(text)
    assert made.replace("<mark>", "").replace("</mark>", "") == plain
    if text.isprintable():
        assert made.striptags is not None
        pieces = [text[span.start : span.end] for span in spans]
        assert made == _by_hand(text, pieces, spans)


def _by_hand(text: str, pieces: list[str], spans: list[Span]) -> str:
    from markupsafe import escape

    made, at = "", 0
    for piece, span in zip(pieces, spans, strict=True):
        made += str(escape(text[at : span.start])) + f"<mark>{escape(piece)}</mark>"
        at = span.end
    return made + str(escape(text[at:]))


def test_a_label_holds_no_character_that_markdown_reads() -> None:
    made = html.label("**a** [b](javascript:c) :red[d] $e$ <f>\n`g` \u202e")
    assert not set(made.replace("&#", "").replace(";", "")) & set("*[]():$<>`\n\u202e")


def test_a_template_is_filled_but_never_by_what_fills_it() -> None:
    assert html.fill("<b>{a}</b>{b}", a="{b}", b="<i>") == "<b>{b}</b>&lt;i&gt;"
