"""``quati-pool labels``: who graded how much of the pool, by state and grade, and at what cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quati_pool.commands.export.qrels import outside
from quati_pool.errors import ConfigError, InputError, QuatiPoolError
from quati_pool.judging.base import Pair
from quati_pool.labels.coverage import Standing
from quati_pool.labels.failures import shown, without_thoughts
from quati_pool.labels.labelers import Graded, Grading, Labeler, StoredLabeler, nobody
from quati_pool.llm.thoughts import ANY
from quati_pool.project.config import PoolConfig, load_config
from quati_pool.records import FAILURES, State
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables.judge import (
    call_row,
    call_table,
    grade_table,
    latency_data,
    models_shown,
    standing_data,
    state_table,
)
from quati_pool.store.database import Store
from quati_pool.store.failed_answers import FailedAnswer, failed_answers
from quati_pool.store.records import Usage
from quati_pool.store.rereading import Owner, count_unread


@dataclass(frozen=True)
class LabelsReport:
    """Every labeler's standing and usage, and the older versions that the store still holds."""

    config: PoolConfig
    labelers: list[Labeler]
    standings: dict[str, Standing]
    usage: dict[str, Usage]
    earlier: list[tuple[str, str, int]]
    """Labeler, version and number of labels."""
    problems: dict[str, str]
    """Why a judge of ``pool.yaml`` cannot be read."""
    failures: dict[tuple[str, str, str], FailedAnswer]
    """By labeler, query_id and doc_id what a judge answered that is no grade, where pairs are kept by name."""
    aspects: dict[str, dict[str, Counter[int]]]
    """By labeler and aspect how many answers gave which number; for judges whose prompt asks for any."""
    unread: dict[str, int]
    """By judge of ``pool.yaml`` how many stored answers were read by other rules than today's, if any were."""


def labels(
    config_path: Path, names: list[str] | None = None, pool: Path | None = None, *, missing: bool = False
) -> LabelsReport:
    """Reads the pool once for all labelers of ``pool.yaml`` and of the store, or those named; ``missing``
    keeps every pair without a grade by name.

    A judge that cannot be read, having lost its prompt, say, is left out with its problem unless named.
    """
    config = load_config(config_path)
    with Store.open(config.labels.url, config.folder) as store:
        return read(Grading(config, store, pool), names, missing=missing)


def read(grading: Grading, names: list[str] | None = None, *, missing: bool = False) -> LabelsReport:
    """The same over a store that is open already."""
    config, store = grading.config, grading.store
    stored = store.labelers(config.name)
    labelers, problems = [], {}
    for name in names or grading.names:
        try:
            labelers.append(grading.labeler(name))
        except QuatiPoolError as error:
            if names or not isinstance(error, (ConfigError, InputError)):
                raise
            problems[name] = str(error)
    if not labelers and not problems:
        raise nobody(config)
    standings = {labeler.name: Standing(None if missing else 0) for labeler in labelers}
    aspects = {labeler.name: counts for labeler in labelers if (counts := _no_aspects(labeler))}
    for chunk in grading.pairs():
        for labeler in labelers:
            for graded in labeler.graded(chunk):
                standings[labeler.name].add(graded)
            if labeler.name in aspects and isinstance(labeler, StoredLabeler):
                _count_aspects(aspects[labeler.name], labeler, chunk)
    usage = {
        labeler.name: store.usage(config.name, labeler.name, None) for labeler in labelers if labeler.kind == "judge"
    }
    current = {(labeler.name, labeler.version) for labeler in labelers}
    earlier = [
        (row.labeler_id, row.version, row.rows)
        for row in stored
        if (row.labeler_id, row.version) not in current and row.labeler_id in standings
    ]
    failures = _failures(grading, labelers, standings) if missing else {}
    unread = {labeler.name: count for labeler in labelers if (count := _unread(grading, labeler))}
    return LabelsReport(config, labelers, standings, usage, earlier, problems, failures, aspects, unread)


def _unread(grading: Grading, labeler: Labeler) -> int:
    if not isinstance(labeler, StoredLabeler) or labeler.reading is None or labeler.name not in grading.config.judges:
        return 0
    owner = Owner(grading.config.name, labeler.name)
    return count_unread(grading.store, owner, labeler.version, labeler.reading.version)


def _no_aspects(labeler: Labeler) -> dict[str, Counter[int]]:
    """A count of 0 for each number of each aspect that a labeler's prompt asks for."""
    reading = labeler.reading if isinstance(labeler, StoredLabeler) else None
    asked = sorted(reading.aspects.items()) if reading else []
    return {aspect: Counter(dict.fromkeys(sorted(scale), 0)) for aspect, scale in asked}


def _count_aspects(counts: dict[str, Counter[int]], labeler: StoredLabeler, pairs: Sequence[Pair]) -> None:
    for labels in labeler.behind(pairs):
        for label in labels.values():
            for aspect, value in label.extra.get("aspects", {}).items():
                counts[aspect][value] += 1


def _failures(
    grading: Grading, labelers: list[Labeler], standings: dict[str, Standing]
) -> dict[tuple[str, str, str], FailedAnswer]:
    found = {}
    for labeler in labelers:
        failing = [graded for graded in standings[labeler.name].lacking if graded.status in FAILURES]
        if labeler.kind != "judge" or labeler.version is None or not failing:
            continue
        marks = labeler.reading.thoughts if isinstance(labeler, StoredLabeler) and labeler.reading else ANY
        query_ids = {graded.query_id for graded in failing}
        answers = failed_answers(grading.store, grading.config.name, labeler.name, labeler.version, query_ids)
        for graded in failing:
            if answer := answers.get((graded.query_id, graded.doc_id)):
                found[labeler.name, graded.query_id, graded.doc_id] = without_thoughts(answer, marks)
    return found


