"""The answers of a user's system, as one JSON object {question id: answer}."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quati_pool.errors import InputError
from quati_pool.files.problems import quoted
from quati_pool.qa_benchmarks.base import AnswerTaskRun

_SHOWN = 10


def read_predictions(path: Path, task_run: AnswerTaskRun) -> tuple[dict[str, Any], list[str]]:
    """The answer to every question by its id, and the ids of the questions without an answer in the file, which get
    ``task_run.EMPTY``. Predictions for ``task_run.dropped`` questions are ignored.

    Raises InputError where the file is not a JSON object, or has a repeated id, an unknown id or an answer of the
    wrong form.
    """
    found = _read(path)
    known = set(task_run.ids)
    strangers = [
        question_id for question_id in found if question_id not in known and question_id not in task_run.dropped
    ]
    if strangers:
        shown = ", ".join(map(quoted, strangers[:_SHOWN])) + (", …" if len(strangers) > _SHOWN else "")
        case = " ".join(filter(None, task_run.case))
        message = f"predicts for {len(strangers):,} unknown ids ({shown}); expected ids of the {len(known):,} questions"
        raise InputError(path, None, f"{message} of {case}")
    answers, missing = {}, []
    for question_id in task_run.ids:
        if question_id not in found:
            answers[question_id] = task_run.EMPTY
            missing.append(question_id)
            continue
        try:
            answers[question_id] = task_run.prediction(question_id, found[question_id])
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
        found = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise InputError(path, error.lineno, f"is not JSON ({error.msg}); expected {{id: answer}}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(path, None, f"{error}; expected {{id: answer}}") from None
    if not isinstance(found, dict):
        raise InputError(path, 1, "is not a JSON object; expected {id: answer}")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"{quoted(key)} occurs twice")
        record[key] = value
    return record
