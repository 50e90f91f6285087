"""The tables of ``judge``, most of which ``labels`` also uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from quati_pool.commands.judge.judge import JudgeReport
from quati_pool.labels import failures
from quati_pool.labels.base import NEVER_ASKED, NOT_GIVEN, TIED
from quati_pool.labels.coverage import LabelCoverage
from quati_pool.llm.faults import one_line
from quati_pool.records import State
from quati_pool.reporting.formats.tables import Cell, Column, Table

TOKENS = ("input", "cached", "output", "reasoning")
"""The kinds of tokens that are counted for calls."""
_UNKNOWN = "unknown"
# The number of model names listed below a table.
_MODELS = 5


def summary(report: JudgeReport) -> str | None:
    """How many pairs have a grade, and why the others have none; None if no answer failed."""
    coverage = report.pending.coverage
    return failures.summary(report.judge, "pairs", coverage.pairs, coverage.states, coverage.unasked)


def tables(report: JudgeReport) -> list[Table]:
    """Grades and states over the pool, then the attempts, tokens, cost and latency of this run's calls, if any."""
    coverage = report.pending.coverage
    tables = [grade_table({report.judge: coverage}, report.config.grades), state_table({report.judge: coverage})]
    if report.calls is not None and report.calls.attempts:
        calls = report.calls
        row = call_row(
            report.judge,
            calls.attempts,
            calls.retries,
            [calls.tokens[kind] for kind in TOKENS],
            calls.cost,
            calls.unknown,
            np.frombuffer(calls.seconds),
        )
        names = Counter(models_shown(calls.models)).most_common()
        models = ", ".join(f"{model} ({count:,})" for model, count in names[:_MODELS])
        if len(names) > _MODELS:
            models += f" and {len(names) - _MODELS:,} others"
        outputs = ", ".join(calls.outputs)
        tables.append(call_table([row], f"This run alone, by {models or 'no model'}, with output {outputs or 'none'}."))
    return tables


def grade_table(coverages: Mapping[str, LabelCoverage], grades: Mapping[int, str]) -> Table:
    """How many pairs each labeler gave each grade."""
    found = sorted(set(grades).union(*(coverage.grades for coverage in coverages.values())))
    names = [" ".join(dict.fromkeys([str(grade), grades.get(grade, str(grade))])) for grade in found]
    rows: list[list[Cell]] = [
        [name, coverage.pairs, *(coverage.grades[grade] for grade in found)] for name, coverage in coverages.items()
    ]
    spread = [
        f"{name}: the grades behind it agree on {100 * coverage.unanimous:.1f} % of the pairs, and lie "
        f"{coverage.mean_range:.2f} apart on average"
        for name, coverage in coverages.items()
        if coverage.unanimous is not None
    ]
    columns = [Column("Labeler"), Column("Pairs"), *map(Column, names)]
    return Table("Pairs by grade", columns, rows, "; ".join(spread))


def state_table(coverages: Mapping[str, LabelCoverage]) -> Table:
    """How many pairs of each labeler are in each state; states that do not occur are left out."""
    names = [State.ok.value, *(state.value for state in State if state is not State.ok), TIED, NEVER_ASKED, NOT_GIVEN]
    counts = {name: {State.ok.value: found.states[State.ok], **found.lacks} for name, found in coverages.items()}
    shown = [name for name in names if name == NEVER_ASKED or any(found.get(name) for found in counts.values())]
    rows: list[list[Cell]] = [[labeler, *(found.get(name, 0) for name in shown)] for labeler, found in counts.items()]
    columns = [Column("Labeler"), *map(Column, shown)]
    notes = {
        TIED: "Tied: people's grades have no majority, and no lead has decided.",
        NOT_GIVEN: "Pairs that people were not given are not missing.",
    }
    note = "Only ok has a grade; a pair without one is unjudged, never 0."
    note = " ".join([note, *(notes[name] for name in shown if name in notes)])
    cut = [
        f"{name}: {coverage.cut:,} with a passage that was cut" for name, coverage in coverages.items() if coverage.cut
    ]
    return Table("Pairs by state", columns, rows, " ".join([note, *cut]))


def call_row(
    name: str,
    attempts: int,
    retries: int,
    tokens: Sequence[int | None],
    cost: float | None,
    unknown: int,
    seconds: npt.NDArray[np.float64],
) -> list[Cell]:
    """The row of ``call_table`` for one labeler.

    ``tokens`` are input, cached, output and reasoning tokens; ``cost`` is in US dollars, without the ``unknown``
    attempts; ``seconds`` holds the latencies.
    """
    price: Cell = cost if not unknown else (f"≥ {cost:.4f} ({unknown:,} {_UNKNOWN})" if cost else _UNKNOWN)
    return [name, attempts, retries, *tokens, price, *latency(seconds).values()]


def call_table(rows: Sequence[Sequence[Cell]], note: str) -> Table:
    headings = ("Labeler", "Attempts", "Retries", "Tokens in", "of it cached", "Tokens out", "of it reasoning")
    percentiles = (Column(f"p{q} s", 2) for q in (50, 90, 99))
    return Table("Attempts", [*map(Column, headings), Column("US$", 4), *percentiles], rows, note)


def models_shown(models: Mapping[str, int]) -> dict[str, int]:
    """The number of calls by model, as reported by the servers, with names made printable."""
    shown: Counter[str] = Counter()
    for model, calls in models.items():
        shown[one_line(model, most=80)] += calls
    return dict(shown)


def latency(seconds: npt.NDArray[np.float64]) -> dict[str, float | None]:
    """The 50th, 90th and 99th percentile of the calls' latency in seconds; None if there were no calls."""
    values = np.percentile(seconds, [50, 90, 99]).tolist() if len(seconds) else [None] * 3
    return dict(zip(("p50", "p90", "p99"), values, strict=True))
