"""ARC: school science questions, an easy and a challenge set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from quati_pool.qa_benchmarks.base import Benchmark, Case, Task
from quati_pool.qa_benchmarks.expectations import Expectations
from quati_pool.qa_benchmarks.question_files import QuestionFiles

SOURCE = "https://allenai.org/data/arc"


def _places(level: str, split: str) -> tuple[str, ...]:
    name = f"ARC-{level}/ARC-{level}-{split}.jsonl"
    return name, f"ARC-V1-Feb2018-2/{name}", f"ARC-V1-Feb2018/{name}", name.partition("/")[2]


FILES = QuestionFiles(
    "ARC",
    SOURCE,
    {
        Case(split, "en", level.lower()): _places(level, name)
        for split, name in (("train", "Train"), ("validation", "Dev"), ("test", "Test"))
        for level in ("Easy", "Challenge")
    },
    settings={"easy": "the easy set", "challenge": "questions that simple retrieval and co-occurrence got wrong"},
)


class Arc(Benchmark):
    """``ARC-Easy/ARC-Easy-{Train,Dev,Test}.jsonl`` (the setting ``easy``) and the same files of ``ARC-Challenge`` (the
    setting ``challenge``).

    The files hold no facts, so there is no task ``contexts``; contexts that were found elsewhere are read
    from a choice's ``para``.
    """

    id = "benchmark/arc"
    name = "arc"
    title = "ARC"
    summary = "school science questions of three to five options: the easy and the challenge set"
    license = "CC BY-SA 4.0"
    citation = (
        "Clark, Cowhey, Etzioni, Khot, Sabharwal, Schoenick and Tafjord. Think you have Solved Question "
        "Answering? Try ARC, the AI2 Reasoning Challenge. 2018, arXiv 1803.05457"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = {"expectations": Expectations(FILES)}
