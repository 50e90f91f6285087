"""Pirá's retrieval: each question's own text among all texts (ir), and its passages among all passages (oqa).

Searching in Portuguese has two routes: over texts translated to Portuguese, and over the English texts with
questions translated to English.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from quati_pool.qa_benchmarks.base import SPLITS, Case, Collection, ReadingTask, RetrievalTask, Topic
from quati_pool.qa_benchmarks.passages import cut, cut_at_sentences
from quati_pool.qa_benchmarks.pira.answering import WordsQuestion, WordsTaskRun
from quati_pool.qa_benchmarks.pira.files import (
    ANSWER,
    TEXT,
    PiraQuestion,
    has_columns,
    read_questions,
    split_files,
)
from quati_pool.qa_benchmarks.pira.routes import Route, case_rows, cases_of, route_of
from quati_pool.text.pluralize import counted

PASSAGE_WORDS = 100
TRANSLATED_TEXTS, TRANSLATED_QUESTIONS = "translated-texts", "translated-questions"
ROUTES = (
    Route("en", "", "en"),
    Route("pt", TRANSLATED_TEXTS, "pt"),
    Route("pt", TRANSLATED_QUESTIONS, "en", translated=True),
)


WORDS, SENTENCES = "words", "sentences"
_CUTS = {WORDS: cut, SENTENCES: cut_at_sentences}
_CUT_NOTES = {
    WORDS: f"{PASSAGE_WORDS} words, cut at the word count; the paper's cut respects sentence ends, so its passages"
    " differ",
    SENTENCES: f"at most {PASSAGE_WORDS} words, cut at the ends of sentences, and longer sentences at the word count;"
    " the paper's cut respects sentence ends too, by rules of its own",
}


def text_id(text: str) -> str:
    """The doc_id of a text: a hash of its content, the same in every file and split."""
    return "text-" + hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class _Searched:
    """A split's questions, and the distinct texts (by id) of all files in one language."""

    questions: Sequence[PiraQuestion]
    texts: Mapping[str, str]
    notes: Sequence[str]


class _Retrieval(RetrievalTask):
    curve = True
    cuts = (WORDS, SENTENCES)
    cut_by_default: ClassVar[str | None] = None
    """How texts are cut into passages unless the user says so; None if they stay whole."""

    def __init__(self) -> None:
        self._cut = self.cut_by_default

    def cut_as(self, way: str) -> RetrievalTask:
        other = copy.copy(self)
        if way != self.cut_by_default:
            # Its collections and reports are others.
            other.name = f"{type(self).name}-{way}"
        other._cut = way
        return other

    def settings(self) -> Mapping[str, str]:
        """The two routes of Portuguese."""
        return {
            TRANSLATED_TEXTS: "Portuguese questions, texts translated to Portuguese",
            TRANSLATED_QUESTIONS: "Portuguese questions translated to English, English texts",
        }

    def cases(self, data: Path) -> list[Case]:
        return cases_of(data, ROUTES)

    def files(self, data: Path, case: Case) -> list[Path]:
        """The files of all splits, as the corpus is built from all of them."""
        return list(split_files(data).values())

    def collection(self, data: Path, case: Case) -> Collection:
        route, searched = route_of(ROUTES, case), self._searched(data, case)
        language = route.text or ""
        whole = Collection(
            passages=list(searched.texts.items()),
            queries=[Topic(row.query_id, route.question(row), drafted_by=row.drafted_by) for row in searched.questions],
            qrels=[(row.query_id, text_id(row.text[language]), 1) for row in searched.questions],
            language=language,
            notes=searched.notes,
        )
        return whole if self._cut is None else _in_passages(whole, self._cut)

    def _searched(self, data: Path, case: Case) -> _Searched:
        """The questions that have a text, and all texts; notes count the questions left out."""
        route = route_of(ROUTES, case)
        language = route.text or ""
        questions, left_out = case_rows(data, case, route)
        texts: dict[str, str] = {}
        every: list[PiraQuestion] = []
        without = []
        files = split_files(data)
        for path in files.values():
            if not has_columns(path, TEXT[language]):
                without.append(path.name)
                continue
            rows = read_questions(path)
            every += rows
            for row in rows:
                if row.text[language]:
                    texts.setdefault(text_id(row.text[language]), row.text[language])
        used = [path.name for path in files.values() if path.name not in without]
        notes = [
            _corpus_note(language, len(texts), used),
            *(f"{name} has no column {TEXT[language]}: its texts are not in the corpus" for name in without),
            *_sharing_notes(every),
            *left_out,
        ]
        return _Searched(questions, texts, notes)


