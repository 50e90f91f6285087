"""The tables of ``bench``, and its measures as CSV."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quati_pool.qa_benchmarks.base import Case, Row
from quati_pool.qa_benchmarks.expectations import NO_CONTEXT, NO_OPTION, NO_QUESTION, ORIGINAL, PERTURBED
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.stats.shares import independent_share

if TYPE_CHECKING:
    from quati_pool.commands.bench.bench import BenchResult

MOST_MEASURES = 8
"""The number of measures in a printed table; CSV and JSON contain all."""
WIDTH = 120
"""The maximum width of a printed table, in characters."""
CURVE_POINTS = (1, 5, 10, 20, 50, 100)
"""The values of k at which a printed table shows the curves; JSON contains every k."""

RANDOM = "random order"

_SHARES = re.compile(r"success|nDCG|^share|overlap|\b(?:AP|RR|Judged)\b")
_PERCENT = re.compile(r"F1|\bEM\b|accuracy|precision|recall|chance|\bP@")
_PERTURBATIONS = {
    ORIGINAL: "Original",
    PERTURBED: "Perturbed",
    NO_OPTION: "No option",
    NO_QUESTION: "No question",
    NO_CONTEXT: "No context",
}
_NAMED = 4
_GAP = 2


def tables(result: BenchResult, measures: int | None = MOST_MEASURES, width: int | None = WIDTH) -> list[Table]:
    """One table per set of rows with the same measures, in the order of the rows, followed by other values of rows,
    bounds for unanswered questions, the curves at some k, the workspaces written, and the notes.

    Tables show the first ``measures`` (None for all); those wider than ``width`` characters (None for no limit) are
    split.
    """
    tables = result_tables(result, measures, width)
    if result.workspaces:
        tables.append(_workspaces(result.workspaces))
    if result.notes:
        tables.append(Table("Notes", [Column("What to know about these figures")], [[note] for note in result.notes]))
    return tables


def as_rows(result: BenchResult) -> str:
    """CSV with one row per measure of each system and case, with its bounds and, if it is undefined, the reason."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    about = ["benchmark", "task", "system", "language", "split", "setting", "n", "unanswered"]
    writer.writerow([*about, "measure", "value", "low", "high", "undefined"])
    for row in result.rows:
        who = [result.benchmark.name, result.task.name, row.system, row.case.language, row.case.split]
        for name, value in row.measures.items():
            ends = row.bounds.get(name, ("", ""))
            shown = "" if value is None else value
            why = row.undefined.get(name, "")
            writer.writerow([*who, row.case.setting, row.n, row.unanswered, name, shown, *ends, why])
    return out.getvalue()


def success_rows(result: BenchResult) -> str:
    """CSV with one row per k of each system and case that have curves, and per k of a random order.

    ``low`` and ``high`` are Wilson's interval at 95 % (JASA 22, 1927), of ``n`` questions taken as independent; a
    random order has none, as its value is an expectation.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    about = ["benchmark", "task", "system", "language", "split", "setting", "n"]
    writer.writerow([*about, "k", "success", "low", "high"])
    for curve in result.curves:
        case = [curve.case.language, curve.case.split, curve.case.setting]
        for system, values in curve.systems.items():
            n = curve.queries
            for k, value in enumerate(values.tolist(), 1):
                who = [result.benchmark.name, result.task.name, system, *case, n]
                share = independent_share(round(value * n), n)
                writer.writerow([*who, k, value, share.low, share.high])
        for k, value in enumerate(curve.random.tolist(), 1):
            writer.writerow([result.benchmark.name, result.task.name, RANDOM, *case, "", k, value, "", ""])
    return out.getvalue()


def result_tables(result: BenchResult, measures: int | None = MOST_MEASURES, width: int | None = WIDTH) -> list[Table]:
    """Those of ``tables`` that hold results: measures, other values of rows, bounds and curves."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in result.rows:
        groups.setdefault((*row.measures, "", *_scalars(row)), []).append(row)
    tables = _by_perturbation(result)
    first = next(iter(groups.values()), None)
    for rows in groups.values():
        title = f"{result.benchmark.title}: {result.task.name}"
        if rows is not first:
            systems = dict.fromkeys(row.system for row in rows)
            title += f", {_listed(systems if len(systems) == 1 else rows[0].measures)}"
        tables += _measured(title, rows, measures, width)
    tables += _nested(result.rows)
    bounded = [row for row in result.rows if row.bounds]
    if bounded:
        tables += _bounds(bounded, measures, width)
    if result.curves:
        tables.append(_curves(result))
    return tables


@dataclass(frozen=True)
class _Content:
    """One column and its cells; a cell is an empty string if the row has no such value."""

    column: Column
    cells: Sequence[Cell]

    @property
    def width(self) -> int:
        return max(map(len, (self.column.heading, *map(self.column.show, self.cells))))


