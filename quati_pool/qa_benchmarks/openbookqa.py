"""OpenBookQA: science questions of four options, each written from a fact of an open book."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from quati_pool.qa_benchmarks.base import Benchmark, Case, Task
from quati_pool.qa_benchmarks.expectations import Expectations
from quati_pool.qa_benchmarks.option_contexts import Contexts, FactFiles
from quati_pool.qa_benchmarks.question_files import QuestionFiles

SOURCE = "https://allenai.org/data/open-book-qa"
_SPLITS = (("train", "train"), ("validation", "dev"), ("test", "test"))
# The user may name the archive's top folder, the folder Data in it, or the folder it was unpacked into.
_ROOTS = ("Data/", "", "OpenBookQA-V1-Sep2018/Data/")


def _places(*names: str) -> tuple[str, ...]:
    return tuple(root + name for name in names for root in _ROOTS)


def _complete(split: str) -> str:
    return f"Additional/{split}_complete.jsonl"


FILES = QuestionFiles(
    "OpenBookQA",
    SOURCE,
    {
        Case(split, "en"): (*_places(f"Main/{name}.jsonl", _complete(name)), f"{name}.jsonl", f"{name}_complete.jsonl")
        for split, name in _SPLITS
    },
)
_WITH_FACTS = QuestionFiles(
    "OpenBookQA with facts",
    SOURCE,
    {Case(split, "en"): (*_places(_complete(name)), f"{name}_complete.jsonl") for split, name in _SPLITS},
)


def _book(data: Path) -> list[Path]:
    """The file ``openbook.txt``; empty where the folder has none."""
    places = (*_places("Main/openbook.txt"), "openbook.txt")
    return [data / place for place in places if (data / place).is_file()][:1]


class OpenBookQa(Benchmark):
    """``Data/Main/{train,dev,test}.jsonl`` and ``openbook.txt``; ``Data/Additional/*_complete.jsonl`` hold the
    fact that each question was written from."""

    id = "benchmark/openbookqa"
    name = "openbookqa"
    title = "OpenBookQA"
    summary = "science questions of four options, each made from a fact of an open book"
    license = "not stated in the released files; see the source"
    citation = (
        "Mihaylov, Clark, Khot and Sabharwal. Can a Suit of Armor Conduct Electricity? A New Dataset for Open "
        "Book Question Answering. EMNLP 2018, arXiv 1809.02789"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = {
        "expectations": Expectations(FILES),
        "contexts": Contexts(
            FactFiles(
                _WITH_FACTS,
                ("fact1",),
                more=_book,
                notes=("the corpus is the distinct facts of openbook.txt and of the folder's questions",),
            )
        ),
    }
