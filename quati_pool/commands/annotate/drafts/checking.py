"""Which drafts are held back before people see them, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quati_pool.annotation.authoring.draft_checks import COPIED_SHARE, COPIED_WORDS, copied_words
from quati_pool.annotation.authoring.text_checks import decontextualised
from quati_pool.annotation.questions import SIMILAR_GRAMS, SIMILAR_STEMS, similar_questions

Questions = Mapping[str | None, str]
"""A question by language; None where the language is not known."""

THRESHOLDS = {
    "repeats": f"similarity of stems from {SIMILAR_STEMS} or of their 3-grams from {SIMILAR_GRAMS}",
    "copies": f"a run of {COPIED_WORDS} words or more that is {100 * COPIED_SHARE:.0f} % of the question or more",
}
"""From where a figure holds a draft back, in words."""


class HeldBack(NamedTuple):
    """Why a draft is held back: ``repeats``, ``copies``, ``decontextualised``, or the reason of a rule that every
    question keeps. ``figure`` is what was compared with a threshold, ``words`` the question that is repeated or the
    words at fault; None where a reason has none."""

    reason: str
    field: str
    figure: float | None = None
    words: str | None = None


class Checks:
    """The checks of drafts against the questions that are there, by language; drafts that are kept are among those for
    the next ones."""

    def __init__(self, there: Mapping[str | None, Sequence[str]]) -> None:
        self._there = {language: list(questions) for language, questions in there.items()}

    def held_back(self, questions: Questions, texts: Questions) -> HeldBack | None:
        """Why a draft with these questions is held back, if it is; ``texts`` are what it was written from."""
        for language, question in questions.items():
            field = "question" if language is None else f"question.{language}"
            text = texts.get(language, texts.get(None))
            if text is not None and (copied := copied_words(question, text, language)).too_much:
                return HeldBack("copies", field, copied.share)
            if words := decontextualised(question, language or ""):
                return HeldBack("decontextualised", field, words=words)
            there = self._there.get(language, [])
            if similar := similar_questions(question, there, language):
                return HeldBack("repeats", field, similar[0].similarity, there[similar[0].place])
        return None

    def keep(self, questions: Questions) -> None:
        for language, question in questions.items():
            self._there.setdefault(language, []).append(question)
