"""The HTML of a logical query: its constraints, readable without knowing what a knowledge graph is, and its answers.

``X`` is what the question asks for. A constraint is a line from what has a property to the property's value, one of
which is X; a negated one begins with the word for *not*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from annotator_app import html
from annotator_app.words import Voice

NAMES = ("constraints", "answers", "count")
"""The names under which a step shows them."""

_OF_ONE = {"property", "entity", "side", "negated"}

ASKED = Markup('<b class="asked">X</b>')


def shows(shown: Mapping[str, Any]) -> bool:
    """Whether a step shows a logical query."""
    found = shown.get("constraints")
    if not isinstance(found, list) or not found:
        return False
    return all(isinstance(one, Mapping) and one.keys() >= _OF_ONE for one in found)


def drawn(shown: Mapping[str, Any], voice: Voice) -> Markup:
    """The constraints, and the answers that a step shows with their number."""
    rows = [_constraint(one, voice) for one in shown["constraints"]]
    return html.fill(
        '<div class="shown constraints" data-shown="constraints"><h2>{title}</h2><ul>{rows}</ul></div>{answers}',
        title=voice.say("authoring.shown.constraints"),
        rows=html.join(rows),
        answers=_answers(shown.get("answers") or (), shown.get("count"), voice),
    )


def _constraint(one: Mapping[str, Any], voice: Voice) -> Markup:
    named, linked = one["entity"], one["property"]
    entity = html.fill("<b>{label}</b>", label=html.text(named["label"]))
    ends = (ASKED, entity) if one["side"] == "subj" else (entity, ASKED)
    return html.fill(
        '<li class="constraint{kind}" data-side="{side}"><p class="says">{negation}{start} '
        '<span class="arrow" aria-hidden="true">—</span> <b>{label}</b> '
        '<span class="arrow" aria-hidden="true">→</span> {end}</p>{descriptions}{aliases}</li>',
        kind=Markup(" negated") if one["negated"] else Markup(""),
        side=one["side"],
        negation=html.fill('<strong class="not">{word}</strong> ', word=voice.say("authoring.not"))
        if one["negated"]
        else Markup(""),
        start=ends[0],
        label=html.text(linked["label"]),
        end=ends[1],
        descriptions=html.join([_described(text) for text in (linked, named) if text["description"]]),
        aliases=_aliases([text for text in (linked, named) if text["aliases"]], voice),
    )


def _described(text: Mapping[str, Any]) -> Markup:
    return html.fill(
        '<p class="described">{label}: {description}</p>',
        label=html.text(text["label"]),
        description=html.text(text["description"]),
    )


def _aliases(texts: Sequence[Mapping[str, Any]], voice: Voice) -> Markup:
    """What else the property and the entity are called, folded."""
    if not texts:
        return Markup("")
    rows = [
        html.fill(
            "<p>{label}: {aliases}</p>",
            label=html.text(text["label"]),
            aliases=html.join([html.text(alias) for alias in text["aliases"]], " · "),
        )
        for text in texts
    ]
    return html.fill(
        "<details><summary>{title}</summary>{rows}</details>",
        title=voice.say("authoring.also_called"),
        rows=html.join(rows),
    )


def _answers(answers: Sequence[str], count: int | None, voice: Voice) -> Markup:
    if count is None:
        return Markup("")
    key = "some_answers" if len(answers) < count else "all_answers"
    return html.fill(
        '<div class="shown answers" data-shown="answers"><h2>{title}</h2><p>{number} {answers}</p></div>',
        title=voice.say("authoring.shown.answers"),
        number=voice.say(f"authoring.{key}", count=count),
        answers=html.join([html.text(one) for one in answers], " · "),
    )
