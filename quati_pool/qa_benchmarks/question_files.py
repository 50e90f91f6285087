"""Multiple-choice questions as the Allen Institute for AI releases them: one JSON object per line.

``{"id", "question": {"stem", "choices": [{"text", "label", "para"?}, …]}, "answerKey"?, "fact1"?, …}``;
``para``, in files with retrieved paragraphs, is an option's own context.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quati_pool.errors import InputError
from quati_pool.files.lines import read_lines
from quati_pool.files.problems import RowError, check_id, quoted, surrogate_problem
from quati_pool.files.strict_json import decode
from quati_pool.qa_benchmarks.base import Case, MissingDataError
from quati_pool.qa_benchmarks.expectations import Loaded
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice
from quati_pool.text.pluralize import counted

_MODEL = '{"id", "question": {"stem", "choices": [{"text", "label"}, …]}, "answerKey"}'


class Record(NamedTuple):
    """A question of a file, with the non-empty facts that are released with it."""

    question: MultipleChoice
    facts: tuple[str, ...]


class QuestionFiles:
    """The files of one benchmark: ``places`` has for each case the possible paths of its file, relative to the folder;
    the first that exists is read. ``source`` is where the files are released; ``settings`` describes the settings of
    the cases."""

    def __init__(
        self, title: str, source: str, places: Mapping[Case, Sequence[str]], settings: Mapping[str, str] | None = None
    ) -> None:
        self._title = title
        self.source = source
        self.settings = settings or {}
        self._places = places

    def there(self, data: Path) -> dict[Case, Path]:
        """The file of each case that the folder has; raises MissingDataError where it has none."""
        found = {}
        for case, places in self._places.items():
            path = next((data / place for place in places if (data / place).is_file()), None)
            if path is not None:
                found[case] = path
        if not found:
            first, *others = [places[0] for places in self._places.values()]
            raise MissingDataError(
                f"{data} holds no file of {self._title} ({first} or {counted(len(others), 'other', 'others')}); "
                f"get them from {self.source} and name their folder"
            )
        return found

    def cases(self, data: Path) -> list[Case]:
        """The cases whose file has answers."""
        there = self.there(data)
        keyed = [case for case, path in there.items() if _has_answers(path)]
        if not keyed:
            names = ", ".join(str(path) for path in there.values())
            raise MissingDataError(
                f"{names}: released without answers, so nothing can be measured; "
                f"get the other splits of {self._title} from {self.source}"
            )
        return keyed

    def files(self, data: Path, case: Case) -> list[Path]:
        """The one file of a case."""
        return [path for of, path in self.there(data).items() if of == case]

    def load(self, data: Path, case: Case) -> Loaded:
        """The questions of one case, and notes on empty options and on files without answers."""
        there = self.there(data)
        if case not in there:
            raise MissingDataError(f"{data} has no {self._places[case][0]}; get it from {self.source}")
        questions = [record.question for record in read_questions(there[case])]
        unkeyed = [path.name for path in there.values() if not _has_answers(path)]
        notes = [f"{name} is released without answers, so it is not a case" for name in unkeyed]
        return Loaded(questions, [*notes, *empty_options(there[case].name, questions)])


def read_questions(path: Path, facts: Sequence[str] = ()) -> list[Record]:
    """The questions of a file in its order; ``facts`` names the fields that hold facts.

    Raises InputError, with the line, for broken JSON, a missing field, a value of the wrong type, an invalid or
    repeated id, fewer than two choices, two choices with the same label, and an answerKey that is not a label. A
    question with a missing or empty answerKey has no released answer.
    """
    found: list[Record] = []
    lines: dict[str, int] = {}
    for line, record in _objects(path):
        try:
            one = _record(record, facts)
        except (RowError, ValueError) as fault:
            raise InputError(path, line, str(fault)) from None
        first = lines.setdefault(one.question.id, line)
        if first != line:
            raise InputError(path, line, f"id {quoted(one.question.id)} is on line {first} too; expected it once")
        found.append(one)
    if not found:
        raise _no_question(path)
    return found


def empty_options(name: str, questions: Sequence[MultipleChoice]) -> list[str]:
    """A note on the questions of a file that have an option without text."""
    count = sum(any(not option.strip() for option in question.options) for question in questions)
    if not count:
        return []
    return [f"{name}: {count:,} of {len(questions):,} questions have an option without text, kept as released"]


def parsed(text: str, expected: str) -> dict[str, object]:
    """The JSON object in ``text``; raises RowError, with the fault and what was expected."""
    try:
        record = decode(text)
    except json.JSONDecodeError as error:
        raise RowError(f"is not JSON ({error.msg}, column {error.colno}); expected {expected}") from error
    except (ValueError, RecursionError) as error:  # a number of 4,300 digits, a thousand brackets
        raise RowError(f"holds a number too long, or nests too deeply; expected {expected}") from error
    if not isinstance(record, dict):
        raise RowError(f"is not a JSON object; expected {expected}")
    return record


def string(record: Mapping[str, object], name: str) -> str:
    """The string in a field; raises RowError where the field is missing or holds anything else."""
    if name not in record:
        raise RowError(f"has no {quoted(name)}; it has {', '.join(map(quoted, record)) or 'nothing'}: add it")
    return as_string(record[name], name)


def as_string(value: object, name: str) -> str:
    """``value``, if it is a string that UTF-8 can encode; raises RowError otherwise."""
    if not isinstance(value, str):
        raise RowError(f"{name} is {_kind(value)}; expected a string")
    problem = surrogate_problem(value)
    if problem:
        raise RowError(f"{name} {problem}")
    return value


def as_list(value: object, name: str) -> list[object]:
    """``value``, if it is a list; raises RowError otherwise."""
    if not isinstance(value, list):
        raise RowError(f"{name} is {_kind(value)}; expected a list")
    return value


def _objects(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    for line, text in read_lines(path):
        if not text or text.isspace():
            continue
        try:
            yield line, parsed(text, f"one object per line: {_MODEL}")
        except RowError as fault:
            raise InputError(path, line, str(fault)) from None


def _has_answers(path: Path) -> bool:
    empty = True
    for _, record in _objects(path):
        if record.get("answerKey"):
            return True
        empty = False
    if empty:
        raise _no_question(path)
    return False


def _no_question(path: Path) -> InputError:
    return InputError(path, None, f"holds no question; expected one object per line: {_MODEL}")


def _record(record: Mapping[str, object], facts: Sequence[str]) -> Record:
    id_ = string(record, "id")
    check_id("id", id_)
    question = record.get("question")
    if not isinstance(question, dict):
        raise RowError(f"question is {_kind(question)}; expected an object with stem and choices")
    texts, labels, contexts = [], [], []
    for number, choice in enumerate(as_list(question.get("choices"), "choices"), 1):
        if not isinstance(choice, dict):
            raise RowError(f"choice {number} is {_kind(choice)}; expected an object with text and label")
        texts.append(string(choice, "text"))
        labels.append(string(choice, "label"))
        check_id(f"the label of choice {number}", labels[-1])
        para = choice.get("para")
        contexts.append("" if para is None else as_string(para, "para"))
    key = record.get("answerKey")
    given = [(name, record[name]) for name in facts if record.get(name) is not None]
    return Record(
        MultipleChoice(
            id=id_,
            question=string(question, "stem"),
            options=tuple(texts),
            labels=tuple(labels),
            gold=None if key is None else as_string(key, "answerKey") or None,
            contexts=tuple(contexts) if any(context.strip() for context in contexts) else (),
        ),
        tuple(fact for name, value in given if (fact := as_string(value, name)).strip()),
    )


def _kind(value: object) -> str:
    if value is None:
        return "absent or null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return f"the number {quoted(str(value))}"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
