"""Rules for questions: their text, classification, narrative and comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from quati_pool.errors import QuatiPoolError
from quati_pool.project.config import PoolConfig
from quati_pool.text.typed import UnprintableError, has_words, typed_line, typed_lines

QUERY_CHARACTERS = 500
NARRATIVE_CHARACTERS = 10_000
COMMENT_CHARACTERS = 2_000

AXES = ("theme", "scope", "type")

OURS = {
    "theme": (
        "geography", "history", "politics", "economy", "health",
        "education", "science", "environment", "culture", "sports", "daily life",
    ),
    "scope": ("local", "national", "global"),
    "type": ("fact", "definition", "explanation", "procedure", "comparison", "opinion"),
}  # fmt: skip
"""The taxonomy used if pool.yaml has none. The axes theme, scope and type are from the Quati paper
(arXiv 2404.06976); the values are ours."""


class Similar(NamedTuple):
    """A similar question, with its similarity from 0 to 1; ``exact`` if it has the same words. Questions from the
    queries file have no author and no question_id; the author of a model's draft is ""."""

    query: str
    similarity: float
    exact: bool
    author: str | None
    question_id: int | None
    query_id: str | None


class QuestionError(QuatiPoolError):
    """A question or decision was refused and nothing was written. ``reason`` is a keyword for the broken rule, from
    which a page can build a translated message; ``similar`` are the questions that it repeats."""

    def __init__(self, reason: str, message: str, similar: Sequence[Similar] = ()) -> None:
        self.reason = reason
        self.similar = tuple(similar)
        super().__init__(message)


@dataclass(frozen=True)
class Draft:
    """A question as submitted by its author; ``doc_id`` is the passage it was written from. A question that a model
    drafted from a passage may lack its theme, scope and type."""

    query: str
    theme: str | None
    scope: str | None
    type: str | None
    narrative: str | None = None
    doc_id: str | None = None


def taxonomy(config: PoolConfig) -> dict[str, list[str]]:
    """The values of theme, scope and type that authors choose from: pool.yaml's, or else ours."""
    given = config.annotation.taxonomy
    return {axis: list(getattr(given, axis) or OURS[axis]) for axis in AXES}


def one_line(text: str) -> str:
    """A question as it is stored: composed characters, single spaces, none at its ends.

    Raises QuestionError if it is empty, too long, or has line breaks or control characters.
    """
    try:
        text = typed_line(text)
    except UnprintableError:
        raise QuestionError(
            "control", "a question is one line without control characters; type it again, or paste it as plain text"
        ) from None
    if not has_words(text):
        raise QuestionError("empty", "a question needs words; type it")
    if len(text) > QUERY_CHARACTERS:
        raise QuestionError(
            "long",
            f"a question has at most {QUERY_CHARACTERS} characters, not {len(text):,}; put the rest into the narrative",
        )
    return text


def _prose(text: str | None, limit: int, what: str) -> str | None:
    """Text that may have several lines; None if it is empty. Raises QuestionError for control characters and
    overlong text."""
    try:
        text = typed_lines(text or "")
    except UnprintableError:
        raise QuestionError(
            f"{what}_control", f"the {what} holds control characters; type it again, or paste it as plain text"
        ) from None
    if len(text) > limit:
        raise QuestionError(
            f"{what}_long", f"the {what} has at most {limit:,} characters, not {len(text):,}; shorten it"
        )
    return text or None


def comment_of(text: str | None) -> str | None:
    return _prose(text, COMMENT_CHARACTERS, "comment")


def checked(config: PoolConfig, draft: Draft, *, unclassified: bool = False) -> Draft:
    """A question as it is stored. With ``unclassified`` it may lack its theme, scope or type. Raises QuestionError."""
    values = taxonomy(config)
    if unclassified:
        draft = replace(draft, theme=draft.theme or None, scope=draft.scope or None, type=draft.type or None)
    for dimension in AXES:
        value = getattr(draft, dimension)
        if not (value is None and unclassified) and value not in values[dimension]:
            raise QuestionError(
                dimension,
                f"{value!r} is not a {dimension} of this collection; choose one of {', '.join(values[dimension])}",
            )
    narrative = _prose(draft.narrative, NARRATIVE_CHARACTERS, "narrative")
    return replace(draft, query=one_line(draft.query), narrative=narrative)