def _in_passages(whole: Collection, way: str) -> Collection:
    """The collection with its texts cut into passages, each as relevant as its text."""
    passages: list[tuple[str, str]] = []
    units: dict[str, str] = {}
    of_text: dict[str, list[str]] = {}
    for unit, text in whole.passages:
        for number, passage in enumerate(_CUTS[way](text, PASSAGE_WORDS), 1):
            doc_id = f"{unit}-{number}"
            passages.append((doc_id, passage))
            units[doc_id] = unit
            of_text.setdefault(unit, []).append(doc_id)
    return replace(
        whole,
        passages=passages,
        qrels=[(query_id, doc_id, grade) for query_id, unit, grade in whole.qrels for doc_id in of_text[unit]],
        units=units,
        notes=[*whole.notes, f"passages ({whole.language}): {len(passages):,} of {_CUT_NOTES[way]}"],
    )


def _corpus_note(language: str, count: int, used: Sequence[str]) -> str:
    note = f"corpus ({language}): the {count:,} distinct texts of {', '.join(used)}"
    absent = [f"{split}.csv" for split in SPLITS if f"{split}.csv" not in used]
    if not absent:
        return note
    return f"{note}; the paper's covers all three files, so retrieval is easier here without {' and '.join(absent)}"


def _sharing_notes(rows: Sequence[PiraQuestion]) -> list[str]:
    """Notes on questions that share a text in one language and not in the other."""
    pairs = {(row.text["en"], row.text["pt"]) for row in rows if row.text["en"] and row.text["pt"]}
    english, portuguese = Counter(pair[0] for pair in pairs), Counter(pair[1] for pair in pairs)
    several = [sum(count > 1 for count in texts.values()) for texts in (english, portuguese)]
    differ = "the two corpora differ"
    notes = []
    if several[0]:
        texts_have = counted(several[0], "English text has", "English texts have")
        notes.append(f"{texts_have} more than one Portuguese translation: {differ}")
    if several[1]:
        texts_translate = counted(several[1], "Portuguese text translates", "Portuguese texts translate")
        notes.append(f"{texts_translate} more than one English text: {differ}")
    return notes


class TextRetrieval(_Retrieval):
    """Retrieval of a question's own text (relevance 1) from the distinct supporting texts, which are stripped."""

    name = "ir"
    summary = "finds a question's own text among all texts; success@k and nDCG@10"


class PassageRetrieval(_Retrieval, ReadingTask):
    """Retrieval from the texts cut into passages of 100 words; every passage of a question's own text is relevant (1).

    Unless they are cut at sentence ends, as the paper's are, passages may end within a sentence.
    """

    name = "oqa"
    summary = "finds the 100-word passages of a question's own text, and answers over the best of them"
    readers = (5, 10, 15)
    cut_by_default = WORDS

    def reading(self, data: Path, case: Case, k: int, passages: Mapping[str, Sequence[str]]) -> WordsTaskRun:
        """The split's questions, each with the texts of its best ``k`` of ``passages`` (by query_id, best first),
        numbered; fewer where a system found fewer. Questions and expected answers are in the case's language, over
        English passages too."""
        language = case.language
        route = route_of(ROUTES, case)
        question_route = Route(language, case.setting, route.text)
        rows, notes = case_rows(data, case, question_route, ANSWER[language])
        questions = [
            WordsQuestion(
                row.query_id,
                question_route.question(row),
                row.answer[language],
                tuple(passages.get(row.query_id, ())[:k]),
            )
            for row in rows
        ]
        bare = sum(not one.texts for one in questions)
        which = " ".join(filter(None, case))
        if bare:
            found = counted(bare, "question is", "questions are")
            notes.append(f"{which}: {found} asked without a passage, as no passage was found")
        return WordsTaskRun(case, questions, notes, {"k": k})
