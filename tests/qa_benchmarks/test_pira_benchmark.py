from __future__ import annotations

from quati_pool.qa_benchmarks.pira.benchmark import Pira
from quati_pool.registry import BENCHMARKS
from tests.shared_data import shared


def test_pira_has_its_six_benchmarks_and_the_expectations() -> None:
    assert BENCHMARKS.get("pira") is Pira
    assert list(Pira.tasks) == ["ir", "oqa", "cgqa", "mrc", "at", "mcqa", "expectations"]
    assert all(task.name == name and task.summary for name, task in Pira.tasks.items())
    assert Pira.license == "CC BY 4.0"
    assert "2309.10945" in Pira.citation
    assert Pira.source == "https://github.com/C4AI/Pira"


def test_every_task_has_cases_in_the_released_validation_files() -> None:
    data = shared("pira/MCQA-validation.csv").parent
    for name, task in Pira.tasks.items():
        cases = task.cases(data)
        assert {case.split for case in cases} == {"validation"}, name
        assert len(set(cases)) == len(cases), name
