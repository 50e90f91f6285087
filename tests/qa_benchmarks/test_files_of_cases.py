"""Every task says which files a case is read from."""

from __future__ import annotations

from pathlib import Path

import pytest

from quati_pool.qa_benchmarks.base import Benchmark, Case, Task
from quati_pool.registry import BENCHMARKS

CHOICE = '{"id": "q", "question": {"stem": "s", "choices": [{"text": "a", "label": "A"}]}, "answerKey": "A"}\n'
SPLITS = ["train.csv", "validation.csv"]
GOLD = ["gold/dev.json", "gold/train.json"]
ARTICLES = ["dev/high/1.txt", "dev/middle/2.txt", "train/high/3.txt"]


@pytest.mark.parametrize(
    ("benchmark", "task", "case", "there", "read"),
    [
        ("pira", "ir", Case("validation", "en"), [*SPLITS, "MCQA-validation.csv"], SPLITS),
        ("pira", "oqa", Case("validation", "en"), SPLITS, SPLITS),
        ("pira", "cgqa", Case("validation", "en"), SPLITS, ["validation.csv"]),
        ("pira", "mrc", Case("validation", "pt", "english-text"), SPLITS, ["validation.csv"]),
        ("pira", "at", Case("validation", "en"), SPLITS, SPLITS),
        ("pira", "at", Case("train", "en"), SPLITS, ["train.csv"]),
        ("pira", "mcqa", Case("test", "en", "released"), ["test.csv", "MCQA-test.csv"], ["MCQA-test.csv"]),
        ("pira", "mcqa", Case("test", "en", "built"), ["test.csv", "MCQA-test.csv"], ["MCQA-test.csv", "test.csv"]),
        ("pira", "mcqa", Case("test", "pt", "built"), ["test.csv", "MCQA-test.csv"], ["test.csv"]),
        ("pira", "mcqa", Case("test", "en", "built"), ["test.csv"], ["test.csv"]),
        ("pira", "expectations", Case("test", "en"), ["MCQA/MCQA-test.csv"], ["MCQA/MCQA-test.csv"]),
        ("romqa", "closed", Case("validation", "en"), GOLD, ["gold/dev.json"]),
        ("romqa", "closed", Case("validation", "en", "few-shot"), GOLD, GOLD),
        ("romqa", "gold", Case("train", "en"), GOLD, ["gold/train.json"]),
        ("romqa", "open", Case("validation", "en", "retrieved"), ["data/open/dev.json"], ["data/open/dev.json"]),
        ("romqa", "evidence", Case("validation", "en"), [*GOLD, "gold/test.noanswer.json"], GOLD),
        ("race", "expectations", Case("validation", "en", "high"), ARTICLES, ["dev/high/1.txt"]),
        ("race", "contexts", Case("validation", "en", "high"), ARTICLES, ARTICLES),
        ("qasc", "expectations", Case("validation", "en"), ["dev.jsonl", "train.jsonl"], ["dev.jsonl"]),
        ("qasc", "contexts", Case("validation", "en"), ["dev.jsonl", "train.jsonl"], ["dev.jsonl", "train.jsonl"]),
        ("arc", "expectations", Case("test", "en", "easy"), ["ARC-Easy-Test.jsonl"], ["ARC-Easy-Test.jsonl"]),
        ("openbookqa", "expectations", Case("test", "en"), ["test.jsonl", "openbook.txt"], ["test.jsonl"]),
        (
            "aristo", "expectations", Case("test", "en"),
            ["arc/ARC-Easy-Test.jsonl", "arc/ARC-Challenge-Test.jsonl", "test.jsonl", "regents/test.jsonl"],
            ["arc/ARC-Challenge-Test.jsonl", "arc/ARC-Easy-Test.jsonl", "regents/test.jsonl", "test.jsonl"],
        ),
        (
            "openbookqa", "contexts", Case("test", "en"), ["test_complete.jsonl", "Data/Main/openbook.txt"],
            ["Data/Main/openbook.txt", "test_complete.jsonl"],
        ),
    ],
)  # fmt: skip
def test_the_files_of_a_case(
    tmp_path: Path, benchmark: str, task: str, case: Case, there: list[str], read: list[str]
) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(CHOICE)
    found: type[Benchmark] = BENCHMARKS.get(benchmark)
    files = found.tasks[task].files(tmp_path, case)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in files) == read


def test_every_task_says_it() -> None:
    silent = [
        f"{name} {task.name}"
        for name in BENCHMARKS.names()
        for task in BENCHMARKS.get(name).tasks.values()
        if type(task).files is Task.files
    ]
    assert silent == []