def _by_perturbation(result: BenchResult) -> list[Table]:
    """A table of accuracies with a row per system and a column per perturbation, the form of the tables of Shah, Gupta
    and Roth (arXiv 2011.10647); none for other tasks than ``expectations``."""
    systems: dict[tuple[str, Case], dict[str, float | None]] = {}
    for row in result.rows:
        if "expectation" in row.extra:
            setting, _, perturbation = row.case.setting.rpartition("/")
            cells = systems.setdefault((row.system, row.case._replace(setting=setting)), {})
            cells[perturbation] = row.measures.get("accuracy")
    if not systems:
        return []
    there = dict.fromkeys(name for cells in systems.values() for name in cells)
    rows = [Row(system, case, 0, {}) for system, case in systems]
    content = _about(rows, whole=False)
    content += [
        _Content(Column(_PERTURBATIONS[name], 2), [cells.get(name, "") for cells in systems.values()])
        for name in _PERTURBATIONS
        if name in there
    ]
    title = f"{result.benchmark.title}: accuracy on perturbed questions"
    cases = {row.case for row in rows}
    if len(cases) == 1:
        title += f" ({in_words(cases.pop())})"
    lines = [list(line) for line in zip(*(one.cells for one in content), strict=True)]
    lacking = any("" in line for line in lines)
    note = "In percent. Empty where the perturbation does not apply." if lacking else "In percent."
    return [Table(title, [one.column for one in content], lines, note)]


def _measured(title: str, rows: Sequence[Row], limit: int | None, width: int | None) -> list[Table]:
    names = list(rows[0].measures)
    shown, extra = names[:limit], _scalars(rows[0])
    unanswered = any(row.unanswered for row in rows)
    content = [_Content(Column("n"), [row.n for row in rows])]
    if unanswered:
        content.append(_Content(Column("Unanswered"), [row.unanswered for row in rows]))
    for name in shown:
        values = [row.measures[name] for row in rows]
        content.append(_Content(Column(name, _decimals(name, values)), values))
    percent = any(map(_PERCENT.search, names))
    for name in extra:
        cells = [_cell(row, name) for row in rows]
        content.append(_Content(_extra_column(name, cells, 2 if percent else 4), cells))
    notes = [_in_percent(shown)]
    if unanswered:
        notes.append("n are the questions that were answered, and the measures are over these.")
    if len(shown) < len(names):
        notes.append(f"The first {len(shown)} of {len(names)} measures; CSV and JSON hold all.")
    notes += [f"– {_listed(who)}: {sentence(why)}" for why, who in _undefined(rows, [*shown, *extra]).items()]
    notes += [f"{_listed(who)}: {sentence(note)}" for note, who in _told(rows).items()]
    return _pages(title, rows, content, " ".join(filter(None, notes)), width)


def _pages(title: str, rows: Sequence[Row], content: Sequence[_Content], note: str, width: int | None) -> list[Table]:
    """The columns as one table, or split into several if it would be too wide."""
    pages: list[list[_Content]] = []
    left = 0
    for one in content:
        left -= one.width + _GAP
        if not pages or (width is not None and left < 0):
            about = _about(rows, whole=not pages)
            left = (width or 0) - sum(other.width + _GAP for other in about) - one.width
            pages.append([*about, one])
        else:
            pages[-1].append(one)
    tables = []
    for number, page in enumerate(pages):
        about_width = len(_about(rows, whole=number == 0))
        lines = [list(line) for line in zip(*(one.cells for one in page), strict=True)]
        # On a further page, rows without any value are left out.
        kept = [line for line in lines if number == 0 or any(cell != "" for cell in line[about_width:])]
        name = f"{title}, continued" if number else title
        last = number == len(pages) - 1
        tables.append(Table(name, [one.column for one in page], kept, note if last else ""))
    return tables


def _nested(rows: Sequence[Row]) -> list[Table]:
    """A table for each key of ``extra`` that maps names to values, such as verdicts by expectation."""
    tables: list[Table] = []
    keys = dict.fromkeys(key for row in rows for key, value in row.extra.items() if isinstance(value, Mapping))
    for key in keys:
        having = [row for row in rows if isinstance(row.extra.get(key), Mapping)]
        names = dict.fromkeys(name for row in having for name, value in row.extra[key].items() if _fits(value))
        content = [
            _Content(_extra_column(name, [row.extra[key].get(name) for row in having], 2), _flat(having, key, name))
            for name in names
        ]
        if content:
            tables += _pages(_words(key), having, content, "", None)
    return tables


def _flat(rows: Sequence[Row], key: str, name: str) -> list[Cell]:
    return [_shown(row.extra[key][name]) if name in row.extra[key] else "" for row in rows]


def _bounds(rows: Sequence[Row], limit: int | None, width: int | None) -> list[Table]:
    names = list(dict.fromkeys(name for row in rows for name in row.bounds))[:limit]
    content = [_Content(Column("Unanswered"), [row.unanswered for row in rows])]
    content += [
        _Content(Column(name, _decimals(name, [])), [row.bounds.get(name, "") for row in rows]) for name in names
    ]
    note = "From all unanswered questions counted wrong to all counted right."
    title = "What unanswered questions leave open"
    return _pages(title, rows, content, " ".join(filter(None, [note, _in_percent(names)])), width)


