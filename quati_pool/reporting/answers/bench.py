"""The answer of ``bench``: the best system of each case by the task's first measure."""

from __future__ import annotations

from quati_pool.commands.bench.bench import BenchResult
from quati_pool.qa_benchmarks.base import Case, Row
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.tables.bench import RANDOM, result_tables
from quati_pool.text.pluralize import counted

_CASES = 4


def answer(result: BenchResult) -> Answer:
    if not result.rows:
        written = wording.names([str(path) for path in result.workspaces])
        return Answer([f"Wrote {written}." if written else "Nothing was measured."])
    by_case: dict[Case, list[Row]] = {}
    for row in result.rows:
        by_case.setdefault(row.case, []).append(row)
    said = [sentence for case, rows in list(by_case.items())[:_CASES] if (sentence := _best(case, rows))]
    if len(by_case) > _CASES:
        said.append(f"{len(by_case) - _CASES:,} more cases are in the tables.")
    unanswered = sum(row.unanswered for row in result.rows)
    if unanswered:
        said.append(f"{counted(unanswered, 'question is', 'questions are')} unanswered: values lie within the bounds.")
    table = next(iter(result_tables(result, None, None)), None)
    notes = f" {counted(len(result.notes), 'note', 'notes')} on the figures are there too." if result.notes else ""
    folder = result.options.folder
    every = (
        f" success@k for every k: {folder / 'reports' / f'{result.task.name}-success.csv'}." if result.curves else ""
    )
    return Answer(
        said, table, f"--full prints all measures, bounds and curves, as do the files in {folder}.{every}{notes}"
    )


def _best(case: Case, rows: list[Row]) -> str | None:
    measure = next(iter(rows[0].measures), None)
    found = [(value, row) for row in rows if measure and (value := row.measures.get(measure)) is not None]
    if measure is None or not found:
        return None
    value, row = max(found, key=lambda one: (one[0], one[1].system != RANDOM))
    where = ", ".join(filter(None, case))
    shown = wording.number(value, 1 if value > 1 else 3)
    bounds = row.bounds.get(measure)
    between = f" ({wording.number(bounds[0], 1)} to {wording.number(bounds[1], 1)})" if bounds else ""
    among = f"highest of {counted(len(found), 'system', 'systems')}" if len(found) > 1 else "the only system"
    return f"{where}: {wording.name(row.system)} has {measure} {shown}{between} over {row.n:,} questions, {among}."
