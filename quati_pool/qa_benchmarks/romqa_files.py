"""RoMQA's released files and their questions.

The files are ``data/{gold,closed,open}/[…]{train,dev,test}[.noanswer].json[.bz2]``, each one JSON list of questions.
Only the fields that a task needs are kept, as the decompressed files have hundreds of megabytes.
"""

from __future__ import annotations

import bz2
import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from quati_pool.errors import InputError
from quati_pool.files.lines import read_bytes
from quati_pool.files.problems import quoted, surrogate_problem
from quati_pool.qa_benchmarks.base import MissingDataError

T = TypeVar("T")

SOURCE = "https://github.com/facebookresearch/romqa"
SPLITS = {"train": "train", "dev": "validation", "test": "test"}
"""The released name of each split, and the name here."""
KINDS = ("gold", "closed", "open")
"""The kinds of files. All hold the candidates; only the gold ones have their evidence."""

_NAME = re.compile(r"(?:.*[._-])?(train|dev|test)(\.noanswer)?\.json(?:\.bz2)?", re.DOTALL)
_BZ2_MARK = b"BZh"
_LONGEST_QUESTION = 1 << 24
_KEPT = frozenset(
    {"id", "cluster_id", "question", "candidates", "complete_answer", "text", "desc", "is_answer", "drafted_by"}
)


class Candidate(NamedTuple):
    """A candidate answer of a question; ``evidence`` is empty in files that have none."""

    text: str
    description: str
    is_answer: bool
    evidence: tuple[str, ...]


class Question(NamedTuple):
    """A question of a file; ``complete`` are the names of all right answers, each once; ``retrieved`` are the texts
    that the open files give. ``drafted_by`` is the program that drafted the question, in releases of quati-pool."""

    id: str
    cluster_id: str
    question: str
    candidates: tuple[Candidate, ...]
    complete: tuple[str, ...]
    retrieved: tuple[str, ...]
    drafted_by: str = ""


class RomqaFiles(NamedTuple):
    """The files of one kind (gold, closed, open) by split: those with answers, and those without."""

    answered: Mapping[str, Path]
    unanswered: Mapping[str, Path]


def find(data: Path, kind: str) -> RomqaFiles:
    """The files of ``kind`` in ``data`` or its folder ``data``.

    Raises InputError where a split has two files with answers, or two without.
    """
    with_answers: dict[str, Path] = {}
    without: dict[str, Path] = {}
    for folder in (data / kind, data / "data" / kind):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = _NAME.fullmatch(path.name)
            if name is None or path.name.startswith(".") or not path.is_file():
                continue
            split, group = SPLITS[name[1]], without if name[2] else with_answers
            if split in group:
                message = f"is a second file of {kind} {name[1]}, after {group[split]}; keep one of them"
                raise InputError(path, None, message)
            group[split] = path
    order = [*SPLITS.values()]
    return RomqaFiles(
        {split: with_answers[split] for split in order if split in with_answers},
        {split: without[split] for split in order if split in without and split not in with_answers},
    )


def missing(data: Path, kinds: str, found: Collection[Path]) -> MissingDataError:
    """The error to raise where no file of ``kinds`` has answers; ``found`` are the files without."""
    expected = f"{kinds}/[…]train.json.bz2 or […]dev.json.bz2 in it or in its folder data"
    if found:
        names = ", ".join(path.name for path in found)
        return MissingDataError(
            f"{data}: {names} has no answers to measure against (those of the test split are not released); "
            f"expected {expected}, as linked at {SOURCE}"
        )
    return MissingDataError(f"{data}: no questions of RoMQA; expected {expected}, as linked at {SOURCE}")


def read(path: Path, evidence: bool = False, retrieved: bool = False) -> tuple[Question, ...]:
    """The questions of a file with answers, in its order; ``evidence`` and ``retrieved`` say whether those texts are
    needed.

    Raises InputError where the file is missing or not in its format.
    """
    try:
        state = path.stat()
    except OSError:
        raise InputError(path, None, "there is no such file; check the path") from None
    return _read(path, state.st_size, state.st_mtime_ns, evidence, retrieved)


# A training file is read for its own case and then for examples; a larger cache would only fill the memory.
@lru_cache(maxsize=2)
def _read(path: Path, _size: int, _changed: int, evidence: bool, retrieved: bool) -> tuple[Question, ...]:
    kept = _KEPT | ({"evidence"} if evidence else set()) | ({"dpr"} if retrieved else set())

    def lean(found: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in found.items() if key in kept}

    listed = _json(path, lean)
    if not isinstance(listed, list):
        raise InputError(path, None, "is not a list; expected a JSON list of questions")
    if not listed:
        raise InputError(path, None, "holds no questions; expected a JSON list of questions")
    questions: dict[str, Question] = {}
    for place, entry in enumerate(listed, 1):
        try:
            question = _question(entry, evidence, retrieved)
        except ValueError as error:
            raise InputError(path, None, f"{_shown(entry, place)}: {error}") from None
        if question.id in questions:
            raise InputError(path, None, f"{_shown(entry, place)} has an id that occurs twice; keep one")
        questions[question.id] = question
        listed[place - 1] = None  # frees memory: a large file does not fit twice
    return tuple(questions.values())


