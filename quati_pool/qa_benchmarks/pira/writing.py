"""Writes question sets in the columns of Pirá's released files, so that every task of ``bench pira`` reads them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from quati_pool.files.queries import DRAFTED_BY
from quati_pool.qa_benchmarks.pira.files import (
    ANSWER,
    AT_LABEL,
    AUTOMATIC,
    ID,
    MEANINGFUL,
    PARAPHRASE,
    QUESTION,
    TEXT,
    TRANSLATED_QUESTION,
    VALIDATED,
)

AUTOMATIC_ANSWERS = {
    "en": ("answer_AUT_EN_1", "answer_AUT_EN_2"),
    "pt": ("answer_AUT_PT_1", "answer_AUT_PT_2"),
}
TYPES = {
    "who": "Who",
    "what": "What",
    "where": "Where",
    "when": "When",
    "why": "Why",
    "how": "How",
    "none": "None of the above",
}
"""How the files write the types of questions."""


@dataclass(frozen=True, kw_only=True)
class QuestionSet:
    """A question with its answer, text and evaluation; texts by language (``en``, ``pt``), empty where there are none.

    ``source`` is the id of the article that the text is from. ``generic`` and ``in_text`` are yes or no; ``hard``,
    ``meaningful`` and ``equivalent`` are from 1 to 5; ``type`` is a key of ``TYPES``; each is None without an
    evaluation. ``at_label`` is 1 or 0, whether the text can answer the question, None where the set has no label.
    ``automatic`` and ``automatic_answers`` are paraphrases by programs, by language and number, 1 or 2;
    ``translated_question`` is the Portuguese question translated into English; ``drafted_by`` names the program that
    wrote the set, if it was one.
    """

    question_id: str
    corpus: str = ""
    question: Mapping[str, str] = field(default_factory=dict)
    paraphrase: Mapping[str, str] = field(default_factory=dict)
    answer: Mapping[str, str] = field(default_factory=dict)
    validated: Mapping[str, str] = field(default_factory=dict)
    text: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    generic: bool | None = None
    in_text: bool | None = None
    hard: int | None = None
    meaningful: int | None = None
    equivalent: int | None = None
    type: str | None = None
    at_label: int | None = None
    translated_question: str = ""
    automatic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    automatic_answers: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    drafted_by: str = ""


def written(sets: Sequence[QuestionSet], columns: Sequence[str] | None = None) -> bytes:
    """The content of a split's file, which ``read_questions`` reads as these sets; with ``columns``, which
    ``filled_columns`` gives for all splits, every split has the same."""
    names = filled_columns(sets) if columns is None else columns
    out = io.StringIO()
    # All cells are quoted, as csv.writer would not quote a lone carriage return.
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["", *names])
    for number, one in enumerate(sets):
        cells = _cells(one)
        writer.writerow([number, *(cells[name] for name in names)])
    return out.getvalue().encode()


def filled_columns(sets: Iterable[QuestionSet]) -> list[str]:
    """The columns in which a set has a value, in the order of the release, then those of programs.

    A column that is empty throughout is left out: which tasks, languages and settings there are is read from the
    header.
    """
    rows = list(map(_cells, sets))
    return [name for name in _cells(QuestionSet(question_id="")) if name == ID or any(row[name] for row in rows)]


def _cells(one: QuestionSet) -> dict[str, str]:
    return {
        ID: one.question_id,
        "corpus": one.corpus,
        **_texts(QUESTION, one.question),
        **_texts(PARAPHRASE, one.paraphrase),
        **_texts(ANSWER, one.answer),
        **_texts(VALIDATED, one.validated),
        TEXT["en"]: one.text.get("en", ""),
        "eid_article_scopus": one.source,
        "question_generic": _number(one.generic),
        "answer_in_text": _number(one.in_text),
        "answer_difficulty": _number(one.hard),
        MEANINGFUL: _number(one.meaningful),
        "answer_equivalent": _number(one.equivalent),
        "question_type": "" if one.type is None else TYPES[one.type],
        TEXT["pt"]: one.text.get("pt", ""),
        TRANSLATED_QUESTION: one.translated_question,
        AT_LABEL: _number(one.at_label),
        **_numbered(AUTOMATIC, one.automatic),
        **_numbered(AUTOMATIC_ANSWERS, one.automatic_answers),
        DRAFTED_BY: one.drafted_by,
    }


def _texts(columns: Mapping[str, str], by_language: Mapping[str, str]) -> dict[str, str]:
    return {column: by_language.get(language, "") for language, column in columns.items()}


def _numbered(columns: Mapping[str, Sequence[str]], by_language: Mapping[str, Mapping[int, str]]) -> dict[str, str]:
    return {
        column: by_language.get(language, {}).get(number, "")
        for language, listed in columns.items()
        for number, column in enumerate(listed, 1)
    }


def _number(value: int | None) -> str:
    return "" if value is None else f"{float(value):.1f}"
