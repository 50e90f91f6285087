"""Pirá 2.0's released files: reads train.csv, validation.csv and test.csv, and finds the others."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quati_pool.errors import InputError
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import quoted
from quati_pool.files.queries import DRAFTED_BY
from quati_pool.files.tables import Field, read_table
from quati_pool.qa_benchmarks.base import SPLITS, MissingDataError

SOURCE = "https://github.com/C4AI/Pira"
RELEASED = f"Data/ and MCQA/ of {SOURCE}"
LANGUAGES = ("en", "pt")

QUESTION = {"en": "question_en_origin", "pt": "question_pt_origin"}
PARAPHRASE = {"en": "question_en_paraphase", "pt": "question_pt_paraphase"}  # spelt so in the files
AUTOMATIC = {
    "en": ("question_AUT_EN_1", "question_AUT_EN_2"),
    "pt": ("question_AUT_PT_1", "question_AUT_PT_2"),
}
ANSWER = {"en": "answer_en_origin", "pt": "answer_pt_origin"}
VALIDATED = {"en": "answer_en_validate", "pt": "answer_pt_validate"}
TEXT = {"en": "abstract", "pt": "abstract_translated_pt"}
TRANSLATED_QUESTION = "pt_question_translated_to_en"
MEANINGFUL = "question_meaningful"
AT_LABEL = "at_labels"

ID = "id_qa"
_OPTIONAL = (
    *QUESTION.values(),
    *PARAPHRASE.values(),
    *AUTOMATIC["en"],
    *AUTOMATIC["pt"],
    *ANSWER.values(),
    *VALIDATED.values(),
    *TEXT.values(),
    TRANSLATED_QUESTION,
    MEANINGFUL,
    AT_LABEL,
    DRAFTED_BY,
)
_FOLDERS = ("", "Data", "MCQA")


@dataclass(frozen=True, eq=False, slots=True)
class PiraQuestion:
    """One row with its values stripped, by language where there are two. Missing values are empty.

    ``automatic`` are paraphrases by a program, which only a train file has; ``at_label`` and ``meaningful`` are as the
    file writes them ("1.0", "0.0", ""; "1.0" to "5.0", ""); ``drafted_by`` is the program that drafted the question,
    in releases of quati-pool.
    """

    path: Path
    line: int
    query_id: str
    question: Mapping[str, str]
    paraphrase: Mapping[str, str]
    automatic: Mapping[str, tuple[str, ...]]
    answer: Mapping[str, str]
    validated: Mapping[str, str]
    text: Mapping[str, str]
    translated_question: str
    meaningful: str
    at_label: str
    drafted_by: str


def find(data: Path, name: str) -> Path | None:
    """The file of this name in the folder or in its Data/ or MCQA/; None where there is none."""
    for folder in _FOLDERS:
        path = data / folder / name
        if path.is_file():
            return path
    return None


def released(data: Path, name: str) -> Path:
    """As ``find``, but raises MissingDataError where there is none."""
    path = find(data, name)
    if path is None:
        raise missing(data, name)
    return path


def missing(data: Path, *names: str) -> MissingDataError:
    """The error to raise where none of these files exists; it says where they are released."""
    if not data.is_dir():
        return MissingDataError(f"{data}: there is no such folder; give that of Pirá's files ({RELEASED})")
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
    return MissingDataError(f"{data} holds no {listed}; copy it there from {RELEASED}")


def split_files(data: Path) -> dict[str, Path]:
    """The file of each split in the folder, in the order of ``SPLITS``; raises MissingDataError where it has none."""
    files = {split: find(data, f"{split}.csv") for split in SPLITS}
    present = {split: path for split, path in files.items() if path is not None}
    if not present:
        raise missing(data, *(f"{split}.csv" for split in SPLITS))
    return present


def columns(path: Path) -> tuple[str, ...]:
    """The names in a CSV's header."""
    try:
        rows = csv.reader((text + "\n" for _, text in read_lines(path)), strict=True)
        header = next(filter(None, rows), None)
    except csv.Error as error:
        raise InputError(path, 1, f"is not CSV ({error}); expected Pirá's header as in {RELEASED}") from error
    if header is None:
        raise InputError(path, None, f"is empty; copy it again from {RELEASED}")
    return tuple(header)


def has_columns(path: Path, *names: str) -> bool:
    """Whether a CSV's header has all of ``names``."""
    return set(names) <= set(columns(path))


def require_columns(path: Path, *names: str) -> None:
    """Raises InputError naming the columns that the header lacks, and where the file is released."""
    present = columns(path)
    absent = [name for name in names if name not in present]
    if absent:
        word = "column" if len(absent) == 1 else "columns"
        listed = ", ".join(quoted(name) for name in absent)
        raise InputError(path, 1, f"no {word} {listed}; take the file of Pirá 2.0 from {RELEASED}")


def read_questions(path: Path, *present: str) -> list[PiraQuestion]:
    """All rows of a split's file, in its order.

    Raises InputError for a ``present`` column that is absent and, with the line, for an invalid id or one that
    occurs twice, broken CSV and bytes that are not UTF-8.
    """
    require_columns(path, ID, *present)
    # Called query_id here so that the reader checks it as an id.
    fields = [Field("query_id", ID), *(Field(name, name, required=False) for name in _OPTIONAL)]
    lines: dict[str, int] = {}
    questions = []
    for line, values in read_table(path, "csv", fields):
        row = dict(zip((ID, *_OPTIONAL), (value.strip() for value in values), strict=True))
        query_id = row[ID]
        if query_id in lines:
            fault = f"{ID} {quoted(query_id)} is on line {lines[query_id]} already; expected each once"
            raise InputError(path, line, fault)
        lines[query_id] = line
        questions.append(_question(path, line, row))
    if not questions:
        raise InputError(path, None, f"holds no questions; copy it again from {RELEASED}")
    return questions


def _question(path: Path, line: int, row: Mapping[str, str]) -> PiraQuestion:
    def both(names: Mapping[str, str]) -> dict[str, str]:
        return {language: row[name] for language, name in names.items()}

    return PiraQuestion(
        path=path,
        line=line,
        query_id=row[ID],
        question=both(QUESTION),
        paraphrase=both(PARAPHRASE),
        automatic={language: tuple(row[name] for name in names if row[name]) for language, names in AUTOMATIC.items()},
        answer=both(ANSWER),
        validated=both(VALIDATED),
        text=both(TEXT),
        translated_question=row[TRANSLATED_QUESTION],
        meaningful=row[MEANINGFUL],
        at_label=row[AT_LABEL],
        drafted_by=row[DRAFTED_BY],
    )
