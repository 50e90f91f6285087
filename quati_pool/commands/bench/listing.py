"""Lists the benchmarks: their tasks, license, citation, and where their files are released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quati_pool.errors import ConfigError
from quati_pool.qa_benchmarks.base import RetrievalTask, Task
from quati_pool.registry import BENCHMARKS


@dataclass(frozen=True)
class TaskListing:
    """One task; ``kind`` is ``retrieval`` or ``answering``; ``settings`` describes each setting."""

    name: str
    kind: str
    summary: str
    settings: Mapping[str, str]


@dataclass(frozen=True)
class BenchmarkListing:
    """One benchmark; ``problem`` says why it cannot be listed, None where it can."""

    name: str
    title: str = ""
    summary: str = ""
    license: str = ""
    citation: str = ""
    source: str = ""
    tasks: tuple[TaskListing, ...] = ()
    problem: str | None = None


def benchmarks(name: str | None = None) -> list[BenchmarkListing]:
    """Every benchmark, or the one of this name; a plug-in that fails to load is listed with its ``problem``.

    Raises ConfigError where no benchmark has that name, or where it cannot be loaded.
    """
    if name is not None:
        BENCHMARKS.get(name)
        return [_listing(name)]
    return [_listing(known) for known in BENCHMARKS.names()]


def _kind(task: Task) -> str:
    return "retrieval" if isinstance(task, RetrievalTask) else "answering"


def _listing(name: str) -> BenchmarkListing:
    try:
        benchmark = BENCHMARKS.get(name)
    except ConfigError as error:
        return BenchmarkListing(name, problem=str(error))
    try:
        tasks = tuple(
            TaskListing(known, _kind(task), str(task.summary), dict(task.settings()))
            for known, task in benchmark.tasks.items()
        )
        title, summary = str(benchmark.title), str(benchmark.summary)
        license_, citation, source = str(benchmark.license), str(benchmark.citation), str(benchmark.source)
        return BenchmarkListing(name, title, summary, license_, citation, source, tasks)
    except Exception as error:  # from a plug-in; it must not hide the other benchmarks
        problem = f"cannot be listed ({type(error).__name__}: {error}); fix or uninstall its package"
        return BenchmarkListing(name, problem=problem)
