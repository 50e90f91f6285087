"""Small files in the released formats of the multiple-choice benchmarks, their texts written for the tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def question(id_: str, stem: str, options: Sequence[str], key: str | None, **more: Any) -> dict[str, Any]:
    """A question in the JSON that ARC, QASC and OpenBookQA share; ``labels`` and ``paras`` may be given."""
    labels = more.pop("labels", "ABCDEFGH")
    paras = more.pop("paras", None)
    choices: list[dict[str, str]] = [{"text": text, "label": label} for text, label in zip(options, labels)]  # noqa: B905
    for choice, para in zip(choices, paras or [], strict=False):
        choice["para"] = para
    record = {"id": id_, "question": {"stem": stem, "choices": choices}, **more}
    return record if key is None else {**record, "answerKey": key}


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def write_article(path: Path, id_: str, article: str, questions: Sequence[tuple[str, Sequence[str], str]]) -> Path:
    """An article of RACE with its (question, options, answer)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "id": id_,
        "article": article,
        "questions": [text for text, _, _ in questions],
        "options": [list(options) for _, options, _ in questions],
        "answers": [answer for _, _, answer in questions],
    }
    path.write_text(json.dumps(record), encoding="utf-8")
    return path
