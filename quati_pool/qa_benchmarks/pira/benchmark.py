"""The benchmark Pirá 2.0 and its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from quati_pool.qa_benchmarks.base import Benchmark, Task
from quati_pool.qa_benchmarks.pira.answering import ClosedAnswering, MachineReading
from quati_pool.qa_benchmarks.pira.files import SOURCE
from quati_pool.qa_benchmarks.pira.multiple import MultipleChoiceTask, PiraExpectations
from quati_pool.qa_benchmarks.pira.retrieval import PassageRetrieval, TextRetrieval
from quati_pool.qa_benchmarks.pira.triggering import AnswerTriggering


class Pira(Benchmark):
    """Questions about the ocean, the Brazilian coast and climate change, each with a supporting text."""

    id = "benchmark/pira"
    name = "pira"
    title = "Pirá 2.0"
    summary = "questions about the ocean and the Brazilian coast, in English and Portuguese"
    license = "CC BY 4.0"
    citation = (
        "Pirozelli et al. Benchmarks for Pirá 2.0, a Reading Comprehension Dataset about the Ocean, the Brazilian"
        " Coast, and Climate Change. Data Intelligence 6(1), 2024, arXiv 2309.10945"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = {
        task.name: task
        for task in (
            TextRetrieval(),
            PassageRetrieval(),
            ClosedAnswering(),
            MachineReading(),
            AnswerTriggering(),
            MultipleChoiceTask(),
            PiraExpectations(),
        )
    }
