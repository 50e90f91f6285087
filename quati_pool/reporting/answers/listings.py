"""The answers of ``prompts``, ``validate``, ``bench list`` and ``build --plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quati_pool.commands.bench.listing import BenchmarkListing
from quati_pool.commands.plan.plan import Plan
from quati_pool.commands.prompts import PromptListing
from quati_pool.files.validation import ValidationReport
from quati_pool.reporting.answers import wording
from quati_pool.reporting.formats.answers import Answer
from quati_pool.reporting.formats.tables import Cell, Column, Table
from quati_pool.reporting.tables import benchmarks, prompts, validate
from quati_pool.reporting.tables import plan as plans
from quati_pool.retrieval.planning import human_bytes
from quati_pool.text.pluralize import counted


def prompt_list(found: Sequence[PromptListing]) -> Answer:
    own, faulty = sum(not item.bundled for item in found), [item for item in found if item.prompt is None]
    said = [f"{counted(len(found), 'prompt', 'prompts')}, {own:,} of them the workspace's own."]
    if faulty:
        said.append(f"{len(faulty):,} cannot be read, such as {faulty[0].id}: {faulty[0].problem}.")
    rest = "The messages that one sends: quati-pool prompts show ID --query … --passage …"
    return Answer(said, prompts.table(found), rest)


def prompt_messages(prompt_id: str, messages: Sequence[Mapping[str, str]]) -> Answer:
    """What a prompt sends for a query and a passage."""
    length = sum(len(message["content"]) for message in messages)
    said = f"{prompt_id} sends {counted(len(messages), 'message', 'messages')} of {length:,} characters in all."
    rows: list[list[Cell]] = [[one["role"], len(one["content"]), one["content"]] for one in messages]
    columns = [Column("Role"), Column("Characters"), Column("Content", prose=True)]
    return Answer([said], Table(f"Messages of {prompt_id}", columns, rows), "--full prints them exactly.")


def validated(reports: Sequence[ValidationReport]) -> Answer:
    failed = [report for report in reports if not report.ok]
    warned = sum(report.ok and bool(report.warnings) for report in reports)
    files = counted(len(reports), "file", "files")
    if failed:
        faults = counted(sum(report.faults for report in failed), "error", "errors")
        said = f"{len(failed):,} of {files} {'has' if len(failed) == 1 else 'have'} {faults}: " + (
            f"{wording.names([str(report.path) for report in failed])}."
        )
    else:
        said = f"{files} {'is' if len(reports) == 1 else 'are'} valid{f', {warned:,} with warnings' if warned else ''}."
    rows = sorted(reports, key=lambda report: (report.ok, not report.warnings))
    return Answer([said], validate.table(rows), "--full prints whole cells." if len(reports) > 1 else "")


def benchmark_list(found: Sequence[BenchmarkListing]) -> Answer:
    tasks = sum(len(one.tasks) for one in found)
    said = f"{counted(len(found), 'benchmark', 'benchmarks')} with {counted(tasks, 'task', 'tasks')}."
    table = benchmarks.task_table(found)
    rest = "--full prints settings and sources of files."
    return Answer([said], table if table.rows else None, rest)


def planned(plan: Plan) -> Answer:
    current = sum(not system.left for system in plan.systems if system.estimate is not None)
    problems = [system.run_tag for system in plan.systems if system.problem]
    systems = counted(len(plan.systems), "system", "systems")
    left = plan.left
    said = [f"Finished: {current:,} of {systems}; nothing was run."]
    if current < len(plan.systems):
        cost = f", {plans.dollars(left.cost)} for APIs" if left.cost else ""
        said.append(
            f"What is left takes about {plans.time_range(left.seconds)} here, {human_bytes(left.disk)} of disk and "
            f"{human_bytes(left.memory)} of memory{cost}{' at least' if left.unknown else ''}."
        )
    if problems:
        said.append(f"Without an estimate: {wording.names(problems)} ({plan_problem(plan)}).")
    rows: list[list[Cell]] = []
    for system in plan.systems:
        estimate = system.estimate
        there = "; ".join(system.there) or "nothing yet"
        seconds = None if system.seconds is None else plans.time_range(system.seconds)
        sizes = [None, None] if estimate is None else [_bytes(estimate.disk), _bytes(estimate.memory)]
        rows.append([system.run_tag, system.problem or there, seconds, *sizes])
    columns = [
        Column("System"),
        Column("What is there", prose=True),
        Column("Time here"),
        Column("Disk"),
        Column("Memory"),
    ]
    return Answer(said, Table("Systems", columns, rows), "--full prints GPU time, costs, corpora, and the arithmetic.")


def plan_problem(plan: Plan) -> str:
    return next(system.problem for system in plan.systems if system.problem)


def _bytes(size: float | None) -> str | None:
    return None if size is None else human_bytes(size)
