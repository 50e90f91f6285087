"""The guide next to what people work on: what the page's grades or keys mean, and the collection's guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from annotator_app import html
from annotator_app.words import Voice
from quati_pool.commands.annotate.session import AnnotationSession, GradeMeaning
from quati_pool.errors import QuatiPoolError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def drawer(session: AnnotationSession, voice: Voice, heading: str, contents: Markup) -> Markup:
    """The guide as a dialog with a field to search it: a page's own contents, then the guidelines."""
    return html.fill(
        '<dialog class="guide" aria-label="{title}"><div class="guide-head" tabindex="-1"><h2>{title}</h2>{close}'
        '<label>{search} <input type="search" autocomplete="off" spellcheck="false"></label>'
        '<span class="quiet found" role="status" data-none="{none}"></span></div>'
        '<div class="guide-text" role="region" aria-label="{title}" tabindex="0">'
        "<section><h2>{heading}</h2>{contents}</section>{guidelines}</div></dialog>",
        title=voice.say("annotate.guide"),
        search=voice.say("annotate.guide_search"),
        none=voice.say("annotate.guide_nothing"),
        close=html.button("guide", voice.say("annotate.guide_close"), "Esc"),
        heading=heading,
        contents=contents,
        guidelines=_guidelines(session, voice),
    )


def meanings(voice: Voice, scale: Sequence[GradeMeaning]) -> Markup:
    """The meaning of each grade, with its example."""
    return html.join([_meaning(voice, meaning) for meaning in scale])


def _meaning(voice: Voice, meaning: GradeMeaning) -> Markup:
    example = Markup("")
    if meaning.example is not None:
        reasoning = Markup("")
        if meaning.example.reasoning is not None:
            reasoning = html.fill(
                "<details><summary>{why}</summary><p>{reasoning}</p></details>",
                why=voice.say("annotate.example_why"),
                reasoning=html.text(meaning.example.reasoning),
            )
        example = html.fill(
            '<div class="example"><p class="asked"><span class="quiet">{title}:</span> {query}</p>{passage}'
            "{reasoning}</div>",
            title=voice.say("annotate.example"),
            query=html.text(meaning.example.query),
            passage=html.passage(meaning.example.passage, kind="shown"),
            reasoning=reasoning,
        )
    return html.fill(
        '<div class="meaning"><h3><kbd>{grade}</kbd> {name}</h3>{meaning}{example}</div>',
        grade=meaning.grade,
        name=html.text(meaning.name),
        meaning=html.fill("<p>{text}</p>", text=html.text(meaning.meaning)) if meaning.meaning else Markup(""),
        example=example,
    )


def _guidelines(session: AnnotationSession, voice: Voice) -> Markup:
    try:
        guidelines = session.guidelines
    except QuatiPoolError as error:
        return html.fill('<p class="notice warning">{text}</p>', text=str(error))
    if guidelines is None:
        return Markup("")
    return html.fill(
        '<section class="guidelines"><h2>{title}</h2>{text}</section>',
        title=voice.say("app.guidelines"),
        text=rendered(guidelines.text),
    )


@lru_cache(maxsize=4)
def rendered(markdown: str) -> Markup:
    """Markdown as HTML. HTML in it is shown as text, and links that would run a script stay text."""
    return Markup(_markdown().render(markdown))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Images would be asked for from other sites, which the page's policy refuses.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
