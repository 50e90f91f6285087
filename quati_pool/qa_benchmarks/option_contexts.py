"""Retrieval of contexts for the options of multiple-choice questions: one query per option."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from quati_pool.files.lines import read_lines
from quati_pool.qa_benchmarks.base import Case, Collection, MissingDataError, RetrievalTask, Topic
from quati_pool.qa_benchmarks.loaders import CaseLoader, LoaderTask
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice
from quati_pool.qa_benchmarks.question_files import QuestionFiles, Record, read_questions
from quati_pool.text.pluralize import counted

UNJUDGED = (
    "one query an option; only the query of the right option has relevant texts, those of the other options "
    "are unjudged: they are there so that contexts can be found for all options"
)


class Grounded(NamedTuple):
    """A question, and the doc_ids of the texts that contain its answer."""

    question: MultipleChoice
    doc_ids: Sequence[str]


class Texts(NamedTuple):
    """All texts (doc_id, text) in the folder, the questions of one case, and notes on them."""

    passages: Sequence[tuple[str, str]]
    questions: Sequence[Grounded]
    notes: Iterable[str] = ()


class TextLoader(CaseLoader, Protocol):
    """Reads the texts of a benchmark's released files; its cases are those whose questions have texts."""

    def texts(self, data: Path, case: Case) -> Texts:
        """The texts and the questions of one case."""


class Contexts(LoaderTask[TextLoader], RetrievalTask):
    """Retrieval of texts for each option: the query ``<id>-<label>`` is question and option; the texts of the question
    are relevant (1) to the query of its right option. As only that one of a question's queries is judged, there are no
    clusters."""

    name = "contexts"
    summary = "retrieval of a context for each option: a query is question and option"

    def collection(self, data: Path, case: Case) -> Collection:
        """The folder's texts, a query for each option, and the qrels of the right ones."""
        texts = self._loader.texts(data, case)
        queries, qrels = [], []
        for question, doc_ids in texts.questions:
            for label, option in zip(question.labels, question.options, strict=True):
                query_id = f"{question.id}-{label}"
                queries.append(Topic(query_id, f"{question.question} {option}".strip()))
                if label == question.gold:
                    qrels += [(query_id, doc_id, 1) for doc_id in dict.fromkeys(doc_ids)]
        bare = sum(not doc_ids or question.gold is None for question, doc_ids in texts.questions)
        notes = [UNJUDGED, *texts.notes]
        if bare:
            where = f"{case.split} {case.setting}".strip()
            having = counted(bare, "question has", "questions have")
            notes.append(f"{where}: {having} no text or no released answer, and no judged query")
        return Collection(texts.passages, queries, qrels, case.language, notes=notes)


class Facts:
    """Distinct facts in the order of their first appearance, without the white space and quotes around them. A doc_id
    is a hash of the text, and so is the same in every split and folder."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, fact: str) -> str | None:
        """Adds a fact and returns its doc_id; None where it is empty."""
        text = fact.strip()
        if len(text) > 1 and text[0] == text[-1] == '"':
            text = text[1:-1].strip()
        if not text:
            return None
        doc_id = f"fact-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
        self._texts[doc_id] = text
        return doc_id

    def passages(self) -> list[tuple[str, str]]:
        """All facts, (doc_id, text)."""
        return list(self._texts.items())


class FactFiles:
    """The facts in the ``fields`` of released question files; ``more`` finds further files of the folder, with one fact
    per line, which come first in the corpus."""

    def __init__(
        self,
        files: QuestionFiles,
        fields: Sequence[str],
        more: Callable[[Path], Sequence[Path]] = lambda data: (),
        notes: Sequence[str] = (),
    ) -> None:
        self._files = files
        self.settings = files.settings
        self._fields = fields
        self._more = more
        self._notes = notes

    def cases(self, data: Path) -> list[Case]:
        """The cases with a question that has both a fact and an answer."""
        found = [case for case, records in self._records(data).items() if any(map(_grounded, records))]
        if not found:
            raise MissingDataError(
                f"{data} holds no question with both {self._fields[0]} and answerKey; "
                f"get the files with facts from {self._files.source}"
            )
        return found

    def files(self, data: Path, case: Case) -> list[Path]:
        """All files with facts, as the corpus is built from all of them."""
        return [*self._more(data), *self._files.there(data).values()]

    def texts(self, data: Path, case: Case) -> Texts:
        """The facts of all files of the folder, and the questions of one case."""
        facts = Facts()
        for path in self._more(data):
            for _, fact in read_lines(path):
                facts.add(fact)
        questions: dict[Case, list[Grounded]] = {}
        for of, records in self._records(data).items():
            questions[of] = [
                Grounded(record.question, [doc_id for fact in record.facts if (doc_id := facts.add(fact))])
                for record in records
            ]
        return Texts(facts.passages(), questions[case], self._notes)

    def _records(self, data: Path) -> dict[Case, list[Record]]:
        return {case: read_questions(path, self._fields) for case, path in self._files.there(data).items()}


def _grounded(record: Record) -> bool:
    return bool(record.facts) and record.question.gold is not None