def tables(report: LabelsReport, missing: bool = False) -> list[Table]:
    """Grades, states and calls; ``missing`` adds the pairs without a grade by name."""
    grades = grade_table(report.standings, report.config.grades)
    beyond = [
        f"{labeler.name} has {count:,} more, of pairs that are not pooled"
        for labeler in report.labelers
        if (count := outside(labeler, report.standings[labeler.name]))
    ]
    unread = [
        f"{name}: {count:,} answers were read by other rules than today's; run: quati-pool judge {name} --reread"
        for name, count in report.unread.items()
    ]
    note = "; ".join(filter(None, [grades.note, *beyond, *unread]))
    made = [replace(grades, note=f"{note}." if note else ""), state_table(report.standings)]
    aspects = _aspect_rows(report)
    if aspects:
        columns = [Column("Labeler"), Column("Aspect"), Column("Answers"), Column("Mean", 2), Column("By value")]
        note = "What answers say besides the grade, each sample counted; in no other figure."
        made.append(Table("Aspects", columns, aspects, note))
    calls = [
        call_row(name, used.attempts, used.retries, _tokens(used), used.cost, used.unknown_cost, used.seconds)
        for name, used in report.usage.items()
        if used.attempts
    ]
    if calls:
        made.append(call_table(calls, "All that the store holds, earlier versions' too."))
    if report.earlier:
        columns = [Column("Labeler"), Column("Version"), Column("Labels")]
        rows: list[list[Cell]] = [[name, version[:12], count] for name, version, count in report.earlier]
        note = "Given under another model, prompt or parameters: kept, and in none of the counts above."
        made.append(Table("Earlier versions", columns, rows, note))
    if missing:
        headings = ("Labeler", "query_id", "doc_id", "State", "Problem", "Answer")
        columns = [Column(name) for name in headings]
        rows = [
            [name, graded.query_id, graded.doc_id, graded.status.value if graded.status else "never asked",
             *_told(graded, report.failures.get((name, graded.query_id, graded.doc_id)))]
            for name, standing in report.standings.items()
            for graded in standing.lacking
        ]  # fmt: skip
        made.append(Table("Pairs without a grade", columns, rows))
    return made


def as_data(report: LabelsReport, missing: bool = False) -> dict[str, Any]:
    return {
        "collection": report.config.name,
        "labelers": [
            {
                "labeler": labeler.name,
                "kind": labeler.kind,
                "version": labeler.version,
                **standing_data(report.standings[labeler.name]),
                "cut_passages": report.standings[labeler.name].cut,
                "calls": _calls(report.usage.get(labeler.name)),
                "unread_answers": report.unread.get(labeler.name, 0),
                **({"aspects": _aspects(report.aspects[labeler.name])} if labeler.name in report.aspects else {}),
                **({"missing": _missing(report, labeler.name)} if missing else {}),
            }
            for labeler in report.labelers
        ],
        "problems": report.problems,
        "earlier_versions": [
            {"labeler": name, "version": version, "labels": count} for name, version, count in report.earlier
        ],
    }


def _aspect_rows(report: LabelsReport) -> list[list[Cell]]:
    def given(counts: Counter[int]) -> str:
        return ", ".join(f"{value}: {count:,}" for value, count in counts.items() if count)

    return [
        [name, aspect, counts.total(), _mean(counts), given(counts)]
        for name, found in report.aspects.items()
        for aspect, counts in found.items()
        if counts.total()
    ]


def _aspects(found: dict[str, Counter[int]]) -> dict[str, Any]:
    return {
        aspect: {
            "answers": counts.total(),
            "mean": _mean(counts),
            "counts": {str(value): count for value, count in counts.items()},
        }
        for aspect, counts in found.items()
    }


def _mean(counts: Counter[int]) -> float | None:
    total = counts.total()
    return sum(value * count for value, count in counts.items()) / total if total else None


def _missing(report: LabelsReport, name: str) -> list[dict[str, Any]]:
    made = []
    for graded in report.standings[name].lacking:
        failed = report.failures.get((name, graded.query_id, graded.doc_id))
        made.append(
            {
                "query_id": graded.query_id,
                "doc_id": graded.doc_id,
                "state": graded.status and graded.status.value,
                "problem": _problem(graded, failed),
                "answer": None if failed is None else failed.answer,
                "thoughts": None if failed is None else failed.thoughts,
                "notes": [] if failed is None else list(failed.notes),
            }
        )
    return made


def _problem(graded: Graded, failed: FailedAnswer | None) -> str | None:
    if failed is None:
        return "the passage has no text" if graded.status is State.no_text else None
    return failed.problem


def _told(graded: Graded, failed: FailedAnswer | None) -> list[Cell]:
    return [_problem(graded, failed) or "", "" if failed is None else shown(failed)]


def _tokens(used: Usage) -> list[int | None]:
    return [used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens]


def _calls(used: Usage | None) -> dict[str, Any] | None:
    if used is None or not used.attempts:
        return None
    return {
        "attempts": used.attempts,
        "retries": used.retries,
        "tokens": dict(zip(("input", "cached", "output", "reasoning"), _tokens(used), strict=True)),
        "cost": None if used.unknown_cost else used.cost,
        "known_cost": used.cost,
        "attempts_of_unknown_cost": used.unknown_cost,
        "latency": latency_data(used.seconds),
        "models": models_shown(used.models),
    }
