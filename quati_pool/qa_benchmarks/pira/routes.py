"""Routes: the languages of a case's questions and texts, and the columns that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quati_pool.errors import ConfigError, InputError
from quati_pool.qa_benchmarks.base import Case
from quati_pool.qa_benchmarks.pira.files import (
    QUESTION,
    RELEASED,
    TEXT,
    TRANSLATED_QUESTION,
    PiraQuestion,
    columns,
    missing,
    read_questions,
    require_columns,
    split_files,
)


class Route(NamedTuple):
    """A combination of languages: ``language`` is that of the questions, ``text`` that of the supporting texts, None
    where no text is read; ``translated``: the Portuguese questions are translated to English for the search."""

    language: str
    setting: str
    text: str | None
    translated: bool = False

    @property
    def question_column(self) -> str:
        return TRANSLATED_QUESTION if self.translated else QUESTION[self.language]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        return (self.question_column, *(() if self.text is None else (TEXT[self.text],)))

    def question(self, row: PiraQuestion) -> str:
        return row.translated_question if self.translated else row.question[self.language]

    def complete(self, row: PiraQuestion) -> bool:
        """Whether the row has everything that the route reads."""
        return bool(self.question(row) and (self.text is None or row.text[self.text]))


def cases_of(data: Path, routes: Sequence[Route], further: Sequence[Sequence[str]] = ()) -> list[Case]:
    """A case for each split and route whose columns its file has; ``further`` are more columns of each route.

    Raises MissingDataError where the folder holds no split, and InputError, which names a missing column, where no file
    has the columns of any route.
    """
    needed = [
        (route, (*route.columns, *more)) for route, more in zip(routes, further or [()] * len(routes), strict=True)
    ]
    files = split_files(data)
    present = {split: set(columns(path)) for split, path in files.items()}
    cases = [
        Case(split, route.language, route.setting)
        for split in files
        for route, names in needed
        if present[split].issuperset(names)
    ]
    if not cases:
        require_columns(next(iter(files.values())), *needed[0][1])
    return cases


def route_of(routes: Sequence[Route], case: Case) -> Route:
    """The route of a case; raises ConfigError where the task has no such case."""
    for route in routes:
        if (route.language, route.setting) == (case.language, case.setting):
            return route
    known = "; ".join(" ".join(filter(None, route[:2])) for route in routes)
    raise ConfigError(f"Pirá has no case {' '.join(filter(None, case[1:]))!r} of this task; there are: {known}")


def case_rows(data: Path, case: Case, route: Route, *present: str) -> tuple[list[PiraQuestion], list[str]]:
    """The complete rows of the split's file (``complete_rows``), with notes; ``present`` are further columns that the
    file must have. Raises MissingDataError where the file is missing, and the errors of ``read_questions``."""
    path = split_files(data).get(case.split)
    if path is None:
        raise missing(data, f"{case.split}.csv")
    return complete_rows(path, read_questions(path, *route.columns, *present), route, case)


def complete_rows(
    path: Path, rows: Sequence[PiraQuestion], route: Route, case: Case
) -> tuple[list[PiraQuestion], list[str]]:
    """The rows with a question and, where texts are read, a text; and a note on those left out.

    Raises InputError where there are no such rows.
    """
    kept = [row for row in rows if route.complete(row)]
    what = "question" if route.text is None else "question or text"
    if not kept:
        raise InputError(path, None, f"the {what} of every row is empty; copy it again from {RELEASED}")
    if len(kept) == len(rows):
        return kept, []
    which = " ".join(filter(None, case))
    left_out = f"{len(rows) - len(kept):,} of {len(rows):,} questions are left out"
    return kept, [f"{which}: {left_out}, as their {what} is empty in {path.name}"]