def _curves(result: BenchResult) -> Table:
    rows = [
        (Row(name, curve.case, 0, {}), values)
        for curve in result.curves
        for name, values in (*curve.systems.items(), (RANDOM, curve.random))
    ]
    content = []
    for k in (k for k in CURVE_POINTS if k <= max(len(curve.random) for curve in result.curves)):
        cells = [float(values[k - 1]) if k <= len(values) else None for _, values in rows]
        content.append(_Content(Column("success@1" if k == 1 else f"@{k}", 4), cells))
    note = "Share of the queries with a relevant document among the first k."
    [table] = _pages("Success within the first k", [row for row, _ in rows], content, note, None)
    return table


def _workspaces(written: Sequence[Path]) -> Table:
    first = shlex.quote(str(written[0]))
    note = f"Next: quati-pool build -c {first}, then quati-pool evaluate -c {first}"
    return Table("Collections written", [Column("Workspace")], [[str(path)] for path in written], note)


def _about(rows: Sequence[Row], whole: bool) -> list[_Content]:
    """The columns that identify a row: system, language, split and setting; unless ``whole``, without those with the
    same value in every row."""
    columns = {
        "Language": [row.case.language for row in rows],
        "Split": [row.case.split for row in rows],
        "Setting": [row.case.setting for row in rows],
    }
    kept = {heading: cells for heading, cells in columns.items() if len(set(cells)) > 1 or (whole and any(cells))}
    return [_Content(Column(name), cells) for name, cells in {"System": [row.system for row in rows], **kept}.items()]


def _scalars(row: Row) -> list[str]:
    """The keys of ``extra`` that become columns; ``_nested`` shows those that map names to values, and JSON has all."""
    return [name for name, value in row.extra.items() if not isinstance(value, Mapping) and _fits(value)]


def _fits(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float)) or _interval(value)


def _interval(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(end, (int, float)) for end in value)


def _cell(row: Row, name: str) -> Cell:
    """The cell of an ``extra`` value: None, shown as a dash, if it is undefined for a reason, empty if it is missing
    without one."""
    value = row.extra[name]
    return "" if value is None and name not in row.undefined else _shown(value)


def _shown(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _interval(value):
        return float(value[0]), float(value[1])
    return value if value is None or isinstance(value, (str, int, float)) else ""


def _extra_column(name: str, cells: Iterable[Any], decimals: int) -> Column:
    real = any(isinstance(cell, float) or _interval(cell) for cell in cells)
    return Column(_words(name), decimals if real else None)


def _words(name: str) -> str:
    """``name`` as a heading; a single letter such as k is kept as it is."""
    return name if len(name) == 1 else name[:1].upper() + name[1:].replace("_", " ")


def _decimals(name: str, values: Sequence[float | None]) -> int | None:
    """The number of decimals: four for shares, two for percentages and the rest, None if all values are integers."""
    if any(value is not None for value in values) and all(value is None or isinstance(value, int) for value in values):
        return None
    return 4 if _SHARES.search(name) else 2


def _in_percent(names: Sequence[str]) -> str:
    found = [name for name in names if _PERCENT.search(name) and not _SHARES.search(name)]
    if not found:
        return ""
    return "In percent." if len(found) == len(names) else f"{_listed(found)}: in percent."


def _undefined(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[str]]:
    """Maps each reason to the values, and their systems, that are undefined for that reason."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        values = {**row.extra, **row.measures}
        for name in names:
            if values[name] is None and (name in row.measures or name in row.undefined):
                found.setdefault((row.undefined.get(name, "no reason was given"), name), []).append(row)
    whose: dict[str, list[str]] = {}
    for (why, name), about in found.items():
        of = [name] if len(about) == len(rows) > 1 else [f"{name} of {who}" for who in _whom(about, rows)]
        whose.setdefault(why, []).extend(of)
    return whose


def _told(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Maps each note to the systems that it is about."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        for note in row.notes:
            found.setdefault(note, []).append(row)
    return {note: _whom(about, rows) for note, about in found.items()}


def _whom(about: Sequence[Row], rows: Sequence[Row]) -> list[str]:
    """The systems of the rows ``about``, with the case if ``about`` contains only some of a system's ``rows``."""
    found = []
    for row in about:
        others = sum(one.system == row.system for one in rows)
        whole = sum(one.system == row.system for one in about) == others
        found.append(row.system if whole else f"{row.system} ({in_words(row.case)})")
    return list(dict.fromkeys(found))


def _listed(names: Iterable[str]) -> str:
    named = list(names)
    return ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def in_words(case: Case) -> str:
    """The case in words, such as ``pt, validation, over-en``."""
    return ", ".join(filter(None, (case.language, case.split, case.setting)))