def gives_retrieved(path: Path) -> bool:
    """Whether the first question of an open file has retrieved texts; False also where it cannot be read."""
    try:
        with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
            start = b""
            while len(start) < _LONGEST_QUESTION and (block := file.read(1 << 20)):
                start += block
                text = start.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n[")
                try:
                    first, _ = json.JSONDecoder().raw_decode(text)
                except ValueError:
                    continue
                return isinstance(first, dict) and "dpr" in first
    except (OSError, EOFError, RecursionError):
        pass  # ``read`` reports the fault
    return False


def _json(path: Path, hook: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    data = read_bytes(path)
    if path.suffix == ".bz2":
        try:
            data = bz2.decompress(data)
        except (ValueError, OSError):
            raise InputError(path, None, "is cut off or not bzip2; copy or download it again") from None
        data = data.removeprefix(b"\xef\xbb\xbf")
    elif data.startswith(_BZ2_MARK):
        raise InputError(path, None, "is bzip2-compressed; end its name in .bz2, or decompress it")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(path, None, f"is not UTF-8 (byte {error.start + 1}); convert to UTF-8") from None
    del data
    try:
        return json.loads(text, object_hook=hook)
    except json.JSONDecodeError as error:
        message = f"is not JSON ({error.msg}, column {error.colno}); expected a list of questions"
        raise InputError(path, error.lineno, message) from None
    except (ValueError, RecursionError):
        message = "holds a number too long, or nests too deeply; expected a list of questions"
        raise InputError(path, None, message) from None


def _shown(entry: Any, place: int) -> str:
    identity = entry.get("id") if isinstance(entry, dict) else None
    if isinstance(identity, (str, int)):
        return f"question {place} (id {quoted(str(identity))})"
    return f"question {place}"


def _question(entry: Any, evidence: bool, retrieved: bool) -> Question:
    """Checks and converts a question. Raises ValueError, with the fault and what was expected, as do all functions
    below."""
    if not isinstance(entry, dict):
        raise ValueError("is not an object; expected id, cluster_id, question, candidates, complete_answer")
    if "complete_answer" not in entry:
        raise ValueError("lacks complete_answer; expected a list, or a name that ends in .noanswer.json")
    question = _text(entry, "question")
    if not question.strip():
        raise ValueError("question is empty; expected a text")
    return Question(
        _id(entry, "id"),
        _id(entry, "cluster_id"),
        question,
        _each(entry, "candidates", "candidate", partial(_candidate, evidence=evidence)),
        tuple(dict.fromkeys(_each(entry, "complete_answer", "complete answer", _named))),
        _each(entry, "dpr", "text of dpr", partial(_whole, "it")) if retrieved else (),
        _text(entry, "drafted_by") if entry.get("drafted_by") is not None else "",
    )


def _candidate(entry: Any, evidence: bool) -> Candidate:
    text = _text(entry, "text")
    if not isinstance(entry.get("is_answer"), bool):
        raise ValueError("is_answer is not true or false; expected one of them, or a name that ends in .noanswer.json")
    description = _text(entry, "desc") if entry.get("desc") is not None else ""
    texts = _each(entry, "evidence", "evidence", _named) if evidence else ()
    return Candidate(text, description, entry["is_answer"], texts)


def _named(entry: Any) -> str:
    return _text(entry, "text")


def _each(entry: Mapping[str, Any], key: str, name: str, read_one: Callable[[Any], T]) -> tuple[T, ...]:
    """The values of a list, read one by one; a fault names the position of its value."""
    value = entry.get(key)
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list; expected one" if key in entry else f"lacks {key}; expected a list")
    values = []
    for place, one in enumerate(value, 1):
        try:
            values.append(read_one(one))
        except ValueError as error:
            raise ValueError(f"{name} {place}: {error}") from None
    return tuple(values)


def _id(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if key not in entry or value is None or value == "":
        raise ValueError(f"lacks {key}; expected a number or a text")
    return _whole(key, value)


def _text(entry: Any, key: str) -> str:
    if not isinstance(entry, dict):
        raise ValueError(f"is not an object; expected one with {key}")
    if key not in entry:
        raise ValueError(f"lacks {key}; expected a text")
    return _whole(key, entry[key])


def _whole(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} is not text; expected a string")
    problem = surrogate_problem(value)
    if problem:
        raise ValueError(f"{key} {problem}")
    return value
