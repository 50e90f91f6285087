"""QASC: science questions of eight options, each answered by composing two facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from quati_pool.qa_benchmarks.base import Benchmark, Case, Task
from quati_pool.qa_benchmarks.expectations import Expectations
from quati_pool.qa_benchmarks.option_contexts import Contexts, FactFiles
from quati_pool.qa_benchmarks.question_files import QuestionFiles

SOURCE = "https://allenai.org/data/qasc"
_FILES = QuestionFiles(
    "QASC",
    SOURCE,
    {
        Case(split, "en"): (f"{name}.jsonl", f"QASC_Dataset/{name}.jsonl")
        for split, name in (("train", "train"), ("validation", "dev"), ("test", "test"))
    },
)
_CORPUS = (
    "the corpus is the distinct facts of the folder's questions; the 17 million sentences that QASC was made "
    "with are released apart and are no part of it"
)


class Qasc(Benchmark):
    """``train.jsonl``, ``dev.jsonl`` and ``test.jsonl``; the test file has neither answers nor facts."""

    id = "benchmark/qasc"
    name = "qasc"
    title = "QASC"
    summary = "science questions of eight options that need two facts each; the test split is released without answers"
    license = "CC BY 4.0"
    citation = (
        "Khot, Clark, Guerquin, Jansen and Sabharwal. QASC: A Dataset for Question Answering via Sentence "
        "Composition. AAAI 2020, arXiv 1910.11473"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = {
        "expectations": Expectations(_FILES),
        "contexts": Contexts(FactFiles(_FILES, ("fact1", "fact2"), notes=(_CORPUS,))),
    }
