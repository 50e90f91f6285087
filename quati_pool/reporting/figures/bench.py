"""The pictures of ``bench``: success within the first k, beside that of a random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quati_pool.qa_benchmarks.base import Case
from quati_pool.reporting.figures import plots
from quati_pool.reporting.figures.pictures import Picture, stem

if TYPE_CHECKING:
    from quati_pool.commands.bench.bench import BenchResult

RANDOM = "random order"


def pictures(result: BenchResult) -> list[Picture]:
    """A picture for each case that has curves: a line for each system, and one for a random order."""
    made = []
    for curve in result.curves:
        about = f"{result.benchmark.title}, {result.task.name}: {in_words(curve.case)}"
        ranks = range(1, len(curve.random) + 1)
        # A system of that name keeps its line.
        last = f"{RANDOM} (expected)" if RANDOM in curve.systems else RANDOM
        series = {name: (list(ranks), values) for name, values in (*curve.systems.items(), (last, curve.random))}
        drawing = plots.lines(series, "k (logarithmic)", "success@k", about, log=True)
        caption = f"Share of the queries with a relevant document among the first k. {about}."
        tenth = min(10, len(ranks))
        told = ", ".join(f"{name} {values[tenth - 1]:.4f}" for name, (_, values) in series.items())
        case = [curve.case.split, curve.case.language, *filter(None, [curve.case.setting])]
        made.append(Picture(stem(result.task.name, *case), drawing, caption, f"{caption} At k = {tenth}: {told}."))
    return made


def in_words(case: Case) -> str:
    """Such as ``pt, validation, over-en``."""
    return ", ".join(filter(None, (case.language, case.split, case.setting)))
