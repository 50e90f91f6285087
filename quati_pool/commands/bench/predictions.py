"""Answers that a user's own system gave, as one JSON object {question id: answer}."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError
from quati_pool.files.problems import quoted
from quati_pool.qa_benchmarks.base import AnswerTaskRun

_SHOWN = 10


def read_predictions(path: Path, exam: AnswerTaskRun) -> tuple[dict[str, Any], list[str]]:
    """The answer of every question of the exam, and the ids of those that have none in the file, which count
    as ``exam.EMPTY``. What is predicted for a question that the exam drops is left out.

    Raises InputError where the file is no such object, has an id twice or an id that is no question's, or an
    answer of another form.
    """
    found = _read(path)
    known = set(exam.ids)
    strangers = [question_id for question_id in found if question_id not in known and question_id not in exam.dropped]
    if strangers:
        shown = ", ".join(map(quoted, strangers[:_SHOWN])) + (", …" if len(strangers) > _SHOWN else "")
        case = " ".join(filter(None, exam.case))
        message = f"predicts for {len(strangers):,} unknown ids ({shown}); expected ids of the {len(known):,} questions"
        raise InputError(path, None, f"{message} of {case}")
    answers, missing = {}, []
    for question_id in exam.ids:
        if question_id not in found:
            answers[question_id] = exam.EMPTY
            missing.append(question_id)
            continue
        try:
            answers[question_id] = exam.prediction(question_id, found[question_id])
        except ValueError as error:
            raise InputError(path, None, f"{quoted(question_id)}: {error}") from None
    return answers, missing


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(path, None, "there is no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(path, None, f"is not UTF-8 (byte {error.start + 1}); save it as UTF-8") from None
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InputError(path, error.lineno, f"is not JSON ({error.msg}); expected {{id: answer}}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(path, None, f"{error}; expected {{id: answer}}") from None
    if not isinstance(found, dict):
        raise InputError(path, 1, "is no JSON object; expected {id: answer}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"{quoted(key)} stands there twice")
        made[key] = value
    return made
