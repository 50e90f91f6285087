"""RACE: reading comprehension of English examinations, with several questions per article."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from quati_pool.errors import InputError
from quati_pool.files.lines import read_bytes
from quati_pool.files.problems import RowError, check_id, quoted
from quati_pool.qa_benchmarks.base import Benchmark, Case, MissingDataError, Task
from quati_pool.qa_benchmarks.expectations import Expectations, Loaded
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice
from quati_pool.qa_benchmarks.option_contexts import Contexts, Grounded, Texts
from quati_pool.qa_benchmarks.question_files import as_list, as_string, empty_options, parsed, string
from quati_pool.text.pluralize import counted

SOURCE = "https://www.cs.cmu.edu/~glai1/data/race/"
LABELS = "ABCDEFGHIJ"
LEVELS = ("middle", "high")

_FOLDERS = {"train": "train", "validation": "dev", "test": "test"}
_ROOTS = ("", "RACE")
_MODEL = '{"id", "article", "questions": […], "options": [[…], …], "answers": ["A", …]}'
_CORPUS = "the corpus is the distinct articles of all splits and levels of the folder"


class Article(NamedTuple):
    """An article and its questions, whose ids are ``<article's id>-<number from 1>``."""

    id: str
    text: str
    questions: tuple[MultipleChoice, ...]


def read_article(path: Path) -> Article:
    """Reads one file: a JSON object with an article, its questions, their options and answers.

    Raises InputError for any other content, lists of different lengths, and an answer that is not a label. Options are
    labelled A, B, C, … in their order.
    """
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(path, None, f"byte {error.start + 1} is not UTF-8; convert to UTF-8") from None
    try:
        return _article(parsed(text, f"one object: {_MODEL}"))
    except (RowError, ValueError) as fault:
        raise InputError(path, 1, str(fault)) from None


def _article(record: dict[str, object]) -> Article:
    id_, text = string(record, "id"), string(record, "article")
    check_id("id", id_)
    names = ("questions", "options", "answers")
    questions, options, answers = (as_list(record.get(name), name) for name in names)
    if not len(questions) == len(options) == len(answers):
        counts = [
            counted(len(questions), "question", "questions"),
            counted(len(options), "list of options", "lists of options"),
            counted(len(answers), "answer", "answers"),
        ]
        raise RowError(f"has {', '.join(counts)}; expected as many of each")
    multiple_choice = []
    for number, (question, choices, answer) in enumerate(zip(questions, options, answers, strict=True), 1):
        texts = tuple(as_string(choice, f"an option of question {number}") for choice in as_list(choices, "options"))
        if len(texts) > len(LABELS):
            raise RowError(f"question {number} has {len(texts)} options; expected at most {len(LABELS)}")
        try:
            multiple_choice.append(
                MultipleChoice(
                    id=f"{id_}-{number}",
                    question=as_string(question, f"question {number}"),
                    options=texts,
                    labels=tuple(LABELS[: len(texts)]),
                    gold=as_string(answer, f"answer {number}"),
                    contexts=(text,),
                )
            )
        except ValueError as error:
            raise RowError(f"question {number} {error}") from None
    return Article(id_, text, tuple(multiple_choice))


class _Files:
    """Reads the folders ``{train,dev,test}/{middle,high}``."""

    settings: ClassVar[Mapping[str, str]] = {
        "middle": "examinations of middle schools",
        "high": "examinations of high schools",
    }

    def cases(self, data: Path) -> list[Case]:
        """Each split and level with an article."""
        found = [Case(split, "en", level) for split in _FOLDERS for level in LEVELS if any(_paths(data, split, level))]
        if not found:
            raise MissingDataError(
                f"{data} holds no {{train,dev,test}}/{{middle,high}}/*.txt of RACE; get them from {SOURCE} "
                "and name the folder that holds train, dev and test"
            )
        return found

    def files(self, data: Path, case: Case) -> list[Path]:
        """One file per article."""
        return list(_paths(data, case.split, case.setting))

    def load(self, data: Path, case: Case) -> Loaded:
        """The questions of one case, each with its article as the context that its options share."""
        questions = [question for article in self._articles(data, case) for question in article.questions]
        if not questions:
            raise MissingDataError(f"{data}: no article of {case.split} {case.setting} has a question; see {SOURCE}")
        return Loaded(questions, empty_options(f"{case.split} {case.setting}", questions))

    def texts(self, data: Path, case: Case) -> Texts:
        """All articles of the folder, and the questions of one case, each with its article."""
        doc_ids: dict[str, str] = {}
        questions: list[Grounded] = []
        for of in self.cases(data):
            for article in self._articles(data, of):
                doc_id = doc_ids.setdefault(article.text, article.id)
                if of == case:
                    questions += [Grounded(question, (doc_id,)) for question in article.questions]
        return Texts([(doc_id, text) for text, doc_id in doc_ids.items()], questions, (_CORPUS,))

    def _articles(self, data: Path, case: Case) -> Iterator[Article]:
        """The articles of a case; raises InputError where two files have the same id."""
        seen: dict[str, Path] = {}
        for path in _paths(data, case.split, case.setting):
            article = read_article(path)
            first = seen.setdefault(article.id, path)
            if first != path:
                raise InputError(path, 1, f"id {quoted(article.id)} is that of {first.name} too; expected it once")
            yield article


def _paths(data: Path, split: str, level: str) -> Iterator[Path]:
    for root in _ROOTS:
        folder = data / root / _FOLDERS[split] / level
        if folder.is_dir():
            # Skips files that macOS adds, such as ._1.txt next to 1.txt.
            yield from sorted(path for path in folder.glob("*.txt") if not path.name.startswith("."))
            return


class _AllFiles(_Files):
    """The same cases, each with all files, as the corpus is built from all of them."""

    def files(self, data: Path, case: Case) -> list[Path]:
        return [path for split in _FOLDERS for level in LEVELS for path in _paths(data, split, level)]


class Race(Benchmark):
    """``{train,dev,test}/{middle,high}/*.txt``; the settings are ``middle`` and ``high`` school."""

    id = "benchmark/race"
    name = "race"
    title = "RACE"
    summary = "reading comprehension of English examinations, four options; middle and high school"
    license = "research use only; see the source"
    citation = (
        "Lai, Xie, Liu, Yang and Hovy. RACE: Large-scale ReAding Comprehension Dataset From Examinations. "
        "EMNLP 2017, arXiv 1704.04683"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = {
        "expectations": Expectations(_Files()),
        "contexts": Contexts(_AllFiles()),
    }
